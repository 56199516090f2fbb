/** Characters at the start of a value that its hash is of: what is before them has been shifted out. */
const HASHED = 4
const BITS = 14
const hashOn = (hash: number, unit: number): number => ((hash << 5) ^ unit) & ((1 << BITS) - 1)

/** Values that are hidden wherever they are. All are looked for at once, by a hash of how they begin. */
export class KnownValues {
  readonly #all = new Set<string>()
  readonly #byHash = new Map<number, string[]>()
  readonly #short: string[] = []
  readonly #isHash = new Uint8Array(1 << BITS)

  constructor(values: readonly string[]) {
    for (const value of values) this.add(value)
  }

  get size(): number {
    return this.#all.size
  }

  all(): string[] {
    return [...this.#all]
  }

  add(value: string): void {
    if (value === '' || this.#all.has(value)) return
    this.#all.add(value)
    if (value.length < HASHED) this.#short.push(value)
    if (value.length < HASHED) return
    let hash = 0
    for (let i = 0; i < HASHED; i++) hash = hashOn(hash, value.charCodeAt(i))
    this.#isHash[hash] = 1
    this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), value])
  }

  /** Calls back with each value, and where it begins. */
  each(text: string, at: (from: number, value: string) => void): void {
    if (this.#all.size === 0) return
    for (const value of this.#short) eachOf(text, value, (from) => at(from, value))
    let hash = 0
    for (let i = 0; i < text.length; i++) {
      hash = hashOn(hash, text.charCodeAt(i))
      if (this.#isHash[hash] === 0) continue
      const from = i + 1 - HASHED
      for (const value of this.#byHash.get(hash)!) if (text.startsWith(value, from)) at(from, value)
    }
  }
}

/** Calls back with each place of a text in another. */
export function eachOf(text: string, value: string, at: (from: number) => void): void {
  for (let from = text.indexOf(value); from >= 0; from = text.indexOf(value, from + value.length)) at(from)
}
