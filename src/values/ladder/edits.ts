import { type Change, type ChangeKind, changeOf } from './change.ts'

/** One edit of a text, linked to the one before it: readings that part ways share what they have in common. */
export interface Edit {
  readonly from: number
  readonly to: number
  readonly by: string
  readonly kind: ChangeKind
  readonly before: Edit | undefined
}

/** A text after its edits, and the ledger of them; `at` counts UTF-16 units of the text. */
export interface Edited {
  readonly text: string
  readonly changes: readonly Change[]
}

/** What became of a text that is almost JSON. `at` is where reading it as JSON stops, in units of the text. */
export type Mended =
  | ({ readonly kind: 'mended' } & Edited)
  /** There is more than one way to read it. */
  | { readonly kind: 'ambiguous'; readonly at: number }
  /** It ends inside its value. */
  | { readonly kind: 'cut'; readonly at: number }
  /** Its root is closed at `at`, and something follows. */
  | { readonly kind: 'followed'; readonly at: number }
  | { readonly kind: 'broken'; readonly at: number }

/** Makes all edits at once: one copy, however many there are. The ledger keeps the first MAX_CHANGES of them. */
export function applyEdits(text: string, last: Edit | undefined): Edited {
  const edits: Edit[] = []
  for (let edit = last; edit; edit = edit.before) edits.push(edit)
  edits.reverse()
  // A trailing or missing comma is known as such only behind the blanks after it, so edits may be out of order.
  if (!isInOrder(edits)) edits.sort((a, b) => a.from - b.from || a.to - b.to)
  const pieces: string[] = []
  const changes: Change[] = []
  let copied = 0
  for (const { from, to, by, kind } of edits) {
    pieces.push(text.slice(copied, from), by)
    if (changes.length < MAX_CHANGES)
      changes.push(changeOf(kind, from, text.slice(from, Math.min(to, from + 80)), by))
    copied = to
  }
  pieces.push(text.slice(copied))
  return { text: pieces.join(''), changes }
}

/** A payload that needs more changes than this is told by its first ones. */
const MAX_CHANGES = 100

function isInOrder(edits: readonly Edit[]): boolean {
  for (let i = 1; i < edits.length; i++) if (edits[i]!.from < edits[i - 1]!.to) return false
  return true
}
