// The axis of the section's rows.

const WIDEST = 2.5 // a normalized row of six numbers reaches 2.24

/** One axis for all rows: as wide as normalized rows need, or wider. */
export function axisOf(values: readonly number[]): readonly [number, number] {
  const ends = values.filter(Number.isFinite)
  const [least, most] = [Math.min(...ends), Math.max(...ends)]
  if (!(least < -WIDEST || most > WIDEST)) return [-WIDEST, WIDEST]
  const unit = 10 ** Math.floor(Math.log10(Math.max(-least, most))) / 2
  return [Math.min(-WIDEST, Math.floor(least / unit) * unit), Math.max(WIDEST, Math.ceil(most / unit) * unit)]
}
