// What every public function takes, as the package's types in dist/index.d.ts say it.

import { readFileSync } from 'node:fs'

/** @typedef {{ name: string, type: string, optional: boolean }} Parameter or a field of an object */

/** The types without comments, with what stands in braces inside a line or a member in one line. */
const types = readFileSync(new URL('../../dist/index.d.ts', import.meta.url), 'utf8')
  .replace(/^ *\/\*\*[^]*?\*\/\n/gm, '')
  .replace(/<Options extends \{[^}]*\} = \{[^}]*\}>/g, '')
  .replace(/\[\n([^\]]*)\n *\]/g, (_, items) => `[${items.trim().replace(/\s+/g, ' ')}]`)
  .replace(/\{\n([^{}]*)\n {4,}\}/g, (_, fields) => `{ ${fields.trim().replace(/\s+/g, ' ')} }`)
  .replace(
    /^(declare function .*)\{\n([^{}]*)\n\}/gm,
    (_, head, fields) => `${head}{ ${fields.trim().replace(/\s+/g, ' ')} }`,
  )

/**
 * @param {string} text such as `x: Tensor, options?: { dim?: number | undefined }`
 * @param {string} separator
 * @returns {Parameter[]}
 */
function parametersIn(text, separator) {
  const parts = ['']
  let depth = 0
  for (const char of text) {
    if ('({[<'.includes(char)) depth++
    if (')}]'.includes(char) || (char === '>' && !parts[parts.length - 1].endsWith('='))) depth--
    if (char === separator && depth === 0) parts.push('')
    else parts[parts.length - 1] += char
  }
  return parts.flatMap((part) => {
    const [, name, mark, type] = /^\s*(?:readonly )?(\w+)(\??): (.*?)\s*$/s.exec(part) ?? []
    return name ? { name, optional: mark === '?', type: type.replace(/ \| (undefined|null)/g, '') } : []
  })
}

/** @type {Map<string, Parameter[]>} of interfaces, with what they extend */
const interfaces = new Map()
for (const [, name, parents = '', body] of types.matchAll(
  /^interface (\w+)(?: extends ([\w, ]+))? \{\n([^]*?)^\}/gm,
)) {
  const own = parametersIn(body, ';')
  const inherited = parents.split(', ').flatMap((parent) => interfaces.get(parent) ?? [])
  interfaces.set(name, [...inherited.filter((field) => !own.some(({ name }) => name === field.name)), ...own])
}

/**
 * @param {string} type
 * @returns {Parameter[] | null} the fields of an interface or of an object type; null for any other type
 */
export function fieldsOf(type) {
  const [, picked, names] = /^Pick<(\w+), (.*)>$/.exec(type) ?? []
  if (picked) return (interfaces.get(picked) ?? []).filter(({ name }) => names.includes(`'${name}'`))
  const [, omitted] = /^Omit<GivenGroup<(\w+)>, 'params'>$/.exec(type) ?? []
  if (omitted) return interfaces.get(omitted) ?? null
  return type.startsWith('{ ') ? parametersIn(type.slice(2, -2), ';') : nonEmpty(interfaces.get(type))
}

/** @param {Parameter[]} [fields] of an interface @returns null for one that only adds to a class */
const nonEmpty = (fields = []) => (fields.length > 0 ? fields : null)

/** The kind of object that a class makes, where it is no layer and no optimizer. @type {Record<string, string>} */
const KINDS = {
  Tensor: 'tensor',
  Module: 'module',
  Optimizer: 'optimizer',
  KeyValueCache: 'cache',
  Int8Weight: 'int8',
}

/**
 * What each function takes, by the kind of object it belongs to and its name: `gpt.add`, `tensor.add`, `new
 * Linear`, `module.forward`. Of a function with several signatures the last, of a method the first class's.
 *
 * @type {Map<string, Parameter[]>}
 */
export const SIGNATURES = new Map()
for (const [, name, parameters] of types.matchAll(/^declare function (\w+)(?:<\w+>)?\((.*)\): /gm))
  SIGNATURES.set(`gpt.${name === 'variance' ? 'var' : name}`, parametersIn(parameters, ','))
const [, init] = /^declare const init: \{\n([^]*?)^\}/m.exec(types) ?? ['', '']
/** @type {Map<string, string>} the kind of each class */
const kinds = new Map()
for (const [, name, parent = '', body] of [
  ...types.matchAll(/^declare class (\w+)(?:<.*?>)?(?: extends (\w+).*?)? \{\n([^]*?)^\}/gm),
  ['', 'init', '', init],
]) {
  const kind = name === 'init' ? name : (KINDS[name] ?? kinds.get(parent) ?? '')
  kinds.set(name, kind)
  const known = new Set(SIGNATURES.keys())
  if (name !== 'init') SIGNATURES.set(`new ${name}`, SIGNATURES.get(`new ${parent}`) ?? [])
  for (const [, method, parameters] of body.matchAll(/^ {4}(\w+)(?:<\w+>)?\((.*)\)(?:: .*)?;$/gm)) {
    const own = method === 'constructor' ? `new ${name}` : `${kind}.${method}`
    if (!known.has(own)) SIGNATURES.set(own, parametersIn(parameters.replace(/^\.\.\./, ''), ','))
  }
}
