// The page's state: the cells, what they have printed, where they come from and where they are kept.

import recorded from '../../../tests/golden/notebooks.json'
import { parse, write, type Part } from './cells.ts'
import { pack, unpack } from './link.ts'
import type { End, Item, Where } from './messages.ts'
import { Session } from './session.ts'

const files: Record<string, string> = import.meta.glob('../*.mjs', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** The notebooks that come with the page. One that takes long, or asks for a file, does not run by itself. */
export const NOTEBOOKS = [
  { name: 'notebook', title: 'Layer normalization', runs: true },
  { name: 'sources', title: 'The sources', runs: true },
  { name: 'attention', title: 'Attention by hand', runs: true },
  { name: 'gpt', title: 'A GPT from its parts', runs: true },
  { name: 'train', title: 'Train it', runs: false },
  { name: 'own', title: 'Your own GPT', runs: false },
  { name: 'blank', title: 'Blank', runs: true },
]
/** What was opened from a link or a file. */
const MINE = 'mine'

const SECOND = 1000 // milliseconds: from then on a cell shows its time, and its worker is ended on Stop

let ids = 0

export class Cell {
  readonly id = ++ids
  readonly kind: Part['kind']
  text = $state('')
  items: Item[] = $state.raw([])
  /** How its last run has ended. */
  state: End | 'new' = $state('new')
  /** For how long it has been running. */
  seconds = $state(0)
  /** The line with an error. */
  wrong: number | null = $state(null)
  /** A text cell that is being written. */
  edited = $state(false)

  constructor({ kind, text }: Part) {
    this.kind = kind
    this.text = text
  }

  get printed(): string {
    return this.items
      .flatMap((one) => (one.type === 'text' || one.type === 'error' ? [one.text] : []))
      .join('\n')
  }
}

const keyOf = (name: string) => `gpt-layers notebook ${name}`
/** The browser may refuse to keep anything. */
function kept(name: string): string | null {
  try {
    return localStorage.getItem(keyOf(name))
  } catch {
    return null
  }
}

export class Notebook {
  name = $state('notebook')
  cells: Cell[] = $state.raw([])
  /** What the page has to say, and what can be done about it. */
  note: { text: string; link?: string; action?: string; act?: () => void } | null = $state.raw(null)
  isKept = $state(false)
  /** Whether its code comes from elsewhere and has not been run. */
  isForeign = $state(false)
  besides = $state(false)
  #queue: Cell[] = $state.raw([])
  #session: Session | null = null
  #timer: ReturnType<typeof setInterval> | undefined
  #ending: ReturnType<typeof setTimeout> | undefined

  get code(): Cell[] {
    return this.cells.filter(({ kind }) => kind === 'code')
  }
  get running(): Cell | undefined {
    return this.#queue[0]
  }
  get file(): string {
    return write(this.cells)
  }
  get #shipped(): string | undefined {
    return files[`../${this.name}.mjs`]
  }

  /** The PyTorch of a cell, and what it prints: of a cell that stands as it came. */
  recordOf(cell: Cell): { code: string; prints: string } | undefined {
    const parts = this.#shipped ? parse(this.#shipped).filter(({ kind }) => kind === 'code') : []
    const place = parts.findIndex(({ text }) => text === cell.text)
    return (recorded as Record<string, { code: string; prints: string }[]>)[this.name]?.[place]
  }

  /** Opens what the address names. */
  async openAddress() {
    const fragment = location.hash.slice(1)
    try {
      if (fragment.startsWith('code=')) this.#open(MINE, await unpack(fragment))
      else if (!fragment || fragment === MINE || `../${fragment}.mjs` in files)
        this.open(fragment || 'notebook')
      else throw new Error(`There is no notebook “${fragment}”; this is the first one.`)
    } catch (error) {
      this.open('notebook')
      this.note = { text: (error as Error).message }
    }
  }

  open(name: string): void {
    const text = kept(name) ?? files[`../${name}.mjs`]
    if (text === undefined) return this.open('blank')
    this.#open(name, text)
    this.isKept = kept(name) !== null
    const runs = NOTEBOOKS.some((one) => one.name === name && one.runs)
    if (text === this.#shipped && runs) this.runAll()
  }

  #open(name: string, text: string) {
    this.#end()
    this.name = name
    this.cells = parse(text).map((part) => new Cell(part))
    this.isKept = false
    this.isForeign = text !== this.#shipped
    this.note = null
  }

  openFile(text: string) {
    this.#open(MINE, text)
    this.keep()
  }

  // Keeping

  /** Keeps the notebook in the browser. Every change does so at once: another notebook may be opened next. */
  keep() {
    const { file } = this
    if (this.name === MINE && location.hash !== `#${MINE}`) history.replaceState(null, '', `#${MINE}`)
    try {
      if (file === this.#shipped) localStorage.removeItem(keyOf(this.name))
      else localStorage.setItem(keyOf(this.name), file)
      this.isKept = file !== this.#shipped
    } catch {
      this.isKept = false
      this.note = {
        text: 'This browser keeps nothing for this site: download the notebook before you leave.',
      }
    }
  }

  forget() {
    localStorage.removeItem(keyOf(this.name))
    if (this.name === MINE) history.replaceState(null, '', '#notebook')
    this.open(this.name === MINE ? 'notebook' : this.name)
  }

  /** Another tab has kept something. */
  heardOf({ key, newValue }: StorageEvent) {
    if (key !== keyOf(this.name) || newValue === this.file) return
    const text = 'This notebook was changed in another tab. What you write here from now on takes its place.'
    this.note = { text, action: 'Show the other one', act: () => this.open(this.name) }
  }

  /** Whether a cell runs, or will. */
  waits = (cell: Cell): boolean => this.#queue.includes(cell)

  link = async () => new URL(`#${await pack(this.file)}`, location.href).href

  // Cells

  add(kind: Part['kind'], after: Cell | null) {
    const cell = new Cell({ kind, text: '' })
    cell.edited = kind === 'text'
    this.cells = this.cells.toSpliced(after ? this.cells.indexOf(after) + 1 : 0, 0, cell)
    this.keep()
    return cell
  }

  move(cell: Cell, by: number) {
    const place = this.cells.indexOf(cell)
    this.cells = this.cells.toSpliced(place, 1).toSpliced(place + by, 0, cell)
    this.keep()
  }

  remove(cell: Cell) {
    const before = this.cells
    this.cells = before.filter((one) => one !== cell)
    this.keep()
    const act = () => {
      this.cells = before
      this.note = null
      this.keep()
    }
    this.note = { text: 'The cell was deleted.', action: 'Undo', act }
  }

  // Running

  run(...cells: Cell[]) {
    this.isForeign = false
    this.note = null
    const wasIdle = !this.running
    this.#queue = [...this.#queue, ...cells.filter((cell) => !this.#queue.includes(cell))]
    if (wasIdle) void this.#work()
  }

  /** Starts afresh: no variable is left from before. */
  runAll() {
    this.#end()
    this.run(...this.code)
  }

  async #work() {
    for (let cell = this.running; cell; cell = this.running) {
      this.#session ??= new Session(this.#output, (reason) =>
        this.#end(`The cells’ worker is gone: ${reason}. So are its variables.`),
      )
      const began = performance.now()
      Object.assign(cell, { items: [], seconds: 0, wrong: null, state: 'new' })
      this.#timer = setInterval(
        () => (cell.seconds = Math.round((performance.now() - began) / SECOND)),
        SECOND,
      )
      cell.state = await this.#session.run(cell.id, cell.text)
      this.#clear()
      // What comes after an error would fail, too.
      this.#queue = cell.state === 'done' ? this.#queue.slice(1) : []
      if (cell.state !== 'stopped') continue
      const text = 'Stopped. The cells’ variables are as they were.'
      this.note = { text, action: 'Run this cell again', act: () => this.run(cell) }
    }
  }

  /** Asks the cell to stop where it awaits next, so that its variables stay. Ends the worker if it does not. */
  stop() {
    this.#queue = this.#queue.slice(0, 1)
    this.#session?.stop()
    this.#ending ??= setTimeout(
      () => this.#end('Stopped. The cells’ variables are gone with their worker.'),
      SECOND,
    )
  }

  /** Ends the worker, in the middle of whatever it does, and perhaps says why. */
  #end(text?: string) {
    this.#session?.end()
    this.#session = null
    this.#clear()
    this.#queue = []
    if (text) this.note = { text, action: 'Run all', act: () => this.runAll() }
  }

  #clear() {
    clearInterval(this.#timer)
    clearTimeout(this.#ending)
    this.#ending = undefined
  }

  #output = (id: number, items: Item[]) => {
    const cell = this.#cellOf(id)
    if (!cell) return
    const next = [...cell.items]
    for (const item of items) {
      const place = next.findIndex(
        (one) =>
          (item.type === 'figure' && one.type === 'figure' && one.figure.place === item.figure.place) ||
          (item.type === 'more' && one.type === 'more'),
      )
      if (place < 0) next.push(item)
      else next[place] = item
      const origin = item.type === 'error' && item.where && this.#cellOf(item.where.cell)
      if (origin) origin.wrong = item.where!.line
    }
    cell.items = next
  }

  #cellOf = (id: number) => this.cells.find((cell) => cell.id === id)

  give(file: File) {
    this.#session
      ?.give(file)
      .catch((error) => (this.note = { text: `The file could not be read: ${error.message}` }))
  }

  /** Such as `cell 3, line 5`. */
  nameOf({ cell, line }: Where): string {
    const place = this.code.findIndex(({ id }) => id === cell)
    return place < 0 ? 'a deleted cell' : `cell ${place + 1}, line ${line}`
  }
}
