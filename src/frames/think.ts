import { Needle, NOWHERE } from './needle.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

/** `<think>` or `<thinking>`: what stands in a closed block is text, whatever it looks like. */
export interface ThinkMachine {
  /** The next opener at or after `from` that is the first thing on its line; NOWHERE if there is none. */
  next(from: number): number
  open(from: number): void
}

/**
 *     <think> draft: <json>{"a":0}</json> </think> <json>{"a":1}</json>
 *     ^ from                              ^ closer
 *
 * `closed` is told where a block that began at `from` ended.
 */
export function thinkMachine(scan: Scan, closed: (from: number, to: number) => void): ThinkMachine {
  const { tape } = scan
  /** Both openers begin with it. One search for both, and none longer than six bytes: those are slower. */
  const opener = new Needle(tape, '<think')
  const kinds = ['>', 'ing>'].map(
    (rest): Kind => ({ rest: Buffer.from(rest), closer: new Needle(tape, `</think${rest}`) }),
  )
  let from = 0
  let kind = kinds[0] as Kind
  /** Openers before this position stand in mid-line or are none: they are text, and are judged once. */
  let passed = 0

  /** Which opener stands at a hit of the needle: none, or not known yet. */
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
      const limit = scan.limit(from)
      const close = kind.closer.next(from)
      if (close + kind.closer.length <= limit) {
        scan.leave(close + kind.closer.length)
        closed(from, scan.position)
        return true
      }
      if (tape.end < limit) return false
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
      // Never closed: read again as prose, once. Openers of further blocks mean nothing any more.
      scan.unclosedThink = true
      scan.leave(from + opener.length + kind.rest.length)
    },
  }

  return {
    next(start) {
      if (scan.unclosedThink) return NOWHERE
      for (;;) {
        const at = opener.next(Math.max(start, passed))
        if (at === NOWHERE) return NOWHERE
        if (scan.head.blank(at)) {
          const found = kindAt(at)
          if (found === 'open') return NOWHERE
          if (found !== 'none') return at
        }
        passed = at + 1
      }
    },
    open(position) {
      const found = kindAt(position)
      if (typeof found === 'object') kind = found
      from = position
      scan.enter(think)
    },
  }
}

interface Kind {
  /** What stands in the opener behind `<think`. */
  readonly rest: Buffer
  readonly closer: Needle
}
