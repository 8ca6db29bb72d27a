// A value as one line, as a browser's console shows it. Tensors, layers, errors and dates write themselves.

const ITEMS = 100
const DEPTH = 3

/** @param outer the objects that the value is in */
export function inspect(value: unknown, outer: readonly object[] = []): string {
  if (typeof value === 'string') return outer.length ? JSON.stringify(value) : value
  if (typeof value === 'function') return `[Function: ${value.name || 'anonymous'}]`
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value)
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
  if (!isList && value.toString && value.toString !== Object.prototype.toString) return String(value)
  if (outer.includes(value)) return '[Circular]'
  const name: string = value.constructor?.name ?? ''
  if (outer.length >= DEPTH) return `[${name || 'Object'}]`

  const inside = (one: unknown) => inspect(one, [...outer, value])
  const list = (open: string, items: string[], count: number, close: string) => {
    const more = count > items.length ? [`... ${count - items.length} more items`] : []
    return count ? `${open} ${[...items, ...more].join(', ')} ${close}` : open + close
  }
  if (isList) {
    const { length } = value as ArrayLike<unknown>
    const shown = Array.from({ length: Math.min(length, ITEMS) }, (_, i) => inside((value as unknown[])[i]))
    return list(Array.isArray(value) ? '[' : `${name}(${length}) [`, shown, length, ']')
  }
  if (value instanceof Set)
    return list(`Set(${value.size}) {`, [...value].slice(0, ITEMS).map(inside), value.size, '}')
  const isMap = value instanceof Map
  const entries: [unknown, unknown][] = isMap ? [...value] : Object.entries(value)
  const shown = entries
    .slice(0, ITEMS)
    .map(([key, one]) => (isMap ? `${inside(key)} => ${inside(one)}` : `${key}: ${inside(one)}`))
  const before = isMap ? `Map(${value.size}) ` : name && name !== 'Object' ? `${name} ` : ''
  return list(`${before}{`, shown, entries.length, '}')
}
