import { bomAt, isBlank, isBracket, LESS, NUL } from '../text/characters.ts'
import { Needle, NOWHERE } from '../text/needle.ts'
import { fenceMachine } from './fence.ts'
import type { FenceHit } from './fence-opening.ts'
import type { ScanOptions } from './frame-options.ts'
import { beginsScalarLine, lineMachine } from './line.ts'
import { objectMachine } from './object.ts'
import { beginsScalar, scalarMachine } from './scalar.ts'
import type { Scan } from './scan.ts'
import { tagMachine } from './tag.ts'
import { thinkMachine } from './think.ts'

/**
 * The state outside frames: finds the next opener and switches to its machine. Each kind of opener is a
 * native search that remembers its hit, the smallest hit wins, and at one position the order is tag, think,
 * fence, line, object. Returns false when it waits for more bytes.
 */
export function prose(scan: Scan, options: ScanOptions): () => boolean {
  const { tape, head } = scan
  /** A chunk may end with all but one byte of it. */
  const longestOpener = Math.max('<thinking>'.length, ...options.tags.map((name) => name.length + 2))
  const tags = options.tags.map((name) => tagMachine(scan, name, options.needsPayload))
  const think = options.think ? thinkMachine(scan, thinkClosed) : undefined
  const fences = options.fences ? fenceMachine(scan) : undefined
  const openLine = options.lines ? lineMachine(scan, options, giveUpLine) : undefined
  const openObject = options.objects
    ? objectMachine(scan, { nextTag, nextFence, known, lines: options.lines })
    : undefined
  const openScalar = scalarMachine(scan, (from) => scan.leave(from))
  /** Whether lines that do not begin with a bracket must be found, too. */
  const anyLine = options.lines && (options.everyLine || options.scalars)
  const lf = new Needle(tape, '\n')
  const brace = new Needle(tape, '{')
  const bracket = new Needle(tape, '[')
  /** The bracket of a line that was not a record. */
  let noRecord = -1
  /** Brackets before this position are prose. */
  let passed = 0
  /** No line before this position is a record; only blanks precede it on its own line. */
  let lineSeek = 0
  /** The search for the first non-blank byte of the input continues here; NOWHERE when it is over. */
  let documentFrom = options.document ? 0 : NOWHERE
  let documentThink = -1

  function look(): boolean {
    if (documentFrom !== NOWHERE) {
      const found = lookForDocument()
      if (found !== undefined) return found
    }
    const from = scan.position
    if (openLine && isBracket(scan.byte(from)) && from !== noRecord && head.blank(from)) {
      // A record at this very position needs no search.
      openLine(from)
      return true
    }
    const tag = nextTag(from)
    const thinking = think ? think.next(from) : NOWHERE
    const fence = nextFence(from)
    const bare = openLine || openObject ? nextBracket(from) : NOWHERE
    const line = anyLine ? nextLine(from) : NOWHERE
    const at = Math.min(tag, thinking, fence.at, bare, line)
    if (at === NOWHERE) {
      scan.position = Math.max(from, tape.end - longestOpener + 1)
      return false
    }
    scan.position = at
    if (at === tag) tags.find((machine) => machine.opener.next(at) === at)?.open(at)
    else if (at === thinking) think?.open(at)
    else if (at === fence.at) {
      if (!fence.decided) return false
      fences?.open(at)
    } else if (at === line || (openLine && at !== noRecord && head.blank(at))) openLine?.(at)
    else openObject?.(at, options.loose ? 'loose' : 'strict', false)
    return true
  }

  function nextTag(from: number): number {
    let next = NOWHERE
    for (const { opener } of tags) next = Math.min(next, opener.next(from))
    return next
  }

  function nextFence(from: number): FenceHit {
    return fences ? fences.next(from) : noFence
  }

  function known(): number {
    let known = tape.end
    if (scan.ended) return known
    for (const { opener } of tags) known = Math.min(known, opener.partial())
    return fences ? Math.min(known, fences.partial()) : known
  }

  /** The next bracket that may begin a record or an object. */
  function nextBracket(from: number): number {
    for (;;) {
      const start = Math.max(from, passed)
      const at = Math.min(brace.next(start), bracket.next(start))
      if (openObject || at === NOWHERE || (at !== noRecord && head.blank(at))) return at
      passed = at + 1
    }
  }

  /**
   * The next line that may be a record though it does not begin with a bracket, by its first non-blank byte.
   */
  function nextLine(from: number): number {
    let at = lineSeek >= from ? lineSeek : head.blank(from) ? from : afterLine(from)
    for (;;) {
      at = afterBlanks(at)
      if (at !== NOWHERE) lineSeek = at
      const byte = scan.byte(at)
      if (byte === undefined || isPartialBom(at)) return NOWHERE
      if (at !== noRecord && (options.everyLine || beginsScalarLine(byte))) return at
      at = afterLine(at)
    }
  }

  function afterLine(from: number): number {
    return lf.next(from) + 1
  }

  function afterBlanks(from: number): number {
    let at = from
    for (;;) {
      const byte = scan.byte(at)
      if (byte === NUL || isBlank(byte)) at++
      else if (bomAt(tape.view, at - tape.base) === 3) at += 3
      else return at
    }
  }

  /** A BOM of which only a part has arrived. */
  function isPartialBom(at: number): boolean {
    if (scan.ended || at + 3 <= tape.end || scan.byte(at) !== 0xef) return false
    return at + 1 === tape.end || scan.byte(at + 1) === 0xbb
  }

  function giveUpLine(): void {
    noRecord = scan.position
    scan.leave(scan.position)
  }

  /** The result of `look`; undefined if no document begins here. */
  function lookForDocument(): boolean | undefined {
    while (documentFrom < tape.end) {
      const byte = scan.byte(documentFrom)
      if (byte === NUL || isBlank(byte)) documentFrom++
      else if (bomAt(tape.view, documentFrom - tape.base) === 3) documentFrom += 3
      else if (byte === 0xef && documentFrom + 3 > tape.end && !scan.ended) break
      else return openDocument(documentFrom, byte)
    }
    scan.position = documentFrom
    return false
  }

  function openDocument(at: number, byte: number | undefined): boolean | undefined {
    documentFrom = NOWHERE
    if (isBracket(byte) && openObject) openObject(at, 'document', true)
    else if (options.document === 'any' && beginsScalar(byte)) openScalar(at)
    else {
      // A think block that closes is skipped, and the document may begin after it.
      if (byte === LESS) documentThink = at
      return undefined
    }
    scan.position = at
    return true
  }

  function thinkClosed(from: number, to: number): void {
    if (from === documentThink) documentFrom = to
  }

  return look
}

const noFence: FenceHit = { at: NOWHERE, decided: true }
