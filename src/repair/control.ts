import { stringEnd } from '../json/strings.ts'
import { SPACE } from '../text/characters.ts'
import { type Edited, Rewriter } from './edits.ts'
import { escapeOf } from './quotes.ts'

/**
 * Escapes raw control characters inside strings, and leaves everything between strings alone. One linear
 * pass, for texts of any size.
 *
 * @example
 * controlsEscaped('{"a":"x\ny"}').text // '{"a":"x\\ny"}'
 */
export function controlsEscaped(text: string): Edited {
  const rewriter = new Rewriter(text)
  for (let open = text.indexOf('"'); open >= 0; ) {
    const close = stringEnd(text, open)
    const end = close < 0 ? text.length : close
    for (let at = open + 1; at < end; at++) {
      const unit = text.charCodeAt(at)
      if (unit < SPACE) rewriter.replace(at, at + 1, escapeOf(unit), 'escaped a control character')
    }
    open = close < 0 ? -1 : text.indexOf('"', close + 1)
  }
  return rewriter.done()
}
