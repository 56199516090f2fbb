import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, isBlank, LESS, QUOTE } from '../../json/characters.ts'
import type { Walked, WalkState } from './walk-state.ts'

//  {"a":"he said "hi", then left","b":1}
//        ^      ^  ^            ^ the end: a comma and a quote follow, or a closing bracket

/** Walks on over a string that has quotes inside, to the one that what follows it makes the last. */
export function walkQuotes(walk: WalkState, bound: number): Walked {
  const { view, base } = walk.scan.tape
  const end = bound - base
  let i = walk.at - base
  for (; i < end; i++) {
    const byte = view[i] as number
    if (byte === LESS) {
      const tag = walk.rules.tagAt(i + base, bound)
      walk.at = i + base
      if (tag) return 'tag'
      if (tag === undefined) return 'wait'
    }
    if (walk.quoted !== 'text') {
      if (isBlank(byte)) continue
      const quote = walk.quoted === 'quote'
      if (quote && (byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) return walk.endAt(walk.to, i + base)
      if (!quote && (walk.rules.inArray || byte === QUOTE)) return walk.endAt(walk.to, i + base, true)
      walk.quoted = quote && byte === COMMA ? 'comma' : 'text'
    }
    if (byte === BACKSLASH) i++
    else if (byte === QUOTE) {
      walk.quoted = 'quote'
      walk.to = i + base + 1
    }
  }
  return walk.waitAt(i + base)
}
