// Makes the API reference from the docstrings, as static pages in build/api. build.sh copies them beside the
// page. TypeDoc reads the package's types (dist/*.d.ts), so the reference shows what users get, and nothing
// internal.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Application, Comment, CommentTag, Converter, PageEvent, ReflectionKind } from 'typedoc'

/** @param {string} path from the repository's root */
const fromRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** The folder of dist/ that holds a declaration -> the heading above it. */
const CATEGORIES = {
  layers: 'Layers',
  losses: 'Training',
  optim: 'Training',
}

/**
 * The package's types with each class under its own name. `export type X = import('./x.js').X` would be
 * documented as an alias, without its members.
 */
function writeEntry() {
  const types = readFileSync(fromRoot('dist/index.d.ts'), 'utf8')
  const entry = types
    .replace(/export type (\w+) = import\("\.\/([^"]+)"\)\.\1;/g, 'export { $1 } from "./$2";')
    .replaceAll('from "./', 'from "../dist/')
  const config = {
    compilerOptions: {
      target: 'ES2022',
      module: 'NodeNext',
      lib: ['ES2022', 'DOM'],
      types: [],
      skipLibCheck: true,
    },
    files: ['api.ts'],
  }
  mkdirSync(fromRoot('build'), { recursive: true })
  writeFileSync(fromRoot('build/api.ts'), entry)
  writeFileSync(fromRoot('build/api.tsconfig.json'), JSON.stringify(config))
}

/**
 * Leaves out what users do not write: the runtime, which `new gpt.Linear(5, 6)` passes to the class itself,
 * and `[Symbol.dispose]`, which `using` calls.
 *
 * @param {import('typedoc').ProjectReflection} project
 */
function leaveOutInternals(project) {
  for (const reflection of Object.values(project.reflections)) {
    if (reflection.name === '[dispose]') project.removeReflection(reflection)
  }
  const signatures = project.getReflectionsByKind(ReflectionKind.ConstructorSignature)
  for (const signature of /** @type {import('typedoc').SignatureReflection[]} */ (signatures)) {
    signature.parameters = signature.parameters?.filter(({ name }) => name !== 'runtime')
  }
}

/** @param {import('typedoc').ProjectReflection} project */
function categorize(project) {
  for (const reflection of project.children ?? []) {
    const folder = /dist\/(\w+)\//.exec(reflection.sources?.[0]?.fullFileName ?? '')?.[1] ?? ''
    const text = CATEGORIES[/** @type {keyof typeof CATEGORIES} */ (folder)] ?? 'The package'
    for (const documented of reflection.signatures ?? [reflection]) {
      documented.comment ??= new Comment()
      documented.comment.blockTags.push(new CommentTag('@category', [{ kind: 'text', text }]))
    }
  }
}

writeEntry()
const app = await Application.bootstrap({
  entryPoints: [fromRoot('build/api.ts')],
  tsconfig: fromRoot('build/api.tsconfig.json'),
  name: 'gpt-layers',
  readme: 'none',
  favicon: fromRoot('web/demo/public/icon.svg'),
  includeVersion: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeProtected: true,
  hideGenerator: true,
  categorizeByGroup: false,
  categoryOrder: ['The package', 'Layers', 'Training'],
  navigation: { includeCategories: true, includeGroups: false },
  // Helpers inside other types.
  intentionallyNotExported: ['Bound', 'NestedList', 'Returned'],
  visibilityFilters: {},
  // Source links would need a clone with a remote. They are deleted below, so the template is never seen.
  disableGit: true,
  sourceLinkTemplate: '{path}',
  logLevel: 'Warn',
})
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  leaveOutInternals(project)
  categorize(project)
})
const LAST = -1e6 // the priority of a listener that runs after TypeDoc's own
app.converter.on(
  Converter.EVENT_RESOLVE_END,
  ({ project }) => {
    for (const reflection of Object.values(project.reflections)) {
      const declaration = /** @type {import('typedoc').DeclarationReflection} */ (reflection)
      delete declaration.sources // the lines of the generated .d.ts files are of no use to a reader
      if (declaration.inheritedFrom?.name.startsWith('Gpt_base')) delete declaration.inheritedFrom
    }
    // TypeScript gives a class that extends an expression a base of its own making.
    const gpt = /** @type {import('typedoc').DeclarationReflection} */ (project.getChildByName('Gpt'))
    delete gpt.extendedTypes
    delete gpt.typeHierarchy
  },
  LAST,
)
// The page's Content-Security-Policy forbids inline scripts and styles. TypeDoc's inline script moves to a
// file.
const inline = /<script>([\s\S]*?)<\/script>/
let script = ''
app.renderer.on(PageEvent.END, (page) => {
  page.contents = page.contents?.replace(inline, (_, code) => {
    script = code
    return `<script src="${'../'.repeat(page.url.split('/').length - 1)}assets/theme.js"></script>`
  })
})

const project = await app.convert()
if (!project) process.exit(1)
app.validate(project)
if (app.logger.hasErrors()) process.exit(1)
// A type that is missing from index.js is a warning: it fails a test that reads this file, and not the build.
writeFileSync(fromRoot('build/api-warnings.json'), JSON.stringify(app.logger.warningCount))
const out = fromRoot('build/api')
await app.generateDocs(project, out)
writeFileSync(`${out}/assets/theme.js`, script)
// TypeDoc's <style> holds rules for filters, and we show no filters: an element without effect takes its
// place.
const main = readFileSync(`${out}/assets/main.js`, 'utf8')
writeFileSync(
  `${out}/assets/main.js`,
  main.replace('document.createElement("style")', 'document.createElement("template")'),
)
