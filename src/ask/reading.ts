import { StringDecoder } from 'node:string_decoder'
import { isDeepStrictEqual } from 'node:util'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isPromise, kindOf } from '../base/check-options.ts'
import { Fault } from '../base/fault.ts'
import { drive } from '../base/stage.ts'
import { unlessAborted } from '../base/unless-aborted.ts'
import { type Chunk, chunkIntake } from '../text/chunk.ts'
import { tooLongOf } from '../values/make-outcome.ts'
import type { Outcome } from '../values/outcome.ts'
import { type ParseOptions, tryParse } from '../values/parse.ts'
import { type JsonSchema, type Schema, type SchemaOutput, wrapped } from '../values/schema/schema.ts'
import { VALUES_OPTIONS, valueStage } from '../values/values.ts'
import { type AskOptions, parseOptionsOf } from './options.ts'
import { heldSnapshots } from './snapshots.ts'

/** How much of an answer is kept for the message if it fails. */
const MAX_HEAD = 4096
/** Deltas are a few bytes; the parser is fastest with thousands. */
const BATCH = 16 * 1024

/**
 * Reads an answer with the same ladder as `parse`, while it arrives. It holds the payload, not the answer;
 * only with a schema that may return a promise it holds the answer, up to `maxFrame`, to read it again with
 * the results of the schema.
 */
export function reading<S extends Schema | undefined>(options: AskOptions<S>) {
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
  let outcome: Outcome<SchemaOutput<S>> | undefined
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
    /** Takes a piece, and returns it as text. Throws BAD_CHUNK if it is neither text nor bytes. */
    write(piece: string | Uint8Array): string {
      let text: string
      if (typeof piece === 'string') {
        text = piece
        waiting += piece
        if (waiting.length >= BATCH) flush()
      } else {
        if (!(piece instanceof Uint8Array))
          throw new Fault(
            'BAD_CHUNK',
            `the stream of the call emitted ${kindOf(piece)}; ask needs strings or bytes, so yield the text of each chunk`,
          )
        flush()
        push(intake.take(piece))
        text = decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
      }
      early?.write(text)
      if (head.length < MAX_HEAD) head += text.slice(0, MAX_HEAD - head.length)
      return text
    },
    /** Whether a value has already passed. */
    async passed(): Promise<boolean> {
      if (outcome === undefined) outcome = await early?.passed()
      return outcome?.ok === true
    },
    async end(): Promise<Outcome<SchemaOutput<S>>> {
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
    /** The start of the answer, for messages. */
    head: () => head,
  }
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
  awaited: ReturnType<typeof awaitedSchema> | undefined,
  signal: AbortSignal | undefined,
) {
  const { tag, lines, schema, root, maxDepth, maxFrame = VALUES_OPTIONS.maxFrame.default } = options
  const seen = heldSnapshots({ tag, lines, schema, root, maxDepth })
  /** Nothing more is read: the document is closed, or too long. */
  let over = false
  let isAsked = false
  return {
    write(piece: string): void {
      if (over) return
      seen.push(piece)
      over = seen.done() || seen.text().length > maxFrame
    },
    /** The outcome so far, if it passed. */
    async passed(): Promise<Outcome<SchemaOutput<S>> | undefined> {
      if (isAsked || !seen.done()) return undefined
      isAsked = true
      let outcome = tryParse(seen.text(), options)
      while (await awaited?.answered(signal)) outcome = tryParse(seen.text(), options)
      return outcome.ok ? outcome : undefined
    },
  }
}

type Result = StandardSchemaV1.Result<unknown>
type Validate = StandardSchemaV1['~standard']['validate']

/** One value that the schema was called with. */
interface Question {
  readonly value: unknown
  /** Returns the schema's result, or throws its error. Undefined while that is not known. */
  answer: (() => Result) | undefined
}

/** The schema if it may return a promise: it is the caller's code, or a JSON Schema with `$async`. */
function asyncSchema(schema: Schema | undefined): StandardSchemaV1 | undefined {
  if (schema === undefined || schema === null) return undefined
  if ('~standard' in schema) {
    // Cast: an object with that key is a Standard Schema.
    const standard = schema as StandardSchemaV1
    return standard['~standard'].vendor === 'agent-sluice' ? undefined : standard
  }
  // Casts: a schema is a Standard Schema or a JSON Schema.
  return (schema as JsonSchema)['$async'] === true ? wrapped(schema as JsonSchema) : undefined
}

/**
 * Remembers the result of a schema for each value. The ladder stays synchronous: a text is read, pending
 * values are rejected for now, their promises are awaited, and the text is read again with the results. A
 * rejection makes the ladder look further, so the first reading finds nearly every candidate, and two
 * readings are enough for nearly every text.
 */
function awaitedSchema(schema: StandardSchemaV1) {
  const { vendor, validate } = schema['~standard']
  const known = new Map<string, Question[]>()
  let waiting: (() => Promise<void>)[] = []
  let rounds = 0

  /** The first promise is already running when it is seen; the later questions are asked one at a time. */
  function ask(question: Question): Result | undefined {
    const settle = async (asked: () => ReturnType<Validate>) => {
      try {
        const result = await asked()
        question.answer = () => result ?? NOTHING
      } catch (error) {
        question.answer = () => {
          throw error
        }
      }
    }
    if (waiting.length > 0) {
      waiting.push(() => settle(() => validate(question.value)))
      return undefined
    }
    const result = validate(question.value)
    if (!isPromise(result)) return result
    // It is awaited below; until then its rejection must not end the process.
    result.then(undefined, () => {})
    waiting.push(() => settle(() => result))
    return undefined
  }

  return {
    /** The schema with synchronous results: a pending value counts as rejected. */
    schema: {
      '~standard': {
        version: 1,
        vendor,
        validate(value: unknown): Result {
          // Most schemas never return a promise, and then nothing is remembered.
          const alike = known.size === 0 ? undefined : known.get(keyOf(value))
          const found = alike?.find((question) => isDeepStrictEqual(question.value, value))
          if (found) return found.answer?.() ?? PENDING
          if (rounds >= MAX_ROUNDS) return TOO_MANY
          const question: Question = { value, answer: undefined }
          const result = ask(question)
          if (result) return result
          const key = keyOf(value)
          known.set(key, [...(known.get(key) ?? []), question])
          return PENDING
        },
      },
    },
    /** Whether it ever returned a promise: something may be rejected before its result is known. */
    isAsync: () => known.size > 0,
    /** Waits for all pending results. True if there were any: then what was read must be read again. */
    async answered(signal: AbortSignal | undefined): Promise<boolean> {
      if (waiting.length === 0) return false
      rounds++
      for (const wait of waiting) await unlessAborted(wait, signal)
      waiting = []
      return true
    },
  }
}

/** Limit of readings, if each candidate appears only after the result for the one before. */
const MAX_ROUNDS = 8
const PENDING: Result = { issues: [{ message: 'the result of the schema is pending' }] }
const NOTHING: Result = { issues: [{ message: 'the schema returned nothing' }] }
const TOO_MANY: Result = {
  issues: [{ message: `a candidate was found only after ${MAX_ROUNDS} readings, and is not checked` }],
}

/** Equal values have equal keys; values that cannot be serialized share one. */
function keyOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}
