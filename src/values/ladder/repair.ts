import { jsonrepair } from 'jsonrepair'
import { balancedEnd, skipBlanks } from '../../json/balanced.ts'
import type { Mended } from './edits.ts'
import { isCutLiteral } from './mend-words.ts'

/** Of more characters jsonrepair can make 50 ms, in which nothing else happens. */
export const MAX_GENERAL = 16 * 1024

/**
 * Repairs commas and quotes by jsonrepair, for what `mend` cannot do. The text must be balanced, because jsonrepair
 * closes what was cut as if it had been meant so, and it must be short: jsonrepair is superlinear and recursive.
 *
 * What jsonrepair makes is taken only if it has the same letters, digits, brackets and colons as the
 * original, in the same order: it may then have moved quotes and commas, but not made up a value.
 */
export function repairGenerally(text: string): Mended | undefined {
  if (balancedEnd(text, skipBlanks(text, 0)) < 0) return undefined
  let repaired: string
  try {
    repaired = jsonrepair(text)
  } catch {
    return undefined
  }
  if (skeleton(text) !== skeleton(repaired) || quotesCutLiteral(text, repaired)) return undefined
  return { text: repaired, changes: ['moved quotes and commas (jsonrepair)'] }
}

/** A text without what a repair may change. Bounded, so regular expressions are allowed here. */
function skeleton(text: string): string {
  return text.replace(/[\s,"'`\\\u2018-\u201f]+/gu, '')
}

/** `{"a":tru}` must not become `{"a":"tru"}`. */
function quotesCutLiteral(text: string, repaired: string): boolean {
  for (const [quoted, word] of repaired.matchAll(/"([A-Za-z]{1,9})"/g)) {
    if (isCutLiteral(word!) && !text.includes(quoted)) return true
  }
  return false
}
