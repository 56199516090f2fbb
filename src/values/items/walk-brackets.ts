import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isBlank,
  LESS,
  OPEN_BRACE,
  OPEN_BRACKET,
} from '../../json/characters.ts'
import type { Walked, WalkState } from './walk-state.ts'

//  {"a":"5" tall","b":[1]},{"a":"7
//        ^^^^^^^^^^^^^^^^^       from the string that was none: brackets only

/**
 * Walks on inside brackets where quotes are not believed any more, until the brackets are balanced or the next
 * neighbour begins.
 */
export function walkBrackets(walk: WalkState, bound: number): Walked {
  const { brackets, rules, scan } = walk
  const { view, base, end: tapeEnd } = scan.tape
  const end = bound - base
  const head = rules.head?.()
  for (let i = walk.at - base; i < end; i++) {
    const byte = view[i] as number
    if (isBlank(byte)) continue
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (head && walk.last === COMMA && byte === OPEN_BRACE) {
        const same = beginsWith(view, i, end, head)
        if (same === undefined && (bound < tapeEnd || !scan.ended)) return walk.waitAt(i + base)
        if (same) return walk.endAt(walk.comma, i + base, true)
      }
      brackets.kinds[brackets.depth++] = byte
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      brackets.depth = brackets.depthAfter(byte, brackets.depth, rules.inArray)
      if (brackets.depth === 0) return walk.endAt(i + base + 1, i + base + 1)
      if (brackets.depth < 0) return walk.endAt(i + base, i + base)
    } else if (byte === COMMA) {
      walk.comma = i + base
    } else if (byte === LESS) {
      const tag = rules.tagAt(i + base, bound)
      if (tag !== false) {
        walk.at = i + base
        return tag ? 'tag' : 'wait'
      }
    }
    walk.last = byte
  }
  return walk.waitAt(Math.max(bound, walk.at))
}

/** Whether the head stands at `at`; undefined if the bytes end before that is known. */
function beginsWith(view: Buffer, at: number, end: number, head: Buffer): boolean | undefined {
  const length = Math.min(head.length, end - at)
  if (view.compare(head, 0, length, at, at + length) !== 0) return false
  return length === head.length ? true : undefined
}
