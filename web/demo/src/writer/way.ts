// The rows of the word that the story has come to. "Inside a GPT" follows them, and the final norm of "The norm that
// failed in silence" gets them.

import way from 'recording:way'
import type { Step } from './engine.ts'
import type { Story } from './story.svelte.ts'

/** Of the text with all norms, and of the other one if there is one; until the model is there, of the recording. */
export function wayOf({ live, report }: Pick<Story, 'live' | 'report'>): {
  with: Step
  without: Step | null
  word: string
} {
  const { texts, at } = report.without ?? report.with
  const steps = live ? { with: report.with.step, without: report.without?.step ?? null } : way
  return {
    with: steps.with,
    without: report.without && steps.without,
    word: texts[live ? at : texts.length - 1]?.trim().replace(/^"(?=\w)/, '') ?? '',
  }
}
