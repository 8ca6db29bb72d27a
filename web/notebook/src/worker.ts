// Runs cells. It has no access to the page, to the network, or to what the browser keeps: see frame.js.

import { expose } from 'comlink'
import * as core from 'gpt-layers/core'
import { dots, heatmap, plot } from './figures.ts'
import { inspect } from './inspect.ts'
import type { End, Figure, Item, Output, Where } from './messages.ts'
import { transform } from './transform.ts'

const LINES = 1000 // that a run of a cell may print
const CHARACTERS = 200_000
const EVERY = 50 // milliseconds between two messages with outputs, and two moments to be stopped

/** The cell that has run last: what a timer prints is its output, too. */
let cell = 0
let output: Output
let items: Item[] = []
let figures: Map<string, Figure> = new Map()
let printed = { lines: 0, characters: 0, skipped: 0 }
let lastFlush = 0

function flush() {
  lastFlush = performance.now()
  for (const figure of figures.values()) items.push({ type: 'figure', figure })
  if (printed.skipped) items.push({ type: 'more', count: printed.skipped })
  const shown = output(cell, items)
  items = []
  figures = new Map()
  return shown
}

/** A loop without an end prints, too, so it does not wait for the end of the task. */
function flushSoon() {
  if (performance.now() - lastFlush > EVERY) flush()
  else if (items.length + figures.size === 1) setTimeout(flush, EVERY)
}

function print(...values: unknown[]) {
  const left = CHARACTERS - printed.characters
  if (printed.lines >= LINES || left <= 0) printed.skipped++
  else {
    const whole = values.map((value) => inspect(value)).join(' ')
    const text = whole.length > left ? `${whole.slice(0, left)}... (${whole.length} characters)` : whole
    printed.lines += text.split('\n').length
    printed.characters += text.length
    items.push({ type: 'text', text })
  }
  flushSoon()
}

function whereIs(error: unknown): Where | null {
  if (error instanceof SyntaxError && 'loc' in error)
    return { cell, line: (error.loc as { line: number }).line }
  const found = error instanceof Error && /cell-(\d+)\.js:(\d+)/.exec(error.stack ?? '')
  return found ? { cell: Number(found[1]), line: Number(found[2]) - 1 } : null
}

/** What somebody who writes PyTorch may have meant. */
const HINTS: [RegExp, string][] = [
  [/^(torch|nn|F) is not defined/, 'gpt has what torch, nn and F have, such as gpt.ones and gpt.Linear'],
  [/ is not a function/, 'a layer is called by layer.forward(x), and names are as in x.maskedFill(...)'],
]

function fail(error: unknown) {
  const said = error instanceof Error ? error.message.replace(/ \(\d+:\d+\)$/, '') : ''
  const hint = HINTS.find(([about]) => about.test(said))?.[1]
  const text =
    error instanceof Error
      ? `${error.name}: ${said}${hint ? `\nComing from PyTorch: ${hint}` : ''}`
      : `Thrown: ${inspect(error)}`
  items.push({ type: 'error', text, where: whereIs(error) })
  flush()
}

const STOPPED = Symbol('stopped')
let isStopped = false
let lastPause = 0

/** What `await` of a cell does: now and then it hears whether the cell should stop. */
async function pause(value: unknown): Promise<unknown> {
  const result = await value
  if (performance.now() - lastPause > EVERY) {
    await new Promise((resolve) => setTimeout(resolve))
    lastPause = performance.now()
  }
  if (isStopped) throw STOPPED
  return result
}

const evaluate = globalThis.eval // called by another name, it sees global variables alone
const declared: Set<string> = new Set()
let receiveFile: (bytes: Uint8Array) => void

const cells = {
  async run(id: number, code: string, to: Output): Promise<End> {
    cell = id
    output = to
    printed = { lines: 0, characters: 0, skipped: 0 }
    isStopped = false
    try {
      const { source, names } = transform(code, id)
      for (const name of names.filter((name) => !declared.has(name))) {
        declared.add(name)
        Object.defineProperty(globalThis, name, { value: undefined, writable: true, configurable: true })
      }
      const value: unknown = await evaluate(source)
      if (value !== undefined) print(value)
      return 'done'
    } catch (error) {
      if (error === STOPPED) return 'stopped'
      fail(error)
      return 'failed'
    } finally {
      await flush()
    }
  },
  stop: () => void (isStopped = true),
  give: (bytes: ArrayBuffer) => receiveFile(new Uint8Array(bytes)),
}
export type Cells = typeof cells

/** Where in a cell a figure is made. */
const placeOf = () => /cell-\d+\.js:\d+:\d+/.exec(new Error().stack ?? '')?.[0] ?? 'elsewhere'
const drawing =
  <A extends unknown[]>(make: (...all: A) => Omit<Figure, 'place'>) =>
  (...all: A) => {
    const place = placeOf()
    figures.set(place, { ...make(...all), place } as Figure)
    flushSoon()
  }

/** The package, with the WebAssembly that the page has fetched. */
const packageWith = (bytes: ArrayBuffer) => {
  const module = WebAssembly.compile(bytes)
  const load = async (options = {}) => core.load({ module: await module, ...options })
  return Object.create(core, { load: { value: load, enumerable: true } })
}
let gpt: typeof core

Object.assign(globalThis, {
  $import: async (name: string) => {
    if (name === 'gpt-layers') return gpt
    throw new Error(`a cell can import 'gpt-layers' and nothing else, got '${name}'`)
  },
  $await: pause,
  openFile: (says = 'A file') =>
    new Promise<Uint8Array>((resolve) => {
      receiveFile = resolve
      items.push({ type: 'file', says: String(says) })
      flush()
    }),
  plot: drawing(plot),
  heatmap: drawing(heatmap),
  dots: drawing(dots),
})
for (const name of ['log', 'info', 'warn', 'error', 'debug', 'table'] as const) console[name] = print

addEventListener('error', (event) => {
  event.preventDefault()
  fail(event.error ?? event.message)
})
addEventListener('unhandledrejection', (event) => {
  event.preventDefault()
  if (event.reason !== STOPPED) fail(event.reason)
})
addEventListener(
  'message',
  ({ data, ports }) => {
    gpt = packageWith(data)
    expose(cells, ports[0])
  },
  { once: true },
)
