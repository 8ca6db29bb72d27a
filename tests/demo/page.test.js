// What the whole page promises: its policy, its address, and its fields for numbers.

import assert from 'node:assert/strict'
import {
  blur,
  click,
  field,
  focus,
  openLayer,
  press,
  test,
  text,
  type,
  useSite,
  value,
  waitInPage,
} from './browser.js'

const site = useSite()
/** The section whose fields are tried. */
const FIELDS = { at: 'worked-example', features: { 'prefers-reduced-motion': 'reduce' } }
/** It alone, for what needs no other part of the page. */
const ALONE = '?embed=worked-example'

test('the page has only relative addresses', async () => {
  assert.doesNotMatch(await (await fetch(site.url)).text(), /(src|href)="\//)
})

test('what means nothing in the address is named, and the valid values take effect', async () => {
  const { page } = await site.open(
    '?embed=constructor&x11=1&poem.x=2&example.edits=x11:abc&example.first=1,2&example.seed=-1' +
      '&worked-example.step=divide',
    FIELDS,
  )
  assert.equal(
    await text(page, '.notice p'),
    'There is no section “constructor” to embed; this is the whole page. ' +
      'The address has x11=1, poem.x=2, example.edits=x11:abc, example.first=1,2, example.seed=-1, ' +
      'which means nothing here and was left out.',
  )
  assert.ok(await page.$('footer'))
  await click(page, '.notice button')
  assert.equal(await text(page, '.notice'), '')
  assert.match(await text(page, '#worked-example .title'), /^4 of 5/)
  await page.close()
})

test('names of JavaScript’s own in the address are left out, and a hash that is no text is no section', async () => {
  const own = ['toString=1', '__proto__=1', 'constructor.x=1', 'training.toString=1']
  own.push('worked-example.constructor=1', 'worked-example.step=constructor')
  const { page, complaints } = await site.open(`${ALONE}&${own.join('&')}&example.edits=x12:3#100%`, FIELDS)
  await openLayer(page)
  const problem = await text(page, '.notice')
  for (const one of own) assert.ok(problem.includes(one), `${one} is not in: ${problem}`)
  assert.equal(await value(page, 'x₁₂'), 3)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('Ctrl+Z in a number that is being typed undoes the typing, and before and after it the page', async () => {
  const { page } = await site.open(`${ALONE}#worked-example`, FIELDS)
  await openLayer(page)
  const first = await value(page, 'x₁₁')
  await type(page, 'x₁₁', '7')
  await focus(page, field('x₁₂'))
  await page.keyboard.type('5')
  await press(page, 'Control', 'z')
  assert.equal(await value(page, 'x₁₁'), 7)
  await page.keyboard.press('Escape')
  await focus(page, field('x₁₂'))
  await press(page, 'Control', 'z')
  assert.equal(await value(page, 'x₁₁'), first)
  await press(page, 'Control', 'y')
  assert.equal(await value(page, 'x₁₁'), 7)
  await waitInPage(page, () => /x11:7.*#worked-example$/.test(location.href)) // the section stays in it
  await page.close()
})

test('the focus and the first click select a number, the second click sets the caret', async () => {
  const { page } = await site.open(ALONE, FIELDS)
  await openLayer(page)
  const selected = () =>
    page.$eval(field('x₁₂'), (one) => {
      const { value, selectionStart, selectionEnd } = /** @type {HTMLInputElement} */ (one)
      return value.slice(selectionStart ?? 0, selectionEnd ?? 0)
    })
  await focus(page, field('x₁₂'))
  assert.match(await selected(), /^-?\d\.\d+$/)
  await blur(page)
  await click(page, field('x₁₂'))
  await page.keyboard.type('12')
  await click(page, field('x₁₂'))
  assert.equal(await selected(), '')
  await page.keyboard.press('End')
  await page.keyboard.type('5')
  await page.keyboard.press('Enter')
  assert.equal(await value(page, 'x₁₂'), 125)
  await page.close()
})

/** Records each attribute that is no number, at any time; in the page. */
function watchAttributes() {
  /** @type {Set<string>} */
  const wrong = new Set()
  Object.assign(window, { wrong })
  /** @param {Element} one */
  const look = (one) => {
    for (const { name, value } of one.attributes)
      if (/NaN|Infinity/.test(value)) wrong.add(`${one.tagName} ${name}="${value}"`)
  }
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes)
      if (type === 'attributes') look(/** @type {Element} */ (target))
      else
        for (const node of addedNodes)
          if (node instanceof Element) [node, ...node.querySelectorAll('*')].forEach(look)
  }).observe(document, { subtree: true, childList: true, attributes: true })
}

test('no attribute is NaN or Infinity for any finite rows, also while a figure moves', async () => {
  const addresses = [
    '?embed=opening&story.off=all&example.first=3e38,-3e38,3e38,-3e38,0,1',
    '?embed=opening&story.off=all&example.first=1,1,1,1,1,1&example.eps=0',
    '?embed=opening&story.off=all&example.edits=x11:3e38,x12:-3e38,w11:3e38',
    '?embed=worked-example&example.first=1e30,0,0,0,0,0',
    '?embed=worked-example&example.first=1,1,1,1,1,1&example.eps=0&worked-example.step=divide',
    '?embed=worked-example&example.edits=x11:3e38,x12:-3e38,w11:3e38&worked-example.step=subtract',
  ]
  const found = addresses.map(async (address) => {
    const options = { byFrames: true, first: watchAttributes, ready: '.section svg' }
    const { page, complaints } = await site.open(address, options)
    const still = '.section:not(:has([aria-busy="true"]))'
    await page.waitForSelector(still)
    if (address.includes('opening')) {
      await click(page, '#opening [role="switch"]') // the rows move
      await page.waitForSelector(`${still} [role="switch"][aria-checked="true"]`)
    }
    assert.deepEqual(await page.evaluate('[...wrong]'), [], address)
    assert.deepEqual(complaints, [], address)
    await page.close()
  })
  await Promise.all(found)
})
