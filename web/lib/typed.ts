// Typed arrays and buffers. `instanceof` would refuse those of another realm, which a test runner such as
// Jest hands to a program.

import { describe } from './check.ts'
import { fail } from './errors.ts'

/** A typed array of numbers, not of bigints. */
export type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float16

/** Float16Array, in a project whose TypeScript knows it. */
type Float16 = typeof globalThis extends { Float16Array: { prototype: infer T } } ? T : never

/** Integers of 64 bits, such as the token ids of transformers.js and onnxruntime. */
export type BigIntArray = BigInt64Array | BigUint64Array

export const isBigInts = (value: unknown): value is BigIntArray =>
  ArrayBuffer.isView(value) && ['BigInt64Array', 'BigUint64Array'].includes(tagOf(value))

/** The name of a platform's class, such as 'Float32Array'. That of a tensor has all its values: it takes long. */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice('[object '.length, -1)

export const isTyped = (value: unknown): value is NumberArray =>
  ArrayBuffer.isView(value) && tagOf(value) !== 'DataView' && !isBigInts(value)

export const isBytes = (value: unknown): value is Uint8Array | ArrayBuffer =>
  ['Uint8Array', 'ArrayBuffer', 'SharedArrayBuffer'].includes(tagOf(value))

/**
 * Refuses an array whose memory is gone. Its length is then 0, so it would look like an empty array.
 *
 * @throws {GptLayersError} VALUE where its memory was transferred, or made too small for it
 */
export function checkMemory(name: string, value: NumberArray | BigIntArray | ArrayBuffer): void {
  try {
    value.slice(0, 0)
  } catch (cause) {
    const found = `${describe(value)} whose memory was transferred or made smaller`
    throw fail('VALUE', name, 'be readable', found, cause)
  }
}

/**
 * @returns a view of the same memory, and no Buffer of Node, whose `slice` does not copy
 * @throws {GptLayersError} VALUE for one whose memory is gone
 */
export function checkBytes(name: string, value: unknown): Uint8Array {
  if (!isBytes(value)) throw fail('TYPE', name, 'be a Uint8Array or an ArrayBuffer', describe(value))
  checkMemory(name, value)
  if (!ArrayBuffer.isView(value)) return new Uint8Array(value)
  const { buffer, byteOffset, byteLength } = value
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** Bytes for a Blob, `fetch` and crypto.subtle, also for a TypeScript in which Uint8Array has no parameter. */
export type Bytes = ReturnType<Uint8ArrayConstructor['of']>

/**
 * A class of WebAssembly, in a project that has its type, such as the DOM library's.
 *
 * @param Otherwise what the package needs of it
 */
export type Wasm<Name extends string, Otherwise> = typeof globalThis extends {
  WebAssembly: Record<Name, { prototype: infer T }>
}
  ? T
  : Otherwise

/** The method for `using`, in a project whose TypeScript knows Symbol.dispose. */
export type Disposes = { [K in DisposeKey]: () => void }
type DisposeKey = SymbolConstructor extends { readonly dispose: infer S extends symbol } ? S : never
