// Writes src/sections/deep-stack/recording.json: the losses that the section shows until its worker has them.

import { writeFileSync } from 'node:fs'
import { load } from 'gpt-layers'
import slice from '../../build/demo/sections/deep-stack/slice.js'
import { Stack } from '../../build/demo/sections/deep-stack/stack.js'

const STEPS = 200
const gpt = await load()

/** @param {boolean} norm @returns {number[]} */
function train(norm) {
  const stack = new Stack(gpt, slice.defaults(), { norm })
  const losses = [stack.measure().loss]
  while (losses.length <= STEPS) {
    stack.step()
    losses.push(stack.measure().loss)
  }
  return losses.map((loss) => Number(loss.toPrecision(4)))
}

const path = new URL('src/sections/deep-stack/recording.json', import.meta.url)
writeFileSync(path, JSON.stringify({ without: train(false), with: train(true) }) + '\n')
