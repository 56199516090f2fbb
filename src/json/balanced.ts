import { BACKSLASH } from './characters.ts'
import { TextBalance } from './text-balance.ts'

/** One past the closer of the bracket at `from`, or -1 if the text ends before. Comments are passed over, see ByteBalance. */
export function balancedEnd(text: string, from: number): number {
  const end = new TextBalance().readLoosely(text, from)
  return end === 'inside' ? -1 : end
}

/**
 * The closing quote of the string that opens at `open`, or -1. Hops natively from quote to quote, beginning at `from`, if
 * it is known that there is no closing one before.
 */
export function stringEnd(text: string, open: number, from = open + 1): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let slash = at - 1
    while (slash > open && text.charCodeAt(slash) === BACKSLASH) slash--
    if ((at - slash) % 2 === 1) return at
  }
  return -1
}
