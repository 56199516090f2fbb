import { Bytes } from '../base/platform.ts'
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
 * `values()` with its reasons: every candidate, in order, also those that were skipped as prose.
 *
 * @example
 * drive(explainStage({ schema }), [{ channel: 'stdout', bytes }])
 */
export function explainStage(options: ValuesOptions<Schema | undefined>): Stage<Chunk, Explained> {
  const parts = valueParts(options, undefined, forStreams)
  return (next) => {
    /** Candidates without an outcome so far; outcomes keep the order of the input. */
    let waiting: Frame[] = []
    /** Where the candidates were. */
    const seen: Frame[] = []

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
        if (!outcome.ok && outcome.comment && options.lines !== true)
          for (const place of otherPlaces(outcome.comment.text, seen, frame)) next.write(place)
        waiting = waiting.filter((other) => other.from >= frame.to)
        next.write({ frame, outcome })
      },
      end() {
        skipBefore(Number.POSITIVE_INFINITY)
        next.end()
      },
    }
    return parts.stage(outcomes, (frame) => {
      if (frame.kind === 'text') return
      waiting.push(frame)
      if (seen.length < MAX_SEEN) seen.push(frame)
    })
  }
}

const MAX_SEEN = 1000
/** How many places that were no candidates are told. */
const MAX_PLACES = 8
/** The first words of such a place, in characters. */
const WORDS = 40

/** Marks and brackets of a text without a payload, and why nothing begins there. */
function* otherPlaces(text: string, seen: readonly Frame[], whole: Frame): Generator<Explained> {
  let told = 0
  for (const { 0: mark, index } of text.matchAll(/<json>|[{[]|^ {0,3}(?:```|~~~)/gm)) {
    const from = Bytes.byteLength(text.slice(0, index))
    if (seen.some((frame) => from >= frame.from && from < frame.to)) continue
    const words = text.slice(index, index + WORDS)
    const kind = mark === '<json>' ? 'tag' : mark === '{' || mark === '[' ? 'object' : 'fence'
    const frame: Frame = { ...whole, kind, from, to: from + Bytes.byteLength(words), text: words }
    yield { frame, skipped: reasons[mark] ?? 'a fence without JSON in it' }
    if (++told === MAX_PLACES) return
  }
}

const reasons: Readonly<Record<string, string>> = {
  '<json>': 'the tag is only mentioned: no bracket or fence follows it',
  '{': 'no key with its colon follows it',
  '[': 'no value follows it, or it belongs to a word, a link or a citation',
}

function reasonFor({ kind, label, broken, attached, aside, text }: Frame): string {
  if (kind === 'fence') return `a fence of ${label || 'no language'} that is not JSON`
  if (aside && !attached) return 'a citation, an index or a link'
  if (kind === 'line') return 'a scalar on a line'
  if (broken !== undefined || attached) return 'it looks like the inside of something broken'
  if (text[0] === '[') return 'an array in prose, and no schema passes it'
  if (hasQuotedKey(text)) return 'it is not JSON, and cannot be repaired'
  return 'it is not JSON, and its first key has no double quotes'
}
