// What the notebook says about a name of the package: its signature, and the first sentence of its documentation.

import { Comment, ReflectionKind } from 'typedoc'

function sentenceOf(comment) {
  const text = Comment.combineDisplayParts(comment?.summary).replace(/\s+/g, ' ')
  return /^.*?(?<!et al)[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text
}

const written = ({ name, flags, type }) =>
  `${flags.isRest ? '...' : ''}${name}${flags.isOptional ? '?' : ''}: ${type}`

function explain(nameInCell, { signatures, getSignature, type, comment, kind }) {
  const [call] = signatures ?? []
  const [made, list] = [call?.type ?? getSignature?.type ?? type, call?.parameters?.map(written).join(', ')]
  const isClass = kind === ReflectionKind.Class || kind === ReflectionKind.Constructor
  return [
    nameInCell + (call ? `(${list ?? ''})` : '') + (made && !isClass ? `: ${made}` : ''),
    sentenceOf(comment ?? (call ?? getSignature)?.comment),
  ]
}

export function namesOf(project) {
  const all = project.children ?? []
  const exported = all
    .filter((one) => one.kindOf([ReflectionKind.Function, ReflectionKind.Variable, ReflectionKind.Class]))
    .map((one) => {
      const made = one.children?.find((member) => member.kindOf(ReflectionKind.Constructor))
      const [signature, sentence] = explain(made ? `new gpt.${one.name}` : `gpt.${one.name}`, made ?? one)
      return [one.name, [signature, explain('', one)[1] || sentence]]
    })
  // Of members with one name, those of Tensor and Module come first.
  const classes = ['Tensor', 'Module']
    .flatMap((name) => all.find((one) => one.name === name) ?? [])
    .concat(all)
  const members = classes
    .filter((one) => one.kindOf(ReflectionKind.Class))
    .flatMap(({ children }) => children ?? [])
    .filter((one) => /^\w/.test(one.name) && !one.flags.isStatic && !one.kindOf(ReflectionKind.Constructor))
    .map((one) => [one.name, explain(`.${one.name}`, one)])
  return { exported: Object.fromEntries(exported), members: Object.fromEntries(members.reverse()) }
}
