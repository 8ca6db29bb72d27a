// Node's spec reporter, with two lists before its summary: the tests that this system skips, each with its
// reason, and the ten slowest tests.

import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'

const SLOWEST = 10
const NAMES = 3 // of the tests that are skipped for one reason

/** @typedef {{ type: string, data: any }} TestEvent what the test runner reports */

/**
 * @param {string} message
 * @returns {TestEvent} a line of text, as the spec reporter prints it
 */
const line = (message) => ({ type: 'test:diagnostic', data: { nesting: 0, message } })

/**
 * @param {AsyncIterable<TestEvent>} events
 * @returns {AsyncGenerator<TestEvent>} the same events, and the two lists before the summary
 */
async function* withLists(events) {
  /** Reason -> names of the tests. @type {Map<string, string[]>} */
  const skipped = new Map()
  /** @type {{ name: string, ms: number }[]} */
  const times = []
  /** By nesting: the time of the subtests whose test is still to be reported. @type {number[]} */
  const subtests = []
  let summary = false
  for await (const event of events) {
    const { type, data } = event
    if (type === 'test:pass' || type === 'test:fail') {
      const { name, nesting, skip, details } = data
      // A test is reported right after its subtests, whose time is not its own.
      const own = details.duration_ms - (subtests[nesting + 1] ?? 0)
      subtests[nesting + 1] = 0
      subtests[nesting] = (subtests[nesting] ?? 0) + details.duration_ms
      if (skip !== undefined) {
        const reason = skip === true ? 'no reason given' : String(skip)
        skipped.set(reason, [...(skipped.get(reason) ?? []), name])
      } else {
        times.push({ name, ms: own })
      }
    }
    // The summary is the diagnostics after the last test; the first is "tests 1234".
    if (!summary && type === 'test:diagnostic' && data.nesting === 0 && /^tests \d+$/.test(data.message)) {
      summary = true
      for (const [reason, names] of skipped) {
        yield line(`not run here, ${names.length} of the tests: ${reason}`)
        for (const name of names.slice(0, NAMES)) yield line(`    ${name}`)
        if (names.length > NAMES) yield line(`    and ${names.length - NAMES} more`)
      }
      const slowest = times.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST)
      yield line('the slowest tests:')
      for (const { name, ms } of slowest) yield line(`${(ms / 1000).toFixed(1).padStart(9)} s  ${name}`)
    }
    yield event
  }
}

/** @param {AsyncIterable<TestEvent>} events */
export default async function* reporter(events) {
  yield* Readable.from(withLists(events)).pipe(new spec())
}
