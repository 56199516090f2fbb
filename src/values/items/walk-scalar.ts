import { COLON, LESS, OPEN_BRACE } from '../../json/characters.ts'
import {
  C_BLANK,
  C_CLOSE,
  C_COMMA,
  C_OPEN,
  C_QUOTE,
  C_TOKEN,
  CLASS,
  stringEnd,
  tokenEnd,
} from './byte-class.ts'
import type { Walked, WalkState } from './walk-state.ts'

//  [12, "text" , /* no */ {"a":1}]
//   ^^  ^^^^^^   ^^^^^^^^^        a value without brackets, or what stands before one with brackets

/** Walks on outside brackets; undefined if the rest has to be read in another mode. */
export function walkScalar(walk: WalkState, bound: number): Walked | undefined {
  const { view, base } = walk.scan.tape
  const end = bound - base
  let i = walk.resume(end)
  for (; i < end; i++) {
    const byte = view[i] as number
    switch (CLASS[byte]) {
      case C_BLANK:
        continue
      case C_QUOTE:
        if (walk.expects === 'comma') return walk.endAt(walk.to, i + base)
        walk.expects = 'comma'
        walk.string = i + base
        i = stringEnd(view, i + 1, end)
        if (i >= end) {
          walk.inString = true
          return walk.waitAt(i + base)
        }
        walk.to = i + base + 1
        continue
      case C_COMMA:
      case C_CLOSE:
        return walk.endAt(walk.to, i + base)
      case C_OPEN:
        // Behind a plain value a comma is missing; behind anything else, this is the value.
        if (walk.expects === 'comma' && !walk.odd) return walk.endAt(walk.to, i + base)
        walk.brackets.kinds[0] = byte
        walk.brackets.depth = 1
        walk.expects = byte === OPEN_BRACE ? 'first key' : 'first value'
        walk.mode = 'tokens'
        walk.at = i + base + 1
        return undefined
      default: {
        if (byte === COLON && walk.expects === 'comma') return walk.endAt(walk.to, i + base)
        if (byte === LESS) {
          const tag = walk.rules.tagAt(i + base, bound)
          walk.at = i + base
          if (tag) return 'tag'
          if (tag === undefined) return 'wait'
        }
        if (CLASS[byte] === C_TOKEN && walk.expects === 'value') {
          walk.expects = 'comma'
          i = tokenEnd(view, i, end) - 1
          walk.inToken = i + 1 >= end
          walk.to = i + base + 1
          continue
        }
        if (walk.notJson()) {
          walk.at = i + base
          return 'odd'
        }
        if (walk.string !== -1) {
          walk.at = i + base
          walk.readAgain('quotes')
          return undefined
        }
        walk.to = i + base + 1
      }
    }
  }
  return walk.waitAt(i + base)
}
