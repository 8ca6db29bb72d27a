/**
 * The text of a float32 tensor, character for character as PyTorch's `print` writes it on the CPU.
 *
 * The behaviour is that of torch 1.13.1 (torch/_tensor_str.py), quirks included; the same call in PyTorch is
 * `torch.set_printoptions(sci_mode=sciMode, precision=precision)` followed by `print(t)`.
 */

const LINE_WIDTH = 80
const MAX_IN_FULL = 1000
const PREFIX = 'tensor('

/**
 * @param {ArrayLike<number>} data float32 values, row-major; when summarised, only those printed are read
 * @param {readonly number[]} shape [] is a 0-d tensor; an axis may be 0
 * @param {object} [options] not checked here, nor are data and shape: the caller does
 * @param {boolean | null} [options.sciMode] scientific notation on or off; left out, PyTorch's choice
 * @param {number} [options.precision] digits after the point, 0 to 99
 * @returns {string} without a final newline
 * @example formatTensor([0.5, 1, Infinity], [3]) // 'tensor([0.5000, 1.0000,    inf])'
 */
export function formatTensor(data, shape, { sciMode, precision = 4 } = {}) {
  const size = shape.reduce((product, n) => product * n, 1)
  if (size === 0) return emptyTensor(shape)

  const axes = shape.map((n) => positions(n, size > MAX_IN_FULL))

  /** @type {(axis: number, index: number) => number[]} */
  const collect = (axis, index) => {
    if (axis === shape.length) return [data[index]]
    return axes[axis].flatMap((i) => (i === undefined ? [] : collect(axis + 1, index * shape[axis] + i)))
  }
  // The values left out of a summary have no say in the format.
  const { width, text } = chooseFormat(collect(0, 0), sciMode, precision)

  /** @type {(axis: number, index: number) => string} */
  const layOut = (axis, index) => {
    if (axis === shape.length) return text(data[index])
    const dims = shape.length - axis
    const gap = dims === 1 ? ' ...' : '...'
    const items = axes[axis].map((i) => (i === undefined ? gap : layOut(axis + 1, index * shape[axis] + i)))
    const indent = PREFIX.length + axis
    const margin = ' '.repeat(indent + 1)
    if (dims > 1) return `[${items.join(',' + '\n'.repeat(dims - 1) + margin)}]`
    const perLine = Math.max(1, Math.floor((LINE_WIDTH - indent) / (width + ', '.length)))
    const lines = []
    for (let i = 0; i < items.length; i += perLine) lines.push(items.slice(i, i + perLine).join(', '))
    return `[${lines.join(',\n' + margin)}]`
  }
  return `${PREFIX}${layOut(0, 0)})`
}

/** @param {readonly number[]} shape */
function emptyTensor(shape) {
  if (shape.length === 1) return 'tensor([])'
  const suffix = `size=(${shape.join(', ')})`
  // PyTorch counts 4 more characters on this line: one more than ', ' and ')' take.
  const fits = 'tensor([]'.length + suffix.length + 4 <= LINE_WIDTH
  return `tensor([],${fits ? ' ' : '\n' + ' '.repeat(PREFIX.length)}${suffix})`
}

/**
 * The indices printed along an axis of n; undefined is the gap "...".
 * @type {(n: number, summarised: boolean) => (number | undefined)[]}
 */
function positions(n, summarised) {
  if (summarised && n > 6) return [0, 1, 2, undefined, n - 3, n - 2, n - 1]
  return Array.from({ length: n }, (_, i) => i)
}

/**
 * One notation and one column width for all values.
 *
 * @param {readonly number[]} values
 * @param {boolean | null | undefined} sciMode
 * @param {number} precision
 */
function chooseFormat(values, sciMode, precision) {
  const measured = values.filter((x) => x !== 0 && Number.isFinite(x))
  const integers = measured.every(Number.isInteger)
  let [min, max] = [Infinity, 0]
  for (const x of measured) [min, max] = [Math.min(min, Math.abs(x)), Math.max(max, Math.abs(x))]
  // Compared in double, as PyTorch does: the float32 nearest 1e-4 is below 1e-4.
  const automatic = max / min > 1000 || max > 1e8 || min < 1e-4
  // Zeros, nan and inf alone stay in fixed notation even when sciMode is true.
  const scientific = measured.length > 0 && (sciMode ?? automatic)

  /** @type {(x: number, inScientific: boolean) => string} */
  const write = (x, inScientific) => {
    if (Number.isNaN(x)) return 'nan'
    const sign = x < 0 || Object.is(x, -0) ? '-' : ''
    const size = Math.abs(x)
    if (size === Infinity) return sign + 'inf'
    if (inScientific) return sign + exponential(size, precision)
    return sign + (integers ? fixed(size, 0) + '.' : fixed(size, precision))
  }
  // The width is that of the automatic notation even where sciMode overrules it; nan and inf do not count.
  const width = measured.reduce((widest, x) => Math.max(widest, write(x, automatic).length), 1)
  return { width, text: (/** @type {number} */ x) => write(x, scientific).padStart(width) }
}

/** Python's f'{x:.{digits}f}' of a float32 x >= 0. @type {(x: number, digits: number) => string} */
function fixed(x, digits) {
  // From 1e21 on toFixed turns to e-notation; a float32 that large is an integer.
  if (x >= 1e21) return BigInt(x) + (digits > 0 ? '.' + '0'.repeat(digits) : '')
  return halfToEven(x, digits, (more) => x.toFixed(digits + more))
}

/** Python's f'{x:.{digits}e}' of a float32 x >= 0. @type {(x: number, digits: number) => string} */
function exponential(x, digits) {
  const power = Number(x.toExponential().split('e')[1])
  const text = halfToEven(x, digits - power, (more) => x.toExponential(digits + more))
  return text.replace(/[+-](?=\d$)/, '$&0') // e-8 is e-08 in Python
}

/**
 * JavaScript rounds a tie up, Python to the even digit. A float32 is m 2^e with m odd, so it lies half way
 * between two multiples of 10^-decimals exactly when x 2^(decimals + 1) is odd and, should decimals be
 * negative, a multiple of 5^-decimals. As m < 2^24, doubles decide both without error.
 *
 * @param {number} x float32, >= 0
 * @param {number} decimals digits kept after the point; negative: left of it
 * @param {(more: number) => string} write x rounded up at a tie, with so many digits more
 */
function halfToEven(x, decimals, write) {
  const halves = x * 2 ** (decimals + 1)
  const tie = halves % 2 === 1 && (decimals >= 0 || halves % 5 ** -decimals === 0)
  // One digit more writes a tie exactly, and that digit is a 5: dropped after an even digit.
  const [, even, power = ''] = (tie && /^([\d.]*[02468])\.?5(e.*)?$/.exec(write(1))) || []
  return even === undefined ? write(0) : even + power
}
