// Starts the page: loads the package, reads the state from the address, mounts the app.

import { flushSync, mount } from 'svelte'
import { land } from './anchors.ts'
import App from './App.svelte'
import { messageOf } from './errors.ts'
import { loadPackage } from './load.ts'
import { Page } from './page.svelte.ts'
import { exampleOf } from './example.svelte.ts'
import { sections } from './sections/index.ts'
import { allDone } from './turns.ts'
import kernels from '../../../build/wasm/page.wasm?url'
import 'fonts.css'
import './base.css'
import './still.css'

/** Not at the top level: the other sections import this file's parts, and would wait for it. */
async function start(app: HTMLElement) {
  const nextTask = () => new Promise((resolve) => setTimeout(resolve))
  await loadPackage(kernels)
  await nextTask()
  const query = new URLSearchParams(location.search)
  const page = new Page(query)
  const embed = query.get('embed')
  if (embed !== null && !sections.some(({ id }) => id === embed)) {
    const missing = `There is no section “${embed}” to embed; this is the whole page.`
    page.problem = [missing, page.problem].filter(Boolean).join(' ')
  }
  void exampleOf(page).normalized // half of the work of the first figure
  await nextTask()
  // The app replaces the still opening, which looks the same. Its figures begin with the still one's width: a
  // figure that has another width is drawn twice.
  const width = app.querySelector('.hero')?.clientWidth
  app.replaceChildren()
  mount(App, { target: app, props: { page, embed }, context: new Map([['width', width]]) })
  flushSync()
  const arrived = allDone()
  land(arrived)
  await arrived
  // With a service worker the page needs no network from the second visit on. It also works without one.
  if (import.meta.env.PROD) navigator.serviceWorker?.register('./sw.js').catch(() => {})
  const { preparePrint } = await import('./print.svelte.ts')
  preparePrint(page)
}

const app = document.getElementById('app') as HTMLElement
start(app).catch((error) => {
  app.textContent = `The page could not start: ${messageOf(error)}`
  throw error
})
