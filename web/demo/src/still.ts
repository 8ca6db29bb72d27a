// The opening as HTML and as a picture, with the numbers that the package computes while the page is built: for
// the moment before the page starts, and for previews of links. And the text of all sections, for readers without
// JavaScript.

import { load } from 'gpt-layers'
import { render } from 'svelte/server'
import Preview from './Preview.svelte'
import Section from './Section.svelte'
import { Page } from './page.svelte.ts'
import { paper } from './paper.svelte.ts'
import End from './sections/end/End.svelte'
import { fetched, sections } from './sections/index.ts'

const newPage = () => new Page(new URLSearchParams())

export async function start() {
  await load({ build: 'simd' }) // the same bits on every machine
}

/** @returns HTML */
export function opening(): string {
  return render(Section, { props: { page: newPage(), section: sections[0] } }).body
}

/** @returns HTML of the sections after the opening, with the answers, as on paper */
export async function text(): Promise<string> {
  const [, ...rest] = sections
  for (const section of rest) await fetched(section)
  paper.printing = true
  const page = newPage()
  const parts = rest.map((section) => render(Section, { props: { page, section } }))
  return [...parts, render(End, { props: { page, sections: rest } })].map(({ body }) => body).join('')
}

/** @returns the picture of the first screen, off and on, as SVG */
export const preview = () => render(Preview, { props: { page: newPage() } }).body
