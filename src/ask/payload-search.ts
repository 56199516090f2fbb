import { openingScan } from '../frames/frames.ts'
import type { Inside } from '../frames/scan.ts'
import { isBlank, isBracket, LF, OPEN_BRACE } from '../json/characters.ts'
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
  readonly search: PayloadSearch
  /** It counts only if it begins with a bracket. */
  readonly needsBracket: boolean
  /** Characters of it that are not blank, up to a few. */
  begun: number
}

/**
 * The frame scanner finds what opens; so a snapshot comes from the same place as the value in the end, and think blocks
 * hide the same. The bodies of tag blocks and fences are searched as texts of their own, as the ladder does.
 *
 * What is held is what the scanner holds: a few bytes, or a think block that is not closed yet.
 */
export function payloadSearch(options: SearchOptions): PayloadSearch {
  const { tag, lines, root, maxDepth } = options
  const anywhere = tag === undefined && !lines
  return search(options, {
    tags: tag !== undefined ? [tag] : anywhere ? ['json'] : [],
    fences: anywhere,
    lines,
    objects: anywhere,
    think: !lines,
    needsPayload: anywhere,
    loose: anywhere && options.loose,
    document: anywhere && root,
  })

  function search({ loose }: SearchOptions, rules: Parameters<typeof openingScan>[0]): PayloadSearch {
    const scanner = openingScan(rules, opened)
    const { scan } = scanner
    const { tape } = scan
    /** What can be shown; and the same when it is certain to be the payload. */
    let value: GrowingValue | undefined
    let settled = false
    /** Brackets that opened, so far without anything that would tell them from prose. */
    let vague: GrowingValue | undefined
    let body: Body | undefined
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
      if (settled) value!.push(piece, 0)
      else {
        const text = half + piece
        half = isHigh(text.charCodeAt(text.length - 1)) ? text.slice(-1) : ''
        const end = text.length - half.length
        let at = 0
        while (at < end && !settled) {
          const from = at
          at = stepEnd(text, at, end)
          take(text.slice(from, at))
        }
        if (settled) value!.push(text, at)
      }
      return value
    }

    //  Sure:\n```json\n{"a":1}\n```\n
    //  ^^^^^^ ^^^^^^^^^ ^^^^^^^^ ^^^^^  a step each
    //
    /**
     * However the text is cut, what it means must not change. Blocks open and close at a `>` or a line feed, so the text
     * is taken in steps that end there, and a body sees each before the scanner does. At the beginning of a body steps
     * are one character long: the scanner may find after any of the first three that it is none.
     */
    function stepEnd(text: string, from: number, end: number): number {
      const most = Math.min(end, from + (body && body.begun < 3 ? 1 : MAX_STEP))
      let at = from
      while (at < most) {
        const unit = text.charCodeAt(at++)
        if (unit === GREATER || unit === LF) return at
      }
      return at < end && isHigh(text.charCodeAt(at - 1)) ? at + 1 : at
    }

    function take(text: string): void {
      if (vague) {
        vague.push(text, 0)
        vague = judged(vague)
      }
      if (body && !settled) searchBody(body, text)
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
    }

    /** The value again, if it is still not known whether it is one. */
    function judged(found: GrowingValue): GrowingValue | undefined {
      if (!found.begun()) return found.failed() ? undefined : found
      value = found
      // Nothing in brackets counts if it is the whole input; otherwise it is prose, and the search goes on.
      settled = !(found.done() && found.isEmpty())
      return undefined
    }

    function searchBody(open: Body, text: string): void {
      for (let at = 0; at < text.length && open.begun < 3; at++) {
        const unit = text.charCodeAt(at)
        if (isBlank(unit)) continue
        if (open.begun++ > 0 || !open.needsBracket || isBracket(unit)) continue
        body = undefined
        return
      }
      value = open.search.push(text) ?? value
      settled = open.search.settled()
    }

    function opened(kind: string, from: number, at: number, label = ''): void {
      if (settled) return
      if (kind === 'object' || kind === 'line') {
        if (root === 'any' || scan.byte(from) === OPEN_BRACE) begin(from, at)
        return
      }
      const payload = kind === 'tag' || isPayloadFence(label, '')
      if (!payload && label !== '' && !loose) return
      const inner = search(options, { ...BODY, loose, document: root })
      body = { inside: scan.inside, search: inner, needsBracket: !payload, begun: 0 }
      if (at < tape.end) searchBody(body, scan.decode(at, tape.end))
    }

    /** Reads a value from its bracket on. What the scanner read to know it as one is taken from the tape. */
    function begin(from: number, at: number): void {
      const found = new GrowingValue(maxDepth)
      const to = Math.max(at, stepOnTape)
      for (let seen = from, size = 64; seen < to && !found.failed(); size *= 2) {
        let end = Math.min(to, seen + size)
        while (end < to && isContinuation(scan.byte(end))) end++
        found.push(scan.decode(seen, end), 0)
        seen = end
      }
      if (!found.failed()) found.push(step, unitsBefore(tape.origin(to) - stepInChannel))
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
/** Longer lines are taken in parts, so that the scanner does not read far into a payload that is found. */
const MAX_STEP = 4096
const GREATER = 0x3e

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** A byte inside a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
