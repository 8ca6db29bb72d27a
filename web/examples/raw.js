// The C functions without our JavaScript: layer normalization of two rows of four numbers.
// The header `gpt-layers/gpt_layers.h` documents every function.

import { readFileSync } from 'node:fs'

const wasm = readFileSync(new URL(import.meta.resolve('gpt-layers/simd.wasm')))
const { instance } = await WebAssembly.instantiate(wasm) // it imports nothing
/** @type {Record<string, any>} */
const { memory, __heap_base, gpt_layernorm_forward, gpt_status_text } = instance.exports

// Memory below __heap_base belongs to the constants and the stack. Everything from there on is yours.
const rows = 2
const cols = 4
let next = __heap_base.value
const allocate = (count) => {
  const offset = next
  next += 4 * count
  return offset
}
const y = allocate(rows * cols)
const mean = allocate(rows)
const rstd = allocate(rows)
const x = allocate(rows * cols)
const scale = allocate(cols)
const shift = allocate(cols)

// Grow the memory where it is too small. This detaches every view of it, so make the views afterwards.
const missing = next - memory.buffer.byteLength
if (missing > 0) memory.grow(Math.ceil(missing / 65536))
const floats = (offset, count) => new Float32Array(memory.buffer, offset, count)

floats(x, rows * cols).set([1, 2, 3, 4, 10, 20, 30, 40])
floats(scale, cols).fill(1)
floats(shift, cols).fill(0)

const eps = 1e-5
const [part, parts] = [0, 1] // part 0 of 1: the whole call on this thread
const status = gpt_layernorm_forward(y, mean, rstd, x, scale, shift, rows, cols, eps, part, parts)
if (status !== 0) throw new Error(readText(gpt_status_text(status)))

for (let r = 0; r < rows; r++) {
  const row = Array.from(floats(y + 4 * r * cols, cols), (value) => value.toFixed(4))
  console.log(`row ${r}: mean ${floats(mean, rows)[r].toFixed(1)}, normalized ${row.join(' ')}`)
}

/** A C string: bytes up to a 0. */
function readText(offset) {
  const bytes = new Uint8Array(memory.buffer)
  return new TextDecoder().decode(bytes.subarray(offset, bytes.indexOf(0, offset)))
}
