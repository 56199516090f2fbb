import { Readable } from 'node:stream'
import { defined, kindOf } from '../base/check-options.ts'
import { badOption, type FailedAttempt, Fault, type Note, type SchemaError } from '../base/fault.ts'
import { stepsUnlessAborted, unlessAborted } from '../base/unless-aborted.ts'
import { type CacheEntry, cacheAccess, digestOf, keyOfSchema, stillPasses } from '../disk/cache.ts'
import { endWithHost } from '../process/host-exit.ts'
import type { GoodOutcome, Outcome, RepairLevel } from '../values/outcome.ts'
import type { Schema, SchemaOutput } from '../values/schema/schema.ts'
import { type AskAnswer, type AskCall, type AskOptions, readAskOptions } from './options.ts'
import { reading } from './reading.ts'
import { type FailedAnswer, retryText, summaryOf } from './retry-prompt.ts'
import { checkedSnapshots, subtreeCheck } from './snapshots.ts'

/**
 * Asks a model until its answer parses and passes the schema, and returns the value. If an answer does not
 * pass, the model is asked again, with the original prompt and a short summary of what was wrong.
 *
 * A call that rejects is not retried, and `ask` rejects with its error. If no answer passes, a Fault is
 * thrown with the code of the last one and all `attempts`.
 *
 * `ask.stream` shows the progress: snapshots of the value so far, then the value.
 *
 * @example
 * const report = await ask(call, { prompt: 'List the issues as JSON.', schema: Report, rounds: 2 })
 */
async function askOnce<S extends Schema | undefined = undefined>(
  call: AskCall,
  options: AskOptions<S>,
): Promise<SchemaOutput<S>> {
  for await (const snapshot of attempts(call, options, readAskOptions(call, options), false))
    if (snapshot.done) return snapshot.value
  throw new Error('unreachable: attempts end with a value or a fault')
}

/**
 * Like `ask`, but shows the value while it arrives. All snapshots together take time linear in the answer,
 * whatever the size of the deltas, because they share one value that grows in place.
 *
 * @example
 * for await (const { done, value } of ask.stream(call, { prompt, schema: Report })) {
 *   render(value)
 *   if (done) save(value)
 * }
 */
function stream<S extends Schema | undefined = undefined>(
  call: AskCall,
  options: AskOptions<S>,
): AsyncGenerator<Snapshot<SchemaOutput<S>>, undefined> {
  return attempts(call, options, readAskOptions(call, options), true)
}

/** `ask()`, and `ask.stream()`, which shows the value while it arrives. */
export const ask: typeof askOnce & { readonly stream: typeof stream } = /* @__PURE__ */ Object.assign(
  askOnce,
  { stream },
)

/** A value of which any part may still be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T

/** What `ask.stream()` yields: the answer as far as it has arrived, and at the end the value. */
export type Snapshot<T> =
  | {
      readonly done: false
      /** The value so far. One object that grows, before normalizers and schema: copy it to keep it. */
      readonly value: DeepPartial<T>
      /** JSON pointers of the values completed since the previous snapshot; `` for the root. */
      readonly complete: readonly string[]
      /** Schema errors in the completed parts; only with a plain JSON Schema. */
      readonly errors: readonly SchemaError[]
      /** A new attempt starts with a new value. */
      readonly attempt: number
    }
  | {
      readonly done: true
      /** The value that passed. */
      readonly value: T
      readonly complete: readonly string[]
      readonly errors: readonly SchemaError[]
      readonly attempt: number
      readonly repair_level: RepairLevel
      readonly notes: readonly Note[]
    }

/** Milliseconds that a call may take to end when this program is told to end. */
const END_MS = 2000

/**
 * Asks until an answer passes, or this program ends: a call may have started a process. The last snapshot is
 * the value; the ones before it are only emitted if `watch` is set. One generator: another around it took a
 * fifth of the time of `ask.stream`.
 */
async function* attempts<S extends Schema | undefined>(
  call: AskCall,
  options: AskOptions<S>,
  read: ReturnType<typeof readAskOptions<S>>,
  watch: boolean,
): AsyncGenerator<Snapshot<SchemaOutput<S>>, undefined> {
  const host = new AbortController()
  const end = () => host.abort()
  const release = endWithHost({ end, kill: end, grace: END_MS })
  const signal = read.signal ? AbortSignal.any([read.signal, host.signal]) : host.signal
  try {
    const { prompt, system, temperature, rounds, retryPrompt, label, stopWhenValid } = read
    const tell = async (...reported: Parameters<NonNullable<typeof options.onAttempt>>) => {
      await unlessAborted(() => options.onAttempt?.(...reported), signal)
    }
    const kept = await cachedAnswer({ ...options, maxCacheWait: read.maxCacheWait })
    if (kept.hit) {
      await tell(kept.hit, { attempt: 0, cached: true, durationMs: 0 })
      yield last(kept.hit, 0)
      return
    }
    const failed: FailedAttempt[] = []
    for (let attempt = 1; attempt <= rounds + 1; attempt++) {
      // Created first: an invalid schema throws before the call costs anything.
      const answered = reading(options)
      const started = performance.now()
      const fault = failed.at(-1)?.fault
      const again = fault && retryText(retryPrompt, failureOf(fault, attempt - 1, options))
      const answer = await unlessAborted(
        () =>
          call({
            // Only the correction and the original prompt: the bad answer is not shown to the model again.
            prompt: again === undefined ? prompt : `${prompt}\n\n${again}`,
            temperature,
            attempt,
            signal,
            ...defined({ system }),
          }),
        signal,
        leaveLate,
      )
      const look = watch ? watcher(options, attempt) : undefined
      if (isStream(answer)) {
        const pieces = answer[Symbol.asyncIterator]()
        const steps = stepsUnlessAborted(pieces, signal)
        let open = true
        try {
          while (open) {
            const step = await steps.next()
            open = step.done !== true
            if (step.done) break
            const text = answered.write(step.value)
            const snapshot = look?.(text)
            if (snapshot) yield snapshot
            if (stopWhenValid && (await answered.passed())) break
          }
        } finally {
          steps.release()
          if (open) leave(answer, pieces)
        }
      } else {
        const text = answered.write(answer)
        const snapshot = look?.(text)
        if (snapshot) yield snapshot
      }
      let outcome = await answered.end()
      if (outcome.ok) outcome = await kept.keep(outcome)
      const duration_ms = Math.round(performance.now() - started)
      await tell(outcome, { attempt, cached: false, durationMs: duration_ms })
      if (outcome.ok) {
        yield last(outcome, attempt)
        return
      }
      failed.push({ text: answered.head(), fault: outcome.fault, duration_ms })
    }
    throw givenUp(failed, label)
  } finally {
    release()
  }
}

/** Whether an answer is a stream. Throws if it is not a valid answer. */
function isStream(answer: AskAnswer): answer is AsyncIterable<string | Uint8Array> {
  if (typeof answer === 'string') return false
  // Cast: the call is the caller's code, and may return anything.
  const streams = typeof (answer as AsyncIterable<string> | null)?.[Symbol.asyncIterator] === 'function'
  if (streams) return true
  throw badOption(
    `the call must return text, a Readable or an async iterable of text, but returned ${kindOf(answer)}; return its text`,
  )
}

/** Closes an answer that arrived too late, if it is a stream. */
function leaveLate(answer: AskAnswer): void {
  if (isStream(answer)) leave(answer, answer[Symbol.asyncIterator]())
}

/** Tells a stream that we stop reading, and ignores its errors. */
function leave(answer: AsyncIterable<unknown>, pieces: AsyncIterator<unknown>): void {
  // A Readable that waits for its next piece handles `return` only after it, so it is destroyed.
  if (answer instanceof Readable) answer.on('error', () => {}).destroy()
  // Not awaited, for the same reason.
  const left = async () => pieces.return?.()
  left().catch(() => {})
}

/** Makes a snapshot for each piece of an answer that shows part of the value. */
function watcher<S extends Schema | undefined>(
  options: AskOptions<S>,
  attempt: number,
): (text: string) => Snapshot<SchemaOutput<S>> | undefined {
  const { tag, lines, schema, root, maxDepth } = options
  const seen = checkedSnapshots({ tag, lines, schema, root, maxDepth })
  // Normalizers run on the whole value, so its parts cannot be checked before.
  const check = subtreeCheck(options.normalize?.length ? undefined : options.schema)
  return (text) => {
    const progress = seen.push(text)
    if (!progress) return undefined
    const snapshot = Object.assign(progress, { done: false as const, errors: check(seen), attempt })
    return snapshot as Snapshot<SchemaOutput<S>> // cast: the value so far is a part of the whole
  }
}

function last<T>({ value, repair_level, notes }: GoodOutcome<T>, attempt: number): Snapshot<T> {
  return { done: true, value, complete: [''], errors: [], attempt, repair_level, notes }
}

function failureOf(fault: Fault, attempt: number, { tag, root, schema }: AskOptions): FailedAnswer {
  return { error: summaryOf(fault, tag), fault, attempt, tag, root: root ?? rootOf(schema) }
}

/** The root to ask a model for. A schema that is code does not say; most describe an object. */
function rootOf(schema: Schema | undefined): 'object' | 'any' {
  const type = schema && !('~standard' in schema) ? schema['type'] : undefined
  return type === undefined || type === 'object' ? 'object' : 'any'
}

function givenUp(attempts: readonly FailedAttempt[], label: string | undefined): Fault {
  const { fault } = attempts.at(-1)!
  const { code, message, errors, broken, at, value } = fault
  const count = attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`
  const known = defined({ label, errors, broken, at, value })
  return new Fault(code, `${message} (after ${count})`, { cause: fault, attempts, ...known })
}

/** Reads the cache, and returns how to store an answer. Neither can make the question fail. */
async function cachedAnswer<S extends Schema | undefined>(
  options: AskOptions<S> & { readonly maxCacheWait: number },
) {
  type T = SchemaOutput<S>
  const { cache, schema } = options
  if (!cache) return { hit: undefined, keep: async (outcome: GoodOutcome<T>): Promise<Outcome<T>> => outcome }
  // Cast: a key does not depend on the type of the schema.
  const access = cacheAccess(cache, questionKey(options as AskOptions), options)
  const entry = await access.get()
  return {
    hit: entry && stillPasses(schema, entry.value) ? hitOf<T>(entry) : undefined,
    async keep(outcome: GoodOutcome<T>): Promise<Outcome<T>> {
      const { value, repair_level, notes } = outcome
      // The incomplete parts of a value were not checked.
      if (!outcome.incomplete?.length) await access.set({ value, repair_level, notes })
      const { trouble } = access
      return trouble.length > 0 ? { ...outcome, notes: [...notes, ...trouble] } : outcome
    },
  }
}

/**
 * The key of a question: everything that decides what a good answer is. A schema or a normalizer that is
 * code cannot be compared, so `cacheKey` must represent it.
 */
function questionKey(options: AskOptions): string {
  const { prompt, system, temperature, schema, normalize, cacheKey } = options
  const plain = schema && keyOfSchema(schema)
  if (cacheKey === undefined && ((schema && !plain) || normalize?.length)) {
    throw badOption('a schema or normalizer that is code needs a cacheKey to be cached by')
  }
  const rules = Object.entries(options)
    .filter(([name, value]) => ['string', 'number', 'boolean'].includes(typeof value) && !BESIDES.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return digestOf(['ask/3', prompt, system, temperature, cacheKey, plain ?? null, rules])
}

/** Options that do not decide what a good answer is, or are in the key already. */
const BESIDES: ReadonlySet<string> = new Set<keyof AskOptions>([
  'prompt',
  'system',
  'temperature',
  'cacheKey',
  'maxCacheWait',
  'rounds',
  'retryPrompt',
  'stopWhenValid',
  'label',
  'maxComment',
])

function hitOf<T>({ value, repair_level, notes }: CacheEntry): GoodOutcome<T> {
  const frame = { kind: 'text', channel: 'stdout', from: 0, to: 0, text: '' } as const
  // Cast: what was kept had passed the schema.
  return { ok: true, value: value as T, repair_level, notes, frame }
}
