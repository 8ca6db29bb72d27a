import { checkInteger, checkOptions } from '../check.ts'
import { operation } from './operation.ts'
import type { Extremes } from './reduce.ts'
import { axisOf, checkAxis, checkIndexed, rowBegin } from './shape.ts'
import { pick } from './slice.ts'
import { Tensor } from './tensor.ts'

export interface TopkOptions {
  /** the axis, negative from the end; -1 by default */
  dim?: number
  /** true, the default, for the largest elements; false for the smallest, the smallest first */
  largest?: boolean
}

/**
 * The k largest elements along an axis, the largest first, and their indices along that axis, as torch.topk. Of equal
 * elements the one with the lower index comes first; PyTorch promises no order of these. NaN counts as the
 * largest, as in PyTorch.
 *
 * @param k at most the size of the axis
 * @returns two tensors, with k in place of the size of the axis
 * @throws {GptLayersError} SHAPE where the axis has more than 2^24 elements
 * @example gpt.tensor([1, 7, 5]).topk(2).indices.toArray() // [1, 2]
 */
export const topk = /* @__PURE__ */ operation((x: Tensor, k: number, options?: TopkOptions): Extremes => {
  const given = checkOptions<Required<TopkOptions>>(options, { dim: -1, largest: true })
  const { shape } = x
  const axis = checkAxis('dim', given.dim, shape.length)
  const { size, outer, inner } = axisOf(shape, axis)
  checkInteger('k', k, shape.length === 0 ? 1 : 0, size)
  checkIndexed(size, shape)
  const indices = Tensor.empty(shape.map((size, i) => (i === axis ? k : size)))
  const [from, to] = [x.data, indices.data]
  const row = new Float32Array(size)
  const sign = given.largest ? 1 : -1 // the smallest are the largest of -x
  for (let i = 0; i < outer * inner; i++) {
    const [inWhole, inBest] = [rowBegin(i, size, inner), rowBegin(i, k, inner)]
    const nans: number[] = []
    for (let j = 0; j < size; j++) {
      row[j] = sign * from[inWhole + j * inner]
      if (Number.isNaN(row[j])) nans.push(j)
    }
    // `largest` leaves out NaN, which is the largest in PyTorch.
    const others = largest(row, k)
    const best = given.largest ? [...nans, ...others] : [...others, ...nans]
    for (let j = 0; j < k; j++) to[inBest + j * inner] = best[j]
  }
  return { values: pick(x, axis, to.slice(), indices.shape), indices }
}, 'dim largest')

/**
 * @returns the indices of the `count` largest values, the largest first; of equal ones the lower index. Fewer
 *   where there are fewer; without those of NaN
 */
export function largest(values: Float32Array, count: number): Int32Array {
  const first = new Int32Array(Math.min(count, values.length))
  let [size, i] = [0, 0]
  for (; i < values.length && size < first.length; i++) if (!Number.isNaN(values[i])) first[size++] = i
  const heap = first.subarray(0, size) // the root is the worst of the best so far
  for (let root = size >> 1; root-- > 0;) siftDown(heap, root, values)
  let least = values[heap[0]]
  for (; i < values.length; i++) {
    // Skips four values in one step: hardly any is larger than the least of the best.
    while (
      i + 4 < values.length &&
      !(values[i] > least || values[i + 1] > least || values[i + 2] > least || values[i + 3] > least)
    )
      i += 4
    if (!(values[i] > least)) continue
    heap[0] = i
    siftDown(heap, 0, values)
    least = values[heap[0]]
  }
  return heap.sort((a, b) => values[b] - values[a] || a - b)
}

/** Moves the index at `root` down to its place. */
function siftDown(heap: Int32Array, root: number, values: Float32Array): void {
  const index = heap[root]
  const isWorse = (a: number, b: number) => values[a] < values[b] || (values[a] === values[b] && a > b)
  for (;;) {
    let child = 2 * root + 1
    if (child + 1 < heap.length && isWorse(heap[child + 1], heap[child])) child++
    if (child >= heap.length || !isWorse(heap[child], index)) break
    heap[root] = heap[child]
    root = child
  }
  heap[root] = index
}
