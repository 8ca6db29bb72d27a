// Copies values into tensors: for loadStateDict, whose values are in memory, and for files as they arrive.

import type { Memory } from '../runtime/memory.ts'
import type { Matrices } from './matrix.ts'
import { shortName } from '../check.ts'
import { fail } from '../errors.ts'
import { heap } from '../runtime/runtime.ts'
import { checkTensor, Tensor } from '../tensor/tensor.ts'
import { type Match, type TensorInfo, matchNames } from './names.ts'
import type { Values } from './dtypes.ts'
import { type RowWriter, rowsAndCols } from './reading.ts'
import { checkSameShape } from '../tensor/shape.ts'

/** What reads and writes int8 weights; null for a layer without matrices. */
const int8In = (matrices: Matrices) => matrices.values().next().value?.int8 ?? null

/** Writes values to the tensors that matched. A new layer's tensor gets memory with its first values. */
export class Copier {
  #int8
  /** The matches of a tensor of the file, or of scales. */
  #matches: Map<TensorInfo, Match[]> = new Map()
  /** Of a tensor with two names, the one that came first in the file: under it the tensor gets its values. */
  #firstNames: Map<Tensor, string> = new Map()

  /**
   * Checks the shapes. Nothing is written yet.
   *
   * @param memory the heap of the tensors. Whoever calls a `write` has checked that it is live
   * @param dtype what a float32 matrix of a new layer becomes
   * @throws {GptLayersError} SHAPE, VALUE; MEMORY
   */
  constructor(memory: Memory, matrices: Matrices, matches: readonly Match[], dtype: 'float32' | 'int8') {
    for (const match of matches) {
      checkFits(match)
      for (const info of match.scale ? [match.info, match.scale] : [match.info]) {
        this.#matches.set(info, [...(this.#matches.get(info) ?? []), match])
      }
    }
    this.#int8 = int8In(matrices)?.newWriter(memory, matrices, matches, dtype) ?? null
  }

  /** Frees the memory that it needed. */
  end(): void {
    this.#int8?.end()
  }

  /** What writes the values of a tensor of the file to all our tensors that it matched. */
  writerOf(info: TensorInfo): RowWriter | null {
    const writers = (this.#matches.get(info) ?? []).map((match) => this.#writerOf(match, info))
    if (writers.length < 2) return writers[0] ?? null
    return {
      alignment: writers.reduce((n, { alignment }) => (n % alignment ? n * alignment : n), 1),
      write: (...rows) => writers.forEach(({ write }) => write(...rows)),
    }
  }

  #writerOf(match: Match, info: TensorInfo): RowWriter {
    const { name, target } = match
    const int8 = this.#int8?.writerOf(match, info)
    return {
      alignment: int8?.alignment ?? 1,
      write: (values, first, rows) => {
        const firstName = this.#firstNames.get(target) ?? name
        this.#firstNames.set(target, firstName)
        if (int8) {
          if (firstName === name) int8.write(values, first, rows)
        } else if (firstName === name) {
          if (target.isMeta) Tensor.materialize(target)
          target.changed()
          copyRows(match, target.data, values, first, rows)
        } else checkTied(match, firstName, target.data, values, first, rows)
      },
    }
  }
}

/** Checks the shape of a tensor of the file, which may be transposed, or a part of ours. */
function checkFits({ target, transposed, part, info }: Match): void {
  const shape = transposed ? [...target.shape].reverse() : [...target.shape]
  if (part !== null) shape[0] /= 3
  checkSameShape(shortName(info.name), info.shape, shape)
}

/** Where an element of the file's matrix is in our tensor: that of [row, 0], and how far [row, 1] is from it. */
function indexOf({ target, transposed, part, info }: Match, row: number): { at: number; step: number } {
  const cols = target.shape.length === 2 ? target.shape[1] : 1
  const ownRow = (part ?? 0) * info.shape[0] + row
  return transposed ? { at: ownRow, step: cols } : { at: ownRow * cols, step: 1 }
}

/** Copies rows of the file's matrix to their place in our tensor's data. */
function copyRows(match: Match, data: Float32Array, values: Values, first: number, rows: number): void {
  const { at, step } = indexOf(match, first)
  if (step === 1) {
    data.set(values, at)
    return
  }
  const cols = values.length / rows
  for (let c = 0; c < cols; c++) {
    for (let r = 0, to = at + c * step; r < rows; r++) data[to + r] = values[r * cols + c]
  }
}

/** @throws {GptLayersError} VALUE where a tensor of two names has got other values under the first */
function checkTied(
  match: Match,
  firstName: string,
  data: Float32Array,
  values: Values,
  first: number,
  rows: number,
): void {
  const cols = values.length / rows
  for (let r = 0; r < rows; r++) {
    const { at, step } = indexOf(match, first + r)
    for (let c = 0; c < cols; c++) {
      if (Object.is(values[r * cols + c], data[at + c * step])) continue
      throw fail('VALUE', match.name, `be ${firstName}, with which it is tied`, 'other values')
    }
  }
}

/** What PyTorch's load_state_dict returns. */
export interface LoadedKeys {
  missingKeys: string[]
  unexpectedKeys: string[]
}

/** Gives all values of a tensor. */
export type Read = (info: TensorInfo) => Values

/**
 * Copies tensors into those of a layer. Each stays float32 or int8. Everything is checked before anything is
 * changed.
 *
 * @param own the layer's state dict
 */
export function copyDict(
  own: Record<string, Tensor>,
  matrices: Matrices,
  dict: Record<string, unknown>,
  strict: boolean,
): LoadedKeys {
  const int8 = int8In(matrices)
  /** The values of each tensor, and of the scales of each int8 weight. */
  const values: Map<TensorInfo, () => Values> = new Map()
  const read: Read = (info) => values.get(info)?.() ?? new Float32Array(0)
  const isOwn: Set<unknown> = new Set(Object.values(own))
  for (const [name, value] of Object.entries(dict)) {
    for (const [info, read] of int8?.entriesOf(name, value) ?? [tensorEntry(name, value)]) {
      const copy = isOwn.has(value) ? read().slice() : null // it may change before it is read
      values.set(info, copy ? () => copy : read)
    }
  }
  const { matches, missing, unknown } = matchNames(own, matrices, 'dict', [...values.keys()], strict)
  /** Each int8 value times its scale, where the layer's weight is float32 or has other groups. */
  const fitting = matches.map((match): Match => {
    const { name, target, scale } = match
    if (!int8?.isLive(`own ${name}`, target)) checkTensor(`own ${name}`, target)
    checkFits(match)
    if (!scale || int8?.fits(match)) return match
    const floats = { ...match.info, dtype: 'F32' }
    values.set(floats, () => floatsOf(match))
    return { ...match, info: floats, scale: null }
  })
  const floatsOf = (match: Match) => (match.scale && int8 ? int8.floatsOf(match, read) : read(match.info))
  const copier = new Copier(heap(), matrices, fitting, 'float32')
  try {
    for (const match of fitting) int8?.checkValues(match, read)
    checkAllTied(fitting, floatsOf)
    for (const info of values.keys()) copier.writerOf(info)?.write(read(info), 0, rowsAndCols(info.shape)[0])
  } finally {
    copier.end()
  }
  return { missingKeys: missing, unexpectedKeys: unknown }
}

function tensorEntry(name: string, value: unknown): [TensorInfo, () => Values] {
  const tensor = checkTensor(shortName(name), value)
  return [{ name, dtype: 'F32', shape: tensor.shape }, () => tensor.data]
}

/** Checks before anything is written what `Copier` finds only as it writes. */
function checkAllTied(matches: readonly Match[], floatsOf: (match: Match) => Values): void {
  /** The matches of each tensor under the first of its names. */
  const firsts: Map<Tensor, Match[]> = new Map()
  for (const match of matches) {
    const { name, info, target } = match
    const first = firsts.get(target) ?? []
    firsts.set(target, first)
    if (first.length === 0 || first[0].name === name) {
      first.push(match)
      continue
    }
    const data = new Float32Array(target.size)
    for (const one of first) copyRows(one, data, floatsOf(one), 0, rowsAndCols(one.info.shape)[0])
    checkTied(match, first[0].name, data, floatsOf(match), 0, rowsAndCols(info.shape)[0])
  }
}
