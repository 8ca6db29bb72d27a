// Makes dist/index.d.ts, the types of the package in one file, from the declarations that tsc has made of
// each source file.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import ts from 'typescript'

/** @param {string} path in build/lib */
const built = (path) => new URL(`../build/lib/${path}`, import.meta.url)

/**
 * Every entry has the same types. The worker has none.
 *
 * @param {string} dist the folder
 * @param {string[]} entries their names
 */
export async function writeTypes(dist, entries) {
  const bundle = await rollup({ input: fileURLToPath(built('index.d.ts')), plugins: [dts()] })
  const { output } = await bundle.generate({})
  const operations = Object.keys(await import(built('tensor/operations.js').href))
  const types = withUndefined(withFunctions(output[0].code, operations))
  writeFileSync(`${dist}index.d.ts`, ts.createPrinter().printFile(parse(types)))
  for (const name of entries.filter((name) => name !== 'index')) {
    writeFileSync(`${dist}${name}.d.ts`, `export * from './index.js'\n`)
  }
  writeFileSync(`${dist}gpt-layers-worker.d.ts`, 'export {}\n')
}

/** @param {string} types */
const parse = (types) => ts.createSourceFile('index.d.ts', types, ts.ScriptTarget.Latest, true)

/**
 * A public function is a constant in the sources: `const exp: Unary = unary(...)`. The types show a function, and
 * for each operation a method of Tensor with the same comment.
 *
 * @param {string} types
 * @param {string[]} operations their names
 */
function withFunctions(types, operations) {
  const { statements } = parse(types)
  /** The statements that name a type, such as Unary. @type {Map<string, ts.Statement>} */
  const named = new Map()
  /** The names under which something is exported, such as var for variance. @type {Map<string, string>} */
  const exported = new Map()
  for (const statement of statements) {
    if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) {
      named.set(statement.name.text, statement)
    } else if (ts.isExportDeclaration(statement) && statement.exportClause) {
      ts.forEachChild(statement.exportClause, (one) => {
        if (ts.isExportSpecifier(one)) exported.set((one.propertyName ?? one.name).text, one.name.text)
      })
    }
  }
  const edits = []
  const aliases = new Set()
  let methods = ''
  for (const statement of statements) {
    if (!ts.isVariableStatement(statement)) continue
    const [{ name, type }] = statement.declarationList.declarations
    const alias = named.get(type?.getText() ?? '')
    const signatures = signaturesOf(alias ?? type)
    if (signatures.length === 0) continue
    let functions = ''
    for (const signature of signatures) {
      const comment = commentOf(alias && ts.isInterfaceDeclaration(alias) ? signature : statement)
      const [first, ...rest] = signature.parameters.map((parameter) => parameter.getText())
      const generic = signature.typeParameters?.map((parameter) => parameter.getText()).join(', ')
      const result = signature.type?.getText()
      const head = `${name.getText()}${generic ? `<${generic}>` : ''}`
      functions += `${comment}declare function ${head}(${[first, ...rest].join(', ')}): ${result};\n`
      const method = exported.get(name.getText()) ?? ''
      if (operations.includes(method)) methods += `${comment}${method}(${rest.join(', ')}): ${result};\n`
    }
    edits.push({ pos: statement.pos, end: statement.end, text: `\n${functions}` })
    if (alias) aliases.add(alias)
  }
  for (const { pos, end } of aliases) edits.push({ pos, end, text: '' })
  const tensor = statements.find((one) => ts.isClassDeclaration(one) && one.name?.text === 'Tensor')
  if (tensor) edits.push({ pos: tensor.end - 1, end: tensor.end - 1, text: methods })
  return edited(types, edits)
}

/** @param {ts.Node | undefined} type @returns {(ts.CallSignatureDeclaration | ts.FunctionTypeNode)[]} */
function signaturesOf(type) {
  if (!type) return []
  if (ts.isFunctionTypeNode(type)) return [type]
  if (ts.isTypeAliasDeclaration(type)) return signaturesOf(type.type)
  return ts.isInterfaceDeclaration(type) ? type.members.filter(ts.isCallSignatureDeclaration) : []
}

/** @param {ts.Node} node @returns {string} the comment before it */
const commentOf = (node) =>
  `${node
    .getFullText()
    .slice(0, node.getStart() - node.pos)
    .trim()}\n`

/**
 * An option that is undefined has its default, so `dim?: number` becomes `dim?: number | undefined`: with
 * exactOptionalPropertyTypes, TypeScript would refuse `{ dim: maybe }` otherwise.
 *
 * @param {string} types
 */
function withUndefined(types) {
  /** @type {Edit[]} */
  const edits = []
  const visit = (/** @type {ts.Node} */ node) => {
    ts.forEachChild(node, visit)
    if (!ts.isPropertySignature(node) || !node.questionToken || !node.type) return
    const text = node.type.getText()
    const whole = ts.isFunctionTypeNode(node.type) ? `(${text})` : text
    edits.push({ pos: node.type.getStart(), end: node.type.end, text: `${whole} | undefined` })
  }
  visit(parse(types))
  return edited(types, edits)
}

/**
 * @typedef {object} Edit
 * @property {number} pos
 * @property {number} end
 * @property {string} text what comes in place of what stands there
 */

/** @param {string} types @param {Edit[]} edits */
function edited(types, edits) {
  for (const { pos, end, text } of edits.sort((a, b) => b.pos - a.pos)) {
    types = types.slice(0, pos) + text + types.slice(end)
  }
  return types
}
