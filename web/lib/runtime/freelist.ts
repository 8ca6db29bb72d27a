export type Block = { offset: number; size: number }

/** Neighboring free blocks in the list. No block is larger than `most`; the largest may be smaller. */
type Chunk = { blocks: Block[]; most: number }

/** The most blocks of a chunk. Many more chunks, or many more blocks in one, take longer to search. */
const LONGEST = 256

/**
 * The free blocks of the heap, sorted by address; no two of them touch. The list is cut into chunks, so that a
 * heap of 80,000 holes is not searched, nor moved, hole by hole.
 */
export class FreeList {
  #chunks: Chunk[]

  constructor(first: Block) {
    this.#chunks = [{ blocks: [first], most: first.size }]
  }

  get last(): Block | undefined {
    return this.#chunks.at(-1)?.blocks.at(-1)
  }

  /** @returns the offset of the first block that is large enough, now used; or null */
  take(size: number): number | null {
    for (let c = 0; c < this.#chunks.length; c++) {
      const chunk = this.#chunks[c]
      if (chunk.most < size) continue
      const { blocks } = chunk
      const i = blocks.findIndex((block) => block.size >= size)
      if (i < 0) {
        chunk.most = blocks.reduce((most, block) => Math.max(most, block.size), 0)
        continue
      }
      const { offset } = blocks[i]
      if (blocks[i].size > size) blocks[i] = { offset: offset + size, size: blocks[i].size - size }
      else this.#remove(c, i)
      return offset
    }
    return null
  }

  /** Adds a block, merged with the free blocks that it touches. */
  add({ offset, size }: Block): void {
    const end = offset + size
    // The last chunk that begins before the block, and the first block of it that begins after.
    const c = Math.max(0, firstAfter(this.#chunks, ({ blocks: [first] }) => first.offset, offset) - 1)
    if (this.#chunks.length === 0) this.#chunks.push({ blocks: [], most: 0 })
    const chunk = this.#chunks[c]
    const { blocks } = chunk
    const i = firstAfter(blocks, (block) => block.offset, offset)
    const before: Block | undefined = blocks[i - 1]
    const isLast = i === blocks.length
    const after: Block | undefined = isLast ? this.#chunks[c + 1]?.blocks[0] : blocks[i]
    const joinsBefore = before !== undefined && before.offset + before.size === offset
    const joinsAfter = after !== undefined && after.offset === end
    const begin = joinsBefore ? before.offset : offset
    const merged = { offset: begin, size: (joinsAfter ? end + after.size : end) - begin }
    chunk.most = Math.max(chunk.most, merged.size)
    if (joinsAfter && isLast) this.#remove(c + 1, 0)
    const first = joinsBefore ? i - 1 : i
    const replaced = Number(joinsBefore) + Number(joinsAfter && !isLast)
    if (replaced === 1) blocks[first] = merged
    else blocks.splice(first, replaced, merged)
    if (blocks.length > LONGEST) {
      this.#chunks.splice(c + 1, 0, { blocks: blocks.splice(LONGEST / 2), most: chunk.most })
    }
  }

  #remove(c: number, i: number): void {
    const { blocks } = this.#chunks[c]
    blocks.splice(i, 1)
    if (blocks.length === 0) this.#chunks.splice(c, 1)
  }
}

/** @returns the index of the first item that begins after an address */
function firstAfter<T>(items: readonly T[], beginOf: (item: T) => number, address: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (beginOf(items[middle]) < address) low = middle + 1
    else high = middle
  }
  return low
}
