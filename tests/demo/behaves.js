// Writes how a page behaves as text: every control is operated in turn, and what this changes in the document is
// written down. The files in behaves/ were recorded in this way, and the tests compare the page with them.

/** @import { Opened } from './browser.js' */

import assert from 'node:assert/strict'
import { assertRecorded, recordedAs } from './looks.js'

/** The controls: the elements that are operated. */
const CONTROLS = `:is(button, input, select, summary, a[href^="#"], [role="slider"], [role="switch"], td.cell, .surface, .way svg):not(:disabled, [type="file"])`

/** Elements that are neither operated nor written. They depend on the training or on the machine. */
const LIVE = '.curve, .curve *, footer *, #end .note p'

/** Controls that a second click turns back. */
const TOGGLE = ':is([aria-pressed], [aria-expanded], summary):not(.guess *)'

/** How many controls of one kind are operated, such as the dots of a figure. The first is operated in every way, the second in fewer. */
const MOST = 2

/**
 * Runs before the page's scripts. A timer of up to a second ends at once, and a longer one never. A text that is copied
 * or printed becomes an attribute of the root element. The training's worker gets no message. The GPT writes no word
 * because time has passed. `window.work` has what the page waits for, the number of messages from and to workers,
 * the last error that nothing caught, and whether the GPT was asked for.
 */
export function holdStill() {
  const work = { open: new Set(), messages: 0, error: '', hasGpt: false }
  addEventListener('error', ({ message }) => (work.error = message))
  const { setTimeout, clearTimeout } = window
  const leave = (/** @type {string} */ name) => async (/** @type {unknown} */ value) =>
    document.documentElement.setAttribute(name, String(value).replaceAll(location.origin, ''))
  Object.assign(window, {
    work,
    print: leave('printed'),
    setTimeout(/** @type {() => void} */ act, milliseconds = 0) {
      if (milliseconds > 1000) return 0
      const timer = setTimeout(() => {
        work.open.delete(timer)
        act()
      })
      work.open.add(timer)
      return timer
    },
    clearTimeout(/** @type {number} */ timer) {
      work.open.delete(timer)
      clearTimeout(timer)
    },
  })
  Object.defineProperty(navigator, 'clipboard', { value: { writeText: leave('copied') } })
  Object.assign(Element.prototype, { setPointerCapture() {}, requestFullscreen: undefined })
  const listened = new WeakSet()
  const held = new WeakSet()
  for (const { prototype } of [Worker, MessagePort]) {
    const post = /** @type {(message: any, transfer: any) => void} */ (prototype.postMessage)
    prototype.postMessage = function (/** @type {any} */ message, /** @type {any} */ transfer) {
      // 'play' tells the GPT to write a word from time to time.
      if (held.has(this) || message.path?.at(-1) === 'play') return
      const isListened = listened.has(this)
      listened.add(this)
      if (!isListened)
        this.addEventListener('message', (/** @type {any} */ { data }) => {
          work.messages++
          work.open.delete(data.id)
        })
      work.messages++
      // The answers to the worker's own calls have no path.
      if (message.path) work.open.add(message.id)
      post.call(this, message, transfer)
    }
  }
  window.Worker = new Proxy(Worker, {
    construct(Worker, [url, options]) {
      const worker = new Worker(url, options)
      if (String(url).includes('training')) held.add(worker)
      else work.hasGpt = true
      return worker
    },
  })
}

/** Runs in the page. Operates every control, and writes what changes. @param {string} CONTROLS @param {string} TOGGLE @param {string} LIVE @param {number} MOST */
async function operate(CONTROLS, TOGGLE, LIVE, MOST) {
  const root = document.documentElement
  const tidy = (/** @type {string | null} */ text) => (text ?? '').replace(/\s+/g, ' ').trim()
  const round = (/** @type {string} */ text) =>
    text.replace(/-?\d*\.\d+(e-?\d+)?/g, (number) => String(Math.round(Number(number))))

  const classesOf = (/** @type {Element} */ one) =>
    [...one.classList].filter((name) => /^(?!svelte-)[a-z]/.test(name))
  const kindOf = (/** @type {Element} */ one) =>
    one.localName +
    (one.id
      ? `#${one.id}`
      : classesOf(one)
          .slice(0, 1)
          .map((name) => `.${name}`))
  const isNamed = (/** @type {Element} */ one) => one.matches('button, a, summary')
  const labelOf = (/** @type {Element} */ one) => one.ariaLabel ?? (isNamed(one) ? tidy(one.textContent) : '')
  const nameOf = (/** @type {Element} */ one) => {
    const parent = one.parentElement && one !== document.body ? `${kindOf(one.parentElement)} ` : ''
    return `${parent}${kindOf(one)}${isNamed(one) ? ` “${labelOf(one)}”` : ''}`
  }

  /** An element's own text, its attributes and its state. @param {any} one @returns {Record<string, string>} */
  function read(one) {
    const isDrawn = one.matches('svg, svg *')
    /** @type {Record<string, string>} */
    const found = {}
    const texts = [...one.childNodes].map(({ nodeType, data }) => (nodeType === Node.TEXT_NODE ? data : ''))
    const text = tidy(one.localName === 'math' ? one.textContent : texts.join('…'))
    if (/[^…\s]/.test(text)) found.text = text
    for (const { name, value } of one.attributes)
      if (!/^(class|id|lang|type|viewBox)$/.test(name) && !(one === root && name === 'style'))
        found[name] = isDrawn && !/^aria/.test(name) ? round(value) : tidy(value)
    if (classesOf(one).length > 1) found.class = classesOf(one).slice(1).join(' ')
    if (one.matches('input, select')) found.value = one.value
    if (one.matches(':popover-open')) found.popover = 'open'
    if (one === document.activeElement && one !== document.body) found.focus = 'here'
    if (found.focus && one.matches('[type="text"]'))
      found.focus = `${one.selectionStart} to ${one.selectionEnd}`
    if (one === root) found.address = location.search + location.hash
    return found
  }
  /** @typedef {Map<Element, Record<string, string>>} Snapshot */
  /** @returns {Snapshot} */
  const look = () => {
    const all = [root, document.body, ...document.body.querySelectorAll(':not(math *, script)')]
    return new Map(all.filter((one) => !one.matches(LIVE)).map((one) => [one, read(one)]))
  }

  /** The beginning of a long text, and a checksum. @param {string} text @param {number} most */
  const shorten = (text, most) => {
    const sum = [...text].reduce((sum, one) => (Math.imul(sum, 31) + one.charCodeAt(0)) >>> 0, 0)
    return text.length > most ? `${text.slice(0, most)}… #${sum.toString(36)}` : text
  }
  /** Writes values, equal ones in a row once. @param {string[]} values */
  const merge = (values) => {
    const starts = [...values.keys()].filter((i) => i === 0 || values[i] !== values[i - 1])
    const runs = starts.map((from, i) => {
      const count = (starts[i + 1] ?? values.length) - from
      return values[from] + (count > 1 ? ` ×${count}` : '')
    })
    return shorten(runs.join(' | '), runs.length > 1 ? 72 : 500)
  }

  /** Writes a line for each kind of element, with everything that differs. @param {Snapshot} before @param {Snapshot} after */
  function differences(before, after) {
    /** @type {Map<string, number>} */
    const counts = new Map()
    /** @type {Map<string, Map<string, Map<number, string>>>} */
    const kinds = new Map()
    for (const [one, now] of [...after, ...[...before].filter(([one]) => !after.has(one))]) {
      const isGone = !after.has(one)
      const name = isGone ? `gone: ${kindOf(one)}` : nameOf(one)
      const i = counts.get(name) ?? 0
      counts.set(name, i + 1)
      const old = before.get(one) ?? (isGone ? now : {})
      const names = [...new Set([...Object.keys(now), ...Object.keys(old)])]
      const changed = isGone ? ['elements'] : names.filter((what) => now[what] !== old[what])
      const kind = kinds.get(name) ?? new Map()
      if (changed.length) kinds.set(name, kind)
      for (const what of changed) {
        const values = kind.get(what) ?? new Map()
        kind.set(what, values.set(i, now[what] ?? (isGone ? '' : 'none')))
      }
    }
    return [...kinds].map(([name, kind]) => {
      const all = [...kind].map(([what, values]) => {
        const isAll = values.size === counts.get(name)
        return `${what} ${merge([...values].map(([i, value]) => (isAll ? value : `[${i}] ${value}`)))}`
      })
      return `  ${name}: ${all.join('; ')}`.trimEnd()
    })
  }

  const { work } = /** @type {any} */ (window)
  let mutations = 1 // at first the figures may not have been measured yet
  const observed = { attributes: true, characterData: true, childList: true, subtree: true }
  new MutationObserver((all) => (mutations += all.length)).observe(root, observed)
  const task = () => /** @type {any} */ (window).scheduler.postTask(() => {}, { priority: 'background' })
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  /** Waits until nothing changes any more. A worker's report, and what follows the scrolling, may come some frames later. */
  async function settle() {
    const begun = work.messages
    for (let quiet = 0; ;) {
      const later = work.messages > begun || root.scrollHeight > innerHeight
      if (quiet >= (later ? 6 : mutations ? 4 : 2)) break
      const before = work.messages + mutations
      await (quiet < 2 ? task() : frame())
      if (work.error) throw new Error(`the page said: ${work.error}`)
      // Until the GPT is there, the page shows a text that was recorded when it was built.
      const waitsForGpt = !work.hasGpt && document.querySelector('.run')
      const isBusy = waitsForGpt || work.open.size > 0 || document.querySelector('[aria-busy="true"]')
      quiet = isBusy || work.messages + mutations > before ? 0 : quiet + 1
    }
    mutations = 0
  }

  /** @type {Snapshot} */
  let now = new Map()
  /** @type {string[]} */
  const lines = []
  /** Acts, and writes what has changed since `before`. @param {string} name @param {() => void} act */
  async function write(name, act, before = now) {
    act()
    await settle()
    now = look()
    const changed = differences(before, now)
    if (name !== 'undo') lines.push(changed.length ? name : `${name}: nothing`)
    else if (changed.length) lines.push('what undo leaves')
    lines.push(...changed)
  }

  /** @param {Element} one @param {string} type @param {number} [by] */
  function point(one, type, by = 0) {
    const box = (one.querySelector(':scope > .dot') ?? one).getBoundingClientRect()
    const [clientX, clientY] = [box.left + box.width / 2, box.top + box.height / 2]
    const target =
      one.matches('svg *') || (one.matches('svg') && type === 'move')
        ? document.elementFromPoint(clientX, clientY)
        : one
    const options = { bubbles: !/enter|leave/.test(type), cancelable: true, clientX: clientX + by, clientY }
    target?.dispatchEvent(new PointerEvent(`pointer${type}`, options))
  }
  /** Sets a field's value and tells the page. @param {any} one @param {string | number} value @param {string} type of the event */
  function set(one, value, type) {
    one.value = value
    one.dispatchEvent(new Event(type, { bubbles: true }))
  }
  /** @param {string} keys such as Shift+ArrowUp */
  function press(keys) {
    const [key, held] = keys.split('+').reverse()
    const modifiers = { shiftKey: held === 'Shift', altKey: held === 'Alt', ctrlKey: held === 'Control' }
    const target = document.activeElement ?? document.body
    target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...modifiers }))
  }

  /** @typedef {[name: string, act: () => void]} Way to operate a control */
  /** @param {any} one @param {boolean} isFirst of its kind @returns {Way[]} */
  function waysOf(one, isFirst) {
    const pointer = (/** @type {string} */ name, /** @type {string} */ types) =>
      /** @type {Way} */ ([name, () => types.split(' ').forEach((type, i) => point(one, type, i * 12))])
    const keys = (/** @type {string} */ names) =>
      names.split(' ').map((name) => /** @type {Way} */ ([name, () => (one.focus(), press(name))]))
    const type = (/** @type {string} */ text, key = 'Enter') =>
      /** @type {Way} */ ([`type ${text}, ${key}`, () => (one.focus(), set(one, text, 'input'), press(key))])
    const drags = [pointer('drag', 'down move up'), pointer('drag, canceled', 'down move cancel')]
    const hover = [pointer('hover', 'enter move'), pointer('leave', 'leave')]
    if (one.matches('td')) return [...hover, ...keys('ArrowRight ArrowDown ArrowLeft ArrowUp')]
    if (one.matches('.surface, .way svg')) return hover
    if (one.matches('[type="range"]'))
      return [one.min, one.max, (Number(one.min) + Number(one.max)) / 2].map((value) => [
        `set to ${value}`,
        () => set(one, value, 'input'),
      ])
    if (one.matches('select'))
      return [...one.options].map(({ value }) => [`choose ${value}`, () => set(one, value, 'change')])
    if (one.matches('[role="spinbutton"]') && isFirst)
      return [
        ...['0.5', 'x', '-1e9', '1e39'].map((text) => type(text)),
        type('2', 'Escape'),
        ...drags,
      ].concat(keys('ArrowUp Shift+ArrowUp Alt+ArrowUp ArrowDown PageUp PageDown'))
    if (one.matches('[role="spinbutton"]')) return [type('1.5')]
    if (one.matches('[role="slider"]') && isFirst)
      return [...hover, ...drags].concat(
        keys(
          'ArrowRight ArrowLeft Shift+ArrowRight Alt+ArrowLeft PageUp PageDown Home End ArrowUp ArrowDown',
        ),
      )
    /** @type {Way} */
    const other = ['it and the next', () => (one.focus(), ['PageUp', 'ArrowDown', 'PageUp'].forEach(press))]
    if (one.matches('[role="slider"]')) return [...hover, ...keys('PageUp'), other]
    const submit = (/** @type {string} */ text) =>
      /** @type {Way} */ ([`submit ${text}`, () => (set(one, text, 'input'), one.form.requestSubmit())])
    if (one.matches('form input'))
      return [...['1 2', '1 2 3 4 5 x', '6 5 4 3 2 1'].map(submit), type('1', 'Escape')]
    if (one.matches('input')) return [type('1')]
    if (one.matches('[tabindex="-1"]:not(svg *)')) return [pointer('press', 'down')]
    const click = () => one.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))
    const ways = ['click', ...(one.matches(TOGGLE) ? ['click again'] : [])].map(
      (name) => /** @type {Way} */ ([name, click]),
    )
    if (one.role === 'switch') ways.push(['click twice', () => (click(), click())])
    if (one.matches('svg *')) ways.push(...keys('ArrowUp ArrowDown Enter'))
    if (labelOf(one) === 'Present')
      ways.push(...keys('ArrowRight ArrowLeft ArrowDown PageDown ArrowUp PageUp Escape'))
    return ways
  }

  await write('at first', () => {})
  const done = new Set()
  const isNew = (/** @type {string} */ name) => !done.has(name) && Boolean(done.add(name))
  /** How many controls of a kind were operated. @type {Map<string, number>} */
  const counts = new Map()
  for (;;) {
    /** @type {Map<string, number>} */
    const named = new Map()
    const one = /** @type {any} */ (
      [...document.querySelectorAll(CONTROLS)].find((one) => {
        const name = `${nameOf(one)} ${labelOf(one)}`
        named.set(name, (named.get(name) ?? 0) + 1)
        return (
          one.checkVisibility() &&
          !one.matches(LIVE) &&
          !/^(Print|Save as PNG)$/.test(labelOf(one)) &&
          isNew(`${name} ${named.get(name)}`)
        )
      })
    )
    if (!one) return lines.join('\n')
    const kind = nameOf(one) + (one.closest('svg, table')?.getAttribute('class') ?? '')
    const count = counts.get(kind) ?? 0
    if (count === (one.matches('td, .surface') ? 1 : MOST)) continue
    counts.set(kind, count + 1)
    lines.push(`# ${nameOf(one)}${isNamed(one) ? '' : ` “${labelOf(one)}”`}`)
    if (!one.matches('td, .surface, .way svg')) await write('focus', () => one.focus())
    for (const [name, act] of waysOf(one, isNew(nameOf(one).replace(/“.*/, '')))) {
      const before = now
      const { search } = location
      await write(name, act)
      if (search !== location.search) await write('undo', () => press('Control+z'), before)
      // Some clicks only show something else, such as the next step of a calculation. Undo does not take such a
      // click back, so the same control is clicked again.
      for (let i = 2; name === 'click' && search !== location.search && i < 6; i++)
        await write(`click ${i}`, act)
    }
  }
}

/** Returns the control and the act at which two texts begin to differ, and the next lines of both. @param {string} recorded @param {string} now */
function compare(recorded, now) {
  const [expected, found] = [recorded, now].map((text) => text.split('\n'))
  const from = found.findIndex((line, i) => line !== expected[i])
  if (recorded === now) return []
  const at = from < 0 ? found.length : from
  const [control, act] = [/^#/, /^[^ #]/].map((start) =>
    found.slice(0, at + 1).findLast((line) => start.test(line)),
  )
  return [
    `${control}, ${act}`,
    ...expected.slice(at, at + 4).map((line) => `expected ${line}`),
    ...found.slice(at, at + 4).map((line) => `found    ${line}`),
  ]
}

/**
 * Asserts that the controls of an open page behave as they did when they were recorded, without a complaint, and
 * without a request to another origin.
 *
 * @param {Opened} opened
 * @param {string} name of the file in behaves/
 * @param {string} [without] a selector of elements that are left out, besides LIVE
 */
export async function assertBehaves({ page, complaints, foreign }, name, without = 'none') {
  const now = await page.evaluate(operate, CONTROLS, TOGGLE, `${LIVE}, ${without}`, MOST)
  assertRecorded(`behaves/${name}`, now, compare(recordedAs(`behaves/${name}`), now))
  assert.deepEqual([...complaints, ...foreign], [])
}
