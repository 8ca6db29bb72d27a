// Starts the page: loads the package, reads the state from the address, mounts the app.

import { load } from 'gpt-layers'
import { mount } from 'svelte'
import { followAnchors } from './anchors.ts'
import App from './App.svelte'
import { messageOf } from './errors.ts'
import { Page } from './page.svelte.ts'
import { preparePrint } from './print.ts'
import { sections, slices } from './sections/index.ts'
import 'fonts.css'
import 'still.css'
import './base.css'
import './print.css'

const PATIENCE = 5000 // milliseconds for the service worker

/**
 * With a service worker the page needs no network from the second visit on. It also works without one.
 *
 * @returns when all is loaded that the first screen needs, and the worker has fetched the rest
 */
async function installed() {
  if (document.readyState !== 'complete')
    await new Promise((resolve) => addEventListener('load', resolve, { once: true }))
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  await navigator.serviceWorker.register('./sw.js').catch(() => {})
  await Promise.race([navigator.serviceWorker.ready, new Promise((resolve) => setTimeout(resolve, PATIENCE))])
}

/** Not at the top level: the other sections import this file's parts, and would wait for it. */
async function start(app: HTMLElement) {
  const gpt = await load()
  const query = new URLSearchParams(location.search)
  const page = new Page(slices, sections, query)
  const embed = query.get('embed')
  if (embed !== null && !sections.some(({ id }) => id === embed)) {
    const missing = `There is no section “${embed}” to embed; this is the whole page.`
    page.problem = [missing, page.problem].filter(Boolean).join(' ')
  }
  // The app replaces the still opening, which looks the same. Its figures begin with the still one's width: a
  // figure that has another width is drawn twice.
  const width = app.querySelector('.hero')?.clientWidth
  app.replaceChildren()
  mount(App, { target: app, props: { page, gpt, embed }, context: new Map([['width', width]]) })
  followAnchors()
  preparePrint(installed())
}

const app = document.getElementById('app') as HTMLElement
start(app).catch((error) => {
  app.textContent = `The page could not start: ${messageOf(error)}`
  throw error
})
