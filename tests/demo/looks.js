// Writes how a page looks as text: a line for each element, with its box and its styles. The files in looks/ were
// recorded in this way, and the tests compare the page with them. They do not compare pixels: pixels differ a
// little from one Chromium to the next, and they do not say which element is wrong.

/** @import { Page } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { drawn, eventually, setSize } from './browser.js'

/** @param {'light' | 'dark'} theme */
const reader = (theme) => ({ 'prefers-color-scheme': theme, 'prefers-reduced-motion': 'reduce' })
export const PHONE = { width: 360, height: 740, features: reader('dark'), fingers: true, media: 'screen' }
export const LAPTOP = { width: 1280, height: 720, features: reader('light'), fingers: false, media: 'screen' }

/** Shows an open page on a screen of another size, with other media features, for fingers or a mouse, or as it prints. @param {Page} page @param {typeof LAPTOP} screen */
export async function turnInto(page, { width, height, features, fingers, media }) {
  await setSize(page, width, height)
  const session = await page.createCDPSession()
  const values = Object.entries(features).map(([name, value]) => ({ name, value }))
  await session.send('Emulation.setEmulatedMedia', { media, features: values })
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: fingers })
  await page.evaluate(drawn)
}

/** Gives elements the styles of :hover and :focus. @param {Page} page @param {string} selector */
export async function point(page, selector) {
  const session = await page.createCDPSession()
  await session.send('DOM.enable')
  await session.send('CSS.enable')
  const { root } = await session.send('DOM.getDocument')
  const { nodeIds } = await session.send('DOM.querySelectorAll', { nodeId: root.nodeId, selector })
  for (const nodeId of nodeIds)
    await session.send('CSS.forcePseudoState', {
      nodeId,
      forcedPseudoClasses: ['hover', 'focus', 'focus-visible', 'focus-within'],
    })
}

/** How many pixels a side of a box may differ from the recorded one. */
const TOLERANCE = 2

/** Inherited styles. A line has those that differ from the parent's. */
const INHERITED = `accent-color color color-scheme cursor fill fill-opacity font-family font-feature-settings
  font-size font-style font-variant-numeric font-weight letter-spacing list-style-type overflow-wrap
  paint-order pointer-events stroke stroke-dasharray stroke-linecap stroke-linejoin stroke-opacity
  stroke-width text-align text-anchor text-indent text-transform text-wrap-style user-select visibility white-space`

/** Other styles. A line has those that differ from the default. Margins and sizes are left out: the boxes show them. */
const OWN = `animation-name appearance background-color background-image border-bottom border-left
  border-right border-top border-collapse border-radius box-shadow caret-color clip-path column-gap row-gap
  content dominant-baseline mask-image opacity outline outline-offset overflow padding position resize rotate
  scale scroll-margin-top text-decoration-color text-decoration-line text-decoration-style
  text-decoration-thickness text-overflow text-underline-offset touch-action transform translate
  transition-property vertical-align z-index`

/** Elements whose boxes depend on the GPT's words or on the training. Other tests compare those. */
const LIVE = '.run *, .curve, .end'

/** How many differences a failed comparison shows. */
const SHOWN = 12

/**
 * Runs in the page. Writes a line for each element that a selector matches, and for all elements in it. A line has the
 * element's tag, id and classes; its left, top, width and height, from its parent's corner; and its styles.
 * Elements of one parent that differ in nothing but their boxes have one line, with their number and the box
 * around them.
 *
 * @param {string} selector
 * @param {string[]} inherited
 * @param {string[]} own
 * @param {string} live
 */
function write(selector, inherited, own, live) {
  const plain = document.createElement('plain')
  plain.style.all = 'initial'
  document.body.append(plain)
  const read = (/** @type {Element} */ one, /** @type {string} */ part = '') => {
    const style = getComputedStyle(one, part)
    return new Map([...inherited, ...own].map((name) => [name, style.getPropertyValue(name)]))
  }
  const defaults = read(plain)
  plain.remove()

  const short = (/** @type {string} */ value) =>
    value
      .replace(/rgb\((\d+), (\d+), (\d+)\)/g, (_, ...rgb) =>
        rgb.slice(0, 3).reduce((hex, part) => hex + Number(part).toString(16).padStart(2, '0'), '#'),
      )
      .replace(/-?\d+\.\d{3,}/g, (number) => String(Number(Number(number).toFixed(2))))

  /** @param {Map<string, string>} styles @param {Map<string, string>} parent */
  const say = (styles, parent) =>
    [...styles]
      .filter(([name, value]) => {
        if (inherited.includes(name)) return value !== parent.get(name)
        const isNone = value === styles.get('color') || /^0px [a-z]|none \S+px$/.test(value)
        return value !== defaults.get(name) && !isNone
      })
      .map(([name, value]) => `; ${name}: ${short(name === 'font-family' ? value.split(',')[0] : value)}`)
      .join('')
      .replace(/; border-bottom: (.*?); border-left: \1; border-right: \1; border-top: \1/, '; border: $1')

  /** @param {Element} one */
  const nameOf = (one) => {
    const classes = [...one.classList].filter((name) => /^(?!svelte-)[a-z]/.test(name))
    const id = one.id.startsWith('cm-') ? '' : one.id // CodeMirror's are random
    return [one.localName + (id && `#${id}`), ...classes].join('.')
  }

  /** @param {Element[]} all @param {Map<string, string>} parent @param {{ left: number, top: number }} corner @returns {string[]} */
  function lines(all, parent, corner) {
    /** @type {Map<string, { name: string, boxes: DOMRect[], rest: string[], live: boolean }>} */
    const kinds = new Map()
    for (const one of all) {
      if (!one.checkVisibility()) continue
      const styles = read(one)
      // The color depends on the number, and figures.js compares it.
      if (one.matches('.dot')) styles.delete('fill-opacity')
      if (one.matches('td:is(.cell, .value)'))
        styles.set('background-color', styles.get('background-color')?.replace(/\(.*/, '') ?? '')
      const box = one.getBoundingClientRect()
      const parts = ['::before', '::after'].flatMap((part) => {
        const { content, width, height } = getComputedStyle(one, part)
        if (content === 'none' || content === 'normal') return []
        const size = [width, height].map((length) => Math.round(parseFloat(length)) || length).join(' ')
        return [` ${part} ${size}${say(read(one, part), styles)}`]
      })
      const isInWindow = /fixed|sticky/.test(styles.get('position') ?? '')
      const inside = one.localName === 'math' ? [] : lines([...one.children], styles, box)
      const rest = [say(styles, parent), ...parts, ...inside.map((line) => ` ${line}`)]
      const name = nameOf(one)
      const key = name + rest.join('\n')
      const kind = kinds.get(key) ?? { name, boxes: [], rest, live: one.matches(live) }
      const from = isInWindow ? { left: 0, top: 0 } : corner
      kind.boxes.push(new DOMRect(box.left - from.left, box.top - from.top, box.width, box.height))
      kinds.set(key, kind)
    }
    return [...kinds.values()].flatMap(({ name, boxes, rest: [said, ...rest], live }) => {
      const edge = (/** @type {'left' | 'top' | 'right' | 'bottom'} */ side) =>
        (side === 'left' || side === 'top' ? Math.min : Math.max)(...boxes.map((box) => box[side]))
      const box = [edge('left'), edge('top'), edge('right') - edge('left'), edge('bottom') - edge('top')]
      const count = boxes.length > 1 ? `×${boxes.length}` : ''
      return [`${name}${count} ${live ? '-' : box.map(Math.round).join(' ')}${said}`, ...rest]
    })
  }
  return [...document.querySelectorAll(selector)]
    .flatMap((one) => {
      const parent = one.parentElement
      // The root element has the styles that differ from the defaults.
      return lines([one], parent ? read(parent) : defaults, (parent ?? one).getBoundingClientRect())
    })
    .join('\n')
}

/** Reads what `write` wrote. Returns the elements by their paths. @param {string} text */
function parse(text) {
  /** @type {Map<string, { box: string[], styles: Map<string, string> }>} */
  const elements = new Map()
  /** @type {string[]} */
  let path = []
  for (const line of text.split('\n')) {
    const [start, ...styles] = line.split('; ')
    const [name, ...box] = start.trim().split(' ')
    const above = path.slice(0, start.search(/\S/))
    path = [...above, name]
    for (let i = 2; elements.has(path.join(' > ')); i++) path = [...above, `${name} (${i})`]
    const pairs = styles.map((style) => /** @type {[string, string]} */ (style.split(/: (.*)/, 2)))
    elements.set(path.join(' > '), { box, styles: new Map(pairs) })
  }
  return elements
}

/** Says what differs. Boxes come last, because one wrong element moves many boxes. @param {string} recorded @param {string} now */
function compare(recorded, now) {
  const [before, after] = [parse(recorded), parse(now)]
  const elements = []
  const styles = []
  const boxes = []
  for (const path of after.keys()) if (!before.has(path)) elements.push(`${path} is new`)
  for (const [path, { box, styles: expected }] of before) {
    const found = after.get(path)
    if (!found) {
      elements.push(`${path} is not there`)
      continue
    }
    for (const name of new Set([...expected.keys(), ...found.styles.keys()])) {
      const [value, wanted] = [found, { styles: expected }].map((one) => one.styles.get(name) ?? 'not set')
      if (value !== wanted) styles.push(`${path}: ${name} is ${value}, expected ${wanted}`)
    }
    const isNear = (/** @type {string} */ one, /** @type {number} */ i) =>
      one === box[i] || Math.abs(Number(one) - Number(box[i])) <= TOLERANCE
    if (!found.box.every(isNear))
      boxes.push(`${path} is at ${found.box.join(' ')}, expected ${box.join(' ')}`)
  }
  return [...elements, ...styles, ...boxes]
}

/** Leaves out what is around the innermost element that has an id. @param {string} said */
const shorten = (said) => said.replace(/^\S+ .* > (?=\S+#)/, '')

/** Whether this run records. */
export const isRecording = process.env.GPT_LAYERS_RECORD !== undefined
/** @param {string} path from this folder */
const fileOf = (path) => new URL(`${path}.txt`, import.meta.url)
/** A recorded text. @param {string} path from this folder */
export const recordedAs = (path) => (isRecording ? '' : readFileSync(fileOf(path), 'utf8').trimEnd())

/**
 * Records a text, or asserts that it is as it was recorded.
 *
 * @param {string} path from this folder
 * @param {string} now
 * @param {string[]} wrong what differs
 */
export function assertRecorded(path, now, wrong) {
  if (isRecording) return writeFileSync(fileOf(path), `${now}\n`)
  const more = wrong.length > SHOWN ? `\nand ${wrong.length - SHOWN} more` : ''
  const advice = '\nIf this is meant, ./build.sh record records it, and git diff shows it.'
  assert.equal(wrong.length, 0, `${path}:\n${wrong.slice(0, SHOWN).join('\n')}${more}${advice}`)
}

/**
 * Asserts that the elements that a selector matches look as they did when they were recorded.
 *
 * @param {Page} page
 * @param {string} name of the file in looks/
 * @param {string} [selector]
 */
export async function assertLooks(page, name, selector = ':root') {
  const recorded = recordedAs(`looks/${name}`)
  let now = ''
  let wrong = ['']
  // The page may still be moving. A difference counts once two looks in a row are the same.
  await eventually(async () => {
    const before = now
    now = await page.evaluate(write, selector, INHERITED.split(/\s+/), OWN.split(/\s+/), LIVE)
    wrong = compare(recorded, now)
    return wrong.length === 0 || now === before
  }, `${name} does not stand still`)
  assertRecorded(`looks/${name}`, now, wrong.map(shorten))
}
