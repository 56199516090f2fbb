import { Bytes } from '../base/platform.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

/** `<think>` or `<thinking>`: the content of a closed block is text, whatever it looks like. */
export interface ThinkMachine {
  /** The next opener at or after `from`; NOWHERE if there is none. */
  next(from: number): number
  open(from: number): void
}

/**
 *     <think> draft: <json>{"a":0}</json> </think> <json>{"a":1}</json>
 *     ^ from                              ^ closer
 *
 * `closed` is called with the range of each closed block.
 *
 * An opener in mid-line may only mention the tag: it hides little, and without a closer it was prose. Each
 * closer is a search that keeps its next hit, so a thousand openers before one closer search for it once.
 */
export function thinkMachine(scan: Scan, closed: (from: number, to: number) => void): ThinkMachine {
  const { tape } = scan
  /**
   * Both openers begin with it. One search for both, and no longer than six bytes, because longer ones are
   * slower.
   */
  const opener = new ByteSearch(tape, '<think')
  const kinds = ['>', 'ing>'].map(
    (rest): Kind => ({ rest: Bytes.from(rest), closer: new ByteSearch(tape, `</think${rest}`) }),
  )
  let from = 0
  let kind = kinds[0] as Kind
  /** Whether the opener is the first thing on its line. */
  let leading = true

  /** Which opener is at a hit of the search; `none`, or `open` if not known yet. */
  function kindAt(position: number): Kind | 'none' | 'open' {
    const rest = tape.view.subarray(position + opener.length - tape.base)
    for (const candidate of kinds) {
      const length = Math.min(rest.length, candidate.rest.length)
      if (rest.compare(candidate.rest, 0, length, 0, length) !== 0) continue
      if (length === candidate.rest.length) return candidate
      if (!scan.ended) return 'open'
    }
    return 'none'
  }

  const think: Inside = {
    keep() {
      return from
    },
    look() {
      const limit = leading ? scan.limit(from) : Math.min(scan.limit(from), midLineLimit())
      const close = kind.closer.next(from)
      if (close + kind.closer.length <= limit) {
        scan.leave(close + kind.closer.length)
        closed(from, scan.position)
        return true
      }
      if (tape.end < limit) return false
      if (!leading) {
        readAsProse()
        return true
      }
      const { closer } = kind
      scan.enter(
        tooLong(scan, 'think block', from, (seek) => {
          const end = closer.next(seek)
          if (end === NOWHERE) return { done: false, at: Math.max(seek, tape.end - closer.length + 1) }
          closed(from, end + closer.length)
          return { done: true, at: end + closer.length }
        }),
      )
      return true
    },
    finish() {
      scan.unclosedThink = true
      readAsProse()
    },
  }

  function readAsProse(): void {
    scan.leave(from + opener.length + kind.rest.length)
  }

  function midLineLimit(): number {
    return tape.positionOf(tape.origin(from) + MAX_MID_LINE)
  }

  return {
    next(start) {
      for (let at = opener.next(start); at !== NOWHERE; at = opener.next(at + 1)) {
        const found = kindAt(at)
        if (found === 'open') return NOWHERE
        if (found !== 'none') return at
      }
      return NOWHERE
    },
    open(position) {
      const found = kindAt(position)
      if (typeof found === 'object') kind = found
      from = position
      leading = scan.head.blank(position)
      scan.enter(think)
    },
  }
}

/** Maximum size of a block that opens in mid-line. */
const MAX_MID_LINE = 65_536

interface Kind {
  /** The rest of the opener after `<think`. */
  readonly rest: Bytes
  readonly closer: ByteSearch
}
