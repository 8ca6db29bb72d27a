// WebKitGTK, which puppeteer cannot drive: by WebDriver, in a virtual display.

import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds that a busy machine may take for any single thing. */
const PATIENCE = 120_000

/**
 * Opens a page in WebKitGTK and waits for its `globalThis.result`.
 *
 * @param {string} address the address of the page
 * @param {number} port for the driver
 * @returns {Promise<unknown>}
 */
export async function resultInWebKit(address, port) {
  const command = ['--auto-servernum', 'WebKitWebDriver', `--port=${port}`]
  const driver = spawn('xvfb-run', command, { stdio: 'ignore', detached: true })
  const base = `http://127.0.0.1:${port}`
  const ask = async (
    /** @type {string} */ method,
    /** @type {string} */ path,
    /** @type {object | undefined} */ body,
  ) => {
    const response = await fetch(base + path, { method, body: body && JSON.stringify(body) })
    const { value } = /** @type {{ value: any }} */ (await response.json())
    if (value?.error) throw new Error(`${value.error}: ${value.message}`)
    return value
  }
  let session = ''
  try {
    const deadline = Date.now() + PATIENCE
    while (!(await fetch(`${base}/status`).catch(() => null))) {
      if (driver.exitCode !== null || Date.now() > deadline) throw new Error('WebKitWebDriver did not start')
      await sleep(100)
    }
    const { sessionId } = await ask('POST', '/session', { capabilities: {} })
    session = `/session/${sessionId}`
    await ask('POST', `${session}/url`, { url: address })
    for (;;) {
      const script = { script: 'return globalThis.result ?? null', args: [] }
      const result = await ask('POST', `${session}/execute/sync`, script)
      if (result !== null) return result
      if (Date.now() > deadline) throw new Error(`${address} has no result`)
      await sleep(100)
    }
  } finally {
    if (session) await ask('DELETE', session, undefined).catch(() => {})
    if (driver.pid) process.kill(-driver.pid)
  }
}
