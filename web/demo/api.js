// Makes the API reference from the docstrings, as static pages in build/api. build.sh copies them beside the
// page. TypeDoc reads the package's types (dist/index.d.ts), so the reference shows what users get, and
// nothing internal.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  Application,
  Comment,
  CommentTag,
  Converter,
  DeclarationReflection,
  PageEvent,
  ReferenceType,
} from 'typedoc'
import { namesOf } from './api-names.js'

const fromRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** What is a method of Tensor, too. */
const OPERATIONS = 'Functions of a tensor'

/** Other headings, with what is below each; a class is where its base is. All else is below `The package`. */
const CATEGORIES = {
  Tensors: `Tensor allclose arange cat equal eye full manualSeed ones onesLike rand randn stack tensor where zeros
    zerosLike`,
  // Affine and Norm are not exported: bases of Linear and of LayerNorm.
  Layers: 'Module Affine Norm dropout embedding init layerNorm linear rmsNorm scaledDotProductAttention',
  Training: 'Optimizer clipGradNorm crossEntropy mse noGrad parameter record',
  Files: 'loadSafetensors loadTorch saveSafetensors',
}

/** The names of a class and of its bases. The last may be a class that is not exported. */
function lineageOf({ name, extendedTypes }) {
  const base = extendedTypes?.[0]
  if (!(base instanceof ReferenceType)) return [name]
  const { reflection } = base
  return [name, ...(reflection instanceof DeclarationReflection ? lineageOf(reflection) : [base.name])]
}

function categorize(project) {
  const tensor = project.children?.find(({ name }) => name === 'Tensor')
  const methods = tensor?.children?.map(({ name }) => name).filter((name) => name !== 'dispose')
  const categories = { [OPERATIONS]: methods?.join(' ') ?? '', ...CATEGORIES }
  for (const reflection of project.children ?? []) {
    const lineage = lineageOf(reflection)
    const [text = 'The package'] =
      Object.entries(categories).find(([, names]) =>
        names.split(/\s+/).some((name) => lineage.includes(name)),
      ) ?? []
    for (const documented of reflection.signatures ?? [reflection]) {
      documented.comment ??= new Comment()
      documented.comment.blockTags.push(new CommentTag('@category', [{ kind: 'text', text }]))
    }
  }
}

const app = await Application.bootstrap({
  entryPoints: [fromRoot('dist/index.d.ts')],
  tsconfig: fromRoot('web/demo/api.tsconfig.json'),
  name: 'gpt-layers',
  readme: 'none',
  markdownItOptions: { html: true, linkify: false }, // torch.ge is no address
  favicon: fromRoot('web/demo/public/icon.svg'),
  includeVersion: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeProtected: true,
  hideGenerator: true,
  categorizeByGroup: false,
  categoryOrder: ['The package', 'Tensors', OPERATIONS, 'Layers', 'Training', 'Files'],
  navigation: { includeCategories: true, includeGroups: false },
  // Helpers inside other types.
  intentionallyNotExported: ['Float16', 'NestedList', 'Returned'],
  visibilityFilters: {},
  disableSources: true, // the lines of the generated .d.ts files are of no use to a reader
  logLevel: 'Warn',
})
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  categorize(project)
})
app.renderer.on(PageEvent.END, (page) => {
  const up = '../'.repeat(page.url.split('/').length - 1)
  const title = '<a href="[^"]*" class="title">gpt-layers[^<]*</a>'
  page.contents = page.contents?.replace(
    new RegExp(title),
    (found) => `${found} <a href="${up}../notebook/index.html">Live notebook</a>`,
  )
})

const project = await app.convert()
if (!project) process.exit(1)
app.validate(project)
if (app.logger.hasErrors()) process.exit(1)
// A type that is missing from index.js is a warning: it fails a test that reads this file, and not the build.
writeFileSync(fromRoot('build/api-warnings.json'), JSON.stringify(app.logger.warningCount))
writeFileSync(fromRoot('build/api-names.json'), JSON.stringify(namesOf(project)))
// TypeDoc's highlighter gives up on a line after 500 ms by this clock. So on a busy machine the colors would differ
// from one build to the next. A clock that stands still ends no line.
const { now } = Date
const start = now()
Date.now = () => start
await app.generateDocs(project, fromRoot('build/api'))
Date.now = now
