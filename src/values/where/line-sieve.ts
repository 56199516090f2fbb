import { Bytes } from '../../base/platform.ts'
import type { Sink } from '../../base/stage.ts'
import type { LineScan } from '../../frames/frames.ts'
import { NOWHERE } from '../../text/byte-search.ts'
import { LF } from '../../text/characters.ts'
import type { Channel, Chunk } from '../../text/chunk.ts'
import { Tape } from '../../text/tape.ts'
import { ANY_LINE, type Clue, ClueSearch } from './clue.ts'

export interface SieveOptions {
  /** What a line must contain, one clue for each condition; the first is the rarest. */
  readonly clues: readonly Clue[]
  readonly maxFrame: number
  /** Creates the scanner of the channel. */
  readonly open: (channel: Channel) => LineScan
  /** Whether the rest of a chunk waits for `more()` after each step. */
  readonly turns: boolean
  /** Called for lines that are not read because they cannot match. */
  readonly unread: (lines: number) => void
  /** Called when the scanner has written everything. */
  readonly ended: () => void
}

/**
 * Passes only lines that may match on to the scanner, and tells it to skip the others.
 *
 *     {"type":"a"}\n{"type":"wanted"}\n{"type":"b"}\n
 *                            ^ hit
 *                   ^ from            ^ to            the line around it is written
 *     ^^^^^^^^^^^^^^                   ^^^^^^^^^^^^^^ skipped
 *
 * The search runs over all lines of a chunk at once, so a line that cannot match costs its share of the
 * search, and one more search for its end, to count it. Carried over a chunk boundary: the start of a line
 * whose LF has not arrived, up to `maxFrame`. A longer line is passed on to the scanner, which reports it.
 */
export function lineSieve(options: SieveOptions): Required<Sink<Chunk>> {
  const { clues, maxFrame, turns } = options
  let scan: LineScan | undefined
  /** Searches all lines in the buffer for the first clue. */
  let search: ClueSearch = new ClueSearch(ANY_LINE, false)
  /** Check a line that has the first clue for the others. */
  let others: readonly ClueSearch[] = []
  const held = new Tape(maxFrame)
  /** The part of the current chunk that is not cut into lines yet. */
  let input = EMPTY
  /** Whole lines, filtered up to `at`. */
  let lines = EMPTY
  let at = 0
  /** The current line is too long, and is passed on. */
  let through = false
  /** Start of the next line that is longer than `maxFrame`. */
  let longLine = -1
  let state: 'open' | 'ending' | 'closing' | 'closed' = 'open'

  /** Does a bounded piece of work; false if there is none. */
  function step(): boolean {
    if (at < lines.length) sift()
    else if (input.length > 0) cut()
    else return false
    return true
  }

  /** Takes whole lines from the input, or keeps the start of one. */
  function cut(): void {
    const end = input.indexOf(LF) + 1
    if (through) {
      through = end === 0
      scan?.write(take(end || input.length))
    } else if (end === 0) hold(take(input.length))
    else if (held.end > held.base) {
      held.append(take(end))
      enter(held.view)
    } else enter(take(input.lastIndexOf(LF) + 1))
  }

  function take(size: number): Bytes {
    const taken = input.subarray(0, size)
    input = input.subarray(size)
    return taken
  }

  function hold(start: Bytes): void {
    held.append(start)
    // The chunk belongs to the caller: keep a copy.
    held.settle(held.base)
    if (held.end - held.base <= maxFrame) return
    through = true
    scan?.write(held.view)
    held.settle(held.end)
  }

  function enter(whole: Bytes): void {
    lines = whole
    at = 0
    longLine = -1
    search.enter(whole)
  }

  /** Writes the lines at `at` that may match, or skips those that cannot. */
  function sift(): void {
    const from = at
    const start = nextLine(from)
    // Consecutive lines are written at once.
    let to = from
    while (to < lines.length && nextLine(to) === to) {
      const end = lineEnd(to)
      if (!hasOthers(to, end)) break
      to = end
    }
    if (to > from) {
      at = to
      scan?.write(lines.subarray(from, to))
    } else skip(start > from ? start : lineEnd(from))
    if (at < lines.length) return
    lines = EMPTY
    at = 0
    held.settle(held.end)
  }

  /**
   * Start of the next line, at or after the line at `from`, that has the first clue or is too long to check.
   */
  function nextLine(from: number): number {
    const hit = Math.min(search.next(from), nextLongLine(from))
    if (hit === NOWHERE) return lines.length
    return hit === from ? from : lines.lastIndexOf(LF, hit - 1) + 1
  }

  function nextLongLine(from: number): number {
    if (longLine >= from) return longLine
    let start = from
    while (lines.length - start > maxFrame) {
      const end = lineEnd(start)
      if (end - start > maxFrame) break
      start = end
    }
    longLine = lines.length - start > maxFrame ? start : NOWHERE
    return longLine
  }

  /** The last line of the input may have no LF. */
  function lineEnd(from: number): number {
    return lines.indexOf(LF, from) + 1 || lines.length
  }

  function hasOthers(from: number, to: number): boolean {
    if (others.length === 0 || to - from > maxFrame) return true
    const line = lines.subarray(from, to)
    return others.every((other) => {
      other.enter(line)
      return other.next(0) !== NOWHERE
    })
  }

  function skip(to: number): void {
    let count = 0
    for (let start = at; start < to; start = lineEnd(start)) count++
    options.unread(count)
    scan?.skip(lines.subarray(at, to))
    at = to
  }

  function more(): boolean {
    if (scan?.more() || step()) return true
    if (state === 'open' || state === 'closed') return false
    if (held.end > held.base) {
      enter(held.view)
      return true
    }
    if (state === 'ending') {
      state = 'closing'
      scan?.end()
      return true
    }
    state = 'closed'
    options.ended()
    return false
  }

  return {
    write(chunk) {
      if (chunk.channel === 'exit') return
      if (!scan) {
        const { channel } = chunk
        scan = options.open(channel)
        const [first = ANY_LINE, ...rest] = clues
        search = new ClueSearch(first, channel === 'pty')
        // Copying each line into the memory of a faster search does not pay.
        others = rest.map((clue) => new ClueSearch(clue, channel === 'pty', null))
      }
      const { buffer, byteOffset, byteLength } = chunk.bytes
      input = Bytes.isBuffer(chunk.bytes) ? chunk.bytes : Bytes.from(buffer, byteOffset, byteLength)
      if (!turns) while (step());
    },
    end() {
      state = 'ending'
      if (!turns) while (more());
    },
    more,
  }
}

const EMPTY = Bytes.alloc(0)
