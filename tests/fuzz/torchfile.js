// Files of torch.save, changed by fast-check: PyTorch's own small files, those of golden/pretrained.json with
// other objects than tensors, and the hostile ones. Bytes are changed, opcodes are put in, and parts are cut out,
// doubled, or come from another file. For each file:
//
// - gpt.loadTorch and GPTModel.fromPretrained read it, or reject with a GptLayersError of a code below.
// - fromPretrained does the same with the file as a stream of chunks.
// - After an error nothing is left in memory. No global name has changed.

/** @import { Gpt } from '../lib/support.js' */
/** @import { Edit } from './edits.js' */

import { readdirSync, readFileSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { load } from '../lib/support.js'
import { edit, edited } from './edits.js'
import { checkError, checkStream, find, findingOf, OF_FILES } from './find.js'
import { Finding, Witness } from './witness.js'

const golden = new URL('../golden/', import.meta.url)
const { harmless, refused } = JSON.parse(readFileSync(new URL('pretrained.json', golden), 'utf8'))

/** The files, none long: a change then meets what is checked. @type {Uint8Array[]} */
const BASES = [
  ...readdirSync(new URL('pretrained/', golden))
    .filter((name) => /\.(pth|pt|bin)$/.test(name))
    .map((name) => new Uint8Array(readFileSync(new URL(`pretrained/${name}`, golden)))),
  ...[...harmless, ...refused].map(({ file }) => new Uint8Array(inflateSync(Buffer.from(file, 'base64')))),
].filter(({ length }) => length > 100 && length < 16_500)

/** What PyTorch's pickles are made of, and what they are not. */
const OPCODES = [
  ...Buffer.from('().}]BCGIKLMJNQRXabcehijqrstu0123PS', 'latin1'),
  ...Buffer.from('\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x8f\x90\x91\x92\x93\x94\x95\x96', 'latin1'),
].map((code) => Uint8Array.of(code))

/** @typedef {{ base: number, edits: Edit[], chunks: number[] }} Drawn */

/** @type {fc.Arbitrary<Drawn>} */
const files = fc.record({
  base: fc.nat(BASES.length - 1),
  edits: fc.array(edit, { maxLength: 4 }),
  chunks: fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 4 }),
})

/** @type {Promise<{ gpt: Gpt, witness: Witness }> | null} */
let watched = null
const start = async () => {
  const gpt = await load({ build: 'simd', maxMemory: 32 })
  return { gpt, witness: new Witness(gpt) }
}

/** Names that a program in a pickle could change. */
const globals = () => Object.getOwnPropertyNames(Object.prototype).join()
const GLOBALS = globals()

/**
 * @param {Drawn} drawn
 * @returns {Promise<boolean>} whether its tensors were read
 * @throws {Finding}
 */
export async function check({ base, edits, chunks }) {
  watched ??= start()
  const { gpt, witness } = await watched
  const file = edits.reduce((file, edit) => edited(file, edit, OPCODES, BASES), BASES[base])
  const count = witness.blocks.size
  let isRead = false
  try {
    witness.begin()
    try {
      for (const tensor of Object.values(await gpt.loadTorch(file))) tensor.dispose()
      isRead = true
    } catch (error) {
      checkError(error, OF_FILES, 1500)
    }
    witness.end([])
    if (witness.blocks.size !== count) throw new Finding('a file left blocks in memory')
    await checkStream({ gpt, witness }, file, chunks, { config: { n_head: 3 }, strict: false })
    if (globals() !== GLOBALS) throw new Finding('Object.prototype has changed')
    return isRead
  } catch (error) {
    watched = null
    throw error
  }
}

/** Many files. @param {number} seed @param {number} count */
export const fuzz = (seed, count) => find(files, check, seed, count)

const FILES = 500

/** @type {import('./fuzz.js').Fuzzer} */
export const fuzzer = {
  unit: 'files',
  async batch(seed) {
    const { finding } = await fuzz(seed, FILES)
    return { count: FILES, finding: finding && finding.message, input: JSON.stringify(finding?.input) }
  },
  replay: (input) => findingOf(check(JSON.parse(input))),
}
