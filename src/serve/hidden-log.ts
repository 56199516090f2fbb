import type { Redactor } from '../views/redact.ts'

/** Bytes to redact at once, with as many more on each side, so that a secret that crosses the edge is found. */
const PIECE = 1 << 20
const MARGIN = 64 * 1024
const LF = 10

/** Reads bytes of a log; fewer than requested at its end. */
export type ReadBytes = (from: number, length: number) => Buffer

/** Bytes `[from, to)` of a log. */
export interface Range {
  readonly from: number
  readonly to: number
}

/**
 * The bytes `[from, to)` of a log, piece by piece, with secrets overwritten: a log keeps its length, so that the byte ranges of
 * events stay valid. A byte is the same in whatever range it is requested. The `covered` ranges are overwritten completely.
 */
export function* hiddenLog(
  read: ReadBytes,
  from: number,
  to: number,
  hide: Pick<Redactor, 'sameLength'>,
  covered: readonly Range[] = [],
): Generator<Buffer> {
  // Pieces are at fixed positions, and so are the lines that they begin with.
  for (let piece = from - (from % PIECE); piece < to; piece += PIECE) {
    const start = Math.max(0, piece - MARGIN)
    const bytes = read(start, piece + PIECE + MARGIN - start)
    const line = start === 0 ? 0 : bytes.subarray(0, piece - start).indexOf(LF) + 1
    // One character per byte: invalid UTF-8 stays unchanged, and positions are byte offsets.
    const [first, last] = [Math.max(from, piece), Math.min(to, piece + PIECE, start + bytes.length)]
    const [cut, end] = [first - start - line, last - start - line]
    const hidden = hide.sameLength(bytes.toString('latin1', line), { from: cut, to: end })
    if (last > first) yield cover(Buffer.from(hidden.slice(cut, end), 'latin1'), first, covered)
    if (start + bytes.length < piece + PIECE) return
  }
}

const STAR = 42

/** Overwrites the ranges, except line ends; the bytes begin at `start`. */
function cover(bytes: Buffer, start: number, covered: readonly Range[]): Buffer {
  for (const { from, to } of covered) {
    const last = Math.min(bytes.length, to - start)
    for (let at = Math.max(0, from - start); at < last; at++) if (bytes[at] !== LF) bytes[at] = STAR
  }
  return bytes
}
