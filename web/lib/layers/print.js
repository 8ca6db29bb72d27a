/**
 * The text of a layer, as PyTorch prints a module.
 *
 * @param {string} name of the class
 * @param {string} extra what `extraRepr` returns
 * @param {readonly [string, string][]} inside the texts of the layers inside, by name. Names such as
 *   `blocks.0` and `blocks.1` are those of a list
 * @returns {string}
 */
export function printLayer(name, extra, inside) {
  if (inside.length === 0) return `${name}(${extra})`
  /** The texts of a property: several where it is a list. @type {Map<string, string[]>} */
  const properties = new Map()
  for (const [path, text] of inside) {
    const property = path.replace(/\.\d+$/, '.')
    properties.set(property, [...(properties.get(property) ?? []), text])
  }
  const lines = [...properties].map(([property, texts]) =>
    property.endsWith('.') ? `(${property.slice(0, -1)}): ${printList(texts)}` : `(${property}): ${texts[0]}`,
  )
  return block(name, extra ? [extra, ...lines] : lines)
}

/** @param {readonly string[]} texts @returns {string} equal neighbors once, as PyTorch's ModuleList */
function printList(texts) {
  const lines = texts.flatMap((text, first) => {
    if (text === texts[first - 1]) return []
    const next = texts.findIndex((other, i) => i > first && other !== text)
    const count = (next < 0 ? texts.length : next) - first
    return [count === 1 ? `(${first}): ${text}` : `(${first}-${first + count - 1}): ${count} x ${text}`]
  })
  return block('ModuleList', lines)
}

/** @param {string} name @param {readonly string[]} lines @returns {string} */
const block = (name, lines) => `${name}(\n${lines.join('\n').replace(/^/gm, '  ')}\n)`
