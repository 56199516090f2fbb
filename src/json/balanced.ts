import { BACKSLASH } from '../text/characters.ts'
import { TextBalance } from './text-balance.ts'

/**
 * One past the bracket that closes the one at `from`, or -1 if the text ends first. Comments are skipped, see
 * ByteBalance.
 */
export function balancedEnd(text: string, from: number): number {
  const end = new TextBalance().readLoosely(text, from)
  return end === 'inside' ? -1 : end
}

/**
 * The closing quote of the string that opens at `open`, or -1. Jumps from quote to quote with a native
 * search. Pass `from` if there is known to be no closing quote before it.
 */
export function stringEnd(text: string, open: number, from = open + 1): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let slash = at - 1
    while (slash > open && text.charCodeAt(slash) === BACKSLASH) slash--
    if ((at - slash) % 2 === 1) return at
  }
  return -1
}
