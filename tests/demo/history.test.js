// Undo, redo and the address keep the page's state, after any sequence of acts.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { ALL } from '../../build/demo/sections/story/slice.js'

const url = new URL('../../build/demo/page.svelte.js', import.meta.url)
/** The page's state without Svelte: here its runes only tell Svelte when to draw, and nothing is drawn. */
const source = readFileSync(url, 'utf8')
  .replace(/\$state(\.raw)?(?=\()/g, '')
  .replace("import { flushSync } from 'svelte'", 'const flushSync = (act) => act()')
  .replace("import { sections } from './sections/index.js'", 'const sections = []')
  .replace("'./sections/slices.js'", JSON.stringify(new URL('sections/slices.js', url).href))
const { Page } = await import(`data:text/javascript,${encodeURIComponent(source)}`)

/** What is done: a change of ε or of the samples, the end of a gesture, what is shown, a step of the history. */
const acts = fc.oneof(
  fc.record({ eps: fc.constantFrom(1e-5, 1) }),
  fc.record({ batch: fc.constantFrom(4, 6) }),
  fc.record({ step: fc.constantFrom('mean', 'divide') }),
  fc.constantFrom('endStep', 'endStep', 'undo', 'undo', 'redo', 'reset'),
)

test('undo and redo go from gesture to gesture and change no step; the address brings each state back', () => {
  fc.assert(
    fc.property(fc.array(acts, { minLength: 20, maxLength: 60 }), (all) => {
      const page = new Page(new URLSearchParams())
      /** The model: all states, the present one's index, whether a gesture goes on, and the step that is shown. */
      let [states, at, isOpen, step] = [[{ eps: 1e-5, batch: 4 }], 0, false, 'mean']
      /** @param {{ eps?: number, batch?: number }} changes */
      const change = (changes) => {
        const next = { ...states[at], ...changes }
        const same = (/** @type {object} */ one) => JSON.stringify(one) === JSON.stringify(next)
        if (same(states[at])) return
        at += Number(!isOpen)
        states = [...states.slice(0, at), next]
        isOpen = at === 0 || !same(states[at - 1]) // it may go back to where it began
        if (!isOpen) states.length = at--
      }
      for (const one of all) {
        if (typeof one === 'string') {
          page[one]('example')
          if (one === 'reset') change({ eps: 1e-5 })
          else isOpen &&= (one === 'undo' && at === 0) || (one === 'redo' && at === states.length - 1)
          if (one === 'undo') at = Math.max(at - 1, 0)
          if (one === 'redo') at = Math.min(at + 1, states.length - 1)
        } else if ('step' in one) {
          page.endStep() // as each press does
          isOpen = false
          page.look('worked-example', one)
          step = one.step
        } else {
          page.edit('eps' in one ? 'example' : 'batch-norm', one)
          change(one)
        }
        const { example, 'batch-norm': norms, 'worked-example': steps } = page.state
        assert.deepEqual({ eps: example.eps, batch: norms.batch, step: steps.step }, { ...states[at], step })
        assert.deepEqual([page.canUndo, page.canRedo], [at > 0, at < states.length - 1])
        assert.deepEqual(new Page(new URLSearchParams(page.query())).state, page.state)
      }
    }),
    { numRuns: 500, includeErrorInReport: true },
  )
})

test('each address that a control writes, by what behaves/ has of it, opens without a complaint, and is the page’s again', () => {
  const folder = new URL('behaves/', import.meta.url)
  const texts = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'))
  const written = texts.flatMap((text) => [...text.matchAll(/address \?(?:embed=[\w-]+&?)?([^#;\s]*)/g)])
  const queries = new Set([...written.map(([, query]) => query), ...ALL.map((norm) => `story.off=${norm}`)])
  assert.ok(queries.size > 50, String(queries.size))
  for (const query of queries) {
    const page = new Page(new URLSearchParams(query))
    assert.deepEqual([page.query(), page.problem], [query && `?${query}`, ''])
  }
})
