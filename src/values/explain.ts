import type { Sink, Stage } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import type { Chunk } from '../text/chunk.ts'
import { hasQuotedKey } from './candidates.ts'
import type { Outcome } from './outcome.ts'
import type { Schema } from './schema/schema.ts'
import { forStreams, type ValuesOptions, valueParts } from './values.ts'

/** A piece of the input that could have been a payload: its outcome, or why it was skipped. */
export type Explained =
  | { readonly frame: Frame; readonly outcome: Outcome<unknown> }
  | { readonly frame: Frame; readonly skipped: string }

/**
 * `values()` with its reasons: every candidate in the order of the input, including those that were skipped
 * as prose.
 *
 * @example
 * drive(explainStage({ schema }), [{ channel: 'stdout', bytes }])
 */
export function explainStage(options: ValuesOptions<Schema | undefined>): Stage<Chunk, Explained> {
  const parts = valueParts(options, undefined, forStreams)
  return (next) => {
    /** Candidates without an outcome so far; outcomes keep the order of the input. */
    let waiting: Frame[] = []

    const skipBefore = (before: number): void => {
      for (const frame of waiting)
        if (frame.from < before)
          next.write({ frame, skipped: options.where ? 'it does not match where' : reasonFor(frame) })
      waiting = waiting.filter((frame) => frame.from >= before)
    }
    const outcomes: Sink<Outcome<unknown>> = {
      write(outcome) {
        const { frame } = outcome
        // That nothing was found is said about the whole input.
        skipBefore(frame.kind === 'text' ? Number.POSITIVE_INFINITY : frame.from)
        waiting = waiting.filter((other) => other.from >= frame.to)
        next.write({ frame, outcome })
      },
      end() {
        skipBefore(Number.POSITIVE_INFINITY)
        next.end()
      },
    }
    return parts.stage(outcomes, (frame) => {
      if (frame.kind !== 'text') waiting.push(frame)
    })
  }
}

function reasonFor({ kind, label, broken, attached, aside, text }: Frame): string {
  if (kind === 'fence') return `a fence of ${label || 'no language'} that is not JSON`
  if (aside) return 'a citation, an index or a link'
  if (kind === 'line') return 'a scalar on a line'
  if (broken !== undefined || attached) return 'it looks like the inside of something broken'
  if (text[0] === '[') return 'an array in prose, and no schema passes it'
  if (hasQuotedKey(text)) return 'it is not JSON, and cannot be repaired'
  return 'it is not JSON, and its first key has no double quotes'
}
