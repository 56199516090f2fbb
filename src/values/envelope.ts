import { stringValue } from '../json/strings.ts'
import { pastBlanks, walk } from '../json/walk.ts'
import { skipBlanks } from '../repair/tolerant-reader.ts'

/** Where the content of an envelope is in the text of the envelope. */
export interface EnvelopePlaces {
  /** Where the field's value begins. */
  readonly at: number
  /** Maps a position in the field's text to the text of the envelope, which spells it with escapes. */
  origin(at: number): number
}

/**
 * Finds the field of an envelope in its text, which is JSON; the last one, if there are several.
 *
 * @example
 * envelopePlaces('{"response":"{\\"a\\":1,}"}', 'response').origin(6) // 21, the comma
 */
export function envelopePlaces(text: string, field: string): EnvelopePlaces {
  let depth = 0
  // A text that holds the payload is its own field.
  let at = pastBlanks(text, 0)
  walk(text, {
    open() {
      depth++
    },
    close() {
      depth--
      return undefined
    },
    key(open, close) {
      if (depth === 1 && stringValue(text, open, close) === field)
        at = pastBlanks(text, pastBlanks(text, close + 1) + 1)
    },
  })
  // Asked for rising positions, nearly always: it goes on where it stopped.
  let meant = 0
  let spelled = at + 1
  return {
    at,
    origin(wanted) {
      if (wanted < meant) {
        meant = 0
        spelled = at + 1
      }
      for (; meant < wanted; meant++)
        if (text[spelled] !== '\\') spelled++
        else spelled += text[spelled + 1] === 'u' ? 6 : 2
      return spelled
    },
  }
}

//  callback_123({"a":1});
//               ^ from ^ to
/** Where the argument of a JSONP callback is, if the text is nothing else. */
export function callbackArgument(text: string): { from: number; to: number } | undefined {
  let to = text.length - 1
  // No search: every message of an agent is asked, and nearly all of them end in a word.
  while (to > 0 && /[\s;]/.test(text[to]!)) to--
  if (text[to] !== ')') return undefined
  const at = skipBlanks(text, 0)
  const call = callback.exec(text.slice(at, at + MAX_CALL))
  return call ? { from: at + call[0].length, to } : undefined
}

const MAX_CALL = 256
const callback = /^(?=[\w$.]{0,128}(?:callback|jsonp))[\w$.]+\s*\(\s*/i
