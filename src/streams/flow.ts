import { setMaxListeners } from 'node:events'
import { addAbortSignal, finished, type Readable, Transform, type TransformCallback } from 'node:stream'
import { checkOptions, misfit } from '../base/check-options.ts'
import { checkStage, type Intake, type Sink, type Stage, wholeIntake } from '../base/stage.ts'

/**
 * A stage as a Node stream: `for await`, `pipe` and `pipeline` all work and are typed.
 *
 * @example
 * for await (const frame of child.stdout.pipe(frames())) console.log(frame.kind)
 */
export type Flow<Out> = ItemMethods<Out> & Transform & AsyncIterable<Out>

/** The options that every flow has. */
export interface FlowOptions<In> {
  /** Aborting it destroys the flow with an AbortError. */
  readonly signal?: AbortSignal | undefined
  /** @default every value is passed on whole */
  readonly intake?: (() => Intake<In>) | undefined
}

/**
 * Turns a stage into a Node stream, a Transform. `values()` is `flow(valueStage())`, and so are the others.
 *
 * A chunk is fed in portions, and between two portions the flow waits while its reader is behind: a
 * 64 KiB chunk of 2-byte lines must not become 32,768 queued items. It also yields to the event loop
 * when one chunk takes long.
 *
 * An error of a source that is piped into the flow destroys the flow with that error, and so does a source
 * that closes before its end: `source.pipe(flow)` is enough for `for await` to reject. Breaking out of `for
 * await`, or destroying the flow, destroys its sources.
 *
 * @example
 * const lengths = flow<string, number>((next) => ({ write: (s) => next.write(s.length), end: () => next.end()
 * }))
 */
export function flow<In, Out>(stage: Stage<In, Out>, options: FlowOptions<In> = {}): Flow<Out> {
  checkStage('flow', stage)
  checkOptions('flow', options, 'flow(stage, { signal })', { intake: {} })
  const { signal, intake = wholeIntake<In> } = options
  if (typeof intake !== 'function')
    throw misfit('flow', 'a function as intake', intake, 'flow(stage, { intake })')
  const made = new StageTransform(stage, intake())
  if (signal) addAbortSignal(shared(signal), made)
  // Cast: Node types what a stream emits as `any`.
  return made as unknown as Flow<Out>
}

/** What a stage makes of items, each when its reader asks for it. */
export async function* through<In, Out>(
  items: AsyncIterable<In>,
  stage: Stage<In, Out>,
): AsyncGenerator<Out, void> {
  let made: Out[] = []
  const sink = stage({ write: (value) => void made.push(value), end() {} })
  for await (const item of items) {
    sink.write(item)
    yield* made
    made = []
  }
  sink.end()
  yield* made
}

/** Items that may wait for the reader before the flow stops feeding its stage. */
const MAX_WAITING = 64
/** Units (bytes, mostly) that these items may have been made from: 64 items of 16 MB are too many. */
const MAX_AHEAD = 64 * 1024
const MIN_PORTION = 512
/** The most that one portion can queue: portions grow while they yield few items. */
const MAX_PORTION = 16 * 1024
/** For a stage that takes turns: it stops by itself when it has written enough. */
const WHOLE_PORTION = 64 * 1024
/** After this many milliseconds without a pause, timers and sockets get a turn. */
const MAX_BUSY_MS = 15

class StageTransform<In, Out> extends Transform {
  readonly #intake: Intake<In>
  readonly #sink: Sink<In>
  /** The sources of this flow, each with a function that removes our listeners. */
  readonly #sources = new Map<Readable, () => void>()
  /** Units per portion: grows while portions yield few items, shrinks when they yield many. */
  #portion = MIN_PORTION
  #pushed = 0
  /** Units fed since the reader's queue was last empty. */
  #ahead = 0
  /** The current chunk, until every portion of it is fed; or, without input, the end. */
  #work: { input?: In; at: number; size: number; done: TransformCallback } | undefined
  /** The stage has more to write before it takes the next portion. */
  #more = false
  #paused = false
  /** The reader has called `read` and got nothing: Node will not call again, so do not pause. */
  #asked = false

  constructor(stage: Stage<In, Out>, intake: Intake<In>) {
    // Node reads when the queue is empty: how full it may get is decided here, by items and bytes.
    super({ objectMode: true, readableHighWaterMark: 1, writableHighWaterMark: 4 })
    this.#intake = intake
    this.#sink = stage({
      write: (value) => {
        this.#pushed++
        this.#asked = false
        this.push(value)
      },
      end() {},
    })
    if (typeof this.#sink?.write !== 'function')
      throw misfit('flow', 'a stage that returns a sink', this.#sink, 'flow((next) => ({ write, end }))')
    if (this.#sink.more) this.#portion = WHOLE_PORTION
    this.on('pipe', (source: Readable) => {
      this.#forget(source)
      this.#sources.set(
        source,
        onFailure(source, (error) => this.destroy(error)),
      )
    })
    this.on('unpipe', (source: Readable) => this.#forget(source))
  }

  #forget(source: Readable): void {
    this.#sources.get(source)?.()
    this.#sources.delete(source)
  }

  override _transform(written: unknown, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      const input = this.#intake.take(written)
      this.#work = { input, at: 0, size: this.#intake.size(input), done }
    } catch (error) {
      done(error as Error)
      return
    }
    this.#feed()
  }

  override _flush(done: TransformCallback): void {
    try {
      const rest = this.#intake.rest?.()
      if (rest !== undefined) this.#sink.write(rest)
      this.#sink.end()
    } catch (error) {
      done(error as Error)
      return
    }
    this.#work = { at: 0, size: 0, done }
    this.#more = true
    this.#feed()
  }

  override _read(size: number): void {
    this.#asked = true
    this.#ahead = 0
    if (!this.#work) super._read(size)
    else if (this.#paused) {
      this.#paused = false
      // On the next tick: the item that Node takes now is still in its queue. A portion without items would
      // end the chunk while the queue looks full, and Node, still waiting for a push, would never read again.
      process.nextTick(() => this.#feed())
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#work = undefined
    for (const source of [...this.#sources.keys()]) {
      // This removes our listeners, so that closing it does not count as a failure.
      source.unpipe(this)
      source.destroy()
    }
    done(error)
  }

  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Out> {
    return new FlowReader<Out>(this)
  }

  #feed(): void {
    let started = 0
    for (let turn = 0; this.#work; turn++) {
      const work = this.#work
      if (work.at >= work.size && !this.#more) {
        this.#work = undefined
        work.done()
        return
      }
      if (!this.#asked && (this.#ahead >= MAX_AHEAD || this.readableLength >= MAX_WAITING)) {
        this.#paused = true
        return
      }
      // Most chunks are small and done after two turns: reading the clock takes a tenth of their time.
      if (turn === 2) started = performance.now()
      else if (turn > 2 && performance.now() - started > MAX_BUSY_MS) {
        setImmediate(() => this.#feed())
        return
      }
      this.#pushed = 0
      try {
        if (this.#more) {
          this.#more = this.#sink.more?.() ?? false
          continue
        }
        const to = Math.min(work.size, work.at + this.#portion)
        const input = work.input as In
        const isWhole = work.at === 0 && to === work.size
        this.#sink.write(isWhole ? input : this.#intake.portion(input, work.at, to))
        this.#more = this.#sink.more !== undefined
        this.#ahead += to - work.at
        work.at = to
      } catch (error) {
        this.#work = undefined
        work.done(error as Error)
        return
      }
      if (this.#more) continue
      if (this.#pushed > MAX_WAITING) this.#portion = Math.max(MIN_PORTION, this.#portion >> 2)
      else if (this.#pushed < MAX_WAITING / 4) this.#portion = Math.min(MAX_PORTION, this.#portion << 2)
    }
  }
}

/**
 * Calls `failed` when a source fails or closes before its end, which `pipe` alone does not report to its
 * target. One listener per event, like `pipe` itself: `finished` has more, and Node warns at the eleventh.
 * Returns a function that removes them.
 */
function onFailure(source: Readable, failed: (error: Error) => void): () => void {
  const onClose = () => {
    // Old-style streams close without a defined end.
    if (source.readableEnded === false) failed(source.errored ?? prematureClose())
  }
  source.on('error', failed)
  source.on('close', onClose)
  // It closed before it was piped here. On the next tick, when the reader is listening.
  if (source.closed) process.nextTick(onClose)
  return () => {
    source.off('error', failed)
    source.off('close', onClose)
  }
}

/** The same error as Node's `pipeline` uses, so that both ways of joining streams fail alike. */
function prematureClose(): Error {
  const message = 'the source closed before its end; it was destroyed, or its other side disconnected'
  return Object.assign(new Error(message), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
}

/**
 * Reads a flow item by item. Node's own iterator is an async generator and costs about 2 µs per item;
 * this one returns items from the queue while there are any.
 */
class FlowReader<Out> implements NodeJS.AsyncIterator<Out> {
  readonly #stream: Transform
  /** `undefined` while the stream is open, `null` when it ended well, else the error. */
  #failure: Error | null | undefined
  #wake: (() => void) | undefined
  /** The last pending result: a second `next()` must not overtake it. */
  #last: Promise<unknown> | undefined
  readonly #cleanup: () => void

  constructor(stream: Transform) {
    this.#stream = stream
    const onReadable = () => this.#wake?.()
    stream.on('readable', onReadable)
    const unwatch = finished(stream, { writable: false }, (error) => {
      this.#failure = error ?? null
      this.#wake?.()
    })
    this.#cleanup = () => {
      unwatch()
      stream.off('readable', onReadable)
    }
  }

  next(): Promise<IteratorResult<Out, undefined>> {
    if (this.#last === undefined) {
      const item: Out | null = this.#stream.destroyed ? null : this.#stream.read()
      if (item !== null) return Promise.resolve({ done: false, value: item })
    }
    const answer = (this.#last ?? Promise.resolve()).then(() => this.#wait())
    const settle = () => {
      if (this.#last === settled) this.#last = undefined
    }
    const settled: Promise<void> = answer.then(settle, settle)
    this.#last = settled
    return answer
  }

  async return(): Promise<IteratorResult<Out, undefined>> {
    this.#cleanup()
    if (!this.#stream.destroyed) {
      // The reader has left: an abort that arrives now must not be thrown.
      this.#stream.on('error', () => {})
      this.#stream.destroy()
    }
    // A pending `next()` resolves as done.
    this.#failure ??= null
    this.#wake?.()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #wait(): Promise<IteratorResult<Out, undefined>> {
    for (;;) {
      const item: Out | null = this.#stream.destroyed ? null : this.#stream.read()
      if (item !== null) return { done: false, value: item }
      if (this.#failure) {
        this.#cleanup()
        throw this.#failure
      }
      if (this.#failure === null) {
        this.#cleanup()
        return { done: true, value: undefined }
      }
      await new Promise<void>((wake) => {
        this.#wake = wake
      })
      this.#wake = undefined
    }
  }
}

/** Options of the methods that call a function for each item. */
interface EachOptions {
  /** How many calls may run at once. @default 1 */
  readonly concurrency?: number
  readonly signal?: AbortSignal
}

type Each<Out, Result> = (item: Out, options?: Pick<EachOptions, 'signal'>) => Result | Promise<Result>

/**
 * The methods of a stream that return its items, which Node types as `any`. They come first in the types
 * below, so that TypeScript picks them; those of Node must stay, or `pipe` would not accept the stream. The
 * iterator is repeated at the end, because that is where TypeScript looks for the items of a `pipeline`.
 */
interface ItemMethods<Out> {
  [Symbol.asyncIterator](): NodeJS.AsyncIterator<Out>
  iterator(options?: { destroyOnReturn?: boolean }): NodeJS.AsyncIterator<Out>
  on(event: 'data', listener: (item: Out) => void): this
  once(event: 'data', listener: (item: Out) => void): this
  map<Result>(fn: Each<Out, Result>, options?: EachOptions): ReadableItems<Result>
  flatMap<Result>(
    fn: Each<Out, Iterable<Result> | AsyncIterable<Result>>,
    options?: EachOptions,
  ): ReadableItems<Result>
  filter<Kept extends Out>(fn: (item: Out) => item is Kept, options?: EachOptions): ReadableItems<Kept>
  filter(fn: Each<Out, boolean>, options?: EachOptions): ReadableItems<Out>
  forEach(fn: Each<Out, unknown>, options?: EachOptions): Promise<void>
  find<Kept extends Out>(fn: (item: Out) => item is Kept, options?: EachOptions): Promise<Kept | undefined>
  find(fn: Each<Out, boolean>, options?: EachOptions): Promise<Out | undefined>
  some(fn: Each<Out, boolean>, options?: EachOptions): Promise<boolean>
  every(fn: Each<Out, boolean>, options?: EachOptions): Promise<boolean>
  take(limit: number, options?: Pick<EachOptions, 'signal'>): ReadableItems<Out>
  drop(limit: number, options?: Pick<EachOptions, 'signal'>): ReadableItems<Out>
  toArray(options?: Pick<EachOptions, 'signal'>): Promise<Out[]>
}

/**
 * A Node Readable whose items have a type: in `for await`, `on('data')`, `map`, `filter` and `toArray`.
 *
 * @example
 * const texts: string[] = await run('codex', ['exec', '--json', 'hi'])
 *   .filter((event) => event.type === 'agent.message.final')
 *   .map((event) => event.data.text)
 *   .toArray()
 */
export type ReadableItems<Out> = ItemMethods<Out> & Readable & AsyncIterable<Out>

/**
 * Lets one signal end any number of runs, questions and streams, as a server does when it shuts down. Node
 * would warn of a leak at its eleventh listener; ours are removed when what they end is over.
 */
export function shared(signal: AbortSignal): AbortSignal {
  // A signal that is not the platform's own has no such limit.
  if (signal instanceof EventTarget) setMaxListeners(0, signal)
  return signal
}
