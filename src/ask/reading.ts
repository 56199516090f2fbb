import { StringDecoder } from 'node:string_decoder'
import { chunkIntake } from '../frames/chunk.ts'
import type { Outcome } from '../values/outcome.ts'
import type { Schema, Value } from '../values/schema.ts'
import { valueStage } from '../values/values.ts'
import type { AskOptions } from './options.ts'

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
 * answer. With `stopWhenValid` every piece is looked at when it comes; otherwise in batches.
 */
export function reading<S extends Schema | undefined>(options: AskOptions<S>): Reading<Value<S>> {
  const batch = options.stopWhenValid ? 1 : BATCH
  const intake = chunkIntake()
  const decoder = new StringDecoder('utf8')
  let outcome: Outcome<Value<S>> | undefined
  let head = ''
  let waiting = ''
  const stage = valueStage<S>({ ...options, pick: 'first', signal: undefined })
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
        if (waiting.length >= batch) flush()
      } else {
        flush()
        sink.write(intake.take(piece))
        text = decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
      }
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
