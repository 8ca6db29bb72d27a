import { fail } from '../errors.ts'
import { run, SCRATCH } from '../runtime/runtime.ts'
import { temporary } from '../runtime/scope.ts'
import { operation } from './operation.ts'
import { broadcast, eachIndex, leading, mergedAxes } from './shape.ts'
import { recordKernel } from './tape.ts'
import { checkTensor, Tensor } from './tensor.ts'

/**
 * The matrix product, as torch.matmul. The leading axes broadcast.
 *
 * @param other [..., inner, cols], or a vector: [inner]
 * @returns [..., rows, cols] for x [..., rows, inner]; without rows where x is a vector, [inner], and without
 *   cols where the other one is
 * @example gpt.ones([4, 2, 3]).matmul(gpt.ones([4, 3, 5])).shape // [4, 2, 5]
 * @example gpt.tensor([1, 2]).matmul(gpt.tensor([3, 4])).item() // 11
 */
export const matmul = /* @__PURE__ */ operation((x: Tensor, other: Tensor): Tensor => {
  checkTensor('other', other)
  const inner = x.shape.at(-1)
  if (inner === undefined) throw fail('SHAPE', 'the tensor', 'have at least 1 axis', x.shape)
  if ((other.shape.at(-2) ?? other.shape[0]) !== inner) {
    const expected = `have shape [..., ${inner}, cols] or [${inner}] for a tensor of shape [${x.shape.join(', ')}]`
    throw fail('SHAPE', 'other', expected, other.shape)
  }
  const [isRow, isColumn] = [x.shape.length === 1, other.shape.length === 1]
  if (!isRow && !isColumn) return products(x, other)
  return temporary(() => {
    const y = products(isRow ? x.reshape([1, inner]) : x, isColumn ? other.reshape([inner, 1]) : other)
    const [rows, cols] = y.shape.slice(-2)
    return y.reshape([...y.shape.slice(0, -2), ...(isRow ? [] : [rows]), ...(isColumn ? [] : [cols])])
  })
})

/**
 * Calls the kernel once for each matrix of a. Neighboring matrices of a that are multiplied by the same matrix
 * of b take one call together.
 *
 * @param a [..., rows, inner]
 * @param b [..., inner, cols]; the leading axes broadcast
 * @returns [..., rows, cols]
 */
function products(a: Tensor, b: Tensor): Tensor {
  const [leadingA, leadingB] = [leading(a.shape, 2), leading(b.shape, 2)]
  const outer = broadcast(leadingA, leadingB, "other's leading axes")
  const [rows, inner] = [...a.shape].slice(-2)
  const [cols] = [...b.shape].slice(-1)
  const axes = mergedAxes(outer, leadingA, leadingB)
  const last = axes.at(-1)
  const isOne = last !== undefined && last.steps[0] === 1 && last.steps[1] === 0
  const each = isOne ? last.size * rows : rows
  if (isOne) axes.pop()
  const y = Tensor.empty([...outer, rows, cols])
  // Conv1D without a bias is a matrix product.
  const forward = (i: number, [ia, ib]: readonly number[]) =>
    run('gpt_conv1d_forward', [
      y.pointerTo(i * each * cols),
      SCRATCH,
      a.pointerTo(ia * rows * inner),
      b.pointerTo(ib * inner * cols),
      null,
      each,
      inner,
      cols,
    ])
  if (y.size > 0) eachIndex(axes, 2, forward)
  return recordKernel(y, {
    inputs: [a, b],
    saved: [a, b],
    backward: (dy, da, db) => {
      // Where an operand is repeated, the gradients of its uses are added up.
      const part = (gradient: Tensor | null, operand: number, size: number) => {
        if (gradient === null || axes.every(({ steps }) => steps[operand] !== 0)) return null
        gradient.data.fill(0)
        return Tensor.empty([size])
      }
      const [partA, partB] = [part(da, 0, each * inner), part(db, 1, inner * cols)]
      const add = (gradient: Tensor | null, begin: number, one: Tensor | null) => {
        if (gradient === null || one === null) return
        const sum = gradient.pointerTo(begin)
        run('gpt_add', [sum, sum, one, 1, one.size, 0, 1, 0, 1])
      }
      eachIndex(axes, 2, (i, [ia, ib]) => {
        const [beginA, beginB] = [ia * rows * inner, ib * inner * cols]
        run('gpt_conv1d_backward', [
          partA ?? (da && da.pointerTo(beginA)),
          partB ?? (db && db.pointerTo(beginB)),
          null,
          SCRATCH,
          dy.pointerTo(i * each * cols),
          a.pointerTo(beginA),
          b.pointerTo(beginB),
          each,
          inner,
          cols,
        ])
        add(da, beginA, partA)
        add(db, beginB, partB)
      })
    },
  })
}
