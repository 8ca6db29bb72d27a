// Tables of calls that are refused, as text: `call // CODE message`, one row each.

import assert from 'node:assert/strict'
import { GptLayersError } from 'gpt-layers'
import { assertNothingLeft, usedMemory } from './support.js'

/** @import { Gpt } from './support.js' */

/**
 * @param {string} table rows `head: call // CODE message`. The code is VALUE where there is none. The head ends
 *   at the first colon and space
 * @returns {{ head: string, call: string, code: string, message: string }[]}
 */
export const rowsOf = (table) =>
  table
    .trim()
    .split('\n')
    .map((row) => {
      const [, head, call, code = 'VALUE', message] =
        /^(.*?): (.*) \/\/ (?:([A-Z]+) )?(.*)$/.exec(row) ?? assert.fail(row)
      return { head, call, code, message }
    })

/**
 * @param {string} text an expression
 * @param {Record<string, any>} scope the names that it may have
 * @returns {() => any} gives its value
 */
export function callOf(text, scope) {
  const call = new Function(...Object.keys(scope), `return (${text})`)
  return () => call(...Object.values(scope))
}

/**
 * @param {Gpt} gpt
 * @param {() => unknown} call that fails, and leaves no memory in use
 * @param {string} [text] for the message
 * @returns {Promise<{ code: string, message: string }>} its error
 */
export async function errorOf(gpt, call, text = 'the call') {
  const used = usedMemory(gpt)
  try {
    await call()
  } catch (error) {
    assert.ok(error instanceof GptLayersError, error instanceof Error ? error.stack : String(error))
    assertNothingLeft(gpt, used)
    return error
  }
  assert.fail(`${text} was not refused`)
}

/**
 * Asserts a row's code and its message, which may end in `...`.
 *
 * @param {{ code: string, message: string }} error
 * @param {{ code: string, message: string }} row
 * @param {string} [text] for the message
 */
export function assertError(error, { code, message }, text) {
  const end = message.endsWith('...') ? message.length - 3 : Infinity
  assert.deepEqual([error.code, error.message.slice(0, end)], [code, message.slice(0, end)], text)
}
