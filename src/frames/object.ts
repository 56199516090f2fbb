import { ByteBalance } from '../json/byte-balance.ts'
import { isBlank, OPEN_BRACE, OPEN_BRACKET } from '../text/characters.ts'
import { debrisMachine } from './debris.ts'
import { type GateKind, gate } from './gate.ts'
import type { Inside, Scan } from './scan.ts'
import { WhatFollows } from './what-follows.ts'

/** What ends a candidate early. */
export interface Interruptions {
  /** The next tag opener at or after a position, whatever it opens. */
  nextTag(from: number): number
  /** The next fence line; not `decided` while its line is incomplete. */
  nextFence(from: number): { readonly at: number; readonly decided: boolean }
  /** Tag openers and fences are known up to this position; half of one may follow. */
  known(): number
  /** Whether NDJSON records are cut: then a torn record must not swallow the next line. */
  readonly lines: boolean
}

/**
 * After a raw line break inside a string, a candidate may grow to what the repair accepts, and no further.
 */
const MAX_BROKEN = 65_536

/**
 * A bare object or array, found by its balanced brackets.
 *
 *     The result is {"a": [1, "}"]} as asked.
 *                   ^ from        ^ depth 0
 *                                   ^ what follows decides whether it was complete
 *
 * Only the outermost candidate is tried, and one that fails ends where it failed: nothing is read twice.
 */
export function objectMachine(
  scan: Scan,
  interruptions: Interruptions,
): (from: number, kind: GateKind, first: boolean) => void {
  const { tape } = scan
  const passDebris = debrisMachine(scan, interruptions)
  const balance = new ByteBalance()
  const follows = new WhatFollows(scan)
  let candidate = newCandidate(0, 'strict', false)

  function newCandidate(from: number, kind: GateKind, first: boolean) {
    return {
      from,
      first,
      judge: gate(kind, scan.byte(from) ?? 0),
      /** Everything before it has been looked at. */
      seek: from + 1,
      stage: 'gate' as 'gate' | 'body' | 'behind',
      /** A string contained a raw LF: this is not JSON, but it may be repairable. */
      torn: false,
      attached: false,
      /** A quote precedes it. */
      enclosed: false,
      /** One past its closer, once that is found. */
      to: 0,
    }
  }

  const object: Inside = {
    keep() {
      return candidate.from
    },
    look() {
      const limit = scan.limit(candidate.from)
      if (candidate.stage === 'gate') {
        const opens = passGate(Math.min(limit, tape.end))
        if (opens === undefined) return tape.end >= limit && outgrow(limit)
        if (!opens) return leave(candidate.seek)
        candidate.stage = 'body'
        candidate.attached = scan.head.attached(candidate.from)
        candidate.enclosed = scan.head.quoted(candidate.from)
        balance.reset(1)
        scan.opened?.('object', candidate.from, candidate.seek)
      }
      if (candidate.stage === 'body' && !walk(limit)) return false
      if (scan.inside !== object || candidate.stage === 'body') return true
      const broken = follows.look(Math.min(limit, tape.end), tape.end >= limit)
      if (broken === undefined) return false
      cut(broken)
      return true
    },
    finish() {
      // The first bracket of the input may be the whole document.
      if (candidate.stage === 'gate' && !candidate.first) scan.leave(tape.end)
      else if (candidate.stage === 'gate' || candidate.stage === 'body') emit(tape.end, true, undefined)
      else cut(follows.look(tape.end, true) ?? -1)
    },
  }

  /**
   * Most brackets in prose are recognized by the next byte, as in `[INFO]` and `fn()[i]`, without any setup.
   */
  function isPlainProse(from: number): boolean {
    const next = from + 1
    if (scan.byte(from) !== OPEN_BRACKET || next >= tape.end || next >= scan.limit(from)) return false
    const byte = scan.byte(next)
    return byte !== OPEN_BRACE && !isBlank(byte)
  }

  function passGate(bound: number): boolean | undefined {
    for (; candidate.seek < bound; candidate.seek++) {
      const opens = candidate.judge(scan.byte(candidate.seek) ?? 0)
      if (opens !== undefined) return opens
    }
    return undefined
  }

  /** Reads the body. True: the candidate is given up or closed; false: it waits for more bytes. */
  function walk(limit: number): boolean {
    for (;;) {
      const { seek, from } = candidate
      const tornLimit = candidate.torn ? tape.positionOf(tape.origin(from) + MAX_BROKEN) : limit
      const tag = interruptions.nextTag(seek)
      const fence = interruptions.nextFence(seek)
      const stop = Math.min(limit, tornLimit, interruptions.known(), tag, fence.at)
      if (walkTo(stop)) return true
      if (candidate.seek < stop) continue // A string is torn: the limits have changed.
      if (stop === limit) return outgrow(limit)
      if (stop === tornLimit) return leave(candidate.seek)
      if (stop === fence.at) return fence.decided && leave(stop)
      if (stop !== tag) return false
      if (!balance.inString || candidate.torn) return leave(stop)
      candidate.seek = stop + 1
    }
  }

  /**
   * Walks to `stop`, or to just after the line break that tears a string. True if the candidate is given up
   * or closed.
   */
  function walkTo(stop: number): boolean {
    const { from } = candidate
    while (candidate.seek < stop) {
      candidate.seek = balance.walk(tape.view, tape.base, candidate.seek, stop, from, candidate.torn)
      switch (balance.stop) {
        case 'end':
          return false
        case 'line-end':
          candidate.torn = true
          return false
        case 'bracket':
          if (interruptions.lines && scan.head.bare(candidate.seek)) return leave(candidate.seek)
          candidate.seek++
          break
        case 'closed':
          candidate.to = candidate.seek
          candidate.stage = 'behind'
          follows.begin(candidate.to, candidate.enclosed)
          return true
        default:
          return balance.stop satisfies never
      }
    }
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

  function cut(broken: number): void {
    const { to } = candidate
    emit(to, false, broken < 0 ? undefined : broken)
    if (broken >= 0) passDebris(to)
  }

  /**
   * One object literal for every frame: literals of several shapes, or a spread, cost more than everything
   * else here.
   */
  function emit(to: number, open: boolean, broken: number | undefined): void {
    const { from, first, attached } = candidate
    const text = scan.decode(from, to)
    scan.cut({ kind: 'object', from, to, text, textFrom: from, textTo: to, open, first, attached, broken })
  }

  return (from, kind, first) => {
    if (kind === 'strict' && isPlainProse(from)) scan.leave(from + 1)
    else {
      candidate = newCandidate(from, kind, first)
      scan.enter(object)
    }
  }
}
