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
  const kinds = ['think', 'thinking'].map(
    (name): Kind => ({
      opener: new Needle(tape, `<${name}>`),
      closer: new Needle(tape, `</${name}>`),
      passed: 0,
    }),
  )
  let from = 0
  let kind = kinds[0] as Kind

  function nextOf(candidate: Kind, start: number): number {
    for (;;) {
      const at = candidate.opener.next(Math.max(start, candidate.passed))
      if (at === NOWHERE || scan.head.blank(at)) return at
      candidate.passed = at + 1
    }
  }

  const think: Inside = {
    get keep() {
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
      scan.leave(from + kind.opener.length)
    },
  }

  return {
    next(start) {
      if (scan.unclosedThink) return NOWHERE
      let next = NOWHERE
      for (const candidate of kinds) next = Math.min(next, nextOf(candidate, start))
      return next
    },
    open(position) {
      from = position
      kind = kinds.find((k) => k.opener.next(position) === position) ?? kind
      scan.enter(think)
    },
  }
}

interface Kind {
  readonly opener: Needle
  readonly closer: Needle
  /** Openers before this position stand in mid-line: they are text, and are judged once. */
  passed: number
}
