// Every fuzzer for its share of the minutes, one after the other: ./build.sh fuzz MINUTES [--seed N]

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const folder = fileURLToPath(new URL('.', import.meta.url))
const fresh = String(randomBytes(4).readUInt32LE())

/** @returns {{ minutes: string, seed: string }} */
function options() {
  try {
    const options = /** @type {const} */ ({ seed: { type: 'string', default: fresh } })
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    return { minutes: positionals.join(' '), seed: values.seed }
  } catch {
    return { minutes: '', seed: '' }
  }
}

const { minutes, seed } = options()
if (!/^\d+(\.\d+)?$/.test(minutes)) {
  console.error('usage: ./build.sh fuzz MINUTES [--seed N]')
  process.exit(2)
}
console.log(`seed ${seed}: ./build.sh fuzz ${minutes} --seed ${seed} repeats this run`)
const fuzzers = readdirSync(folder).filter((name) => name.endsWith('.fuzz.js'))
for (const name of fuzzers) {
  const args = [`${folder}${name}`, '--seed', seed, '--minutes', String(Number(minutes) / fuzzers.length)]
  if (spawnSync(process.execPath, args, { stdio: 'inherit' }).status !== 0) process.exitCode = 1
}
