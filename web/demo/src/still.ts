// The opening as HTML, with the numbers that the package computes while the page is built: for the moment
// before the page starts, and for readers without JavaScript.

import { load } from 'gpt-layers'
import { render } from 'svelte/server'
import Section from './components/Section.svelte'
import { Page } from './page.svelte.ts'
import { sections, slices } from './sections/index.ts'

/**
 * @param width of the figure, in pixels
 * @returns HTML
 */
export async function opening(width: number): Promise<string> {
  const gpt = await load()
  const page = new Page(slices, sections, new URLSearchParams())
  const context = new Map([['width', width]])
  return render(Section, { props: { page, gpt, section: sections[0] }, context }).body
}
