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
} from '../json/characters.ts'
import { isPayloadFence } from '../values/ladder/payload-fence.ts'
import { GrowingValue } from './growing-value.ts'

export interface SearchOptions {
  readonly tag: string | undefined
  readonly lines: boolean
  readonly root: 'object' | 'any'
  /** A schema will judge the value: more counts as the beginning of one. */
  readonly loose: boolean
  readonly maxDepth: number
}

/** Finds the first payload in growing text, and reads it. */
export interface PayloadSearch {
  /** Takes text; the value, if it has begun. One that fails later stays failed: it is for the ladder to repair. */
  push(text: string): GrowingValue | undefined
  /** The value is the payload, and no longer something that may be prose. */
  settled(): boolean
}

/** A tag block or fence that is open, and the search in its body. */
interface Body {
  readonly inside: Inside | undefined
  /** Made with its first character that is not blank: a scanner is not cheap, and a fence often holds no payload. */
  search: PayloadSearch | undefined
  /** It counts only if it begins with a bracket. */
  readonly needsBracket: boolean
  /** Bytes of it that are not blank, up to a few; those before `seen` are counted. */
  begun: number
  seen: number
}

/**
 * The frame scanner finds what opens; so a snapshot comes from the same place as the value in the end, and think blocks
 * hide the same. The bodies of tag blocks and fences are searched as texts of their own, as the ladder does.
 *
 * What is held is what the scanner holds: a few bytes, or a think block that is not closed yet.
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
    /** What is before the `>` of a tag. */
    const tagEnd = rules.tags?.[0]?.charCodeAt(rules.tags[0].length - 1) ?? -1
    /** What can be shown; and the same when it is certain to be the payload. */
    let value: GrowingValue | undefined
    let settled = false
    /** Brackets that opened, so far without anything that would tell them from prose. */
    let vague: GrowingValue | undefined
    let body: Body | undefined
    /** The search in a body that has found it. */
    let inner: PayloadSearch | undefined
    /** What was found behind the closed value. */
    let behind: 'value' | 'separator' | 'broken' | 'other' = 'value'
    /** On the line at hand is a fence mark, or a tag that can matter at its end. */
    let marked = false
    /** The first half of a character at the end of the text before. */
    let half = ''
    /** The text that the scanner is looking at, and where it begins on the tape and in the channel. */
    let step = ''
    let stepOnTape = 0
    let stepInChannel = 0
    let channelEnd = 0
    /** A place in that text, in bytes and in units: the places asked for never go back. */
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

    /** The payload is found: the rest of the text is for it, and for what looks at what follows it. */
    function readOn(text: string, at: number): GrowingValue | undefined {
      if (inner) return inner.push(text.slice(at))
      read(value!, text, at)
      return behind === 'broken' ? undefined : value
    }

    function read(found: GrowingValue, text: string, from: number): void {
      const end = found.push(text, from)
      if (found.done() && !lines) lookBehind(text, end)
    }

    //  {"k":1}},"m":2}    {"k":1} , "m":2}    {"k":1}, as asked
    //         ^ broken            ^ broken           ^ not
    //
    /** A closed value before more JSON is no payload, it is a part of a broken one; so it is not shown any more. */
    function lookBehind(text: string, from: number): void {
      for (let at = from; at < text.length && (behind === 'value' || behind === 'separator'); at++) {
        const unit = text.charCodeAt(at)
        if (isBlank(unit)) continue
        if (behind === 'separator') behind = mayGoOn(unit) ? 'broken' : 'other'
        else if (unit === COMMA || unit === COLON) behind = 'separator'
        else behind = unit === CLOSE_BRACE || unit === CLOSE_BRACKET ? 'broken' : 'other'
      }
    }

    //  Sure: a > b\n```json\n{"a":1}\n```\n
    //  ^^^^^^^^^^^^^^^^^^^^^^ ^^^^^^^^^^^^^^  a step each
    //
    /**
     * However the text is cut, what it means must not change. Tags open and close at a `>`, fences at the end of a line
     * with a fence mark in it, so the text is taken in steps that end there, and a body sees each of them before the
     * scanner does. At the beginning of a body steps are one character long, and the scanner sees them first: it may
     * find after any of the first three bytes that it is none.
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

    /** The value again, if it is still not known whether it is one. */
    function judged(found: GrowingValue): GrowingValue | undefined {
      if (!found.begun()) return found.failed() ? undefined : found
      value = found
      // An empty object counts if it is the whole input. If something follows it is prose, and the search goes on.
      settled = inBody || !(found.done() && found.isEmpty())
      return undefined
    }

    /** Looks at the first characters of a body. False if it is none that counts, or blank so far. */
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
      // In a quotation each line of the body has its marks, which only the whole block can be freed from.
      if (scan.head.prefix(from)?.includes('>')) return
      body = { inside: scan.inside, search: undefined, needsBracket: !payload, begun: 0, seen: at }
      if (at < tape.end && isPayload(body)) searchBody(body, scan.decode(at, tape.end))
    }

    /** Reads a value from its bracket on. What the scanner read to know it as one is taken from the tape. */
    function begin(from: number, at: number): void {
      const found = new GrowingValue(maxDepth)
      behind = 'value'
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

    /** So many units of the step are in its first `bytes` bytes. */
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

/** How the body of a block is searched. */
const BODY = { tags: [], fences: true, lines: false, objects: true, think: true }
/** So many bytes of a body tell whether it is one: the length of a fence mark. */
const BEGUN = 3
/** Longer lines are taken in parts, so that the scanner does not read far into a payload that is found. */
const MAX_STEP = 4096
const GREATER = 0x3e

/** Whether a value, or a key in quotes, may begin with this. */
function mayGoOn(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE || isBracket(unit) || isDigit(unit) || unit === MINUS
}

/** A byte inside a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
