// The page's sentences, with all answers, as the text for readers without JavaScript has them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const html = readFileSync(new URL('../../web/demo/dist/text.html', import.meta.url), 'utf8')
const said = html.replace(/<math.*?<\/math>|<[^>]*>/gs, '').replace(/\s+/g, ' ')

/** Asserts that the page has these words. @param {string} words with numbers that the test has computed */
export const says = (words) => assert.ok(said.includes(words), `the page does not say “${words}”`)
