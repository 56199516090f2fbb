import { nextQuote } from '../json/strings.ts'
import { COLON, COMMA, isBlank, isBracket, QUOTE, quoteFamily } from '../text/characters.ts'
import { closes } from './quotes.ts'

//  {'a': 'x}', 'b': 1}    {"a": “it’s}
//          ^ closes nothing           ^ neither
/**
 * Whether the last bracket of a text that is not JSON is inside a string in other quotes than double ones:
 * what cut the text there did not see the string.
 *
 * @example
 * endsInString(`{"a": 'x}`) // true
 * endsInString(`{"a": 'x'}`) // false
 */
export function endsInString(text: string): boolean {
  if (!/['`´‘-‟]/.test(text)) return false
  // A quote opens a string only where a key or a value may begin, and closes it only before what may follow
  // one.
  let last = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isBlank(unit)) continue
    const before = last
    last = unit
    if (quoteFamily(unit) === 0 || !mayPrecedeString(before)) continue
    const close = nextQuote(
      text,
      at + 1,
      text.length,
      (quote, here) => closes(quote, unit) && (unit === QUOTE || mayFollowString(text, here + 1)),
    )
    if (close < 0) return unit !== QUOTE
    at = close
    last = QUOTE
  }
  return false
}

function mayPrecedeString(unit: number): boolean {
  return isBracket(unit) || unit === COMMA || unit === COLON
}

function mayFollowString(text: string, from: number): boolean {
  let at = from
  while (isBlank(text.charCodeAt(at))) at++
  return at >= text.length || ',:}]'.includes(text[at]!)
}
