// The page as HTML, with the numbers that the package computes while the page is built.

import { load } from 'gpt-layers'
import { render } from 'svelte/server'
import Section from './Section.svelte'
import { Page } from './page.svelte.ts'
import { paper } from './paper.svelte.ts'
import End from './sections/end/End.svelte'
import { fetched, sections } from './sections/index.ts'

/** @returns the opening; and the sections after it with their answers, as on paper */
export async function stillPage(): Promise<{ opening: string; text: string }> {
  await load({ build: 'simd' }) // the same bits on every machine
  const page = new Page(new URLSearchParams())
  const [first, ...rest] = sections
  const opening = render(Section, { props: { page, section: first } }).body
  for (const section of rest) await fetched(section)
  paper.printing = true
  const parts = rest.map((section) => render(Section, { props: { page, section } }))
  parts.push(render(End, { props: { page, sections: rest } }))
  return { opening, text: parts.map(({ body }) => body).join('') }
}
