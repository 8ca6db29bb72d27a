import { load } from 'gpt-layers'
import { mount } from 'svelte'
import App from './App.svelte'
import { Page } from './page.svelte.js'
import './style.css'

const app = /** @type {HTMLElement} */ (document.getElementById('app'))
try {
  const gpt = await load()
  const page = new Page(gpt, new URLSearchParams(location.search))
  mount(App, { target: app, props: { page, gpt } })
} catch (error) {
  app.textContent = `The page could not start: ${error instanceof Error ? error.message : error}`
  throw error
}
