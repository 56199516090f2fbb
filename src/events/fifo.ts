/** Gap at the front that is released in one step, so that it costs little. */
const MAX_GAP = 1024

/** First in, first out, in constant time. */
export class Fifo<T> {
  readonly #items: T[] = []
  /** Position of the first remaining item. */
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  first(): T | undefined {
    return this.#items[this.#head]
  }

  /** The first item that passes, by a binary search: all items after it must pass, too. */
  find(passes: (item: T) => boolean): T | undefined {
    let low = this.#head
    let high = this.#items.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (passes(this.#items[middle]!)) high = middle
      else low = middle + 1
    }
    return this.#items[low]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head++]
    if (this.#head === this.#items.length || (this.#head > MAX_GAP && this.#head * 2 > this.#items.length)) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }
}
