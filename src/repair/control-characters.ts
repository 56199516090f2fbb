import { stringEnd } from '../json/strings.ts'
import { ESC, SPACE } from '../text/characters.ts'
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

/**
 * Removes terminal escape sequences from a document that was printed in colour: those between tokens are
 * dropped, those in strings are escaped. One linear pass. `undefined` if there are none.
 *
 * @example
 * withoutSequences('{"a":\u001b[32m1\u001b[0m}')?.done().text // '{"a":1}'
 */
export function withoutSequences(text: string): Rewriter | undefined {
  let sequence = text.indexOf('\u001b')
  if (sequence < 0) return undefined
  const rewriter = new Rewriter(text)
  let at = 0
  let open = text.indexOf('"')
  while (sequence >= 0) {
    if (open >= 0 && open < at) open = text.indexOf('"', at)
    if (open >= 0 && open < sequence) {
      const close = stringEnd(text, open)
      const end = close < 0 ? text.length : close
      for (; sequence >= 0 && sequence < end; sequence = text.indexOf('\u001b', sequence + 1)) {
        rewriter.replace(sequence, sequence + 1, '\\u001b', 'escaped a control character')
      }
      at = end + 1
      continue
    }
    at = sequenceEnd(text, sequence)
    rewriter.replace(sequence, at, '', 'dropped an escape sequence')
    sequence = text.indexOf('\u001b', at)
  }
  return rewriter
}

/** Maximum length of a sequence. */
const MAX_SEQUENCE = 4096

//  ESC [ 3 1 m   ESC ] 8 ; ; url BEL   ESC ( B
//  ^ at        ^ end
/** End of the sequence that begins here with ESC, however that is written, or with the C1 control CSI. */
export function sequenceEnd(text: string, at: number): number {
  if (text[at] === '\u009b') return paramsEnd(text, at + 1)
  const kind = text[at + 1]
  if (kind === '[') return paramsEnd(text, at + 2)
  if (kind !== undefined && ']PX^_'.includes(kind)) return stringSequenceEnd(text, at + 2)
  let end = at + 1
  while (end < at + MAX_SEQUENCE && isBetween(text, end, 0x20, 0x2f)) end++
  return isBetween(text, end, 0x30, 0x7e) ? end + 1 : end
}

function paramsEnd(text: string, from: number): number {
  let end = from
  while (end < from + MAX_SEQUENCE && isBetween(text, end, 0x20, 0x3f)) end++
  return isBetween(text, end, 0x40, 0x7e) ? end + 1 : end
}

/** Ends with BEL or ESC \; a line end or another ESC aborts it. */
function stringSequenceEnd(text: string, from: number): number {
  for (let end = from; end < text.length && end < from + MAX_SEQUENCE; end++) {
    const unit = text.charCodeAt(end)
    if (unit === 7) return end + 1
    if (unit === ESC) return text[end + 1] === '\\' ? end + 2 : end
    if (unit === 10) return end
  }
  return Math.min(text.length, from + MAX_SEQUENCE)
}

function isBetween(text: string, at: number, least: number, most: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= least && unit <= most
}
