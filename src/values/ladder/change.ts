import { type Change, clip, visible } from '../../base/fault.ts'

export type { Change }

/** What kind of change a repair made. */
export type ChangeKind =
  | 'closed what the input left open'
  | 'added a missing closing tag'
  | 'added a missing colon'
  | 'added a missing comma'
  | 'added a missing quote'
  | 'decoded an escape'
  | 'dropped a backslash'
  | 'dropped a comma'
  | 'dropped a comment'
  | 'dropped a cut word'
  | 'dropped a fence mark'
  | 'dropped a think block'
  | 'dropped an escape sequence'
  | 'escaped a backslash'
  | 'escaped a control character'
  | 'escaped a quote'
  | 'joined two strings'
  | 'passed over what is no JSON'
  | 'quoted a key'
  | 'quoted a word'
  | 'read an unclosed think block'
  | 'removed one level of escapes'
  | 'replaced a blank'
  | 'replaced a colon'
  | 'replaced a comma'
  | 'replaced a quote'
  | 'spelled a literal as JSON'
  | 'spelled a number as JSON'
  | 'took a fence body'
  | 'took a tag block'
  | 'took an object from prose'
  | 'took the text of an envelope'

const plain = /^[ -~]*$/

/** Longer pieces of text are cut in the ledger; `at` says where the rest is. */
const MAX_PIECE = 40

/** Makes an entry of the ledger. What it quotes is bounded and cannot steer a terminal. */
export function changeOf(kind: ChangeKind, at: number, before: string, after: string): Change {
  return { kind, at, before: piece(before), after: piece(after) }
}

function piece(text: string): string {
  // Nearly all of them are short and plain.
  if (text.length <= MAX_PIECE && plain.test(text)) return text
  return visible(clip(text, MAX_PIECE))
}
