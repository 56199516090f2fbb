import { jsonrepair } from 'jsonrepair'
import { balancedEnd } from '../../json/balanced.ts'
import { changeOf } from './change.ts'
import type { Edited } from './edits.ts'

/** Above this size jsonrepair can block the event loop for 50 ms. */
export const MAX_GENERAL = 16 * 1024

/**
 * Lets jsonrepair try what `mend` cannot do. The text must be balanced, because jsonrepair closes a cut text as if it had
 * been meant so, and short, because jsonrepair is superlinear and recursive.
 *
 * What it makes is taken only if the text has the same tokens in the same order, strings as they were quoted and words as
 * they were spelled: it may have added or dropped commas, and nothing else.
 */
export function commasMoved(text: string): Edited | undefined {
  if (balancedEnd(text, 0) !== text.length || hasNeighbours(text)) return undefined
  let repaired: string
  try {
    repaired = jsonrepair(text)
  } catch {
    return undefined
  }
  const tokens = tokensOf(repaired)
  // A comma or a colon at the edge of a string may have lost its place, and then the string is another one.
  if (tokensOf(text) !== tokens || /^"[,:]|[,:]"$/m.test(tokens)) return undefined
  return { text: repaired, changes: [changeOf('moved commas (jsonrepair)', 0, '', '')] }
}

/** Whether two words or numbers have only blanks between them: `1 000` is one number, or two. */
function hasNeighbours(text: string): boolean {
  return /[^\s,"{}[\]:]\s+[^\s,"{}[\]:]/.test(text.replaceAll(/"(?:[^"\\]|\\.)*"/gsu, '""'))
}

/** The tokens of a text but for its commas and blanks. Bounded by MAX_GENERAL, so a regular expression is allowed here. */
function tokensOf(text: string): string {
  return (text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:]|[^\s,"{}[\]:]+/gsu) ?? []).join('\n')
}
