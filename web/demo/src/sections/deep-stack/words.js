// Describes the numbers of a stack in sentences. Knows nothing of the page.

/**
 * @typedef {object} Settings
 * @property {number} depth layers
 * @property {number} gain the deviation of the weights, times the root of their inputs
 * @property {'relu' | 'gelu' | 'none'} activation
 * @property {number} seed
 *
 * @typedef {object} Snapshot of one stack; each list goes from the first layer to the last
 * @property {number} loss
 * @property {number[]} means of what goes into the layer's activation
 * @property {number[]} deviations
 * @property {number[]} gradients the norm of the loss's gradient in it
 *
 * @typedef {{ without: Snapshot, with: Snapshot }} Moment both stacks after as many steps
 * @typedef {'vanishes' | 'explodes' | 'keeps its size'} Kind
 */

/**
 * A gradient "keeps its size" if it changes by less than this factor.
 */
const KEPT = 100
const LEARNT = 0.5 // a loss below this has learnt; guessing the mean costs 1
const PATIENCE = 50 // steps before a stack is said not to learn

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const superscript = (/** @type {number} */ n) =>
  String(n)
    .replace('-', '⁻')
    .replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)])

/** @param {number} value a power of ten @returns {string} */
export const power = (value) => `10${superscript(Math.round(Math.log10(value)))}`

/**
 * @param {number} value finite
 * @param {number} [digits] that count
 * @returns {string} 0.41, 250 or 9.5·10⁻¹²
 */
export function short(value, digits = 2) {
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size >= 1e-3 && size < 1e4) {
    const text = size >= 10 ** digits ? value.toFixed(0) : value.toPrecision(digits)
    return text.replace('-', '−')
  }
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e')
  return `${mantissa.replace('-', '−')}·10${superscript(Number(exponent))}`
}

/** @param {Snapshot} snapshot */
export const isFinite = ({ loss, deviations, gradients }) =>
  [loss, ...deviations, ...gradients].every(Number.isFinite)

const LARGEST = '3.4·10³⁸, the largest number that float32 has'

/**
 * @param {Snapshot} snapshot that is not finite
 * @returns {string} the sentence's rest: where it stopped to be
 */
function overflow({ loss, deviations, gradients }) {
  const forwards = deviations.findIndex((value) => !Number.isFinite(value))
  if (forwards >= 0) return `on its way forward the signal passes ${LARGEST}, in layer ${forwards + 1}`
  const backwards = gradients.findLastIndex((value) => !Number.isFinite(value))
  if (Number.isFinite(loss))
    return `on its way back the gradient passes ${LARGEST}, in layer ${backwards + 1}`
  return `the loss, a mean of squares, passes ${LARGEST}`
}

/**
 * How the gradient changes from the last layer to the first.
 *
 * @param {Snapshot} snapshot
 * @returns {{ kind: Kind, why: string }}
 */
export function flow(snapshot) {
  const { gradients, deviations } = snapshot
  if (!isFinite(snapshot)) return { kind: 'explodes', why: overflow(snapshot) }
  const depth = gradients.length
  const [first, last] = [gradients[0], gradients[depth - 1]]
  const silent = deviations.findIndex((value) => value === 0)
  if (silent >= 0) {
    return {
      kind: 'vanishes',
      why: `from layer ${silent + 1} on the signal is 0: it is too small for float32`,
    }
  }
  if (first === 0)
    return { kind: 'vanishes', why: 'what should come back to layer 1 is too small for float32, and reads 0' }
  const ratio = first / last
  const factor = short(ratio ** (1 / (depth - 1)))
  if (ratio < 1 / KEPT) {
    const share = `only ${short(ratio)} of what layer ${depth} gets comes to layer 1`
    return { kind: 'vanishes', why: `each layer passes back ${factor} of it on average, and ${share}` }
  }
  if (ratio > KEPT) {
    const share = `at layer 1 it is ${short(ratio)} times layer ${depth}’s`
    return { kind: 'explodes', why: `each layer multiplies it by ${factor} on average, and ${share}` }
  }
  return { kind: 'keeps its size', why: `at layer 1 it is ${short(ratio)} times layer ${depth}’s` }
}

/**
 * Whether a stack learns.
 *
 * @param {Snapshot[]} history one a step, from before the first
 * @returns {string} a sentence without its subject
 */
export function learning(history) {
  const step = history.length - 1
  const [first, now] = [history[0], history[step]]
  if (!isFinite(now)) {
    const stopped = history.findIndex((snapshot) => !isFinite(snapshot))
    return stopped === 0
      ? `cannot begin: ${overflow(now)}`
      : `stopped after step ${stopped}: ${overflow(now)}`
  }
  const loss = short(now.loss)
  if (step === 0) return `begins with a loss of ${loss}`
  const lowest = history.reduce((a, b) => (b.loss < a.loss ? b : a)).loss
  if (lowest < LEARNT && now.loss > KEPT * lowest) {
    const best = `from ${short(first.loss)} to ${short(lowest)}`
    return `trains, and loses it again: its loss came ${best}, and is ${loss} now`
  }
  if (now.loss < LEARNT) return `trains: its loss came from ${short(first.loss)} to ${loss}`
  if (now.loss < 0.9) return `learns slowly: its loss came from ${short(first.loss)} to ${loss}`
  if (now.loss > 2) return `is worse than guessing: its loss came from ${short(first.loss)} to ${loss}`
  return step < PATIENCE
    ? `has learnt nothing yet: its loss is ${loss}`
    : `does not learn: its loss is ${loss}, no better than guessing`
}

/**
 * How far the input of a layer's activation drifted.
 *
 * @param {Snapshot[]} history
 * @param {number} layer from 1 on
 * @returns {string[]} of its mean and its deviation
 */
export function drift(history, layer) {
  const [first, now] = [history[0], history[history.length - 1]].map(({ means, deviations }) => ({
    mean: small(means[layer - 1], deviations[layer - 1]),
    deviation: short(deviations[layer - 1], 3),
    finite: Number.isFinite(means[layer - 1]) && Number.isFinite(deviations[layer - 1]),
  }))
  if (!first.finite || !now.finite) return ['too large for float32']
  if (history.length === 1) return [`μ = ${now.mean}`, `σ = ${now.deviation}`]
  return [`μ ${first.mean} → ${now.mean}`, `σ ${first.deviation} → ${now.deviation}`]
}

/** @param {number} mean which is as good as 0 beside a much larger deviation @param {number} deviation */
const small = (mean, deviation) => (Math.abs(mean) < 1e-6 * deviation ? '0' : short(mean, 3))
