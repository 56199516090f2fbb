import { openingScan } from '../frames/frames.ts'
import type { Inside } from '../frames/scan.ts'
import {
  APOSTROPHE,
  BACKTICK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isBlank,
  isBracket,
  isDigit,
  isHighSurrogate,
  LF,
  MINUS,
  OPEN_BRACE,
  QUOTE,
  TILDE,
} from '../text/characters.ts'
import { isPayloadFence } from '../values/candidates.ts'
import { GrowingValue } from './growing-value.ts'

export interface SearchOptions {
  readonly tag: string | undefined
  readonly lines: boolean
  readonly root: 'object' | 'any'
  /** A schema will check the value: more counts as the beginning of one. */
  readonly loose: boolean
  readonly maxDepth: number
}

/** Finds the first payload in growing text, and reads it. */
export interface PayloadSearch {
  /**
   * Takes text; returns the value, if it has begun. One that fails stays failed: the ladder may repair it
   * later.
   */
  push(text: string): GrowingValue | undefined
  /** The value is certainly the payload, not prose. */
  settled(): boolean
}

/** An open tag block or fence, and the search in its body. */
interface Body {
  readonly inside: Inside | undefined
  /**
   * Created at its first character that is not blank: a scanner is not cheap, and a fence often has no
   * payload.
   */
  search: PayloadSearch | undefined
  /** It counts only if it begins with a bracket. */
  readonly needsBracket: boolean
  /** Number of its bytes that are not blank, up to a few; those before `seen` are counted. */
  begun: number
  seen: number
}

/**
 * The frame scanner finds what opens, so a snapshot comes from the same place as the final value, and think
 * blocks hide the same text. The bodies of tag blocks and fences are searched as separate texts, as in the
 * ladder.
 *
 * It holds what the scanner holds: a few bytes, or a think block that is not closed yet.
 */
export function payloadSearch(options: SearchOptions): PayloadSearch {
  const { tag, lines, root, loose, maxDepth } = options
  const anywhere = tag === undefined && !lines
  return search(false, {
    tags: tag !== undefined ? [tag] : anywhere ? ['json'] : [],
    fences: anywhere,
    lines,
    objects: anywhere,
    think: !lines,
    needsPayload: anywhere,
    loose: anywhere && loose,
    document: anywhere && root,
  })

  function search(inBody: boolean, rules: Parameters<typeof openingScan>[0]): PayloadSearch {
    const scanner = openingScan(rules, opened)
    const { scan } = scanner
    const { tape } = scan
    /** The character before the `>` of a tag. */
    const tagEnd = rules.tags?.[0]?.charCodeAt(rules.tags[0].length - 1) ?? -1
    /** The value to show; and the same when it is certain to be the payload. */
    let value: GrowingValue | undefined
    let settled = false
    /** An opened bracket that may still be prose. */
    let vague: GrowingValue | undefined
    let body: Body | undefined
    /** The search in a body that has found the payload. */
    let inner: PayloadSearch | undefined
    /** What was found after the closed value. */
    let following: 'value' | 'separator' | 'broken' | 'other' = 'value'
    /** The current line has a fence mark, or a tag that may matter at its end. */
    let marked = false
    /** The first half of a surrogate pair at the end of the previous text. */
    let half = ''
    /** The text that the scanner is reading, and where it begins on the tape and in the channel. */
    let step = ''
    let stepOnTape = 0
    let stepInChannel = 0
    let channelEnd = 0
    /** A position in that text, in bytes and in units: requested positions never go back. */
    let placeBytes = 0
    let placeUnits = 0

    function push(piece: string): GrowingValue | undefined {
      if (settled) return readOn(piece, 0)
      const text = half + piece
      half = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : ''
      const end = text.length - half.length
      let at = 0
      while (at < end && !settled) {
        const from = at
        at = stepEnd(text, at, end)
        take(text.slice(from, at))
      }
      return settled ? readOn(text, at) : value
    }

    /** The payload is found: the rest of the text belongs to it, or is checked as what follows it. */
    function readOn(text: string, at: number): GrowingValue | undefined {
      if (inner) return inner.push(text.slice(at))
      read(value!, text, at)
      return following === 'broken' ? undefined : value
    }

    function read(found: GrowingValue, text: string, from: number): void {
      const end = found.push(text, from)
      if (found.done() && !lines) checkWhatFollows(text, end)
    }

    //  {"k":1}},"m":2}    {"k":1} , "m":2}    {"k":1}, as asked
    //         ^ broken            ^ broken           ^ not
    //
    /**
     * A closed value before more JSON is not a payload but part of a broken one; so it is not shown any more.
     */
    function checkWhatFollows(text: string, from: number): void {
      for (let at = from; at < text.length && (following === 'value' || following === 'separator'); at++) {
        const unit = text.charCodeAt(at)
        if (isBlank(unit)) continue
        if (following === 'separator') following = mayContinue(unit) ? 'broken' : 'other'
        else if (unit === COMMA || unit === COLON) following = 'separator'
        else following = unit === CLOSE_BRACE || unit === CLOSE_BRACKET ? 'broken' : 'other'
      }
    }

    //  Sure: a > b\n```json\n{"a":1}\n```\n
    //  ^^^^^^^^^^^^^^^^^^^^^^ ^^^^^^^^^^^^^^  a step each
    //
    /**
     * However the text is split, the result must be the same. Tags open and close at a `>`, fences at the end
     * of a line with a fence mark, so the text is processed in steps that end there, and a body sees each of
     * them before the scanner does. At the beginning of a body steps are one character long, and the scanner
     * sees them first: it may find out after any of the first three bytes that it is not a body.
     */
    function stepEnd(text: string, from: number, end: number): number {
      const most = Math.min(end, from + (body && body.begun < BEGUN ? 1 : MAX_STEP))
      let at = from
      while (at < most) {
        const unit = text.charCodeAt(at++)
        if (unit === LF) {
          if (marked) {
            marked = false
            return at
          }
        } else if (unit === BACKTICK || unit === TILDE) marked = true
        else if (unit === GREATER && (at - 1 === from || text.charCodeAt(at - 2) === tagEnd)) {
          marked = true
          return at
        }
      }
      return at < end && isHighSurrogate(text.charCodeAt(at - 1)) ? at + 1 : at
    }

    function take(text: string): void {
      if (vague) {
        read(vague, text, 0)
        vague = judged(vague)
      }
      const before = body
      if (before && before.begun === BEGUN) searchBody(before, text)
      if (settled) return
      const bytes = Buffer.from(text)
      step = text
      stepOnTape = tape.end
      stepInChannel = channelEnd
      channelEnd += bytes.length
      placeBytes = 0
      placeUnits = 0
      scanner.write(bytes)
      if (body && scan.inside !== body.inside) body = undefined
      if (body && body === before && body.begun < BEGUN && isPayload(body)) searchBody(body, text)
    }

    /** The value again, if it is still not certain that it is one. */
    function judged(found: GrowingValue): GrowingValue | undefined {
      if (!found.begun()) return found.failed() ? undefined : found
      value = found
      // An empty object counts if it is the whole input. If something follows, it is prose, and the search
      // continues.
      settled = inBody || !(found.done() && found.isEmpty())
      return undefined
    }

    /** Checks the first characters of a body. False if it does not count, or is blank so far. */
    function isPayload(open: Body): boolean {
      for (; open.seen < tape.end && open.begun < BEGUN; open.seen++) {
        const byte = scan.byte(open.seen)
        if (isBlank(byte)) continue
        if (open.begun++ > 0 || !open.needsBracket || isBracket(byte)) continue
        body = undefined
        return false
      }
      return open.begun > 0
    }

    function searchBody(open: Body, text: string): void {
      open.search ??= search(true, { ...BODY, loose, document: root })
      value = open.search.push(text) ?? value
      settled = open.search.settled()
      if (settled) inner = open.search
    }

    function opened(kind: string, from: number, at: number, label = ''): void {
      if (settled) return
      if (kind === 'object' || kind === 'line') {
        if (root === 'any' || scan.byte(from) === OPEN_BRACE) begin(from, at)
        return
      }
      const payload = kind === 'tag' || isPayloadFence(label, '')
      if (!payload && label !== '' && !loose) return
      // In a quotation each line of the body has quote marks, which can only be removed from the whole block.
      if (scan.head.prefix(from)?.includes('>')) return
      body = { inside: scan.inside, search: undefined, needsBracket: !payload, begun: 0, seen: at }
      if (at < tape.end && isPayload(body)) searchBody(body, scan.decode(at, tape.end))
    }

    /**
     * Reads a value from its bracket on. The bytes that the scanner read to recognize it are taken from the
     * tape.
     */
    function begin(from: number, at: number): void {
      const found = new GrowingValue(maxDepth)
      following = 'value'
      const to = Math.max(at, stepOnTape)
      for (let seen = from, size = 64; seen < to && !found.failed(); size *= 2) {
        let end = Math.min(to, seen + size)
        while (end < to && isContinuation(scan.byte(end))) end++
        read(found, scan.decode(seen, end), 0)
        seen = end
      }
      if (!found.failed()) read(found, step, unitsBefore(tape.origin(to) - stepInChannel))
      vague = judged(found)
    }

    /** Number of units in the first `bytes` bytes of the step. */
    function unitsBefore(bytes: number): number {
      if (channelEnd - stepInChannel === step.length) return bytes
      while (placeBytes < bytes) {
        const unit = step.codePointAt(placeUnits)!
        placeUnits += unit > 0xffff ? 2 : 1
        placeBytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit < 0x10000 ? 3 : 4
      }
      return placeUnits
    }

    return { push, settled: () => settled }
  }
}

/** Options for searching the body of a block. */
const BODY = { tags: [], fences: true, lines: false, objects: true, think: true }
/** Number of bytes that decide whether it is a body: the length of a fence mark. */
const BEGUN = 3
/**
 * Longer lines are processed in parts, so that the scanner does not read far into a payload that is found.
 */
const MAX_STEP = 4096
const GREATER = 0x3e

/** Whether a value, or a quoted key, may begin with this. */
function mayContinue(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || isBracket(unit) || isDigit(unit) || unit === MINUS
}

/** A byte inside a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
