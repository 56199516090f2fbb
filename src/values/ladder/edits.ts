/** A text that was made JSON, and what was changed in it. */
export interface Mended {
  readonly text: string
  readonly changes: readonly string[]
}

/** Changes to a text, gathered while it is read and made all at once: one copy, however many they are. */
export class Edits {
  /** In the order of their making: a trailing or missing comma is known as such only behind the blanks after it. */
  readonly #edits: Edit[] = []
  #inOrder = true
  /** One past what the last edit took. */
  #end = 0
  /** How often each kind of change was made, but for the last kind, whose count is kept apart: mostly it comes again. */
  readonly #changes = new Map<string, number>()
  #change = ''
  #times = 0

  /** Puts `by` in the place of what stands from `from` to `to`. */
  add(from: number, to: number, by: string, change: string): void {
    this.#edits.push({ from, to, by })
    if (from < this.#end) this.#inOrder = false
    this.#end = to
    if (change !== this.#change) this.#count(change)
    this.#times++
  }

  applyTo(text: string): Mended {
    this.#count('')
    if (!this.#inOrder) this.#edits.sort((a, b) => a.from - b.from || a.to - b.to)
    const pieces: string[] = []
    let copied = 0
    for (const { from, to, by } of this.#edits) {
      pieces.push(text.slice(copied, from), by)
      copied = to
    }
    pieces.push(text.slice(copied))
    const changes = [...this.#changes].map(([what, times]) => `${what} (${times})`)
    return { text: pieces.join(''), changes }
  }

  /** Another kind of change begins. */
  #count(change: string): void {
    if (this.#times > 0) this.#changes.set(this.#change, (this.#changes.get(this.#change) ?? 0) + this.#times)
    this.#change = change
    this.#times = 0
  }
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly by: string
}
