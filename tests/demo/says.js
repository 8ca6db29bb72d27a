// What the page says, in the text that a reader without JavaScript has: every sentence, with all answers.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const html = readFileSync(new URL('../../web/demo/dist/text.html', import.meta.url), 'utf8')
const said = html.replace(/<math.*?<\/math>|<[^>]*>/gs, '').replace(/\s+/g, ' ')

/** Asserts that the page says this. @param {string} words with the numbers that a test computes */
export const says = (words) => assert.ok(said.includes(words), `the page does not say “${words}”`)
