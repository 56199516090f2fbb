import { BACKSLASH, COLON, COMMA, isBlank, isBracket, QUOTE, quoteFamily } from '../text/characters.ts'
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
  let opened = 0
  let last = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isBlank(unit)) continue
    if (opened !== 0) {
      if (unit === BACKSLASH) at++
      else if (closes(unit, opened) && (opened === QUOTE || mayFollowString(text, at + 1))) {
        opened = 0
        last = QUOTE
      }
    } else if (quoteFamily(unit) !== 0 && mayPrecedeString(last)) opened = unit
    else last = unit
  }
  return opened !== 0 && opened !== QUOTE
}

function mayPrecedeString(unit: number): boolean {
  return isBracket(unit) || unit === COMMA || unit === COLON
}

function mayFollowString(text: string, from: number): boolean {
  let at = from
  while (isBlank(text.charCodeAt(at))) at++
  return at >= text.length || ',:}]'.includes(text[at]!)
}
