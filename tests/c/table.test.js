// The table of kernels, from which the tests and the fuzzer make their calls, against the header: every
// function has a row, with its tensors in the header's order, its inputs where the header has a const, and
// the aliases that the header allows.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const read = (/** @type {string} */ path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Functions without a row. Their own tests call them with wrong arguments. */
const WITHOUT_ROW = [
  'gpt_int8_unpack', // its output is bytes, which need not fill a word
  'gpt_dot_is_fast',
  'gpt_is_relaxed',
  'gpt_stack_set',
]

/** @typedef {{ tensors: string[], aliases: string[] }} Kernel */

/** @returns {Map<string, Kernel>} the functions that return a status, by name */
function declared() {
  const kernels = new Map()
  // a comment, then the functions that it describes
  const sections = read('c/gpt_layers.h').matchAll(/\/\*((?:(?!\*\/)[\s\S])*)\*\/\n((?:(?!\n\/\*)[\s\S])*)/g)
  for (const [, comment, code] of sections) {
    const aliases = [
      ...comment.matchAll(/(\w+)(?: +\[[^\]]*\] +| )may be (?!NULL)(\w+)(?: or (\w+))?/g),
    ].flatMap(([, y, x, other]) => [x, other].filter(Boolean).map((input) => `${y} may be ${input}`))
    for (const [, name, parameters] of code.matchAll(/GPT_API int (\w+)\(([^)]*)\)/g)) {
      const tensors = [...parameters.matchAll(/(const )?\w+ \*(\w+)/g)].map(
        ([, constant, tensor]) => `${constant ? 'const ' : ''}${tensor}`,
      )
      kernels.set(name, { tensors, aliases })
    }
  }
  return kernels
}

/** @returns {Map<string, Kernel>} the rows of the table, by the function's name */
function tabulated() {
  const kernels = new Map()
  const text = read('tests/c/table.c')
  /** The rows that a macro makes: by its parameter that names them, the names with which it is used. */
  const made = new Map()
  for (const [, macro, parameters, parameter] of text.matchAll(
    /^#define (\w+)\((.*?)\).*\\\n(?:.*\\\n)*?.*KERNEL\((\w+),/gm,
  )) {
    const uses = [...text.matchAll(new RegExp(`^${macro}\\((.*)\\)$`, 'gm'))]
    const at = parameters.split(', ').indexOf(parameter)
    made.set(
      parameter,
      uses.map(([, given]) => given.split(', ')[at]),
    )
  }
  for (const [, first, row] of text.matchAll(
    /KERNEL\((\w+),([\s\S]*?)(?=\n[A-Z]+\(|\n#|\n\/\*|\nstatic|$)/g,
  )) {
    const names = (/** @type {string} */ field) => {
      const words = new RegExp(`\\.${field} = "(.*?)"`).exec(row)?.[1] ?? ''
      return [...words.matchAll(/(\w+)\S*/g)].map(([, name]) => name)
    }
    const scratch = row.includes('.scratch_size') ? ['scratch'] : []
    const all = [...names('outputs'), ...scratch, ...names('inputs')]
    const tensors = [...names('outputs'), ...scratch, ...names('inputs').map((name) => `const ${name}`)]
    const inputs = /\.may_be = \{(.*?)\}/.exec(row)?.[1].split(', ') ?? []
    const aliases = inputs.map((input) => `${all[0]} may be ${all[Number(input)]}`)
    for (const name of made.get(first) ?? [first]) kernels.set(`gpt_${name}`, { tensors, aliases })
  }
  return kernels
}

test('every function of gpt_layers.h that returns a status has a row in the table of kernels', () => {
  const names = [...declared().keys()].filter((name) => !WITHOUT_ROW.includes(name))
  assert.ok(names.length > 50, `${names.length} functions`)
  assert.deepEqual([...tabulated().keys()].toSorted(), names.toSorted())
})

test('the table has the inputs and outputs of each kernel in the order of gpt_layers.h', () => {
  const kernels = declared()
  for (const [name, { tensors }] of tabulated())
    assert.deepEqual(tensors, kernels.get(name)?.tensors, `${name}: table, then header`)
})

test('the table has the aliases that gpt_layers.h allows, and no other', () => {
  const kernels = declared()
  for (const [name, { aliases }] of tabulated())
    assert.deepEqual(aliases, kernels.get(name)?.aliases, `${name}: table, then header`)
})
