/**
 * The text of a layer, as PyTorch prints a module.
 *
 * @param name the layer's class
 * @param extra what `extraRepr` returns
 * @param inside the texts of the layers inside, by name. Names such as `blocks.0` and `blocks.1` are those of
 *   a list
 */
export function printLayer(name: string, extra: string, inside: readonly [string, string][]): string {
  if (inside.length === 0) return `${name}(${extra})`
  /** The texts of a property: several where it is a list. */
  const properties: Map<string, string[]> = new Map()
  for (const [path, text] of inside) {
    const property = path.replace(/\.\d+$/, '.')
    properties.set(property, [...(properties.get(property) ?? []), text])
  }
  const lines = [...properties].map(([property, texts]) =>
    property.endsWith('.') ? `(${property.slice(0, -1)}): ${printList(texts)}` : `(${property}): ${texts[0]}`,
  )
  return block(name, extra ? [extra, ...lines] : lines)
}

/** Writes equal neighbors once, as PyTorch's ModuleList does. */
export function printList(texts: readonly string[]): string {
  const lines = texts.flatMap((text, first) => {
    if (text === texts[first - 1]) return []
    const next = texts.findIndex((other, i) => i > first && other !== text)
    const count = (next < 0 ? texts.length : next) - first
    return [count === 1 ? `(${first}): ${text}` : `(${first}-${first + count - 1}): ${count} x ${text}`]
  })
  return block('ModuleList', lines)
}

const block = (name: string, lines: readonly string[]): string =>
  `${name}(\n${lines.join('\n').replace(/^/gm, '  ')}\n)`
