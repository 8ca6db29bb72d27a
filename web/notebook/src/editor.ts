// The editor of a cell: CodeMirror, with the names of the package and those of other cells.

import { autocompletion, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { javascript, javascriptLanguage, localCompletionSource } from '@codemirror/lang-javascript'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { EditorState, Prec } from '@codemirror/state'
import { EditorView, hoverTooltip, keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'

/** A signature and a sentence for each name. */
interface Names {
  exported: Record<string, readonly string[]>
  members: Record<string, readonly string[]>
}

/** Fetched when an editor is used. */
const names = (): Promise<Names> => import('../../../build/api-names.json').then((module) => module.default)

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], color: 'var(--keyword)' },
  { tag: [tags.string, tags.regexp], color: 'var(--with)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--number)' },
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
])

const theme = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { fontFamily: 'var(--mono)', padding: '8px 0', caretColor: 'var(--text)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.45' },
  '.cm-matchingBracket': { backgroundColor: 'var(--line) !important' },
  '.cm-tooltip': {
    backgroundColor: 'var(--page)',
    border: '1px solid var(--edge)',
    borderRadius: 'var(--radius)',
  },
  '.cm-tooltip-hover, .cm-completionInfo': {
    padding: '6px 10px',
    maxWidth: '34rem',
    font: 'var(--size-small) / 1.4 var(--serif)',
  },
  '.cm-tooltip code': { whiteSpace: 'pre-wrap' },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent) !important',
    color: 'var(--page) !important',
  },
  '.cm-completionIcon': { display: 'none' },
  '.cm-lintRange-error': {
    backgroundImage: 'none !important',
    textDecoration: 'underline wavy var(--accent)',
    textUnderlineOffset: '0.25em',
  },
})

/** What a name is: its signature, and the first sentence of its documentation. */
function explain([signature, sentence]: readonly string[]): HTMLElement {
  const element = document.createElement('div')
  const code = document.createElement('code')
  code.textContent = signature
  element.append(code)
  if (sentence) element.append(document.createElement('br'), sentence)
  return element
}

const hover = hoverTooltip(async (view, place) => {
  const word = view.state.wordAt(place)
  if (!word) return null
  const { exported, members } = await names()
  const name = view.state.sliceDoc(word.from, word.to)
  const before = view.state.sliceDoc(Math.max(0, word.from - 4), word.from)
  const isMember = before.endsWith('.') && before !== 'gpt.'
  const found = isMember ? members[name] : exported[name]
  return found ? { pos: word.from, end: word.to, above: true, create: () => ({ dom: explain(found) }) } : null
})

const options = (all: Names['exported'], type: string) =>
  Object.entries(all).map(([label, found]) => ({ label, type, info: () => explain(found) }))

/** @param others the names that other cells declare */
const complete = (others: () => string[]) => async (context: CompletionContext) => {
  const member = context.matchBefore(/[\w$)\]]\.\w*$/)
  const word = context.matchBefore(/[\w$]+$/)
  if (member) {
    const isPackage = context.matchBefore(/(^|[^\w$.])gpt\.\w*$/)
    const { exported, members } = await names()
    const from = member.from + member.text.indexOf('.') + 1
    return { from, options: options(isPackage ? exported : members, 'property'), validFor: /^\w*$/ }
  }
  if (!word && !context.explicit) return null
  return {
    from: word?.from ?? context.pos,
    options: others().map((label) => ({ label })),
    validFor: /^[\w$]*$/,
  }
}

export interface Options {
  parent: HTMLElement
  text: string
  change(text: string): void
  /** Runs the cell; then perhaps goes to the next one. */
  run(andGoOn: boolean): void
  others(): string[]
}

export function createEditor({ parent, text, change, run, others }: Options): EditorView {
  const act = (andGoOn: boolean) => () => {
    run(andGoOn)
    return true
  }
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(
          keymap.of([
            { key: 'Shift-Enter', run: act(true) },
            { key: 'Mod-Enter', run: act(false) },
          ]),
        ),
        EditorView.cspNonce.of('editor'),
        EditorView.lineWrapping,
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) change(state.doc.toString())
        }),
        javascript(),
        javascriptLanguage.data.of({ autocomplete: complete(others) }),
        javascriptLanguage.data.of({ autocomplete: localCompletionSource }),
        autocompletion({ selectOnOpen: false }), // Enter ends the line, as somebody who copies code expects
        history(),
        indentOnInput(),
        bracketMatching(),
        hover,
        syntaxHighlighting(colors),
        theme,
        keymap.of([...historyKeymap, ...defaultKeymap, indentWithTab]),
      ],
    }),
  })
}

/** Underlines a line, or none. */
export function underline(view: EditorView, line: number | null) {
  const { doc } = view.state
  const found = line !== null && line <= doc.lines ? doc.line(line) : null
  const from = found ? found.from + /^\s*/.exec(found.text)![0].length : 0
  const diagnostics = found
    ? [{ from, to: found.to, severity: 'error' as const, message: 'The error comes from this line.' }]
    : []
  view.dispatch(setDiagnostics(view.state, diagnostics))
}
