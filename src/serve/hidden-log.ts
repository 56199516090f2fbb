import { cutWord, hidePieces } from '../views/redact/pieces.ts'
import type { Redactor } from '../views/redact/redact.ts'

/**
 * Bytes to redact at once, with as many more on each side, so that a secret that crosses the edge is found.
 */
const PIECE = 1 << 20
const MARGIN = 64 * 1024
/** A line that goes on for more bytes beyond that is not judged, and goes as a whole. */
const MAX_LINE = 4 << 20
/** So many bytes behind a record that is not closed may be the rest of it. */
const MAX_TORN = 16 * 1024
const LF = 10

/** Reads bytes of a log; fewer than requested at its end. */
export type ReadBytes = (from: number, length: number) => Buffer

/** Bytes `[from, to)` of a log. */
export interface Range {
  readonly from: number
  readonly to: number
}

export interface HideOptions {
  /** What is overwritten as a whole, in order and without overlaps. @default nothing */
  readonly covered?: readonly Range[] | undefined
  /** The log is being written: its last line, if that has no end yet, is overwritten. @default false */
  readonly growing?: boolean | undefined
}

/**
 * The bytes `[from, to)` of a log, piece by piece, with secrets overwritten: a log keeps its length, so that
 * the byte ranges of events stay valid. A byte is the same in whatever range it is requested. The `covered`
 * ranges are overwritten completely.
 */
export function* hiddenLog(
  read: ReadBytes,
  from: number,
  to: number,
  hide: Pick<Redactor, 'sameLength'>,
  { covered = [], growing = false }: HideOptions = {},
): Generator<Buffer> {
  // Pieces are at fixed positions, and so are the lines that they begin with.
  for (let piece = from - (from % PIECE); piece < to; piece += PIECE) {
    const seen = linesAround(read, piece)
    const [first, last] = [Math.max(from, piece), Math.min(to, piece + PIECE, seen.start + seen.bytes.length)]
    const [cut, end] = [first - seen.start, last - seen.start]
    const found = hide.sameLength(withoutPieces(seen, growing), { from: cut, to: end })
    const hidden = seen.atEnd ? withoutCutWord(found) : found
    if (last > first) yield cover(Buffer.from(hidden.slice(cut, end), 'latin1'), first, covered)
    if (seen.atEnd && seen.start + seen.bytes.length < piece + PIECE) return
  }
}

/** The lines that a piece of a log has, and some around them. */
interface Lines {
  readonly start: number
  readonly bytes: Buffer
  /** The first one began too far before. */
  readonly headless: boolean
  /** The last one goes on too far behind. */
  readonly endless: boolean
  /** The log ends with them. */
  readonly atEnd: boolean
}

function linesAround(read: ReadBytes, piece: number): Lines {
  let start = Math.max(0, piece - MARGIN)
  let bytes = read(start, piece + PIECE + MARGIN - start)
  let atEnd = start + bytes.length < piece + PIECE + MARGIN
  let headless = false
  if (start > 0) {
    const line = bytes.subarray(0, piece - start).indexOf(LF) + 1
    if (line > 0) bytes = bytes.subarray(line)
    start += line
    if (line === 0) {
      const back = Math.max(0, start - MAX_LINE)
      const before = read(back, start - back)
      const lf = before.lastIndexOf(LF) + 1
      headless = lf === 0 && back > 0
      if (!headless) {
        start = back + lf
        bytes = Buffer.concat([before.subarray(lf), bytes])
      }
    }
  }
  let endless = false
  if (!atEnd && bytes.indexOf(LF, piece + PIECE - 1 - start) < 0) {
    const behind = read(start + bytes.length, MAX_LINE)
    const lf = behind.indexOf(LF) + 1
    atEnd = lf === 0 && behind.length < MAX_LINE
    endless = lf === 0 && !atEnd
    bytes = Buffer.concat([bytes, behind.subarray(0, lf === 0 ? behind.length : lf)])
  }
  return { start, bytes, headless, endless, atEnd }
}

/**
 * The lines as text, one character a byte (what is no UTF-8 stays as it is, and places are places), without
 * the texts of pieces.
 */
function withoutPieces({ bytes, headless, endless, atEnd }: Lines, growing: boolean): string {
  const text = bytes.toString('latin1')
  const made: string[] = []
  /** Up to where lines may be the rest of a record that is not closed. */
  let torn = 0
  for (let at = 0; at < text.length; ) {
    const lf = text.indexOf('\n', at)
    const open = lf < 0
    const next = open ? text.length : lf + 1
    const end = open ? next : text[lf - 1] === '\r' && lf > at ? lf - 1 : lf
    const line = text.slice(at, end)
    const begins = line.trimStart().startsWith('{')
    let shown: string
    if ((at === 0 && headless) || (open && (endless || (atEnd && growing)))) shown = stars(line.length)
    else if (at < torn && !begins) {
      shown = stars(line.length)
      if (line.trimEnd().endsWith('}')) torn = 0
    } else {
      shown = hidePieces(line)
      torn = shown !== line && begins && !line.trimEnd().endsWith('}') ? next + MAX_TORN : 0
    }
    made.push(shown, text.slice(end, next))
    at = next
  }
  return made.join('')
}

/** A log that ends within a line may end within a secret. */
function withoutCutWord(text: string): string {
  const word = cutWord(text)
  return word < 0 ? text : text.slice(0, word) + stars(text.length - word)
}

function stars(length: number): string {
  return '*'.repeat(length)
}

const STAR = 42

/** Overwrites the ranges, except line ends; the bytes begin at `start`. */
function cover(bytes: Buffer, start: number, covered: readonly Range[]): Buffer {
  let [low, high] = [0, covered.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (covered[middle]!.to <= start) low = middle + 1
    else high = middle
  }
  for (let i = low; i < covered.length && covered[i]!.from < start + bytes.length; i++) {
    const { from, to } = covered[i]!
    const last = Math.min(bytes.length, to - start)
    for (let at = Math.max(0, from - start); at < last; at++) if (bytes[at] !== LF) bytes[at] = STAR
  }
  return bytes
}

/** In order, and those that touch as one. */
export function merged(ranges: readonly Range[]): Range[] {
  const made: Range[] = []
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = made.at(-1)
    if (last && range.from <= last.to)
      made[made.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
    else made.push(range)
  }
  return made
}
