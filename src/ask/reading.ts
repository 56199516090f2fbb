import { StringDecoder } from 'node:string_decoder'
import { Fault, quote } from '../base/fault.ts'
import { drive } from '../base/stage.ts'
import { type Chunk, chunkIntake } from '../text/chunk.ts'
import { tooLongOf } from '../values/make-outcome.ts'
import type { Outcome } from '../values/outcome.ts'
import { type ParseOptions, tryParse } from '../values/parse.ts'
import type { Schema, Value } from '../values/schema/schema.ts'
import { VALUES_OPTIONS, valueStage } from '../values/values.ts'
import { type AwaitedSchema, asyncSchema, awaitedSchema } from './awaited-schema.ts'
import { type AskOptions, parseOptionsOf } from './options.ts'
import { snapshots } from './snapshots.ts'

/** The reader of one answer. */
export interface Reading<T> {
  /** Takes a piece, and returns it as text. Throws BAD_CHUNK if it is neither text nor bytes. */
  write(piece: string | Uint8Array): string
  /** Whether a value has already passed. */
  passed(): Promise<boolean>
  end(): Promise<Outcome<T>>
  /** The start of the answer, for messages. */
  head(): string
}

/** How much of an answer is kept for the message if it fails. */
const MAX_HEAD = 4096
/** Deltas are a few bytes; the parser is fastest with thousands. */
const BATCH = 16 * 1024

/**
 * Reads an answer with the same ladder as `parse`, while it arrives. It holds the payload, not the answer;
 * only with a schema that may return a promise it holds the answer, up to `maxFrame`, to read it again with
 * the results of the schema.
 */
export function reading<S extends Schema | undefined>(options: AskOptions<S>): Reading<Value<S>> {
  const { schema, signal, maxFrame = VALUES_OPTIONS.maxFrame.default } = options
  const mayWait = asyncSchema(schema)
  const awaited = mayWait && awaitedSchema(mayWait)
  // Cast: the schema that replaces the given one passes the same values.
  const judging = (awaited?.schema ?? schema) as S
  const parsing = { ...parseOptionsOf(options), schema: judging, pick: options.pick ?? 'first' }
  const intake = chunkIntake()
  const decoder = new StringDecoder('utf8')
  const early = options.stopWhenValid ? earlyEnd(parsing, awaited, signal) : undefined
  const stage = valueStage<S>(parsing)
  let outcome: Outcome<Value<S>> | undefined
  let head = ''
  let waiting = ''
  /** The whole answer, in case it must be read again; undefined if it has grown past its limit. */
  let held: Chunk[] | undefined = []
  let size = 0
  const sink = stage({
    write(made) {
      outcome ??= made
    },
    end() {},
  })
  const push = (chunk: Chunk) => {
    if (awaited) hold(chunk)
    sink.write(chunk)
  }
  const hold = (chunk: Chunk) => {
    size += intake.size(chunk)
    if (size > maxFrame) held = undefined
    else held?.push(chunk)
  }
  const flush = () => {
    if (waiting !== '') push(intake.take(waiting))
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
        if (!(piece instanceof Uint8Array)) throw noText(piece)
        flush()
        push(intake.take(piece))
        text = decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
      }
      early?.write(text)
      if (head.length < MAX_HEAD) head += text.slice(0, MAX_HEAD - head.length)
      return text
    },
    async passed() {
      if (outcome === undefined) outcome = await early?.passed()
      return outcome?.ok === true
    },
    async end() {
      // A value that passed early counts, whatever follows.
      if (outcome) return outcome
      flush()
      const rest = intake.rest?.()
      if (rest) push(rest)
      sink.end()
      if (awaited?.isAsync()) {
        await awaited.answered(signal)
        do outcome = held ? drive(stage, held)[0] : tooLong(size, maxFrame, options.label)
        while (await awaited.answered(signal))
      }
      // A value stage always emits an outcome, even if nothing was found.
      return outcome!
    },
    head: () => head,
  }
}

function noText(piece: unknown): Fault {
  const found =
    typeof piece === 'object' && piece !== null
      ? `an object with the keys ${quote(Object.keys(piece).slice(0, 5).join(', '))}`
      : piece === null
        ? 'null'
        : `a value of type ${typeof piece}`
  return new Fault(
    'BAD_CHUNK',
    `the stream of the call emitted ${found}; ask needs strings or bytes, so yield the text of each chunk`,
  )
}

function tooLong<T>(size: number, maxFrame: number, label: string | undefined): Outcome<T> {
  const message = `the answer has ${size} bytes, more than maxFrame, ${maxFrame}, and cannot be held until the result of the schema is known`
  const frame = { kind: 'text', channel: 'stdout', from: 0, to: size, text: '' } as const
  return tooLongOf(frame, { code: 'FRAME_TOO_LONG', message }, label)
}

/**
 * Checks the text as soon as the first document in it is closed, as if nothing followed. The ladder
 * cannot do that: to it, a document at the start may still be part of something larger.
 */
function earlyEnd<S extends Schema | undefined>(
  options: ParseOptions<S>,
  awaited: AwaitedSchema | undefined,
  signal: AbortSignal | undefined,
) {
  const { tag, lines, schema, root, maxDepth, maxFrame = VALUES_OPTIONS.maxFrame.default } = options
  const seen = snapshots({ tag, lines, schema, root, maxDepth })
  let text = ''
  /** Nothing more is read: the document is closed, or too long. */
  let over = false
  return {
    write(piece: string): void {
      if (over) return
      text += piece
      seen.push(piece)
      over = seen.done() || text.length > maxFrame
    },
    /** The outcome so far, if it passed. */
    async passed(): Promise<Outcome<Value<S>> | undefined> {
      if (!seen.done() || text === '') return undefined
      let outcome = tryParse(text, options)
      while (await awaited?.answered(signal)) outcome = tryParse(text, options)
      text = ''
      return outcome.ok ? outcome : undefined
    },
  }
}
