// Describes the numbers of a stack in sentences. Knows nothing of the page.

export interface Settings {
  /** The number of layers. */
  depth: number
  /** The deviation of the weights, times the root of their inputs. */
  gain: number
  activation: 'relu' | 'gelu' | 'none'
  seed: number
}

/** The numbers of one stack. Each list goes from the first layer to the last. */
export interface Snapshot {
  loss: number
  /** The mean of what goes into the layer's activation. */
  means: number[]
  /** The standard deviation of the same numbers. */
  deviations: number[]
  /** The norm of the loss's gradient by the same numbers. */
  gradients: number[]
  /** The same numbers for one sample. */
  samples: Float32Array[]
}

/** The same thing for both stacks: the one without layer norm and the one with it. */
export type Both<T> = { without: T; with: T }

/** What grows or shrinks by less than this factor keeps its size; by more than its square it is lost. */
const KEPT = 10
const LEARNED = 0.5 // a loss below this has learned
const GUESSING = 0.9 // always guessing the mean costs 1; a loss below this is better
const PATIENCE = 50 // steps before a stack is said not to learn

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'
/** @param n an integer */
export const superscript = (n: number) =>
  String(n)
    .replace('-', '⁻')
    .replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)])

/** @param value a power of ten */
export const power = (value: number): string =>
  value >= 0.1 && value <= 100 ? String(value) : `10${superscript(Math.round(Math.log10(value)))}`

/**
 * @param digits that count
 * @returns 0.41, 250 or 9.5·10⁻¹²
 */
export function short(value: number, digits = 2): string {
  if (!Number.isFinite(value)) return 'too large'
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size >= 1e-3 && size < 1e4) {
    const text = size >= 10 ** digits ? value.toFixed(0) : value.toPrecision(digits)
    return text.replace('-', '−')
  }
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e')
  return `${mantissa.replace('-', '−')}·10${superscript(Number(exponent))}`
}

export const isFinite = ({ loss, deviations, gradients }: Snapshot) =>
  [loss, ...deviations, ...gradients].every(Number.isFinite)

/**
 * How a size changes on its way through the layers.
 *
 * @param sizes in the order of the way
 * @returns left: the last size over the first
 */
export function travel(sizes: readonly number[]): {
  kind: 'vanishes' | 'explodes' | 'shrinks' | 'grows' | 'keeps its size'
  left: number
} {
  const left = sizes[sizes.length - 1] / sizes[0]
  if (!Number.isFinite(left) || left > KEPT ** 2) return { kind: 'explodes', left }
  if (left < KEPT ** -2) return { kind: 'vanishes', left }
  if (left > KEPT) return { kind: 'grows', left }
  return { kind: left < 1 / KEPT ? 'shrinks' : 'keeps its size', left }
}

/**
 * The factor of each layer, on average, with so many digits that its power is the left that `short` prints.
 *
 * @param left the last size over the first
 * @param layers between them
 */
export function factorOf(left: number, layers: number): string {
  const exact = left ** (1 / layers)
  let digits = 2
  while (digits < 9 && short(Number(exact.toPrecision(digits)) ** layers) !== short(left)) digits++
  return String(Number(exact.toPrecision(digits)))
}

/**
 * What travel means, in words.
 *
 * @param sizes in the order of the way
 * @returns a sentence without its subject
 */
export function told(sizes: readonly number[]): string {
  const { kind, left } = travel(sizes)
  if (!Number.isFinite(left)) return 'explodes: it passes 3.4·10³⁸, the largest number that float32 has'
  if (left === 0) return 'vanishes: it is too small for float32, and reads 0'
  const times = left < 1 ? `${short(left)} of it is left` : `it is ${short(left)} times as large`
  return `${kind}: in the end ${times}`
}

/**
 * Whether a stack learns.
 *
 * @param losses one a step, the first before any step
 * @returns a sentence without its subject
 */
export function learning(losses: readonly number[]): string {
  const step = losses.length - 1
  const [first, now] = [losses[0], losses[step]]
  const stopped = losses.findIndex((loss) => !Number.isFinite(loss))
  if (stopped === 0) return 'cannot begin: its loss is too large for float32'
  if (stopped > 0) return `stops after step ${stopped}: its loss is too large for float32`
  if (step === 0) return `begins with a loss of ${short(now)}`
  const is = `its loss is ${short(now)}`
  const falls = now < first
  const way =
    short(now) === short(first)
      ? is
      : `its loss ${falls ? 'falls' : 'rises'} from ${short(first)} to ${short(now)}`
  const lowest = Math.min(...losses)
  if (lowest < LEARNED && lowest < first && now > LEARNED)
    return `learns and forgets: its loss falls from ${short(first)} to ${short(lowest)}, then rises to ${short(now)}`
  if (falls && now < LEARNED) return `learns: ${way}`
  if (falls && now < GUESSING) return `learns slowly: ${way}`
  if (now > 2) return `is worse than guessing: ${way}`
  if (step < PATIENCE) return `has learned nothing yet: ${is}`
  return `does not learn: ${is}${now < GUESSING ? '' : ', no better than guessing'}`
}
