import { Bytes } from '../../base/platform.ts'
import type { Sink } from '../../base/stage.ts'
import type { Frame } from '../../frames/frame.ts'
import { type LineScan, lineScan } from '../../frames/frames.ts'
import { NOWHERE } from '../../text/byte-search.ts'
import { LF } from '../../text/characters.ts'
import type { Channel, Chunk } from '../../text/chunk.ts'
import { Tape } from '../../text/tape.ts'
import type { RecordFit } from '../attempt.ts'
import type { Outcome } from '../outcome.ts'
import { conditionsOf, fits } from './conditions.ts'
import { ANY_LINE, type Trace, TraceSearch, tracesOf } from './line-trace.ts'

/**
 * How many lines `where` dropped.
 *
 * @example
 * values({ lines: true, where: { type: 'turn.completed' }, onDropped: ({ unread }: DroppedLines) =>
 * console.warn(unread) })
 */
export interface DroppedLines {
  /** Lines that were not parsed, because their bytes cannot match: records, noise, blank lines. */
  readonly unread: number
  /** Records that were parsed and do not match. */
  readonly parsed: number
}

/** The options of `values()` that decide which lines are cut. */
export interface LineRules {
  readonly everyLine: boolean
  readonly scalars: boolean
  readonly maxFrame: number
  readonly turn: number | undefined
}

/** One stream of lines that is read through a `where`. */
export interface WhereReader {
  /** The verdict on the current line. */
  readonly verdict: RecordFit
  /** Whether an outcome is of a line that matches, or that may have matched. */
  wanted(outcome: Outcome<unknown>): boolean
  /** Puts the filter before the stage that judges the frames. */
  chunks(frames: Sink<Frame>): Sink<Chunk>
}

/**
 * Filters lines by their top-level scalars: on their bytes where these show that a line cannot match, on
 * their value otherwise. The option is checked at once; the returned function creates a reader for each
 * stream.
 */
export function whereReader(
  where: unknown,
  rules: LineRules,
  onDropped: ((dropped: DroppedLines) => unknown) | undefined,
): () => WhereReader {
  const conditions = conditionsOf(where)
  const traces = tracesOf(conditions)
  const scan = lineScan(rules)
  return () => {
    let unread = 0
    let parsed = 0
    const verdict: RecordFit = { fits: (record) => fits(conditions, record), wanted: undefined }
    return {
      verdict,
      wanted({ frame }) {
        // A line that could not be parsed may have matched; what is about the whole input is of no line.
        if (frame.kind !== 'line' || verdict.wanted !== false) return true
        parsed++
        return false
      },
      chunks(frames) {
        const judge: Sink<Frame> = {
          write(frame) {
            verdict.wanted = undefined
            frames.write(frame)
          },
          end: () => frames.end(),
        }
        return new LineFilter({
          traces,
          maxFrame: rules.maxFrame,
          turns: rules.turn !== undefined,
          open: (channel) => scan(channel, judge),
          unread: (lines) => {
            unread += lines
          },
          ended() {
            onDropped?.({ unread, parsed })
            frames.end()
          },
        })
      },
    }
  }
}

interface FilterOptions {
  /** What a line must contain, one trace for each condition; the first is the rarest. */
  readonly traces: readonly Trace[]
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
class LineFilter implements Required<Sink<Chunk>> {
  readonly #options: FilterOptions
  readonly #maxFrame: number
  #scan: LineScan | undefined
  /** Searches all lines in the buffer for the first trace. */
  #search = new TraceSearch(ANY_LINE, false)
  /** Check a line that has the first trace for the others. */
  #others: readonly TraceSearch[] = []
  readonly #held: Tape
  /** The part of the current chunk that is not cut into lines yet. */
  #input = EMPTY
  /** Whole lines, filtered up to `at`. */
  #lines = EMPTY
  #at = 0
  /** The current line is too long, and is passed on. */
  #through = false
  /** Start of the next line that is longer than `maxFrame`. */
  #longLine = -1
  #state: 'open' | 'ending' | 'closing' | 'closed' = 'open'

  constructor(options: FilterOptions) {
    this.#options = options
    this.#maxFrame = options.maxFrame
    this.#held = new Tape(options.maxFrame)
  }

  write(chunk: Chunk): void {
    if (chunk.channel === 'exit') return
    if (!this.#scan) this.#open(chunk.channel)
    const { buffer, byteOffset, byteLength } = chunk.bytes
    this.#input = Bytes.isBuffer(chunk.bytes) ? chunk.bytes : Bytes.from(buffer, byteOffset, byteLength)
    if (!this.#options.turns) while (this.#step());
  }

  end(): void {
    this.#state = 'ending'
    if (!this.#options.turns) while (this.more());
  }

  more(): boolean {
    const held = this.#held
    if (this.#scan?.more() || this.#step()) return true
    if (this.#state === 'open' || this.#state === 'closed') return false
    if (held.end > held.base) {
      this.#enter(held.view)
      return true
    }
    if (this.#state === 'ending') {
      this.#state = 'closing'
      this.#scan?.end()
      return true
    }
    this.#state = 'closed'
    this.#options.ended()
    return false
  }

  #open(channel: Channel): void {
    const [first = ANY_LINE, ...rest] = this.#options.traces
    const terminal = channel === 'pty'
    this.#scan = this.#options.open(channel)
    this.#search = new TraceSearch(first, terminal)
    // Copying each line into the memory of a faster search does not pay.
    this.#others = rest.map((trace) => new TraceSearch(trace, terminal, null))
  }

  /** Does a bounded piece of work; false if there is none. */
  #step(): boolean {
    if (this.#at < this.#lines.length) this.#filter()
    else if (this.#input.length > 0) this.#cut()
    else return false
    return true
  }

  /** Takes whole lines from the input, or keeps the start of one. */
  #cut(): void {
    const held = this.#held
    const end = this.#input.indexOf(LF) + 1
    if (this.#through) {
      this.#through = end === 0
      this.#scan?.write(this.#take(end || this.#input.length))
    } else if (end === 0) this.#hold(this.#take(this.#input.length))
    else if (held.end > held.base) {
      held.append(this.#take(end))
      this.#enter(held.view)
    } else this.#enter(this.#take(this.#input.lastIndexOf(LF) + 1))
  }

  #take(size: number): Bytes {
    const taken = this.#input.subarray(0, size)
    this.#input = this.#input.subarray(size)
    return taken
  }

  #hold(start: Bytes): void {
    const held = this.#held
    held.append(start)
    // The chunk belongs to the caller: keep a copy.
    held.settle(held.base)
    if (held.end - held.base <= this.#maxFrame) return
    this.#through = true
    this.#scan?.write(held.view)
    held.settle(held.end)
  }

  #enter(whole: Bytes): void {
    this.#lines = whole
    this.#at = 0
    this.#longLine = -1
    this.#search.enter(whole)
  }

  /** Writes the lines at `at` that may match, or skips those that cannot. */
  #filter(): void {
    const from = this.#at
    const start = this.#nextLine(from)
    // Consecutive lines are written at once.
    let to = from
    while (to < this.#lines.length && this.#nextLine(to) === to) {
      const end = this.#lineEnd(to)
      if (!this.#hasOthers(to, end)) break
      to = end
    }
    if (to > from) {
      this.#at = to
      this.#scan?.write(this.#lines.subarray(from, to))
    } else this.#skip(start > from ? start : this.#lineEnd(from))
    if (this.#at < this.#lines.length) return
    this.#lines = EMPTY
    this.#at = 0
    this.#held.settle(this.#held.end)
  }

  /** Start of the next line from `from` on that has the first trace, or is too long to check. */
  #nextLine(from: number): number {
    const hit = Math.min(this.#search.next(from), this.#nextLongLine(from))
    if (hit === NOWHERE) return this.#lines.length
    return hit === from ? from : this.#lines.lastIndexOf(LF, hit - 1) + 1
  }

  #nextLongLine(from: number): number {
    if (this.#longLine >= from) return this.#longLine
    let start = from
    while (this.#lines.length - start > this.#maxFrame) {
      const end = this.#lineEnd(start)
      if (end - start > this.#maxFrame) break
      start = end
    }
    this.#longLine = this.#lines.length - start > this.#maxFrame ? start : NOWHERE
    return this.#longLine
  }

  /** The last line of the input may have no LF. */
  #lineEnd(from: number): number {
    return this.#lines.indexOf(LF, from) + 1 || this.#lines.length
  }

  #hasOthers(from: number, to: number): boolean {
    if (this.#others.length === 0 || to - from > this.#maxFrame) return true
    const line = this.#lines.subarray(from, to)
    return this.#others.every((other) => {
      other.enter(line)
      return other.next(0) !== NOWHERE
    })
  }

  #skip(to: number): void {
    let count = 0
    for (let start = this.#at; start < to; start = this.#lineEnd(start)) count++
    this.#options.unread(count)
    this.#scan?.skip(this.#lines.subarray(this.#at, to))
    this.#at = to
  }
}

const EMPTY = Bytes.alloc(0)
