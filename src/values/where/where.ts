import type { Sink } from '../../base/stage.ts'
import type { Frame } from '../../frames/frame.ts'
import { lineScan } from '../../frames/frames.ts'
import type { Chunk } from '../../text/chunk.ts'
import type { RecordFit } from '../attempt.ts'
import type { Outcome } from '../outcome.ts'
import { conditionsOf, fits } from './conditions.ts'
import { LineFilter } from './line-filter.ts'
import { tracesOf } from './line-trace.ts'

/**
 * How many lines `where` dropped.
 *
 * @example
 * values({ lines: true, where: { type: 'turn.completed' }, onDropped: ({ unread }: Dropped) =>
 * console.warn(unread) })
 */
export interface Dropped {
  /**
   * Lines that were not parsed, because their bytes cannot match: records, broken or not, noise and blank
   * lines alike.
   */
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
  onDropped: ((dropped: Dropped) => unknown) | undefined,
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
        // A line that could not be parsed may have matched, and an outcome about the whole input is not about
        // a line.
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
