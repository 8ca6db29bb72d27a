// What stands in the HTML: the opening before the page starts, and what a preview of a link shows.

/** @import { HTTPRequest } from 'puppeteer-core' */

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { nameSite } from '../../web/demo/site.js'
import { drawn, newPage, open, test, text, useSite, waitInPage } from './browser.js'
import { isRecording } from './looks.js'

const site = useSite()
const SIZES = [
  { width: 1280, height: 720 },
  { width: 360, height: 740 },
]
const STILL = { 'prefers-reduced-motion': 'reduce' }

/** What the opening shows, and where. @param {import('puppeteer-core').Page} page */
const seen = (page) =>
  page.evaluate(() => {
    const parts = [...document.querySelectorAll('#opening :is(h1, .words, .rows, .story)')]
    const boxes = parts
      .filter((one) => one.checkVisibility())
      .map((element) => {
        const { left, top, height } = element.getBoundingClientRect()
        return [left, top, height].map(Math.round).join(' ')
      })
    const figure = [...document.querySelectorAll('#opening svg')].find((svg) => svg.checkVisibility())
    const texts = [...(figure?.querySelectorAll('text') ?? [])].map(({ textContent }) => textContent)
    return { boxes, texts, dots: figure?.querySelectorAll('.dot').length }
  })

/** The page sends a browser without JavaScript on to text.html. @param {import('puppeteer-core').Page} page */
async function gotoWithoutJavaScript(page) {
  await page.setJavaScriptEnabled(false)
  const arrived = new Promise((resolve) => {
    page.on('framenavigated', (frame) => frame.url() === `${site.url}text.html` && resolve(null))
  })
  await page.goto(site.url)
  await arrived
  // The text can be there before its style sheets.
  await waitInPage(page, () => document.readyState === 'complete' && document.getElementById('end') !== null)
}

test('without JavaScript the text of every section is there, with its answers', async () => {
  const context = await site.newProfile()
  const { page } = await open(context, site.url, { features: STILL })
  await page.waitForSelector('#end')
  const paragraphs = (/** @type {import('puppeteer-core').Page} */ from) =>
    from.$$eval('section:not(#opening) :is(h2, .text > p, li)', (all) =>
      all.filter((one) => one.checkVisibility()).map((one) => one.textContent?.replace(/\s+/g, ' ').trim()),
    )
  const expected = await paragraphs(page)
  const bare = await newPage(context)
  await gotoWithoutJavaScript(bare)
  const found = await paragraphs(bare)
  assert.deepEqual(
    // Without JavaScript nothing can be pressed.
    expected.filter((one) => !found.includes(one?.replace(' Press a norm.', ''))),
    [],
  )
  assert.ok(expected.length > 30)
  const answers = await bare.$$eval('.answer', (all) => all.map((one) => one.textContent ?? ''))
  assert.ok(answers.length >= 6 && answers.every((answer) => answer.length > 20))
  assert.equal(
    await bare.$$eval(
      'button',
      (all) => all.filter((one) => one.checkVisibility({ visibilityProperty: true })).length,
    ),
    0,
  )
  await context.close()
})

for (const size of SIZES) {
  test(`at ${size.width} by ${size.height} the opening is in the HTML, and the page takes over in place`, async () => {
    const context = await site.newProfile()
    const bare = await newPage(context)
    await bare.setViewport(size)
    await bare.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
    await gotoWithoutJavaScript(bare)
    assert.equal(await text(bare, 'h1'), 'What layer normalization does')
    assert.match(await text(bare, '#opening p'), /slides each row of numbers to mean 0/)
    assert.match(await text(bare, 'noscript'), /computed in your browser, with JavaScript/)
    const before = await seen(bare)
    assert.equal(before.dots, 12)
    assert.match(before.texts.join(' '), /0\.0000.*0\.9995.*0\.0000.*0\.9997/)

    const { page, complaints } = await open(context, site.url, { ...size, features: STILL })
    await page.waitForSelector('main:not(.still)')
    await waitInPage(page, () => document.fonts.status === 'loaded')
    assert.deepEqual(await seen(page), before)
    assert.deepEqual(complaints, [])
    await context.close()
  })

  test(`nothing moves at ${size.width} by ${size.height} when the page starts and its fonts arrive`, async () => {
    const context = await site.newProfile()
    const page = await newPage(context)
    await page.setViewport(size)
    /** @type {HTTPRequest[]} */
    const fonts = []
    let held = true
    await page.setRequestInterception(true)
    page.on('request', (request) => {
      if (held && request.url().endsWith('.woff2')) fonts.push(request)
      else request.continue()
    })
    await page.evaluateOnNewDocument(() => {
      Object.assign(window, { shift: 0 })
      new PerformanceObserver((list) => {
        const [entry] = performance.getEntriesByType('navigation')
        const { domInteractive } = /** @type {PerformanceNavigationTiming} */ (entry)
        // The HTML itself may come in pieces.
        for (const { value, startTime } of /** @type {any[]} */ (list.getEntries()))
          if (startTime > domInteractive) Object(window).shift += value
      }).observe({ type: 'layout-shift', buffered: true })
    })
    await page.goto(site.url, { waitUntil: 'domcontentloaded' })
    await page.waitForSelector('main:not(.still)')
    await page.evaluate(drawn)
    assert.ok(await page.evaluate(() => [...document.fonts].some(({ status }) => status === 'loading')))
    const { boxes } = await seen(page)
    held = false
    for (const request of fonts) await request.continue()
    await waitInPage(page, () => document.fonts.status === 'loaded')
    await page.evaluate(drawn)
    assert.deepEqual((await seen(page)).boxes, boxes)
    // No box moves; but a word may go to the next line, which Chromium counts.
    const shift = Number(await page.evaluate('shift'))
    assert.ok(shift < 0.05, String(shift))
    await context.close()
  })
}

test('before the page starts, the story is whole only where it will not be written word by word', async () => {
  const context = await site.newProfile()
  for (const [motion, scripts, whole] of /** @type {const} */ ([
    ['no-preference', true, false],
    ['reduce', true, true],
    ['no-preference', false, true],
  ])) {
    const page = await newPage(context)
    await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: motion }])
    await page.setJavaScriptEnabled(scripts)
    await page.setRequestInterception(true)
    page.on('request', (request) => {
      if (/\.js$/.test(request.url())) request.abort()
      else request.continue()
    })
    await page.goto(scripts ? site.url : `${site.url}text.html`)
    const shown = await page.$eval('.still .later', (words) =>
      words.checkVisibility({ visibilityProperty: true }),
    )
    assert.equal(shown, whole, `${motion}, ${scripts}`)
    await page.close()
  }
  await context.close()
})

/** What in the page has the address at which it is served. @param {string} page */
const addresses = (page) =>
  [...page.matchAll(/(canonical|og:url|og:image)"\s+(?:href|content)="([^"]*)"/g)].map(
    ([, tag, to]) => `${tag} ${to}`,
  )

test('the page names the address that the build is told; told none, it names none', async () => {
  const source = readFileSync(new URL('../../web/demo/index.html', import.meta.url), 'utf8')
  const at = 'https://example.com/layers/'
  const named = [`canonical ${at}`, `og:url ${at}`, `og:image ${at}og.png`]
  for (const given of [at, `${at}index.html`]) assert.deepEqual(addresses(nameSite(source, given)), named)
  const bare = nameSite(source, '')
  assert.doesNotMatch(bare, /canonical|og:(url|image)|%SITE%/)
  assert.match(bare, /og:title.*og:description/s)
  const built = await (await fetch(site.url)).text()
  assert.deepEqual(addresses(built), addresses(nameSite(source)))
})

test('a preview of a link has a title and a sentence, and a phone has an icon', async () => {
  const { page } = await site.open()
  const head = await page.evaluate(() => {
    const metas = [...document.querySelectorAll('meta')].map(({ name, content, attributes }) => [
      name || attributes.getNamedItem('property')?.value,
      content,
    ])
    const touch = document.querySelector('link[rel="apple-touch-icon"]')?.getAttribute('href')
    return { ...Object.fromEntries(metas), touch }
  })
  assert.equal(head['og:title'], await page.title())
  assert.ok(head.description.length > 80 && head['og:description'].length > 60)
  assert.equal(head['twitter:card'], 'summary_large_image')
  for (const [name, width, height] of [
    ['og.png', 1200, 630],
    [head.touch, 180, 180],
  ]) {
    const bytes = Buffer.from(await (await fetch(site.url + name)).arrayBuffer())
    assert.deepEqual([bytes.readInt32BE(16), bytes.readInt32BE(20)], [width, height], name) // of the PNG
  }
  await page.close()
})

test('the picture for previews of links is the first screen, off and on, as it was recorded', async () => {
  const page = await newPage(site.browser)
  await page.setBypassCSP(true)
  await page.setViewport({ width: 840, height: 441, deviceScaleFactor: 1200 / 840 })
  await page.emulateMediaFeatures([
    { name: 'prefers-reduced-motion', value: 'reduce' },
    { name: 'prefers-color-scheme', value: 'light' },
  ])
  await page.goto(`${site.url}text.html`) // any page of this origin, by which the frames can be reached
  const sides = ['off=all', 'off='].map((off) => `<iframe src="?embed=opening&story.${off}"></iframe>`)
  await page.setContent(`<base href="${site.url}">
    <style>body { margin: 0; display: flex } iframe { border: 0; width: 420px; height: 441px }</style>${sides.join('')}`)
  const both = (/** @type {string} */ selector) =>
    waitInPage(
      page,
      `[...document.querySelectorAll('iframe')].every((one) => one.contentDocument?.querySelector('${selector}'))`,
    )
  await both('main:not(.still) .run')
  await page.evaluate(async () => {
    for (const { contentDocument } of document.querySelectorAll('iframe')) {
      const style = document.createElement('style')
      style.textContent = `.words, .links, .legend, .whole { display: none !important }
        h1 { font-size: 26px } #opening.section { padding-top: 14px; row-gap: 4px }`
      contentDocument?.head.append(style)
      await contentDocument?.fonts.ready
    }
  })
  await both('.run.longer') // the story is on the screen now
  await page.evaluate(drawn)
  const file = 'web/demo/public/og.png'
  const now = await page.screenshot({ encoding: 'base64' })
  // Versions of Chromium draw pixels a little differently. So the test compares the means of ten by ten pixels.
  const differ = await page.evaluate(
    async (pictures) => {
      const [one, other] = await Promise.all(
        pictures.map(async (base64) => {
          const image = new Image()
          image.src = `data:image/png;base64,${base64}`
          await image.decode()
          const context = new OffscreenCanvas(120, 63).getContext('2d')
          if (!context) throw new Error('no canvas')
          context.imageSmoothingQuality = 'high'
          context.drawImage(image, 0, 0, 120, 63)
          return context.getImageData(0, 0, 120, 63).data
        }),
      )
      return one.filter((value, i) => Math.abs(value - other[i]) > 40).length / one.length
    },
    [now, readFileSync(file, 'base64')],
  )
  if (isRecording && differ > 0) writeFileSync(file, now, 'base64')
  else assert.ok(differ < 0.01, `${differ} of ${file} is not as now: ./build.sh record takes it again`)
  await page.close()
})
