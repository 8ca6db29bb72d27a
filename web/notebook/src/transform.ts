// A cell as a script, so that its variables exist in the next cell: as Node's REPL does it, with acorn.

import { parse, type AnyNode, type Pattern } from 'acorn'

/** The names that a pattern declares. */
function namesOf(pattern: Pattern | null): string[] {
  if (pattern?.type === 'Identifier') return [pattern.name]
  if (pattern?.type === 'ArrayPattern') return pattern.elements.flatMap(namesOf)
  if (pattern?.type === 'AssignmentPattern') return namesOf(pattern.left)
  if (pattern?.type === 'RestElement') return namesOf(pattern.argument)
  if (pattern?.type !== 'ObjectPattern') return []
  return pattern.properties.flatMap((one) => namesOf(one.type === 'Property' ? one.value : one.argument))
}

function* nodesIn(node: AnyNode): Generator<AnyNode> {
  yield node
  for (const value of Object.values(node).flat()) if (value?.type) yield* nodesIn(value)
}

/**
 * Declarations at the top level become assignments to global variables, and the last expression the result. What
 * is imported goes through $import, and what is awaited through $await.
 *
 * @param cell its id, which stands in the stacks of errors
 * @returns source: evaluates to a promise of the result; the cell's lines are one further down
 */
export function transform(code: string, cell: number): { source: string; names: string[] } {
  const { body } = parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true })
  const names: string[] = []
  const hoisted: string[] = []
  const edits: [start: number, end: number, text: string][] = []
  for (const statement of body)
    for (const { type, start, end } of nodesIn(statement)) {
      if (type === 'ImportExpression') edits.push([start, start + 'import'.length, '$import'])
      if (type === 'AwaitExpression') {
        const argument = start + 'await'.length
        edits.push([argument, argument, ' $await('], [end, end, ')'])
      }
    }
  const sayImport = (source: unknown) => `await $import(${JSON.stringify(source)})`
  for (const statement of body) {
    const exported = statement.type === 'ExportNamedDeclaration' && statement.declaration
    const node = exported || statement
    if (exported) edits.push([statement.start, exported.start, ''])
    if (node.type === 'ImportDeclaration') {
      const imports = node.specifiers.map((one) => {
        names.push(one.local.name)
        if (one.type === 'ImportNamespaceSpecifier')
          return `${one.local.name} = ${sayImport(node.source.value)};`
        const name =
          one.type === 'ImportDefaultSpecifier' ? 'default' : code.slice(one.imported.start, one.imported.end)
        return `({ ${name}: ${one.local.name} } = ${sayImport(node.source.value)});`
      })
      const lines = '\n'.repeat(node.loc!.end.line - node.loc!.start.line)
      edits.push([node.start, node.end, `;${imports.join('') || sayImport(node.source.value)};${lines}`])
    } else if (node.type === 'VariableDeclaration') {
      edits.push([node.start, node.declarations[0].start, ';('])
      for (const { id, init, end } of node.declarations) {
        names.push(...namesOf(id))
        if (!init) edits.push([end, end, ' = undefined'])
      }
      const { end } = node.declarations[node.declarations.length - 1]
      edits.push([end, end, ');'])
    } else if (node.type === 'ClassDeclaration') {
      names.push(node.id.name)
      edits.push([node.start, node.start, `${node.id.name} = `], [node.end, node.end, ';'])
    } else if (node.type === 'FunctionDeclaration') {
      names.push(node.id.name)
      hoisted.push(`globalThis.${node.id.name} = ${node.id.name};`)
    } else if (node.type === 'ExpressionStatement' && statement === body.at(-1)) {
      // Without its semicolon, but with its parentheses, which are not part of the expression.
      const end = node.end - Number(code[node.end - 1] === ';')
      edits.push([node.start, node.start, ';return ('], [end, end, ')'])
    }
  }
  let changed = ''
  let place = 0
  for (const [start, end, text] of edits.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
    changed += code.slice(place, start) + text
    place = end
  }
  changed += code.slice(place)
  const source = `(async () => { 'use strict'; ${hoisted.join(' ')}\n${changed}\n})()\n//# sourceURL=cell-${cell}.js`
  return { source, names }
}
