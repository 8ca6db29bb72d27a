import { sameShape } from '../check.ts'
import { fail } from '../errors.ts'
import { run, SCRATCH } from '../runtime/runtime.ts'
import { checkLive } from './check.ts'
import { repeat } from './elementwise.ts'
import { temporary } from './scope.ts'
import { broadcast, sizeOf } from './shape.ts'
import { recordKernel } from './tape.ts'
import { Tensor } from './tensor.ts'

/**
 * As torch.matmul. The leading axes broadcast; a vector is a matrix of one row, or as b of one column, and the
 * result has no axis for it.
 *
 * @param a [..., rows, inner] or [inner]
 * @param b [..., inner, cols] or [inner]
 * @returns [..., rows, cols]
 */
export function matmul(a: Tensor, b: Tensor): Tensor {
  checkLive(a)
  const inner = a.shape.at(-1)
  if (inner === undefined) throw fail('SHAPE', 'the tensor', 'have at least 1 axis', a.shape)
  if ((b.shape.at(-2) ?? b.shape[0]) !== inner) {
    const expected = `have shape [..., ${inner}, cols] or [${inner}] for a tensor of shape [${a.shape.join(', ')}]`
    throw fail('SHAPE', 'other', expected, b.shape)
  }
  const [isRow, isColumn] = [a.shape.length === 1, b.shape.length === 1]
  const fits = b.shape.length === 2 || sameShape(a.shape.slice(0, -2), b.shape.slice(0, -2))
  if (!isRow && !isColumn && fits) return products(a, b)
  return temporary(() => {
    const x = isRow ? a.reshape([1, inner]) : a
    const w = isColumn ? b.reshape([inner, 1]) : b
    const leading = broadcast(x.shape.slice(0, -2), w.shape.slice(0, -2), "other's leading axes")
    const y =
      w.shape.length === 2
        ? products(x, w)
        : products(
            repeat(x, [...leading, ...x.shape.slice(-2)]),
            repeat(w, [...leading, ...w.shape.slice(-2)]),
          )
    if (!isRow && !isColumn) return y
    const [rows, cols] = y.shape.slice(-2)
    return y.reshape([...leading, ...(isRow ? [] : [rows]), ...(isColumn ? [] : [cols])])
  })
}

/**
 * @param a [..., rows, inner]
 * @param b [..., inner, cols], with the same leading axes as a or none
 * @returns [..., rows, cols]
 */
function products(a: Tensor, b: Tensor): Tensor {
  const [rows, inner] = a.shape.slice(-2)
  const [cols] = b.shape.slice(-1)
  // One product for each matrix of b.
  const count = sizeOf(b.shape.slice(0, -2))
  const each = (sizeOf(a.shape.slice(0, -2)) / Math.max(count, 1)) * rows
  const eachOf = (run: (i: number) => void) => {
    for (let i = 0; i < count; i++) run(i)
  }
  const y = Tensor.empty([...a.shape.slice(0, -1), cols])
  // Conv1D without a bias is a matrix product.
  eachOf((i) => {
    if (y.size === 0) return
    run('gpt_conv1d_forward', [
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
        run('gpt_conv1d_backward', [
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
