// What both benches share: options, processes, versions.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export const THREADS = [1, 2]

/** @param {string} usage @param {string[]} args */
export function readOptions(usage, args) {
  const text = /** @type {const} */ ({ type: 'string', default: '' })
  const flag = /** @type {const} */ ({ type: 'boolean', default: false })
  const options = { json: text, quick: flag, only: text, help: { ...flag, short: 'h' } }
  try {
    const { values } = parseArgs({ args, options })
    new RegExp(values.only) // A bad pattern throws here.
    if (!values.help) return values
    console.log(usage)
    process.exit(0)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${usage}`)
    process.exit(2)
  }
}

/** @returns {string} what is measured, and on what */
export function setting() {
  const file = new URL('node_modules/onnxruntime-web/package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(file, 'utf8'))
  const processors = cpus()
  return `${processors.length} x ${processors[0]?.model}, onnxruntime-web ${version}`
}

/**
 * Runs a script in a process of its own, because onnxruntime-web takes the number of threads only once.
 *
 * @template Message
 * @param {URL} script
 * @param {object} task
 * @param {(message: Message) => void} report
 * @param {string} [node] the Node that runs it
 */
export async function inProcess(script, task, report, node = process.execPath) {
  const options = { execPath: node, execArgv: ['--expose-gc'] }
  const child = fork(fileURLToPath(script), [JSON.stringify(task)], options)
  child.on('message', report)
  const [code] = await once(child, 'exit')
  if (code !== 0) process.exit(1) // The child has printed why.
}

/**
 * In the process that `inProcess` starts: works on its task, then ends.
 *
 * @template Task
 * @param {(task: Task, report: (message: object) => void) => Promise<void>} work
 */
export async function asProcess(work) {
  process.on('disconnect', () => process.exit(1)) // the bench was stopped
  await work(JSON.parse(process.argv[2]), (message) => void process.send?.(message))
  await new Promise((resolve) => process.send?.({}, resolve)) // Afterwards all messages have been sent.
  process.exit() // The threads of onnxruntime-web would keep the process alive.
}
