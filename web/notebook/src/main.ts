// Starts the notebook.

import { mount } from 'svelte'
import App from './App.svelte'
import { Notebook } from './notebook.svelte.ts'
import 'fonts.css'
import '../../demo/src/base.css'
import '../../demo/src/print.css'
import './notebook.css'

const notebook = new Notebook()
mount(App, { target: document.getElementById('app') as HTMLElement, props: { notebook } })
void notebook.openAddress()
// With a service worker the notebook needs no network from the second visit on. It also works without one.
if (import.meta.env.PROD && 'serviceWorker' in navigator)
  navigator.serviceWorker.register('./sw.js').catch(() => {})
