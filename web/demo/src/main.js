import { load } from 'gpt-layers'
import { mount } from 'svelte'
import App from './App.svelte'
import { Page } from './page.svelte.js'
import { sections } from './sections/index.js'
import './style.css'

const app = /** @type {HTMLElement} */ (document.getElementById('app'))
try {
  const gpt = await load()
  const query = new URLSearchParams(location.search)
  const page = new Page(Object.fromEntries(sections.map(({ id, slice }) => [id, slice])), query)
  const embed = query.get('embed')
  if (embed !== null && !sections.some(({ id }) => id === embed)) {
    page.problem = `There is no section “${embed}” to embed; this is the whole page.`
  }
  mount(App, { target: app, props: { page, gpt, embed } })
  // the browser looked for it before it was there
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
} catch (error) {
  app.textContent = `The page could not start: ${error instanceof Error ? error.message : error}`
  throw error
}

// From the second visit on, the page needs no network. Without a service worker it works all the same.
if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  const register = () => navigator.serviceWorker.register('./sw.js').catch(() => {})
  if (document.readyState === 'complete') register()
  else addEventListener('load', register)
}
