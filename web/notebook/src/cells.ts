// A notebook as a file that Node runs: cells between lines of `// %%`; a text cell is comments.

import blank from '../blank.mjs?raw'

export interface Part {
  kind: 'code' | 'text'
  text: string
}

const MARK = '// %%'
/** What stands before the first cell, so that the file also runs in Node. */
const HEADER = blank.slice(0, blank.indexOf(MARK))

export function parse(file: string): Part[] {
  const [before, ...rest] = file.replace(/\r\n?/g, '\n').split(/^\/\/ %%/m)
  const parts: Part[] = rest.map((part) => {
    const [first, ...lines] = part.split('\n')
    if (!first.includes('[markdown]')) return { kind: 'code', text: lines.join('\n').trim() }
    return {
      kind: 'text',
      text: lines
        .map((line) => line.replace(/^\/\/ ?/, ''))
        .join('\n')
        .trim(),
    }
  })
  const own = before.trim() === HEADER.trim() ? '' : before.trim()
  return own ? [{ kind: 'code', text: own }, ...parts] : parts
}

export function write(parts: readonly Part[]): string {
  const cells = parts.map(({ kind, text }) => {
    if (kind === 'code') return `${MARK}\n${text}\n`
    return `${MARK} [markdown]\n${text.replace(/^/gm, '// ').replace(/ +$/gm, '')}\n`
  })
  return HEADER + cells.join('\n')
}
