// What every section promises, at every screen. A page is opened once, and asked all that one load can
// answer. The list of sections is read from the page.

/** @import { Browser, Page } from 'puppeteer-core' */
/** @import { Opened, OpenOptions } from './browser.js' */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { all } from '../all.js'
import {
  BROWSERS,
  click,
  closeBrowsers,
  drawn,
  field,
  findings,
  hold,
  launch,
  newPage,
  open,
  openAll,
  openLayer,
  openMenu,
  overflow,
  press,
  problem,
  READERS,
  resize,
  serve,
  setSize,
  share,
  skipped,
  text,
  waitInPage,
  WHOLE_SECTION,
} from './browser.js'
import { assertFigures } from './figures.js'

const DESKTOP = { width: 1440, height: 900 }
const SLIDE = { width: 1280, height: 720 }
const PHONE = { width: 360, height: 740 }
const SMALL_PHONE = { width: 320, height: 640 }
const ZOOMED = { width: SLIDE.width / 2, height: SLIDE.height / 2 } // a laptop, at 200 %
const LARGE = { width: 1920, height: 1080 }
const [PLAIN, OTHER] = READERS
/** Bytes of all faces together. */
const FONTS = 100e3
const STILL = { ...PLAIN, 'prefers-reduced-motion': 'reduce' }

/** States that make a section larger, or that only some readers see. They fit the screen, too. */
const STATES = {
  training: 'training.rate=0.015',
  'batch-norm': 'batch-norm.batch=1',
  story: 'story.off=2',
}

/** The values of the controls whose values the section keeps in its address. @param {Page} page */
const stateOf = (page) =>
  waitInPage(page, () => {
    if (document.querySelector('.section [aria-busy="true"]')) return null
    // The field of ε, in a label, is left out: only one step has it.
    const fields = '.figure input:not(label *), select'
    const controls = `[role="slider"], ${fields}, [role="switch"], .controls [aria-pressed]`
    return [...document.querySelectorAll(`.section :is(${controls})`)].map(
      (one) =>
        one.ariaPressed ??
        one.ariaChecked ??
        one.getAttribute('aria-valuenow') ??
        /** @type {HTMLInputElement} */ (one).value,
    )
  })

/** Undoes everything, or, with shiftKey, redoes everything. @param {Page} page @param {boolean} shiftKey */
const goThrough = (page, shiftKey) =>
  page.evaluate((shiftKey) => {
    document.querySelector('dialog')?.close()
    const press = { key: 'z', ctrlKey: true, shiftKey, bubbles: true }
    for (let i = 0; i < 200; i++) document.body.dispatchEvent(new KeyboardEvent('keydown', press))
  }, shiftKey)

/**
 * Stops the page's clock, and counts how many frames in a row ask for the next one; in the page. A movement
 * by frames then never ends, and what only follows a change takes a frame or two.
 */
function watchFrames() {
  const request = requestAnimationFrame
  const time = performance.now()
  performance.now = () => time
  let before = 0
  let most = 0
  window.requestAnimationFrame = (callback) => {
    const count = before + 1
    most = Math.max(most, count)
    return request((now) => {
      before = count
      callback(now)
      before = 0
    })
  }
  const framesInARow = async () => {
    for (let i = 0; i < 8; i++) await new Promise((resolve) => request(resolve))
    return most
  }
  Object.assign(window, { framesInARow })
}

/** Asserts that nothing moves in a page with `watchFrames`. @param {Page} page @param {string} when */
async function assertStill(page, when) {
  const frames = Number(await page.evaluate('framesInARow()'))
  assert.ok(frames <= 3, `something moves ${when}: ${frames} frames in a row`)
  const moving = await page.evaluate(() =>
    document.getAnimations().map(({ effect }) => {
      const target = effect instanceof KeyframeEffect ? effect.target : null
      return `${target?.tagName}.${target?.getAttribute('class')}`
    }),
  )
  assert.deepEqual(moving, [], `something moves ${when}`)
}

/** Asserts that Tab reaches every control, and that each shows that it has the focus. @param {Page} page */
async function reachByTab(page) {
  await page.bringToFront() // a window in the background shows no focus
  await waitInPage(page, () => document.hasFocus())
  const count = await page.evaluate(() => {
    // The first Tab goes to the first control.
    document.body.tabIndex = -1
    document.body.focus()
    document.body.removeAttribute('tabindex')
    // Tab reaches only the chosen button of a radio group.
    const fields = ':is(button, input, select, textarea):enabled:not([type="radio"], [role="radio"])'
    const all = [...document.querySelectorAll(`${fields}, a[href], summary, [tabindex="0"]`)]
    const missed = new Set(all.filter((one) => one.checkVisibility({ visibilityProperty: true })))
    /** @type {string[]} */
    const unseen = []
    const describe = (/** @type {Element} */ one) =>
      `${one.tagName} ${one.ariaLabel ?? one.textContent.trim()}`
    const look = () => {
      const one = document.activeElement
      if (!document.hasFocus() || !one) return // the focus is on the browser's own buttons
      missed.delete(one)
      const { outlineStyle, outlineWidth } = getComputedStyle(one)
      const bare = outlineStyle === 'none' || parseFloat(outlineWidth) < 2
      if (one !== document.body && bare) unseen.push(describe(one))
    }
    addEventListener('keydown', look, { capture: true }) // before the next Tab moves the focus
    const report = () => ({
      missed: [...missed].filter((one) => one.isConnected && !one.matches(':disabled')).map(describe),
      unseen,
    })
    Object.assign(window, { report })
    return missed.size
  })
  assert.ok(count > 1)
  const report = () => page.evaluate('report()')
  const none = { missed: [], unseen: [] }
  // Twice as many presses as controls, because some controls appear on the way.
  for (let i = 0; i < 2 * count; i++) {
    await page.keyboard.press('Tab')
    if (i > count && JSON.stringify(await report()) === JSON.stringify(none)) break
  }
  assert.deepEqual(await report(), none)
}

/** Presses every answer of every guess, and asserts what is marked and said. @param {Page} page @param {string} id */
async function assertGuesses(page, id) {
  const guesses = await page.$$('div.guess')
  if (id !== 'opening') assert.notEqual(guesses.length, 0, 'no guess')
  for (const guess of guesses) {
    assert.equal(await guess.$eval('.answer', (answer) => answer.textContent?.trim()), '')
    assert.equal(await guess.$('.right'), null)
    const taken = await guess.evaluate(async (one) => {
      const taken = []
      for (const button of one.querySelectorAll('button')) {
        button.click()
        await new Promise((resolve) => setTimeout(resolve))
        taken.push({
          option: button.textContent,
          pressed: [...one.querySelectorAll('[aria-pressed="true"]')]
            .map(({ textContent }) => textContent)
            .join(),
          marked: [...one.querySelectorAll('.right')].map(({ textContent }) => textContent).join(),
          answer: one.querySelector('.answer')?.textContent?.trim(),
        })
      }
      return taken
    })
    assert.equal(taken.filter(({ option, marked }) => option === marked).length, 1, JSON.stringify(taken))
    for (const { option, pressed, marked, answer } of taken) {
      assert.equal(pressed, option)
      assert.ok(answer?.startsWith(`${option === marked ? 'Yes' : 'Not quite'}: ${marked}. `), answer)
    }
  }
}

/**
 * Presses every button, but not those of a dialog: they copy. Asserts that a pressed button does not move, and
 * that a switch keeps its width. A guess may move down: its figure gives the answer, and may grow.
 *
 * @param {Page} page
 */
async function pressAll(page) {
  const moved = await page.evaluate(async () => {
    const moved = []
    for (const button of document.querySelectorAll('.section button:enabled:not(dialog *)')) {
      const before = button.getBoundingClientRect()
      if (button instanceof HTMLElement) button.click()
      await new Promise((resolve) => setTimeout(resolve))
      const after = button.getBoundingClientRect()
      const isWider = button.role === 'switch' && after.width !== before.width
      const isLower = !button.closest('.guess') && after.top !== before.top
      if (after.width && (after.left !== before.left || isLower || isWider))
        moved.push(`${button.textContent}: ${JSON.stringify([before, after])}`)
    }
    return moved
  })
  assert.deepEqual(moved, [], 'what is pressed moves')
  await page.waitForSelector(WHOLE_SECTION)
}

/**
 * Asserts that each section fits the screen, or, on a phone, its width, and shows no NaN. The words of a button
 * stand on one line, and a paragraph is as wide as a phone.
 *
 * @param {Page} page
 * @param {{ width: number, height: number }} size
 * @param {string} when
 */
async function assertFits(page, size, when) {
  await resize(page, size.width, size.height)
  const wide = await overflow(page)
  assert.ok(wide <= 0, `${wide} pixels too wide at ${size.width}, ${when}`)
  const sections = await page.$$eval('.section', (all) =>
    all.map((one) => {
      // The words of this section are about NaN.
      const numbers = one.querySelector('#half-precision > .figure') ?? one
      const said = /** @type {HTMLElement} */ (numbers).innerText
      const isNarrow = (/** @type {Element} */ part) => {
        if (part.matches('p'))
          return innerWidth < 700 && part.getBoundingClientRect().width < 0.7 * innerWidth
        const words = document.createRange()
        words.selectNodeContents(part)
        return part.childElementCount === 0 && words.getClientRects().length > 1
      }
      const isNear = (/** @type {Element} */ part) => {
        const below = part.nextElementSibling?.getBoundingClientRect()
        const gap = below?.height ? below.top - part.getBoundingClientRect().bottom : 99
        return part.matches(':not(button)') && Math.abs(gap) < 4
      }
      const narrow = [...one.querySelectorAll('.text :is(p, .formula), button')].filter(
        (part) => part.checkVisibility() && (isNarrow(part) || isNear(part)),
      )
      const texts = narrow.map(({ textContent }) => textContent)
      return { id: one.id, tall: one.getBoundingClientRect().height, said, narrow: texts }
    }),
  )
  for (const { id, tall, said, narrow } of sections) {
    assert.doesNotMatch(said, /NaN|undefined/, id)
    assert.deepEqual(narrow, [], `${id} has no room, ${size.width} wide, ${when}`)
    if (size.width >= 1280) assert.ok(tall <= size.height, `${id}: ${tall} of ${size.height} pixels, ${when}`)
  }
}

/**
 * The controls that are lower or narrower than 36 pixels, but for the words of a text. A radio that is not
 * seen is chosen by its label.
 *
 * @param {Page} page
 */
const small = (page) =>
  page.$$eval('.section :is(button, select, input:not([type="file"], .unseen))', (all) =>
    all
      .filter((one) => one.checkVisibility())
      .map((one) => ({ one, box: one.getBoundingClientRect() }))
      .filter(({ box }) => !(box.height >= 35.5 && box.width >= 35.5))
      .map(({ one, box }) => `${one.ariaLabel ?? one.textContent} is ${box.width} by ${box.height}`),
  )

/**
 * Asserts that a finger that misses a dot's middle by 12 pixels takes it, or, where dots are crowded, one of
 * them. A finger on anything that moves sideways may still scroll the page up and down: the browser then cancels
 * the drag, and the dot goes back.
 *
 * @param {Page} page
 */
async function assertTouch(page) {
  const wrong = await page.evaluate(() => {
    Element.prototype.setPointerCapture = () => {} // refuses what no pointer has sent
    const press = (/** @type {number} */ x, /** @type {number} */ y) => {
      const { activeElement } = document
      if (activeElement instanceof SVGElement) activeElement.blur()
      const place = { bubbles: true, cancelable: true, clientX: x, clientY: y }
      const target = document.elementFromPoint(x, y)
      for (const type of ['pointerdown', 'pointerup']) target?.dispatchEvent(new PointerEvent(type, place))
      return document.activeElement
    }
    const values = () =>
      [...document.querySelectorAll('svg [role="slider"]')].map((one) => one.ariaValueNow).join()
    /** Drags with a finger, and cancels the drag, as the browser does where it scrolls the page instead. */
    const scroll = (/** @type {number} */ clientX, /** @type {number} */ clientY) => {
      const target = document.elementFromPoint(clientX, clientY)
      const finger = { bubbles: true, pointerType: 'touch', clientY }
      return [
        values(),
        ...['down', 'move', 'cancel'].map((type, i) => {
          target?.dispatchEvent(
            new PointerEvent(`pointer${type}`, { ...finger, clientX: clientX + 30 * Number(i > 0) }),
          )
          return values()
        }),
      ]
    }
    /** @type {string[]} */
    const wrong = []
    for (const one of document.querySelectorAll('svg [role="slider"]')) {
      one.scrollIntoView({ block: 'center', behavior: 'instant' })
      const { left, top, width, height } = one.getBoundingClientRect()
      const [x, y] = [left + width / 2, top + height / 2]
      const [before, , moved, after] = scroll(x, y)
      if (moved === before || after !== before) wrong.push(`${one.ariaLabel}, dragged and canceled: ${after}`)
      const offsets = Array.from({ length: 24 }, (_, i) => 2 * i - 23)
      const across = offsets.map((d) => press(x + d, y))
      const along = offsets.map((d) => press(x, y + d))
      const isLarge = [across, along].every((taken) => taken.filter((other) => other === one).length >= 12)
      const near = [...across.slice(6, 18), ...along.slice(6, 18)]
      if (!isLarge && near.some((taken) => taken?.role !== 'slider')) wrong.push(`${one.ariaLabel} is small`)
    }
    for (const one of document.querySelectorAll('.section :is([role="slider"], input)'))
      for (let above = /** @type {Element | null} */ (one); above; above = above.parentElement) {
        const { touchAction } = getComputedStyle(above)
        if (!/auto|manipulation|pan-y/.test(touchAction)) wrong.push(`${one.ariaLabel}: ${touchAction}`)
      }
    return wrong
  })
  assert.deepEqual(wrong, [])
}

/** A slider's value, the text of its section, and how it shows the focus. @param {Element} one */
function lookAt(one) {
  const section = /** @type {HTMLElement} */ (one.closest('.section'))
  const style = getComputedStyle(one)
  return {
    value: Number(one.ariaValueNow ?? /** @type {HTMLInputElement} */ (one).value),
    most: Number(one.ariaValueMax ?? /** @type {HTMLInputElement} */ (one).max),
    text: section.innerText,
    said: one.ariaValueText,
    output: one.parentElement?.querySelector('output')?.textContent,
    scroll: scrollY,
    top: Math.round(one.getBoundingClientRect().top),
    ring: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
    colors: [style.outlineColor, getComputedStyle(document.documentElement).backgroundColor],
  }
}

/** The contrast of two colors as `rgb(...)` says them. WCAG 2.2. @param {string} one @param {string} other */
function contrast(one, other) {
  const [light, dark] = [one, other]
    .map((color) => {
      const [red, green, blue] = (color.match(/[\d.]+/g) ?? [])
        .map((part) => Number(part) / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    })
    .sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

/**
 * Presses an arrow on each slider, and asserts that its value and the text of its section change, that the page
 * does not scroll, and that the ring of the focus can be seen. Up and down choose another dot of a figure.
 *
 * @param {Page} page
 */
async function assertKeys(page) {
  const sliders = '.section :is([role="slider"][tabindex="0"], input[type="range"]:enabled)'
  for (const slider of await page.$$(sliders)) {
    if (!(await slider.isVisible())) continue
    await slider.evaluate((one) => /** @type {HTMLElement} */ (one).focus())
    await page.evaluate(drawn)
    const before = await slider.evaluate(lookAt)
    const name = await slider.evaluate((one) => one.ariaLabel)
    if (await slider.evaluate((one) => one.matches('svg *'))) {
      const reached = () => page.evaluate(() => document.activeElement?.ariaLabel)
      await press(page, 'ArrowDown')
      assert.notEqual(await reached(), name, `${name}: no other dot is chosen`)
      await press(page, 'ArrowUp')
      assert.equal(await reached(), name)
    }
    await press(page, before.value < before.most ? 'ArrowRight' : 'ArrowLeft')
    await page.waitForSelector(WHOLE_SECTION)
    await page.evaluate(drawn)
    const after = await slider.evaluate(lookAt)
    for (const what of /** @type {const} */ (['value', 'text']))
      assert.notEqual(after[what], before[what], `${name}: the ${what} stays`)
    if (after.output !== undefined) assert.equal(after.said, after.output, `${name}: what is said`)
    // What grows above it scrolls the page, so that the slider stays.
    const stays = after.scroll === before.scroll || after.top === before.top
    assert.ok(stays, `${name}: the page scrolls`)
    const [ring, behind] = after.colors
    assert.ok(
      after.ring >= 2 && contrast(ring, behind) >= 3,
      `${name}: a ring of ${after.ring}, ${after.colors}`,
    )
  }
}

/** The sizes of all text, in pixels of the screen, each with the first text of it. @param {Page} page */
const sizesOf = (page) =>
  page.evaluate(() => {
    /** @type {Record<string, string>} */
    const found = {}
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = /** @type {any} */ (node.parentElement)
      // MathML makes its exponents smaller.
      if (!node.textContent?.trim() || !element.checkVisibility() || element.closest('math, .unseen'))
        continue
      const size = parseFloat(getComputedStyle(element).fontSize) * element.currentCSSZoom
      found[size.toFixed(2)] ??= `${element.closest('.section')?.id}: ${node.textContent.trim().slice(0, 40)}`
    }
    return Object.entries(found).sort(([one], [other]) => Number(one) - Number(other))
  })

/** Drags the opening's first dot, and returns how far it is from the pointer. @param {Page} page */
async function missed(page) {
  await page.evaluate(() => scrollTo(0, 0))
  const dot = '#opening [role="slider"]'
  // Not at its middle: a dot stays where it was taken.
  const { x } = await hold(page, dot, ({ left, top, width, height }) => ({
    x: left + width / 2 + 4,
    y: top + height / 2,
  }))
  await page.mouse.move(x + 60, 200)
  const left = await page.$eval(
    dot,
    (one) => one.getBoundingClientRect().left + one.getBoundingClientRect().width / 2,
  )
  await page.mouse.up()
  return Math.abs(left + 4 - x - 60)
}

/** Asserts that text and labels are large, and that a press hits what is there. @param {Page} page */
async function assertGrown(page, { text = 0, least = 0 }) {
  const sizes = await sizesOf(page)
  assert.ok(Number(sizes[0][0]) >= least, JSON.stringify(sizes))
  const words = await page.$eval('.section .text p:not(.note)', (one) => {
    return parseFloat(getComputedStyle(one).fontSize) * /** @type {any} */ (one).currentCSSZoom
  })
  assert.ok(words >= text, `${words} pixels`)
  assert.ok((await missed(page)) < 2)
}

after(closeBrowsers)

describe('every section', { concurrency: 2 }, () => {
  for (const name of BROWSERS) {
    describe(name, { skip: skipped[name], concurrency: 1 }, () => {
      const inChromium = name === 'chrome'
      /** @type {string} */
      let url
      /** Firefox takes the media features at its start, so each reader has a browser. @type {Browser[]} */
      let browsers
      /** @type {string[]} */
      let ids
      /** For each section: its address after all controls were used, and the values that they then show. */
      const used = new Map()
      before(async () => {
        url = await serve()
        browsers = await Promise.all(READERS.map((reader) => share(name, reader)))
      })

      /** @param {string} query @param {Record<string, string>} reader @param {OpenOptions} options */
      const visit = (query, reader, options) =>
        open(browsers[Math.max(0, READERS.indexOf(reader))], url + query, {
          ...options,
          features: inChromium ? reader : {},
        })

      /** @param {string} what @param {(id: string) => Promise<void>} run */
      const each = (what, run) =>
        test(what, async (t) => {
          assert.ok(ids.length >= 7, String(ids))
          for (const id of ids) await t.test(id, () => run(id))
        })

      /** Of both tests with the whole page. @type {Opened} */
      let whole

      test('the whole page fits its windows, before and after its guesses, and the console stays empty', async () => {
        whole = await visit('', PLAIN, DESKTOP)
        const { page, complaints, foreign } = whole
        ids = await openAll(page)
        if (inChromium) {
          const sizes = (await sizesOf(page)).map(([size]) => Number(size))
          assert.deepEqual(sizes, [13, 14, 17, 24, 40])
        }
        // Other choices are words or sliders.
        const boxes = await page.$$eval('.figure', (all) =>
          all.map(
            (figure) =>
              [...figure.querySelectorAll('button:not([role])')].filter(
                (one) => parseFloat(getComputedStyle(one).borderTopWidth) > 0,
              ).length,
          ),
        )
        assert.ok(Math.max(...boxes) <= 2, `boxed buttons of the figures: ${boxes}`)
        await assertFits(page, SLIDE, 'before the guesses')
        await page.$$eval('.guess button', (all) => all.forEach((button) => button.click()))
        await assertFits(page, SLIDE, 'after the guesses')
        await assertFits(page, DESKTOP, 'after the guesses')
        await assertFigures(page, 'after the guesses')
        assert.deepEqual([...complaints, ...foreign], [])
      })

      if (inChromium) {
        test('axe finds nothing in the whole page, and finds a planted low contrast and a missing label', async () => {
          const { page } = whole
          await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
          assert.deepEqual(await findings(page), [])
          await page.$eval('h1', (heading) => {
            if (heading instanceof HTMLElement) heading.style.color = '#bbb'
          })
          await page.$eval('.slider input', (input) => input.removeAttribute('aria-label'))
          const found = (await findings(page)).join('\n')
          assert.match(found, /^color-contrast: <h1/m)
          assert.match(found, /^label: <input/m)
        })

        test('all sections ask one GPT, in one worker', () => {
          const workers = whole.page
            .workers()
            .map((worker) => new URL(worker.url()).pathname.split('/').at(-1) ?? '')
          assert.equal(workers.filter((name) => !name.startsWith('training')).length, 1, workers.join(', '))
        })

        test('on a screen of 1920 by 1080 text has 22 pixels, labels 17, and a press hits what is there', async () => {
          const { page } = whole
          await assertFits(page, LARGE, 'enlarged')
          await assertGrown(page, { text: 22, least: 17 })
          const dot = '#batch-norm [aria-label="sample 3, feature 4"]'
          await click(page, dot)
          assert.ok(await page.$eval(dot, (one) => one === document.activeElement))
        })

        test('all fonts together are at most 100 kB, and come with their licenses; the page, its answers, a menu and a dialog are written in them', async () => {
          const { page } = whole
          const fonts = await page.evaluate(async () => {
            const own = [...document.fonts].filter(({ family }) => !family.includes('Fallback'))
            await Promise.all(own.map((face) => face.load()))
            const all = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType('resource'))
            return all
              .filter(({ name }) => name.endsWith('.woff2'))
              .map(({ name, encodedBodySize }) => ({ name, size: encodedBodySize }))
          })
          const total = fonts.reduce((sum, { size }) => sum + size, 0)
          assert.ok(fonts.length >= 5 && total > 0 && total <= FONTS, JSON.stringify(fonts))
          const licenses = await page.evaluate(async () => (await fetch('assets/fonts.txt')).text())
          assert.equal(licenses.match(/SIL OPEN FONT LICENSE Version 1\.1/gi)?.length, 3)

          await openMenu(page)
          await page.$$eval('button', (all) =>
            all.find(({ textContent }) => textContent === 'PyTorch code')?.click(),
          )
          await page.waitForSelector('dialog[open] pre')
          await page.evaluate(() => document.fonts.ready)
          const session = await page.createCDPSession()
          await session.send('DOM.enable')
          await session.send('CSS.enable')
          const { root } = await session.send('DOM.getDocument', { depth: 0 })
          const { nodeIds } = await session.send('DOM.querySelectorAll', {
            nodeId: root.nodeId,
            selector: 'body *',
          })
          assert.ok(nodeIds.length > 100)
          /** @type {string[]} */
          const foreign = []
          let known = 0
          for (const nodeId of nodeIds) {
            // A section may have replaced the element meanwhile.
            const answer = await session.send('CSS.getPlatformFontsForNode', { nodeId }).catch(() => null)
            if (!answer) continue
            known++
            const { fonts } = answer
            const others = fonts.filter(({ isCustomFont }) => !isCustomFont)
            if (!others.length) continue
            const { outerHTML } = await session.send('DOM.getOuterHTML', { nodeId })
            foreign.push(`${others.map(({ familyName }) => familyName)}: ${outerHTML.slice(0, 200)}`)
          }
          assert.deepEqual(foreign, [])
          assert.ok(known > 0.9 * nodeIds.length, `${known} of ${nodeIds.length}`)
        })
      }

      test('the footer says which build computes, and links to the notebook', async () => {
        const { page } = whole
        assert.match(await text(page, 'footer'), /(simd|relaxed) build, 1 thread\./)
        assert.equal(await text(page, 'footer a[href*="notebook/"]'), 'Live notebook')
      })

      test('the Content-Security-Policy forbids inline scripts, and the tests see a violation', async () => {
        const { page, complaints } = whole
        const policy = await page.$eval('meta[http-equiv]', (meta) => /** @type {any} */ (meta).content)
        assert.equal(policy, "default-src 'self'; img-src 'self' data:; script-src 'self' 'wasm-unsafe-eval'")
        await page.evaluate(() => {
          const script = document.createElement('script')
          script.textContent = 'window.ran = true'
          document.head.append(script)
        })
        assert.equal(await page.evaluate(() => 'ran' in window), false)
        assert.match(complaints.join(), /against the policy: script-src/)
      })

      test('the policy lets the page send nothing to another site', async () => {
        const { page } = whole
        const refused = await page.evaluate(
          () =>
            new Promise((resolve) => {
              document.addEventListener('securitypolicyviolation', ({ blockedURI, violatedDirective }) =>
                resolve([violatedDirective, blockedURI]),
              )
              fetch('https://127.0.0.1:9/').catch(() => {})
            }),
        )
        assert.deepEqual(refused, ['connect-src', 'https://127.0.0.1:9/'])
        await page.close()
      })

      test('on a phone, dark, the whole page fits, and axe finds nothing with every answer shown', async () => {
        const { page, complaints, foreign } = await visit('', OTHER, PHONE)
        await openAll(page)
        await page.$$eval('.guess button', (all) => all.forEach((button) => button.click()))
        await assertFits(page, PHONE, 'with every answer')
        await assertFigures(page, 'on a phone, with every answer')
        assert.deepEqual([...complaints, ...foreign], [])
        if (inChromium) assert.deepEqual(await findings(page), [])
        await page.close()
      })

      if (inChromium)
        test('with a default size of 24 text has 25.5 pixels, on a phone and on a laptop', async () => {
          const page = await newPage(browsers[0])
          await setSize(page, PHONE.width, PHONE.height)
          await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
          const session = await page.createCDPSession()
          await session.send('Page.setFontSizes', { fontSizes: { standard: 24 } })
          await page.goto(url)
          await page.waitForSelector('main:not(.still)')
          await openAll(page)
          await assertFits(page, PHONE, 'with a default size of 24')
          await assertGrown(page, { text: 25.5, least: 13 * 1.125 })
          await resize(page, SLIDE.width, SLIDE.height)
          assert.ok((await overflow(page)) <= 0)
          await assertGrown(page, { text: 25.5, least: 19.5 })
          await page.close()
        })

      each(
        'alone on a phone, dark and with reduced motion: nothing moves, everything fits, keys and fingers reach all, and all is undone and redone',
        async (id) => {
          const { page, complaints, foreign } = await visit(`?embed=${id}`, OTHER, {
            ...PHONE,
            ready: WHOLE_SECTION,
            first: watchFrames,
          })
          await assertFits(page, PHONE, 'on arrival')
          await assertStill(page, 'on arrival')
          assert.deepEqual(await small(page), [])
          const before = await stateOf(page)
          await assertKeys(page)
          await assertFigures(page, 'once every slider has moved')
          await assertTouch(page)
          await pressAll(page)
          await assertFigures(page, 'once every button is pressed')
          await assertStill(page, 'once every button is pressed')
          for (const size of [SMALL_PHONE, ZOOMED, PHONE])
            await assertFits(page, size, 'with every button pressed')
          const color = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
          assert.equal(color, 'rgb(21, 23, 26)')
          if (inChromium) assert.deepEqual(await findings(page), [])
          // With its layer open the worked example is longer than a screen.
          if (id !== 'worked-example') await assertFits(page, SLIDE, 'with every button pressed')
          const values = await stateOf(page)
          await goThrough(page, false)
          assert.deepEqual(await stateOf(page), before, 'what is undone')
          await goThrough(page, true)
          assert.deepEqual(await stateOf(page), values, 'what is redone')
          const [query, hash] = await page.$eval('.whole a', ({ search, hash }) => [search, hash])
          assert.equal(hash, `#${id}`)
          const address = `?embed=${id}${query.replace('?', '&')}`
          await waitInPage(page, `location.search === ${JSON.stringify(address)}`)
          used.set(id, { address, values })
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        },
      )

      each(
        'alone on a desktop: the address restores what was changed, Tab reaches all, guesses are answered, and its figure alone fits a slide, in both sizes',
        async (id) => {
          const { address, values } = used.get(id)
          const { page, complaints, foreign } = await visit(address, PLAIN, {
            ...DESKTOP,
            ready: WHOLE_SECTION,
          })
          assert.deepEqual(await stateOf(page), values)
          assert.equal((await page.$$('.section, #contents, footer')).length, 1)
          if (inChromium) assert.deepEqual(await findings(page), [])
          await reachByTab(page)
          await assertGuesses(page, id)
          await page.waitForSelector(WHOLE_SECTION)
          await assertFits(page, DESKTOP, 'with the guess answered')
          await assertFits(page, SLIDE, 'with the guess answered')
          for (const size of ['large', 'usual']) {
            await page.evaluate((size) => {
              Object.assign(document.documentElement.dataset, { show: 'figure', size }) // as ?show=figure does
            }, size)
            await page.evaluate(drawn)
            assert.ok((await overflow(page)) <= 0)
            const height = await page.evaluate(() => document.documentElement.scrollHeight)
            assert.ok(height <= SLIDE.height, `${size}: ${height} pixels tall`)
          }
          const guess = await page.$('.alone .guess')
          assert.equal((await guess?.isVisible()) ?? false, false)
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        },
      )

      for (const [id, query] of Object.entries(STATES))
        test(`${id} fits its screens with ${query}`, async () => {
          const { page, complaints, foreign } = await visit(`?embed=${id}&${query}`, STILL, {
            ...DESKTOP,
            ready: WHOLE_SECTION,
          })
          assert.equal(await problem(page), '') // the page has not refused the state
          await assertFigures(page, query)
          await page.$$eval('.guess button', (all) => all.forEach((button) => button.click()))
          await page.waitForSelector(WHOLE_SECTION)
          for (const size of [DESKTOP, SLIDE, PHONE]) await assertFits(page, size, query)
          assert.deepEqual([...complaints, ...foreign], [])
          await page.close()
        })
    })
  }
})

/** @param {Browser} browser */
async function assertOpeningUndoes(browser) {
  const { page, complaints, foreign } = await open(browser, `${await serve()}?embed=opening`, {
    ready: WHOLE_SECTION,
  })
  const before = await stateOf(page)
  await page.$eval('[role="slider"]', (dot) =>
    /** @type {HTMLElement} */ (/** @type {Element} */ (dot)).focus(),
  )
  await press(page, 'ArrowRight')
  const changed = await stateOf(page)
  assert.notDeepEqual(changed, before)
  await press(page, 'Control', 'z')
  assert.deepEqual(await stateOf(page), before)
  await press(page, 'Control', 'Shift', 'z')
  assert.deepEqual(await stateOf(page), changed)
  assert.deepEqual([...complaints, ...foreign], [])
  await page.close()
}

// In Chromium a number that is selected stays so.
if (all)
  test(
    'in Firefox, too, a click selects a number, also where the pointer trembles',
    { skip: skipped.firefox },
    async () => {
      const address = `${await serve()}?embed=worked-example`
      const { page } = await open(await share('firefox'), address, { ready: WHOLE_SECTION })
      await openLayer(page)
      const { x, y } = await hold(page, field('x₁₂'))
      await page.mouse.move(x + 2, y)
      await page.mouse.up()
      const [shown, selected] = await page.$eval(field('x₁₂'), (one) => {
        const { value, selectionStart, selectionEnd } = /** @type {HTMLInputElement} */ (one)
        return [value, value.slice(selectionStart ?? 0, selectionEnd ?? 0)]
      })
      assert.equal(selected, shown)
      await page.close()
    },
  )

if (all)
  test('in Firefox, too, a change by keyboard can be undone', { skip: skipped.firefox }, async () =>
    assertOpeningUndoes(await share('firefox')),
  )

// The other tests run in chromium-headless-shell, where it is installed. It has no window.
const { CHROMIUM, CHROMIUM_BROWSER } = process.env
const skip = skipped.window || (CHROMIUM_BROWSER === CHROMIUM && 'the other tests run in this Chromium')
if (all)
  test('in a Chromium that has a window, too, a change by keyboard can be undone', { skip }, async () => {
    const browser = await launch('chrome', {}, CHROMIUM_BROWSER)
    await assertOpeningUndoes(browser)
    await browser.close()
  })
