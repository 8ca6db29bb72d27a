// The opening as HTML and as a picture, with the numbers that the package computes while the page is built: for
// the moment before the page starts, for readers without JavaScript, and for previews of links.

import { load } from 'gpt-layers'
import { render } from 'svelte/server'
import Preview from './Preview.svelte'
import Section from './Section.svelte'
import { Page } from './page.svelte.ts'
import { sections } from './sections/index.ts'
import { slices } from './sections/slices.ts'

const newPage = () => new Page(slices, sections, new URLSearchParams())

export async function start() {
  await load({ build: 'simd' }) // the same bits on every machine
}

/** @returns HTML */
export function opening(): string {
  const context = new Map([['still', true]])
  return render(Section, { props: { page: newPage(), section: sections[0] }, context }).body
}

/** @returns the picture of the first screen, off and on, as SVG */
export const preview = () =>
  render(Preview, { props: { page: newPage() }, context: new Map([['still', true]]) }).body
