import { stringEnd } from '../../json/balanced.ts'
import { applyEdits, type Edit, type Edited } from './edits.ts'
import { escapeOf } from './quotes.ts'

/**
 * Escapes raw control characters inside strings, and touches nothing between them. One linear pass, for texts of any
 * size.
 *
 * @example
 * controlsEscaped('{"a":"x\ny"}').text // '{"a":"x\\ny"}'
 */
export function controlsEscaped(text: string): Edited {
  let edits: Edit | undefined
  for (let open = text.indexOf('"'); open >= 0; ) {
    const close = stringEnd(text, open)
    const end = close < 0 ? text.length : close
    for (let at = open + 1; at < end; at++) {
      const unit = text.charCodeAt(at)
      if (unit >= SPACE) continue
      edits = {
        from: at,
        to: at + 1,
        by: escapeOf(unit),
        kind: 'escaped a control character',
        before: edits,
      }
    }
    open = close < 0 ? -1 : text.indexOf('"', close + 1)
  }
  return edits ? applyEdits(text, edits) : { text, changes: [] }
}

const SPACE = 32
