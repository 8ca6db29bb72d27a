// Saves a figure as a PNG, as it looks now. The browser draws a copy of it, with the page's styles, inside an
// SVG. An SVG that is a picture fetches nothing: its fonts are in it.

import { download } from './download.ts'

const PIXELS = 2 // of the picture for each of the screen
const MARGIN = 16 // around the figure

export async function savePicture(figure: Element, name: string) {
  const box = figure.getBoundingClientRect()
  const [width, height] = [box.width, box.height].map((size) => Math.ceil(size) + 2 * MARGIN)
  const image = new Image()
  image.src = `data:image/svg+xml,${encodeURIComponent(await drawingOf(figure, width, height))}`
  await image.decode()
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: PIXELS * width, height: PIXELS * height })
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  context.drawImage(image, 0, 0, canvas.width, canvas.height)
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done))
  if (!blob) throw new Error('the figure is too large for a picture')
  download(`${name}.png`, blob)
}

async function drawingOf(figure: Element, width: number, height: number) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  const root = document.documentElement
  Object.assign(svg.dataset, root.dataset)
  // The size of the picture is not the window's, so a theme that the window has is named.
  svg.dataset.theme ??= matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  svg.setAttribute('width', String(width))
  svg.setAttribute('height', String(height))
  const style = document.createElement('style')
  const { backgroundColor } = getComputedStyle(root)
  style.textContent = `${await styles()}
    svg[data-theme] { background: ${backgroundColor}; ${root.style.cssText} }
    [data-copied] { position: fixed; inset: ${MARGIN}px auto auto ${MARGIN}px; margin: 0;
      width: calc((100vw - ${2 * MARGIN}px) / var(--zoom, 1)) }
    * { transition: none !important; animation: none !important }`
  const page = document.createElementNS(svg.namespaceURI, 'foreignObject')
  page.setAttribute('width', '100%')
  page.setAttribute('height', '100%')
  page.append(copyOf(figure))
  svg.append(style, page)
  return new XMLSerializer().serializeToString(svg)
}

/** The figure in empty copies of the elements around it, by which its styles find it. */
function copyOf(figure: Element): Element {
  const copy = figure.cloneNode(true) as HTMLElement
  copy.dataset.copied = ''
  const fields = figure.querySelectorAll('input')
  copy.querySelectorAll('input').forEach((field, i) => field.setAttribute('value', fields[i].value))
  let whole: Element = copy
  for (let around = figure.parentElement; around && around !== document.documentElement;) {
    const parent = around.cloneNode(false) as Element
    parent.append(whole)
    whole = parent
    around = around.parentElement
  }
  return whole
}

/** The page's styles that hold in this window. */
async function styles(): Promise<string> {
  const texts = [...document.styleSheets].map(async ({ cssRules, href }) => {
    const rules = [...cssRules].map((rule) => {
      if (rule instanceof CSSFontFaceRule) return withFont(rule.cssText, href ?? location.href)
      if (!(rule instanceof CSSMediaRule)) return rule.cssText
      const holds = matchMedia(rule.conditionText).matches
      return holds ? [...rule.cssRules].map(({ cssText }) => cssText).join('\n') : ''
    })
    return (await Promise.all(rules)).join('\n')
  })
  return (await Promise.all(texts)).join('\n')
}

/** A rule with its font's file in it. */
async function withFont(rule: string, base: string): Promise<string> {
  const file = /url\("([^"]+)"\)/.exec(rule)?.[1]
  if (!file) return rule
  const font = await (await fetch(new URL(file, base))).blob()
  const reader = new FileReader()
  await new Promise((done) => {
    reader.onloadend = done
    reader.readAsDataURL(font)
  })
  return rule.replace(file, String(reader.result))
}
