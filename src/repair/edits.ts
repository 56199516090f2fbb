import { type ChangeKind, changeOf, type RepairChange } from './change.ts'

/** One edit of a text, linked to the one before it: readings that diverge share their common edits. */
export interface Edit {
  readonly from: number
  readonly to: number
  readonly by: string
  readonly kind: ChangeKind
  readonly before: Edit | undefined
}

/** A text after its edits, and the list of changes; `at` counts UTF-16 units of the text. */
export interface Edited {
  readonly text: string
  readonly changes: readonly RepairChange[]
  /** Maps a position in the new text to the old one. */
  readonly origin?: ((at: number) => number) | undefined
}

/** Result for a text that is almost JSON. `at` is where reading it as JSON stops, in units of the text. */
export type Mended =
  | ({ readonly kind: 'mended' } & Edited)
  /** There is more than one way to read it. */
  | { readonly kind: 'ambiguous'; readonly at: number }
  /** It ends inside its value. */
  | { readonly kind: 'cut'; readonly at: number }
  /** Its root is closed at `at`, and something follows. */
  | { readonly kind: 'followed'; readonly at: number }
  | { readonly kind: 'broken'; readonly at: number }

/** Applies all edits with one copy. The list keeps the first MAX_CHANGES of them. */
export function applyEdits(text: string, last: Edit | undefined): Edited {
  const edits: Edit[] = []
  for (let edit = last; edit; edit = edit.before) edits.push(edit)
  edits.reverse()
  // A trailing or missing comma is recognized after the blanks behind it: edits may be out of order.
  if (!isInOrder(edits)) edits.sort((a, b) => a.from - b.from || a.to - b.to)
  const rewriter = new Rewriter(text)
  for (const { from, to, by, kind } of edits) rewriter.replace(from, to, by, kind)
  // Written out, here and where this is passed on: a spread takes as long as the repair of a small text.
  const made = rewriter.done()
  return { text: made.text, changes: made.changes, origin: (at) => rewriter.origin(at) }
}

/**
 * Rewrites a text of any size from start to end. It holds only the pieces of the new text and the first
 * entries of the list of changes.
 */
export class Rewriter {
  readonly #text: string
  readonly #pieces: string[] = []
  readonly #changes: RepairChange[] = []
  /** Starts of the pieces in the new text, and the same positions in the old one. */
  readonly #starts: number[] = []
  readonly #origins: number[] = []
  #copied = 0
  #length = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Replaces `from` to `to` with `by`. The range must be after the last replacement. */
  replace(from: number, to: number, by: string, kind: ChangeKind): void {
    this.#pieces.push(this.#text.slice(this.#copied, from), by)
    this.#length += from - this.#copied + by.length
    this.#copied = to
    this.#starts.push(this.#length)
    this.#origins.push(to)
    if (this.#changes.length < MAX_CHANGES)
      this.#changes.push(changeOf(kind, from, this.#text.slice(from, Math.min(to, from + 80)), by))
  }

  done(): Edited {
    if (this.#starts.length === 0) return { text: this.#text, changes: [] }
    // One join: a rope of two would be copied again by `JSON.parse`, and is slower to walk over.
    this.#pieces.push(this.#text.slice(this.#copied))
    const text = this.#pieces.join('')
    this.#pieces.pop()
    return { text, changes: this.#changes }
  }

  /** Maps a position in the new text to the old one. */
  origin(at: number): number {
    let low = 0
    let high = this.#starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#starts[middle]! <= at) low = middle + 1
      else high = middle
    }
    return low === 0 ? at : this.#origins[low - 1]! + at - this.#starts[low - 1]!
  }
}

/** Only this many changes are listed; the first ones are enough to describe a payload with more. */
const MAX_CHANGES = 100

function isInOrder(edits: readonly Edit[]): boolean {
  for (let i = 1; i < edits.length; i++) if (edits[i]!.from < edits[i - 1]!.to) return false
  return true
}
