// The plugin for Vite that makes what the notebook says about a name: `import names from 'names'`. It reads the
// package's types, as TypeDoc does for the API reference.

import { readFileSync } from 'node:fs'
import ts from 'typescript'

const types = new URL('../../dist/index.d.ts', import.meta.url)

/** @param {ts.Node} node */
const textOf = (node) =>
  node
    .getText()
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')

/** The first sentence of a node's documentation. @param {ts.Node} node */
function sentenceOf(node) {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const text = ts.getTextOfJSDocComment(doc?.comment)?.replace(/\s+/g, ' ') ?? ''
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text
}

/** A function or a method as it is called. @param {string} name @param {ts.SignatureDeclarationBase} node */
function signatureOf(name, { parameters, type }) {
  const list = parameters.map(textOf).join(', ')
  return `${name}(${list})${type ? `: ${textOf(type)}` : ''}`
}

function names() {
  const source = ts.createSourceFile('index.d.ts', readFileSync(types, 'utf8'), ts.ScriptTarget.Latest, true)
  /** @type {Record<string, string>} */
  const exportedAs = {}
  for (const node of source.statements)
    if (
      ts.isExportDeclaration(node) &&
      node.exportClause &&
      ts.isNamedExports(node.exportClause) &&
      !node.isTypeOnly
    )
      for (const { name, propertyName } of node.exportClause.elements)
        exportedAs[(propertyName ?? name).text] = name.text
  /** @type {Record<string, [string, string]>} */
  const exported = {}
  /** @type {Record<string, [string, string]>} */
  const members = {}
  for (const node of source.statements) {
    const declared = ts.isVariableStatement(node) ? node.declarationList.declarations[0] : node
    const own =
      'name' in declared && declared.name && ts.isIdentifier(declared.name) ? declared.name.text : ''
    const name = exportedAs[own]
    if (!name || (exported[name] && !ts.isClassDeclaration(node))) continue
    if (ts.isFunctionDeclaration(node)) exported[name] = [signatureOf(`gpt.${name}`, node), sentenceOf(node)]
    if (ts.isVariableStatement(node)) exported[name] = [`gpt.${name}`, sentenceOf(node)]
    if (!ts.isClassDeclaration(node)) continue
    const constructor = node.members.find(ts.isConstructorDeclaration)
    const call = constructor ? signatureOf(`new gpt.${name}`, constructor) : `class gpt.${name}`
    exported[name] = [call, sentenceOf(node) || (constructor ? sentenceOf(constructor) : '')]
    for (const member of node.members) {
      const key = member.name && ts.isIdentifier(member.name) ? member.name.text : ''
      if (!key || members[key] || textOf(member).startsWith('static')) continue
      if (ts.isMethodDeclaration(member)) members[key] = [signatureOf(`.${key}`, member), sentenceOf(member)]
      else
        members[key] = [
          textOf(member)
            .replace(/^(readonly|get) /, '.')
            .replace(/^(?!\.)/, '.')
            .replace(/;$/, ''),
          sentenceOf(member),
        ]
    }
  }
  // A method that is a function, too, has its signature: gpt.exp(x) is x.exp().
  for (const [name, found] of Object.entries(exported)) {
    const method = members[name]?.[0]
    if (found[0] === `gpt.${name}` && method?.startsWith(`.${name}(`)) {
      const rest = method.slice(name.length + 2)
      found[0] = `gpt.${name}(x${rest.startsWith(')') ? '' : ', '}${rest}`
    }
  }
  return { exported, members }
}

export const namesOfPackage = {
  name: 'names',
  resolveId: { filter: { id: /^names$/ }, handler: () => '\0names' },
  load: { filter: { id: /^\0names$/ }, handler: () => `export default ${JSON.stringify(names())}` },
}
