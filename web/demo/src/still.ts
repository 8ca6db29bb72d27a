// The opening as HTML, with the numbers that the package computes while the page is built: for the moment
// before the page starts, and for readers without JavaScript.

import { load } from 'gpt-layers'
import { render } from 'svelte/server'
import Section from './Section.svelte'
import { Page } from './page.svelte.ts'
import { sections } from './sections/index.ts'
import { slices } from './sections/slices.ts'

/**
 * @param width of the figure, in pixels
 * @returns HTML
 */
export async function opening(width: number): Promise<string> {
  await load({ build: 'simd' }) // the same bits on every machine
  const page = new Page(slices, sections, new URLSearchParams())
  const context = new Map([['width', width]])
  return render(Section, { props: { page, section: sections[0] }, context }).body
}
