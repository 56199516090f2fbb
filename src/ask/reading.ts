import { StringDecoder } from 'node:string_decoder'
import { chunkIntake } from '../frames/chunk.ts'
import type { Outcome } from '../values/outcome.ts'
import { tryParse } from '../values/parse.ts'
import type { Schema, Value } from '../values/schema/schema.ts'
import { valueStage } from '../values/values.ts'
import type { AskOptions } from './options.ts'
import { snapshots } from './snapshots.ts'

/** One answer that is being read. */
export interface Reading<T> {
  /** Takes a piece, and gives it back as text. */
  write(piece: string | Uint8Array): string
  /** A value has passed already. */
  passed(): boolean
  end(): Outcome<T>
  /** The start of the answer, for people. */
  head(): string
}

/** So much of an answer is kept to be shown when it fails. */
const MAX_HEAD = 4096
/** Deltas are a few bytes; the floors below are at their best with thousands. */
const BATCH = 16 * 1024

/**
 * Reads an answer with the same ladder as `parse`, while it comes. Memory holds the payload, not the
 * answer.
 */
export function reading<S extends Schema | undefined>(options: AskOptions<S>): Reading<Value<S>> {
  const parsing = { ...options, pick: options.pick ?? 'first', signal: undefined }
  const intake = chunkIntake()
  const decoder = new StringDecoder('utf8')
  const early = options.stopWhenValid ? earlyEnd(parsing) : undefined
  let outcome: Outcome<Value<S>> | undefined
  let head = ''
  let waiting = ''
  const stage = valueStage<S>(parsing)
  const sink = stage({
    write(made) {
      outcome ??= made
    },
    end() {},
  })
  const flush = () => {
    if (waiting !== '') sink.write(intake.take(waiting))
    waiting = ''
  }
  return {
    write(piece) {
      let text: string
      if (typeof piece === 'string') {
        text = piece
        waiting += piece
        if (waiting.length >= BATCH) flush()
      } else {
        flush()
        sink.write(intake.take(piece))
        text = decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
      }
      if (early) outcome ??= early(text)
      if (head.length < MAX_HEAD) head += text.slice(0, MAX_HEAD - head.length)
      return text
    },
    passed: () => outcome?.ok === true,
    end() {
      flush()
      const rest = intake.rest?.()
      if (rest) sink.write(rest)
      sink.end()
      // A value stage always has something to say, if only that there was nothing.
      return outcome!
    },
    head: () => head,
  }
}

/**
 * Judges what has come as soon as the first document in it is closed, as if nothing followed. The ladder
 * itself cannot: to it, a document at the start may yet turn out to be a part of something.
 */
function earlyEnd<S extends Schema | undefined>(
  options: AskOptions<S>,
): (text: string) => Outcome<Value<S>> | undefined {
  const { maxFrame = 16 * 1024 * 1024 } = options
  const seen = snapshots(options)
  let text = ''
  let over = false
  return (piece) => {
    if (over) return undefined
    text += piece
    seen.push(piece)
    over = seen.done() || text.length > maxFrame
    if (!seen.done()) return undefined
    const outcome = tryParse(text, options)
    text = ''
    return outcome.ok ? outcome : undefined
  }
}
