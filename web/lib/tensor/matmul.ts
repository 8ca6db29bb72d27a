import type { Tensor } from './tensor.ts'
import { sameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { SCRATCH } from '../runtime/runtime.ts'
import { recordKernel } from '../runtime/tape.ts'
import { sizeOf } from './shape.ts'

/**
 * @param a [..., rows, inner]
 * @param b [..., inner, cols], with the same leading axes as a or none
 * @returns [..., rows, cols]
 */
export function matmul(a: Tensor, b: Tensor): Tensor {
  const { runtime } = a
  const [rows, inner] = a.shape.slice(-2)
  const leading = a.shape.slice(0, -2)
  const start = b.shape.length === 2 ? [inner] : [...leading, inner]
  if (a.shape.length < 2 || b.shape.length < 2 || !sameShape(b.shape.slice(0, -1), start)) {
    const expected = `have shape [${start.join(', ')}, cols] for a tensor of shape [${a.shape.join(', ')}]`
    throw fail('SHAPE', 'other', expected, b.shape)
  }
  const [cols] = b.shape.slice(-1)
  // One product for each matrix of b.
  const count = sizeOf(b.shape.slice(0, -2))
  const each = (sizeOf(leading) / Math.max(count, 1)) * rows
  const eachOf = (run: (i: number) => void) => {
    for (let i = 0; i < count; i++) run(i)
  }
  const y = a.empty([...a.shape.slice(0, -1), cols])
  // Conv1D without a bias is a matrix product.
  eachOf((i) => {
    if (y.size === 0) return
    runtime.run('gpt_conv1d_forward', [
      y.pointerTo(i * each * cols),
      SCRATCH,
      a.pointerTo(i * each * inner),
      b.pointerTo(i * inner * cols),
      null,
      each,
      inner,
      cols,
    ])
  })
  return recordKernel(y, {
    inputs: [a, b],
    saved: [a, b],
    backward: (dy, da, db) =>
      eachOf((i) =>
        runtime.run('gpt_conv1d_backward', [
          da && da.pointerTo(i * each * inner),
          db && db.pointerTo(i * inner * cols),
          null,
          SCRATCH,
          dy.pointerTo(i * each * cols),
          a.pointerTo(i * each * inner),
          b.pointerTo(i * inner * cols),
          each,
          inner,
          cols,
        ]),
      ),
  })
}
