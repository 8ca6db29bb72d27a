// The page starts its worker a second time if the first start fails. Here a fake worker starts and fails.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTask } from 'node:timers/promises'
import { inWorker, stop } from '../../build/demo/remote.js'

class FakeWorker extends EventTarget {
  /** @type {any[]} */
  sent = []
  ended = false
  /** @param {any} message */
  postMessage(message) {
    this.sent.push(message)
  }
  terminate() {
    this.ended = true
  }
  fail() {
    this.dispatchEvent(new Event('error'))
  }
}

/** Starts a fake worker, and calls its function `add` at once. */
function start() {
  /** @type {FakeWorker[]} */
  const workers = []
  const seen = { workers, failures: 0 }
  const create = () => /** @type {any} */ (workers[workers.push(new FakeWorker()) - 1])
  const remote = /** @type {any} */ (inWorker(create, () => seen.failures++))
  void remote.add(1, 2)
  return { seen, remote, workers }
}

test('a worker that fails to start is started once more, and calls wait for it', async () => {
  const { seen, remote, workers } = start()
  workers[0].fail()
  assert.deepEqual([seen.failures, workers[0].ended, workers.length], [0, true, 2])
  await nextTask()
  assert.deepEqual(workers[1].sent, [], 'it cannot be called yet')
  workers[1].dispatchEvent(new MessageEvent('message', { data: 'started' }))
  await nextTask()
  assert.deepEqual(workers[0].sent, [])
  assert.deepEqual(
    workers[1].sent.map(({ path }) => path),
    [['add']],
  )
  stop(remote)
  assert.ok(workers[1].ended)
})

test('a worker that fails twice to start, or later, is not started again, and the page is told', async () => {
  const twice = start()
  twice.workers[0].fail()
  twice.workers[1].fail()
  assert.deepEqual([twice.seen.failures, twice.workers.length], [1, 2])
  const later = start()
  later.workers[0].dispatchEvent(new MessageEvent('message', { data: 'started' }))
  later.workers[0].fail()
  assert.deepEqual([later.seen.failures, later.workers.length], [1, 1])
})
