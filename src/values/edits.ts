/** A text that was made JSON, and what was changed in it. */
export interface Mended {
  readonly text: string
  readonly changes: readonly string[]
}

/** Changes to a text, gathered while it is read and made all at once: one copy, however many they are. */
export class Edits {
  /** In the order of their making: a trailing comma is known as such only behind the blanks after it. */
  readonly #edits: Edit[] = []
  /** How often each kind of change was made. */
  readonly #changes = new Map<string, number>()

  /** Puts `by` in the place of what stands from `from` to `to`. */
  add(from: number, to: number, by: string, change: string): void {
    this.#edits.push({ from, to, by })
    this.#changes.set(change, (this.#changes.get(change) ?? 0) + 1)
  }

  applyTo(text: string): Mended {
    const pieces: string[] = []
    let copied = 0
    for (const { from, to, by } of this.#edits.sort((a, b) => a.from - b.from)) {
      pieces.push(text.slice(copied, from), by)
      copied = to
    }
    pieces.push(text.slice(copied))
    const changes = [...this.#changes].map(([what, times]) => `${what} (${times})`)
    return { text: pieces.join(''), changes }
  }
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly by: string
}
