const SLOTS = 256

/** Keeps keys in a direct-mapped cache: the same few come again and again, and need not be made anew. */
export class KeyCache {
  /** Made with the first key: many a brace in prose begins a value and has none. */
  #seen: string[] | undefined

  /** The key that stands in a text, from `at` to `end`. */
  take(text: string, at: number, end: number): string {
    const size = end - at
    if (size === 0) return ''
    const slot = (size * 31 + text.charCodeAt(at) * 7 + text.charCodeAt(end - 1)) & (SLOTS - 1)
    this.#seen ??= new Array<string>(SLOTS).fill('')
    const seen = this.#seen[slot]!
    if (seen.length === size && text.startsWith(seen, at)) return seen
    const made = text.slice(at, end)
    this.#seen[slot] = made
    return made
  }
}
