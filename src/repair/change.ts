import { clip, type RepairChange, visible } from '../base/fault.ts'

export type { RepairChange }

/** The kinds of changes a repair makes. */
export type ChangeKind =
  | 'closed what the input left open'
  | 'added a missing bracket'
  | 'added a missing closing tag'
  | 'added a missing colon'
  | 'added a missing comma'
  | 'added a missing quote'
  | 'decoded an escape'
  | 'dropped a backslash'
  | 'dropped a brace'
  | 'dropped a call'
  | 'dropped a comma'
  | 'dropped a comment'
  | 'dropped a cut word'
  | 'dropped a fence mark'
  | 'dropped a string prefix'
  | 'dropped a think block'
  | 'dropped an escape sequence'
  | 'escaped a backslash'
  | 'escaped a control character'
  | 'escaped a quote'
  | 'joined two strings'
  | 'skipped what is not JSON'
  | 'quoted a key'
  | 'quoted a word'
  | 'read an unclosed think block'
  | 'removed one level of escapes'
  | 'replaced a blank'
  | 'replaced a bracket'
  | 'replaced a colon'
  | 'replaced a comma'
  | 'replaced a quote'
  | 'spelled a literal as JSON'
  | 'spelled a number as JSON'
  | 'spelled a tuple as an array'
  | 'took a fence body'
  | 'took a tag block'
  | 'took an object from prose'
  | 'took the text of an envelope'

const plain = /^[ -~]*$/

/** Longer pieces of text are cut in the list of changes; `at` says where the rest is. */
const MAX_PIECE = 40

/** Creates an entry of the list of changes. What it quotes is bounded and cannot control a terminal. */
export function changeOf(kind: ChangeKind, at: number, before: string, after: string): RepairChange {
  return { kind, at, before: piece(before), after: piece(after) }
}

function piece(text: string): string {
  // Nearly all pieces are short and plain.
  if (text.length <= MAX_PIECE && plain.test(text)) return text
  return visible(clip(text, MAX_PIECE))
}
