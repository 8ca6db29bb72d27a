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
  for (const [, name, row] of read('tests/c/table.c').matchAll(
    /\{\.name = "(\w+)",([\s\S]*?)\n(?= {4}\{\.name|\};)/g,
  )) {
    const tensors = [...row.matchAll(/\{([A-Z_]+),\s*"(\w+)"/g)].map(
      ([, role, tensor]) => `${role === 'IN' || role === 'OPTIONAL_IN' ? 'const ' : ''}${tensor}`,
    )
    const names = tensors.map((tensor) => tensor.replace('const ', ''))
    const pairs = /\.alias = \{(.*)\}/.exec(row)?.[1] ?? ''
    const aliases = [...pairs.matchAll(/\{(\d), (\d)\}/g)].map(
      ([, output, input]) => `${names[Number(output)]} may be ${names[Number(input)]}`,
    )
    kernels.set(`gpt_${name}`, { tensors, aliases })
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
