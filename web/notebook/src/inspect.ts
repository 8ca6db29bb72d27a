// A value as one line, as Node's console.log writes it. Tensors and layers write themselves.

const ITEMS = 100
const DEPTH = 3

const list = (open: string, items: string[], count: number, close: string): string => {
  const more = count > items.length ? [`... ${count - items.length} more items`] : []
  const all = [...items, ...more]
  return all.length ? `${open} ${all.join(', ')} ${close}` : open + close
}

/** @param isOwn whether a value is a tensor or a layer */
export function inspect(value: unknown, isOwn: (value: unknown) => boolean, outer: object[] = []): string {
  const inside = (one: unknown) => inspect(one, isOwn, [...outer, value as object])
  if (typeof value === 'string')
    return outer.length ? `'${value.replace(/[\\']/g, '\\$&').replace(/\n/g, '\\n')}'` : value
  if (typeof value === 'bigint') return `${value}n`
  if (Object.is(value, -0)) return '-0'
  if (typeof value === 'function') {
    if (/^class\b/.test(Function.prototype.toString.call(value)))
      return `[class ${value.name || '(anonymous)'}]`
    return value.name ? `[Function: ${value.name}]` : '[Function (anonymous)]'
  }
  if (typeof value !== 'object' || value === null) return String(value)
  if (isOwn(value)) return String(value)
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (value instanceof Date) return Number.isNaN(+value) ? 'Invalid Date' : value.toISOString()
  if (value instanceof RegExp) return String(value)
  if (outer.includes(value)) return '[Circular]'
  const name: string = Object.getPrototypeOf(value)?.constructor?.name ?? ''
  if (outer.length >= DEPTH) return Array.isArray(value) ? '[Array]' : `[${name || 'Object'}]`
  if (Array.isArray(value)) return list('[', value.slice(0, ITEMS).map(inside), value.length, ']')
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const numbers = value as unknown as ArrayLike<number>
    const shown = Array.from({ length: Math.min(numbers.length, ITEMS) }, (_, i) => inside(numbers[i]))
    return list(`${name}(${numbers.length}) [`, shown, numbers.length, ']')
  }
  if (value instanceof Map) {
    const shown = [...value].slice(0, ITEMS).map(([key, one]) => `${inside(key)} => ${inside(one)}`)
    return list(`Map(${value.size}) {`, shown, value.size, '}')
  }
  if (value instanceof Set)
    return list(`Set(${value.size}) {`, [...value].slice(0, ITEMS).map(inside), value.size, '}')
  const keys = Object.keys(value)
  const shown = keys.slice(0, ITEMS).map((key) => {
    const written = /^[\w$]+$/.test(key) ? key : inside(key)
    return `${written}: ${inside((value as Record<string, unknown>)[key])}`
  })
  return list(`${name && name !== 'Object' ? `${name} ` : ''}{`, shown, keys.length, '}')
}
