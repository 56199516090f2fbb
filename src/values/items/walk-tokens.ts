import { LESS, OPEN_BRACE } from '../../json/characters.ts'
import {
  C_BLANK,
  C_CLOSE,
  C_COLON,
  C_COMMA,
  C_OPEN,
  C_QUOTE,
  C_TOKEN,
  CLASS,
  stringEnd,
  tokenEnd,
} from './byte-class.ts'
import { MAX_KNOWN } from './open-brackets.ts'
import type { Expects, Walked, WalkState } from './walk-state.ts'

//  {"a":[1,"]"]}
//   ^^^^^^^^^^^^  inside brackets, every token in its place

/** Walks on inside brackets; undefined if the rest has to be read in another mode. What changes is held in locals. */
export function walkTokens(walk: WalkState, bound: number): Walked | undefined {
  const { brackets, rules } = walk
  const { view, base } = walk.scan.tape
  const end = bound - base
  const open = brackets.kinds
  let i = walk.resume(end)
  let expects = walk.expects
  let depth = brackets.depth
  let string = walk.string
  let walked: Walked | undefined = 'wait'
  /** Set where a byte is not as it should be. */
  let odd = false
  loop: while (i < end) {
    const byte = view[i] as number
    switch (CLASS[byte]) {
      case C_BLANK:
        i++
        continue
      case C_QUOTE:
        odd = expects === 'colon' || expects === 'comma'
        if (odd && walk.notJson()) break loop
        expects = expects === 'key' || expects === 'first key' ? 'colon' : 'comma'
        string = i + base
        i = stringEnd(view, i + 1, end)
        if (i >= end) {
          walk.inString = true
          break loop
        }
        i++
        continue
      case C_COMMA:
        odd = expects !== 'comma'
        if (odd && walk.notJson()) break loop
        walk.comma = i + base
        expects = open[depth - 1] === OPEN_BRACE ? 'key' : 'value'
        break
      case C_COLON:
        odd = expects !== 'colon'
        if (odd && walk.notJson()) break loop
        expects = 'value'
        break
      case C_OPEN:
        odd = expects !== 'value' && expects !== 'first value'
        if (odd && walk.notJson()) break loop
        if (expects === 'key') {
          const array = brackets.arrayBelow(depth, rules.inArray)
          if (array > 0) depth = array
          else if (array === 0) {
            walked = walk.endAt(walk.comma, i + base, true)
            break loop
          }
        }
        open[depth++] = byte
        expects = byte === OPEN_BRACE ? 'first key' : 'first value'
        break
      case C_CLOSE:
        odd = (open[depth - 1] !== byte - 2 && depth <= MAX_KNOWN) || !mayClose(expects)
        if (odd && walk.notJson()) break loop
        depth = brackets.depthAfter(byte, depth, rules.inArray)
        if (depth <= 0) {
          walked = depth === 0 ? walk.endAt(i + base + 1, i + base + 1) : walk.endAt(i + base, i + base)
          break loop
        }
        expects = 'comma'
        break
      default: {
        if (byte === LESS) {
          const tag = rules.tagAt(i + base, bound)
          if (tag !== false) {
            if (tag) walked = 'tag'
            break loop
          }
        }
        odd = CLASS[byte] !== C_TOKEN || (expects !== 'value' && expects !== 'first value')
        if (odd && walk.notJson()) break loop
        if (odd && string !== -1 && byte !== SLASH && (expects === 'comma' || expects === 'colon')) {
          // What was taken for the end of a string was none.
          walked = undefined
          break loop
        }
        if (!odd) {
          expects = 'comma'
          i = tokenEnd(view, i, end)
          string = -1
          walk.inToken = i >= end
          continue
        }
      }
    }
    string = -1
    i++
  }
  if (walked === 'end') return walked
  walk.at = i + base
  walk.expects = expects
  brackets.depth = depth
  walk.string = string
  if (odd && rules.strict && walked === 'wait') return 'odd'
  if (walked === undefined) walk.readAgain('brackets')
  return walked
}

function mayClose(expects: Expects): boolean {
  return expects === 'comma' || expects === 'first key' || expects === 'first value'
}

const SLASH = 0x2f
