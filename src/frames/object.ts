import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  isProtected,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../json/characters.ts'
import { type GateKind, gate } from './gate.ts'
import type { Inside, Scan } from './scan.ts'

/** What ends a candidate from outside. */
export interface Interruptions {
  /** The next tag opener at or after a position, whatever it opens. */
  nextTag(from: number): number
  /** The next fence line; not `decided` while its line is not complete. */
  nextFence(from: number): { readonly at: number; readonly decided: boolean }
  /** Up to here it is known what is a tag opener or a fence; behind it may stand half of one. */
  known(): number
  /** Whether NDJSON records are cut: then a torn record must not swallow the next line. */
  readonly lines: boolean
}

/** After a raw line break inside a string, a candidate may grow to what repair would accept, and no further. */
const MAX_BROKEN = 65_536

/**
 * A bare object or array, found by its balanced brackets.
 *
 *     The result is {"a": [1, "}"]} as asked.
 *                   ^ from        ^ depth 0
 *
 * Only the outermost candidate is tried, and one that fails is left where it failed: nothing is read twice.
 */
export function objectMachine(
  scan: Scan,
  interruptions: Interruptions,
): (from: number, kind: GateKind, first: boolean) => void {
  const { tape } = scan
  let candidate = newCandidate(0, 'strict', false)

  function newCandidate(from: number, kind: GateKind, first: boolean) {
    return {
      from,
      first,
      judge: gate(kind, scan.byte(from) ?? 0),
      /** Everything before it has been looked at. */
      seek: from + 1,
      opened: false,
      depth: 1,
      inString: false,
      /** A raw LF stood inside a string: this is not JSON, at best something to repair. */
      broken: false,
    }
  }

  const object: Inside = {
    keep() {
      return candidate.from
    },
    look() {
      const limit = scan.limit(candidate.from)
      if (!candidate.opened) {
        const opens = passGate(Math.min(limit, tape.end))
        if (opens === undefined) return tape.end >= limit && outgrow(limit)
        if (!opens) {
          scan.leave(candidate.seek)
          return true
        }
        candidate.opened = true
        scan.opened?.('object', candidate.from, candidate.seek)
      }
      return walk(limit)
    },
    finish() {
      if (candidate.opened) cut(tape.end, true)
      else scan.leave(tape.end)
    },
  }

  function passGate(bound: number): boolean | undefined {
    for (; candidate.seek < bound; candidate.seek++) {
      const opens = candidate.judge(scan.byte(candidate.seek) ?? 0)
      if (opens !== undefined) return opens
    }
    return undefined
  }

  /** Looks at the body. True: the candidate is over, one way or the other; false: it waits. */
  function walk(limit: number): boolean {
    for (;;) {
      const { seek, from } = candidate
      const brokenLimit = candidate.broken ? tape.positionOf(tape.origin(from) + MAX_BROKEN) : limit
      const tag = interruptions.nextTag(seek)
      const fence = interruptions.nextFence(seek)
      const stop = Math.min(limit, brokenLimit, interruptions.known(), tag, fence.at)
      if (walkTo(stop)) return true
      if (candidate.seek < stop) continue // A string broke: the limits are others now.
      if (stop === limit) return outgrow(limit)
      if (stop === brokenLimit) return leave(candidate.seek)
      if (stop === fence.at) return fence.decided && leave(stop)
      if (stop !== tag) return false
      if (!candidate.inString || candidate.broken) return leave(stop)
      candidate.seek = stop + 1
    }
  }

  /** Walks to `stop`, or to just behind the line break that breaks a string. True if the candidate is over. */
  function walkTo(stop: number): boolean {
    const { view, base } = tape
    const to = stop - base
    const floor = candidate.from - base
    let { depth, inString } = candidate
    let at = candidate.seek - base
    while (at < to) {
      const byte = view[at] as number
      if (MATTERS[byte] === 0) {
        at++
        continue
      }
      if (byte === QUOTE) {
        if (!isProtected(view, at, floor)) inString = !inString
      } else if (byte === LF) {
        if (inString && !candidate.broken) {
          candidate.broken = true
          at++
          break
        }
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (!inString) depth++
        else if (candidate.broken && interruptions.lines && scan.head.bare(at + base)) return leave(at + base)
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (!inString && --depth === 0) {
          cut(at + base + 1, false)
          return true
        }
      }
      at++
    }
    candidate.depth = depth
    candidate.inString = inString
    candidate.seek = at + base
    return false
  }

  function leave(position: number): true {
    scan.leave(position)
    return true
  }

  function outgrow(limit: number): true {
    const at = tape.origin(candidate.from)
    scan.cutTextBefore(candidate.from)
    scan.cutText(at, at + scan.maxFrame, limit, {
      code: 'FRAME_TOO_LONG',
      message: `an object at byte ${at} is longer than maxFrame (${scan.maxFrame} bytes); it is kept as text`,
      at,
    })
    return leave(limit)
  }

  function cut(to: number, open: boolean): void {
    const { from, first } = candidate
    scan.cut({
      kind: 'object',
      from,
      to,
      text: scan.decode(from, to),
      textFrom: from,
      textTo: to,
      open,
      first,
    })
  }

  return (from, kind, first) => {
    candidate = newCandidate(from, kind, first)
    scan.enter(object)
  }
}

/** One for the bytes that the walk does something about, zero for all others. */
const MATTERS = new Uint8Array(256)
for (const byte of [QUOTE, LF, OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET]) MATTERS[byte] = 1
