// The blocks of code in the documents, which tests run.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/**
 * @param {string} language such as js
 * @param {string} path of a document, from the root
 * @param {string} [heading] of the section to look in, a `##`; the whole document by default
 * @returns {string[]} the code of each block
 */
export function blocksOf(language, path, heading) {
  let text = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
  if (heading !== undefined) text = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === language)
  assert.ok(blocks.length > 0, `${path} has no ${language} ${heading ? `below "${heading}"` : ''}`)
  return blocks.map(([, , code]) => code)
}
