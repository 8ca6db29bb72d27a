// A section's slice of the page's state, made from a list of fields. A field knows its initial value and how
// to read and write it in the address.

import { parseNumber, shortest } from './numbers.ts'

export interface Slice<S> {
  defaults(): S
  /** The values that differ from the defaults, by name; Page prefixes each name with "ID." */
  toQuery(state: S): Record<string, string>
  /** `refused` lists the names it does not know and the names whose values are invalid. */
  fromQuery(query: Map<string, string>): { state: S; refused: string[] }
  /** The fields that only select what is shown; undo does not change them. */
  views: string[]
}

/** The state of a slice. */
export type StateOf<S extends Slice<unknown>> = ReturnType<S['defaults']>

export interface Field<T> {
  initial: T
  /** The text's value; undefined if the text is invalid. */
  read(text: string): T | undefined
  write(value: T): string
}

type Limits = { min?: number; max?: number }

/**
 * A number that the section computes with as a float32: the address has the shortest decimal for it.
 *
 * @param limits step: the step of the number's slider. Only multiples of it are allowed
 */
export function number(
  initial: number,
  { min = -Infinity, max = Infinity, step }: Limits & { step?: number } = {},
): Field<number> {
  const read = (text: string) => {
    const value = text.trim() === '' ? NaN : Number(text)
    const steps = step ? value / step : 0
    const isOnStep = Math.abs(steps - Math.round(steps)) < 1e-6 // 1.84 / 0.01 is 184.00000000000003
    return Number.isFinite(value) && value >= min && value <= max && isOnStep ? value : undefined
  }
  return { initial, read, write: shortest }
}

export function integer(initial: number, limits?: Limits): Field<number> {
  const { read } = number(initial, limits)
  return {
    initial,
    write: String,
    read: (text) => {
      const value = read(text)
      return Number.isInteger(value) ? value : undefined
    },
  }
}

export const seed = (initial: number) => integer(initial, { min: 0, max: 2 ** 32 - 1 })

export function choice<const T extends string>(initial: T, choices: readonly T[]): Field<T> {
  return { initial, read: (text) => choices.find((one) => one === text), write: (value) => value }
}

/**
 * A list of finite float32.
 *
 * @param options lengths: that it may have; each: the limits of every number
 */
export function numbers(
  initial: number[],
  { lengths = [initial.length], each }: { lengths?: readonly number[]; each?: Limits } = {},
): Field<number[]> {
  const one = number(0, each)
  const read = (line: string) => {
    const values = line === '' ? [] : line.split(',').map(one.read)
    const known = values.map((value = NaN) => Math.fround(value))
    return known.every(Number.isFinite) && lengths.includes(known.length) ? known : undefined
  }
  return { initial, read, write: (values) => values.map(one.write).join(',') }
}

/** Changed numbers, by the name of their cell: x12:0.5,w31:-2 in the address. */
export function edits(
  isCell: (name: string) => boolean,
  { min = -Infinity, max = Infinity }: Limits = {},
): Field<Record<string, number>> {
  return {
    initial: {},
    read(text) {
      const found: Record<string, number> = {}
      for (const part of text === '' ? [] : text.split(',')) {
        const [name, number, ...rest] = part.split(':')
        const value = parseNumber(number ?? '')
        if (!isCell(name) || value === null || value < min || value > max || rest.length) return undefined
        found[name] = value
      }
      return found
    },
    write: (found) =>
      Object.entries(found)
        .map(([name, value]) => `${name}:${shortest(value)}`)
        .join(','),
  }
}

type Values<Fields extends Record<string, Field<unknown>>> = {
  [Name in keyof Fields]: Fields[Name]['initial']
}

/** @param options `views` as in Slice */
export function slice<Fields extends Record<string, Field<unknown>>>(
  fields: Fields,
  { views = [] }: { views?: string[] } = {},
): Slice<Values<Fields>> {
  type State = Values<Fields>
  const entries = Object.entries(fields)
  const defaults = () =>
    structuredClone(Object.fromEntries(entries.map(([name, { initial }]) => [name, initial]))) as State
  return {
    views,
    defaults,
    toQuery: (state) =>
      Object.fromEntries(
        entries
          .map(([name, { initial, write }]) => [name, write(state[name]), write(initial)])
          .filter(([, now, initial]) => now !== initial),
      ),
    fromQuery(query) {
      const refused = []
      const read: Record<string, unknown> = {}
      for (const [name, line] of query) {
        const value = Object.hasOwn(fields, name) ? fields[name].read(line) : undefined
        if (value === undefined) refused.push(name)
        else read[name] = value
      }
      return { state: { ...defaults(), ...read }, refused }
    },
  }
}
