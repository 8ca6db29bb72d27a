// The checks of arguments at the edge of the public API.
//
// Each check takes the argument's name, and throws a GptLayersError: `name should be ..., got ...`. named, nameMethods
// and construct put the name of the public function before the message.

import { fail, GptLayersError, withName } from './errors.ts'

/** Longer strings, longer names of tensors, and longer arrays are not shown whole in error messages. */
const MAX_STRING = 40
const MAX_NAME = 100
const MAX_ARRAY = 8

/** PyTorch's options that have one value here. */
const FIXED: Readonly<Record<string, string>> = {
  dtype: 'all tensors are float32',
  device: 'all tensors are on the CPU',
  out: 'every result is a new tensor',
}

/**
 * A short text for any value, for an error message: `3`, `"tanh"`, `[2, 5]`, `an array of 100`, `a Tensor`.
 */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
      return `${cut(String(value))}n`
    case 'string':
      return JSON.stringify(cut(value))
    case 'function':
      return `function ${nameOf(value) ?? '(anonymous)'}`
    case 'object':
      return describeObject(value)
    default:
      return cut(String(value)) // undefined, a boolean or a symbol
  }
}

function describeObject(value: object): string {
  if (Array.isArray(value)) {
    const length = Number(value.length)
    const items = length <= MAX_ARRAY ? Array.from({ length }, (_, i) => value[i]) : [undefined]
    return items.every((item) => typeof item === 'number') ? `[${items.join(', ')}]` : `an array of ${length}`
  }
  if (value instanceof Promise) value.catch(() => {}) // the error stands for it: nobody waits for the Promise
  const name = nameOf(Object.getPrototypeOf(value)?.constructor)
  if (name === undefined || name === 'Object') return `an object${Object.keys(value).map(note).join('')}`
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}

/** Why there is no such option here, for an error message. */
const note = (option: string): string => (Object.hasOwn(FIXED, option) ? ` (${FIXED[option]})` : '')

const cut = (text: string, most: number = MAX_STRING): string =>
  text.length > most ? `${text.slice(0, most)}…` : text

export const shortName = (name: string): string => cut(name, MAX_NAME)

function nameOf(value: { name?: unknown } | undefined): string | undefined {
  const name = value?.name
  return typeof name === 'string' && name !== '' ? cut(name) : undefined
}

/** @param expected in words: `an array of sizes` */
export function checkArray(name: string, value: unknown, expected: string): asserts value is unknown[] {
  if (!Array.isArray(value)) throw fail('TYPE', name, `be ${expected}`, describe(value))
}

/** @param expected in words; nobody can check what the function takes and returns */
export function checkFunction<T extends Function>(
  name: string,
  value: unknown,
  expected: string = 'a function',
): asserts value is T {
  if (typeof value !== 'function') throw fail('TYPE', name, `be ${expected}`, describe(value))
}

export function checkBoolean(name: string, value: unknown): asserts value is boolean {
  if (typeof value !== 'boolean') throw fail('TYPE', name, 'be true or false', describe(value))
}

/** @param expected the allowed values in words */
export function checkNumber(
  name: string,
  value: unknown,
  expected: string = 'a number',
  isAllowed: (value: number) => boolean = () => true,
): asserts value is number {
  if (typeof value !== 'number') throw fail('TYPE', name, `be ${expected}`, describe(value))
  if (!isAllowed(value)) throw fail('VALUE', name, `be ${expected}`, describe(value))
}

/** @param note what the bound is, in words */
export function checkInteger(
  name: string,
  value: unknown,
  low: number,
  high: number,
  note: string = '',
): asserts value is number {
  const isAllowed = (n: number) => Number.isInteger(n) && n >= low && n <= high
  checkNumber(name, value, `an integer from ${low} to ${high}${note}`, isAllowed)
}

/** Throws where the argument or the option of this name must not have the value. */
export type Check = (name: string, value: unknown) => void
type NumberCheck = (name: string, value: unknown) => asserts value is number

/** The check that `checkNumber` does. */
export function number(expected: string, isAllowed: (value: number) => boolean): NumberCheck {
  return (name, value) => checkNumber(name, value, expected, isAllowed)
}

export function integer(low: number, high: number, note?: string): NumberCheck {
  return (name, value) => checkInteger(name, value, low, high, note)
}

/** @returns a check that a value is one of these strings */
export function oneOf(...choices: readonly string[]): Check {
  const expected = choices.map((choice) => `'${choice}'`).join(' or ')
  return (name, value) => {
    if (typeof value !== 'string') throw fail('TYPE', name, `be ${expected}`, describe(value))
    if (!choices.includes(value)) throw fail('VALUE', name, `be ${expected}`, describe(value))
  }
}

/** A number of things of which there is at least one: features, tokens, layers. */
export const checkSize: NumberCheck = /* @__PURE__ */ number(
  'a positive integer',
  (n) => Number.isSafeInteger(n) && n > 0,
)

/** The size of an axis. */
export const checkAxisSize: NumberCheck = /* @__PURE__ */ number(
  'a non-negative integer',
  (n) => Number.isSafeInteger(n) && n >= 0,
)

export const checkFinite: NumberCheck = /* @__PURE__ */ number('a finite number', Number.isFinite)

/** A rate or a factor, such as a learning rate. */
export const checkNonNegative: NumberCheck = /* @__PURE__ */ number(
  'a finite number >= 0',
  (n) => n >= 0 && n < Infinity,
)

/** A number such as eps, which kernels read as float32. */
export const checkNonNegativeFloat32: NumberCheck = /* @__PURE__ */ number(
  'a finite float32 >= 0',
  (n) => n >= 0 && Math.fround(n) < Infinity,
)

/** A probability, or a share such as BatchNorm's momentum. */
export const checkProbability: NumberCheck = /* @__PURE__ */ number(
  'a number from 0 to 1',
  (n) => n >= 0 && n <= 1,
)

/**
 * An options object, or undefined for one without options.
 *
 * @param defaults as for `knownOptions`. One that is true or false is checked to be one of these
 * @param checks of the others
 * @returns the given values, or the defaults where none or undefined was given
 */
export function checkOptions<T extends object>(
  options: unknown,
  defaults: T,
  checks: { readonly [name in keyof T]?: Check } = {},
): T {
  const result = knownOptions(options, defaults)
  for (const name in result) {
    const [usual, value] = [defaults[name], result[name]]
    if (value === usual) continue
    if (typeof usual === 'boolean') checkBoolean(name, value)
    checks[name]?.(name, value)
  }
  return result
}

/**
 * As `checkOptions`, but the values are not checked. Unknown names are refused, because they are nearly always
 * misspelled.
 *
 * @param defaults the name and the default value of every option. The first is the one that PyTorch takes as
 *   an argument in this place
 * @param name of the argument
 */
export function knownOptions<T extends object>(options: unknown, defaults: T, name: string = 'options'): T {
  const result = { ...defaults }
  if (options === undefined) return result
  if (!isPlainObject(options)) {
    throw fail('TYPE', name, 'be a plain object', describe(options) + optionHint(options, defaults))
  }
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(defaults, key)) {
      const known = Object.keys(defaults).join(', ')
      throw fail('VALUE', name, `be among ${known}`, describe(key) + note(key))
    }
    const value = options[key]
    if (value !== undefined) result[key as keyof T] = value as T[keyof T]
  }
  return result
}

/** How a value that came in place of the options is written: `; write { dim: -1 }`; '' where it fits none. */
function optionHint(value: unknown, defaults: object): string {
  for (const [key, usual] of Object.entries(defaults)) {
    const isNumber = typeof value === 'number' && ['dim', 'lr', 'min'].includes(key) // their default is no number
    const isSame = typeof value === typeof usual && isShown(value)
    return isNumber || isSame ? writeOptions([key], [value]) : ''
  }
  return ''
}

const writeOptions = (names: readonly string[], values: readonly unknown[]): string => {
  const written = values.map((value, i) => (isShown(value) ? `${names[i]}: ${describe(value)}` : names[i]))
  return `; write { ${written.join(', ')} }`
}

/** Whether an error shows the value itself, not what kind it is of: a number, not a Tensor. */
const isShown = (value: unknown): boolean =>
  typeof value === 'object' ? /^\[/.test(describe(value)) : typeof value !== 'function'

/** An object of names and values, of any realm: no Tensor, Map or array, which have none of the names. */
export function checkObject(name: string, value: unknown): Record<string, unknown> {
  if (isPlainObject(value)) return value
  throw fail('TYPE', name, 'be a plain object', describe(value))
}

/** Whether the prototype is null or Object.prototype, also that of another realm: its prototype is null. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * Throws TYPE for more than `most` arguments. Undefined does not count.
 *
 * @param inPyTorch what PyTorch takes as arguments here: options by their names, in its order; or '...' for the
 *   numbers of an array. A hint then says how they are written
 */
export function checkCount(
  args: ArrayLike<unknown>,
  most: number,
  name: string = '',
  inPyTorch: string = '',
): void {
  for (let i = most; i < args.length; i++) {
    if (args[i] === undefined) continue
    const expected = most === 0 ? 'no arguments' : `at most ${most} argument${most === 1 ? '' : 's'}`
    const given = Array.from(args.length > MAX_ARRAY ? [] : args, describe).join(', ')
    const found = given && `: ${given}${countHint(name, Array.from(args), most, inPyTorch)}`
    throw new GptLayersError('TYPE', `takes ${expected}, got ${args.length}${found}`)
  }
}

/** @returns such as `; write zeros([2, 3])`, or '' where nothing is known of the function */
function countHint(name: string, args: readonly unknown[], most: number, inPyTorch: string): string {
  const rest = args.slice(most - 1)
  if (inPyTorch === '...' && rest.every((one) => typeof one === 'number')) {
    const before = args.slice(0, most - 1).map(() => 'x, ')
    return `; write ${name}(${before.join('')}${describe(rest)})`
  }
  const names = inPyTorch.split(' ')
  const areGiven = rest.every((one) => one !== undefined && !isPlainObject(one))
  return areGiven && inPyTorch && rest.length <= names.length ? writeOptions(names, rest) : ''
}

/**
 * A public function of one of ours: its errors begin with its name, and it refuses arguments that it does not read.
 *
 * @param name or what gives it for the object whose method is called
 * @param fn declares each argument, and none with a default value: its `length` counts them
 * @param inPyTorch see `checkCount`
 */
export function named<F extends (...args: never[]) => unknown>(
  name: string | ((self: object) => string),
  fn: F,
  inPyTorch?: string,
  most: number = fn.length,
): F {
  const nameOf = typeof name === 'string' ? () => name : name
  return function (this: object, ...args: never[]): unknown {
    try {
      if (args.length > most) checkCount(args, most, nameOf(this), inPyTorch)
      return fn.apply(this, args)
    } catch (error) {
      throw withName(error, nameOf(this))
    }
  } as unknown as F
}

/**
 * Runs the body of a constructor of ours. Its errors begin with the name of the class that is made: who makes a
 * GPTModel reads `GPTModel: nHeads should be ...`, though an Attention inside has thrown it.
 *
 * @param Class `new.target`: of ours, or of the user's, which extends ours
 * @param most how many arguments the constructor reads
 * @param inPyTorch see `checkCount`
 */
export function construct<T>(
  Class: Function,
  args: ArrayLike<unknown>,
  most: number,
  body: () => T,
  inPyTorch?: string,
): T {
  const name = Object.hasOwn(Class, 'ownName') ? Reflect.get(Class, 'ownName') : Class.name
  try {
    checkCount(args, most, name, inPyTorch)
    return body()
  } catch (error) {
    throw withName(error, name, { isClass: true })
  }
}

export type Method = (...args: never[]) => unknown

/** A method of a class of ours; see `nameMethods`. */
export const namedMethod = (key: string, method: Method): Method =>
  named((self) => `${self.constructor.name}.${key}`, method)

const seen: WeakSet<object> = new WeakSet()

/**
 * Lets the errors of the methods of a class of ours begin with the name of the class, of the user's where it
 * extends ours, and of the method; and checks how many arguments each method gets. The constructors of our
 * classes call it. An app that does not use a class then does not ship it, as it would if this ran at the import.
 *
 * A class of ours has its name in the static field `ownName`, too, because an app's minifier may change the name
 * of a class. Its key is no symbol: esbuild and webpack keep an unused class with a computed static field.
 *
 * A method reads as many arguments as its `length` says. So it declares each, and none with a default value.
 * Static methods, getters, and methods under a symbol are left alone: our own code calls them. A class with `dispose`
 * gets the method for `using`, where JavaScript has it.
 *
 * @param Class the class that is made, with all that it extends
 * @param wrap makes the named method
 */
export function nameMethods(
  Class: object,
  wrap: (key: string, method: Method) => Method = namedMethod,
): void {
  for (let one = Class; typeof one === 'function' && !seen.has(one); one = Object.getPrototypeOf(one)) {
    seen.add(one)
    if (!Object.hasOwn(one, 'ownName')) continue
    Object.defineProperty(one, 'name', { value: Reflect.get(one, 'ownName') })
    const descriptors = Object.getOwnPropertyDescriptors(one.prototype)
    if (Symbol.dispose && descriptors.dispose) {
      const value = function (this: { dispose: () => void }) {
        this.dispose()
      }
      Object.defineProperty(one.prototype, Symbol.dispose, { value, writable: true, configurable: true })
    }
    for (const [key, descriptor] of Object.entries<PropertyDescriptor>(descriptors)) {
      if (key === 'constructor') continue
      if (typeof descriptor.value === 'function') descriptor.value = wrap(key, descriptor.value)
      if (descriptor.set) descriptor.set = wrap(key, descriptor.set)
      Object.defineProperty(one.prototype, key, descriptor)
    }
  }
}

/** What is read of an AbortSignal: the types of the package do not need those of the DOM. */
export interface SignalLike {
  aborted: boolean
  reason: unknown
  throwIfAborted: () => void
  addEventListener: (type: 'abort', listener: () => void) => void
  removeEventListener: (type: 'abort', listener: () => void) => void
}

export function checkSignal(name: string, value: unknown): asserts value is SignalLike | undefined {
  if (value === undefined || isSignal(value)) return
  throw fail('TYPE', name, 'be an AbortSignal', describe(value))
}

const isSignal = (value: unknown): value is SignalLike =>
  typeof value === 'object' &&
  value !== null &&
  typeof Reflect.get(value, 'aborted') === 'boolean' &&
  typeof Reflect.get(value, 'addEventListener') === 'function'
