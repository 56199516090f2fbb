import { addAbortSignal, finished, Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import {
  defined,
  isFunction,
  isObject,
  isPromise,
  kindOf,
  misfit,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { badOption, Fault } from '../base/fault.ts'
import { endWithHost } from '../process/host-exit.ts'
import { waitingIn } from '../process/recorder.ts'
import {
  type ChildLike,
  type Pipe,
  type Running,
  Supervised,
  type SuperviseOptions,
  takeOver,
} from '../process/supervise.ts'
import { type Channel, type Chunk, type ExitChunk, encoder } from '../text/chunk.ts'
import { Turns } from '../text/log-turns.ts'
import { Stillness } from '../text/stillness.ts'
import { type ReadableItems, shared } from './flow.ts'

/** How a process ended: code and signal; `stopped` says why, if that was on request. */
export type ProcessExit =
  | number
  | null
  | { readonly code: number | null; readonly signal: string | null; readonly stopped?: string | undefined }

/** The streams of one run. `exit` becomes the last chunk. */
export interface TapSources {
  readonly stdout?: Readable | null | undefined
  readonly stderr?: Readable | null | undefined
  readonly pty?: Readable | null | undefined
  /** What is sent to the agent: a copy of it, since what goes to its stdin cannot be read there. */
  readonly stdin?: Readable | null | undefined
  readonly exit?: ProcessExit | Promise<ProcessExit> | undefined
}

/** The options of `tap()`. */
export interface TapOptions {
  /**
   * What is read when. `live` takes bytes as they arrive. For logs: `sequence` reads stdin, then stdout, then
   * stderr, then the PTY; `step` reads stdin first, and then 64 KiB of each of the others in turn, so that
   * little is held until stdout and the PTY both had it. @default 'live'
   */
  readonly order?: 'live' | 'sequence' | 'step' | undefined
  /**
   * How long to keep reading after the process ended, while another process (a grandchild) holds its pipe
   * open; time in which the reader has no room does not count. Then the pipe is abandoned, and the exit chunk
   * says so.
   * @default '2s'
   */
  readonly pipeGrace?: Duration | undefined
  /**
   * End the child and all its descendants when the reader stops before the child has ended by itself: by
   * `break`, an abort, a pipeline that fails, a response that closes; and when your program itself ends. It
   * gets SIGTERM, and SIGKILL after `killGrace`; the tap closes when it is gone. Process groups of
   * `spawn(…, { detached: true })` are signaled as a whole; of other children, only descendants whose parents
   * are still running are found. @default false
   */
  readonly kill?: boolean | undefined
  /** With `kill`: how long between SIGTERM and SIGKILL. @default '5s' */
  readonly killGrace?: Duration | undefined
  /** Aborting it destroys the tap and every source. */
  readonly signal?: AbortSignal | undefined
}

/** The options of `tap()` for a stream of objects, such as that of an SDK. */
export interface TapTextOptions<T> extends TapOptions {
  /** The text of what the source emits; undefined, null or an empty text if there is none. */
  readonly text: (emitted: T) => string | null | undefined
}

type AnyTapOptions = TapOptions & { readonly text?: TapTextOptions<never>['text'] | undefined }

const TAP_OPTIONS = {
  order: { default: 'live', words: ['live', 'sequence', 'step'] },
  pipeGrace: { ...DURATION, default: 2000, was: 'grace' },
  kill: OFF,
  killGrace: { ...DURATION, default: 5000 },
  text: { is: isFunction, needs: 'a function as text' },
} as const satisfies OptionTable<AnyTapOptions>

/** Logs have no clock: what was sent is read first, so that an answer is known when its request comes. */
const CHANNELS = ['stdin', 'stdout', 'stderr', 'pty'] as const
const STEP = 65_536
const NOTHING = new Uint8Array()
/** How often to look whether all was read. */
const LOOK_MS = 100

/**
 * One Readable of chunks from a child process, from its streams, or from any other source of output: a Node
 * or Web stream, a `Response` of `fetch`, an iterable of bytes or strings, a string (these count as stdout).
 * The first chunk announces the channels, the last one is the exit. An error of any source reaches the
 * reader, and a command that cannot be started is SPAWN_FAILED; destroying the tap destroys every source. Tap
 * a child in the same tick in which it is spawned: Node discards what a child wrote if there is no listener
 * when it exits.
 *
 * @example
 * for await (const event of tap(spawn('codex', ['exec', '--json', prompt])).pipe(events(codex)))
 * console.log(event)
 */
export function tap(from: ChildLike | TapSources | PlainSource, options?: TapOptions): ReadableItems<Chunk>
/**
 * The same for a stream of objects, whose text `text` knows.
 *
 * @example
 * const chunks = [{ choices: [{ delta: { content: '{"a":1}' } }] }]
 * const answer = tap(chunks, { text: (chunk) => chunk.choices[0]?.delta.content }).pipe(values())
 */
export function tap<T>(from: AsyncIterable<T> | Iterable<T>, options: TapTextOptions<T>): ReadableItems<Chunk>
export function tap(
  from: ChildLike | TapSources | PlainSource | Iterable<unknown> | AsyncIterable<unknown>,
  options: AnyTapOptions = {},
): ReadableItems<Chunk> {
  const read = readOptions('tap', options, EXAMPLE, TAP_OPTIONS)
  const { order, pipeGrace, kill, killGrace, text, signal } = read
  if ((from as unknown) === process)
    throw badOption('this program cannot be tapped; tap what it reads: tap(process.stdin)')
  const given = plainStream(from)
  if (text && !given)
    throw badOption('text is about what a stream emits; tap that stream, not a child process')
  const plain = given && text ? Readable.from(textsOf(given, text)) : given
  // Cast: what is not a plain stream is a child or a set of streams.
  const source = plain ? { stdout: plain } : (from as ChildLike | TapSources)
  const child = isChild(source) ? source : undefined
  const sources = new Map<Channel, Readable>()
  for (const channel of CHANNELS) {
    const stream = (source as TapSources)[channel]
    if (stream && !(isObject(stream) && 'on' in stream && 'destroy' in stream))
      throw misfit('tap', `a Node stream as ${channel}`, stream, EXAMPLE)
    if (stream && (!child || channel === 'stdout' || channel === 'stderr')) sources.set(channel, stream)
  }
  if (kill && !child)
    throw badOption('kill needs a child process; tap the child itself, or end its process yourself')
  // A child that could not be started may have no streams; its error follows.
  const silent = sources.size === (sources.has('stdin') ? 1 : 0)
  if (silent && !(child && child.pid === undefined))
    throw badOption('tap needs stdout, stderr or pty; spawn the child with stdio: "pipe"')

  const tapped = new Tap(sources, { killGrace, pipeGrace })
  if (signal) addAbortSignal(shared(signal), tapped)
  if (child) tapped.follow(takeOver(child, { failed: (error) => tapped.destroy(error) }), kill)
  else tapped.expect((source as TapSources).exit)
  if (order === 'live') tapped.listen()
  else tapped.pump(order === 'sequence' ? inSequence(sources) : inStep(sources))
  // Cast: Node types what a stream emits as `any`.
  return tapped as unknown as ReadableItems<Chunk>
}

const EXAMPLE = 'tap(spawn("codex", ["exec", "--json", task]), { kill: true })'

/** The chunks of the sources, and at last the exit. */
class Tap extends Readable {
  readonly #sources: ReadonlyMap<Channel, Readable>
  readonly #options: SuperviseOptions
  readonly #pipes: ReadonlyMap<Channel, Pipe>
  /** The process, if there is one whose end is awaited. */
  #process: Supervised | undefined
  /** The process is ours to end. */
  #kills = false
  /** Called when this has ended, and the process with it. */
  #release = () => {}
  /** Called when the reader has room again. */
  #wake = () => {}
  /** Removes our listeners from the sources, so that nothing is left if the reader stops early. */
  #forget = () => {}
  /** Flushes what live channels kept back: a PTY or an abandoned pipe emits no end. */
  readonly #flushes: (() => void)[] = []
  #exit: Promise<ProcessExit | undefined> = Promise.resolve(undefined)
  readonly #stillness = new Stillness()
  /** True while the reader has room. A slow reader must not lose the last output of the process. */
  #listening = true

  constructor(sources: ReadonlyMap<Channel, Readable>, options: SuperviseOptions) {
    super({ objectMode: true, highWaterMark: 4 })
    this.#sources = sources
    this.#options = options
    this.#pipes = new Map([...sources].map(([channel, stream]) => [channel, this.#pipeOf(channel, stream)]))
    const channels = [...sources.keys()]
    if (channels[0]) this.push({ channel: channels[0], bytes: new Uint8Array(), channels } satisfies Chunk)
  }

  #pipeOf(channel: Channel, stream: Readable): Pipe {
    let isStopped = false
    const ended = new Promise<void>((resolve) => {
      finished(stream, { writable: false }, (error) => {
        // A PTY ends with EIO when its last writer is gone.
        const usual = channel === 'pty' && error && 'code' in error && error.code === 'EIO'
        if (error && !this.destroyed && !isStopped && !usual) this.destroy(error)
        resolve()
      })
    })
    return {
      ended,
      isBehind: () => !this.#listening || (this.#isLive && waitingIn(stream) > 0),
      stop() {
        isStopped = true
        stream.destroy()
      },
    }
  }

  get #isLive(): boolean {
    return this.#flushes.length > 0
  }

  override _read(): void {
    this.#wake()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#forget()
    for (const stream of this.#sources.values()) stream.destroy()
    this.#wake()
    const ended = () => {
      this.#release()
      done(error)
    }
    if (!this.#process || !this.#kills) {
      ended()
      return
    }
    this.#process.end()
    this.#process.over.then(ended, ended)
  }

  /** Follows a process; with `kill`, it is ended when the reader leaves, and when this program ends. */
  follow(running: Running, kill: boolean): void {
    // Nobody reads stdin after the exit, and its writer may never end it.
    const pipes = [...this.#pipes].filter(([channel]) => channel !== 'stdin').map(([, pipe]) => pipe)
    const process = new Supervised(running, pipes, this.#options)
    this.#process = process
    this.#exit = running.exit
    this.#kills = kill
    if (!kill) return
    const { killGrace, pipeGrace } = this.#options
    this.#release = endWithHost({
      end: (signal) => process.end(signal),
      kill: () => process.kill(),
      grace: killGrace + pipeGrace,
    })
  }

  /** Takes an exit that is told: only one that is still to come starts the clock, and not that of a log. */
  expect(exit: ProcessExit | Promise<ProcessExit> | undefined): void {
    const told = Promise.resolve(exit)
    if (isPromise(exit)) {
      this.follow({ pid: undefined, exit: told.then(asExit) }, false)
      told.catch((error: Error) => this.destroy(error))
    }
    this.#exit = told
  }

  /** Takes bytes as they arrive. */
  listen(): void {
    const listeners = [...this.#sources].map(([channel, stream]) => {
      const encode = encoder()
      const onData = (data: unknown) => {
        if (this.destroyed) return
        if (this.#sources.size > 1) this.#stillness.saw(channel)
        if (!isData(data)) {
          this.destroy(badData(channel, data))
          return
        }
        if (this.push({ channel, bytes: encode.bytes(data) } satisfies Chunk)) return
        this.#listening = false
        for (const other of this.#sources.values()) other.pause()
      }
      stream.on('data', onData)
      this.#flushes.push(() => {
        const bytes = encode.rest()
        if (bytes) this.push({ channel, bytes } satisfies Chunk)
      })
      return () => stream.off('data', onData)
    })
    const looks = this.#sources.has('pty') && setInterval(() => this.#look(), LOOK_MS).unref()
    this.#forget = () => {
      if (looks) clearInterval(looks)
      for (const off of listeners) off()
    }
    this.#wake = () => {
      this.#listening = true
      for (const stream of this.#sources.values()) stream.resume()
    }
    this.#finish().catch((error) => this.destroy(error))
  }

  /** Says that all was read, if it was. */
  #look(): void {
    if (!this.#listening || this.readableLength > 0 || !this.#stillness.isDue(performance.now())) return
    this.push({ channel: 'pty', bytes: NOTHING, still: true } satisfies Chunk)
  }

  /** Takes chunks in their own order, one when there is room for it. */
  pump(chunks: AsyncIterable<Chunk>): void {
    const run = async () => {
      for await (const chunk of chunks) {
        if (this.destroyed) return
        this.#listening = false
        if (!this.push(chunk)) await new Promise<void>((resolve) => (this.#wake = resolve))
        if (this.destroyed) return
        this.#listening = true
      }
      await this.#finish()
    }
    run().catch((error) => this.destroy(error))
  }

  async #finish(): Promise<void> {
    const over = this.#process ? await this.#process.over : undefined
    if (!over) await Promise.all([...this.#pipes.values()].map((pipe) => pipe.ended))
    const ended = await this.#exit
    if (this.destroyed) return
    for (const flush of this.#flushes) flush()
    const held = [...this.#pipes].filter(([, pipe]) => over?.held.includes(pipe)).map(([channel]) => channel)
    if (ended !== undefined || held.length > 0) {
      const { code, signal, stopped } = asExit(ended)
      const more = defined({ stopped, held: held.length > 0 ? held : undefined })
      this.push({ channel: 'exit', code, signal, ...more } satisfies ExitChunk)
    }
    this.push(null)
  }
}

async function* inSequence(sources: ReadonlyMap<Channel, Readable>): AsyncGenerator<Chunk> {
  for (const [channel, stream] of sources) {
    for await (const bytes of bytesOf(stream)) yield { channel, bytes }
  }
}

/** Takes all of stdin, then 64 KiB of each channel in turn: the order is always the same. */
async function* inStep(sources: ReadonlyMap<Channel, Readable>): AsyncGenerator<Chunk> {
  const readers = new Map(
    [...sources].map(([channel, stream]) => [
      channel,
      { parts: bytesOf(stream), rest: NOTHING as Uint8Array, done: false },
    ]),
  )
  const isOpen = (channel: Channel) => readers.get(channel)?.done === false
  const open = () => [...sources.keys()].filter(isOpen)
  async function* take(channel: Channel, size: number): AsyncGenerator<Chunk> {
    const reader = readers.get(channel)
    for (let wanted = size; reader && wanted > 0 && !reader.done; ) {
      if (reader.rest.length > 0) {
        const bytes = reader.rest.subarray(0, wanted)
        reader.rest = reader.rest.subarray(bytes.length)
        wanted -= bytes.length
        yield { channel, bytes }
        continue
      }
      const next = await reader.parts.next()
      reader.done = next.done === true
      if (!next.done) reader.rest = next.value
      else if (channel === 'stderr') yield { channel, bytes: NOTHING, channels: open() }
    }
  }
  yield* take('stdin', Number.POSITIVE_INFINITY)
  const turns = new Turns(sources.has('pty'))
  while (open().length > 0) {
    for (const channel of turns.order(isOpen)) {
      if (!isOpen(channel)) continue
      yield* take(channel, STEP)
      break
    }
  }
}

function asExit(exit: ProcessExit | undefined): Extract<ProcessExit, object> {
  return typeof exit === 'object' && exit !== null ? exit : { code: exit ?? null, signal: null }
}

async function* bytesOf(stream: Readable): AsyncGenerator<Uint8Array, void> {
  const encode = encoder()
  for await (const data of stream) {
    if (!isData(data)) throw badData('stream', data)
    yield encode.bytes(data)
  }
  const rest = encode.rest()
  if (rest) yield rest
}

function isData(data: unknown): data is Uint8Array | string {
  return typeof data === 'string' || data instanceof Uint8Array
}

/** A stream of objects, for instance of an SDK: we cannot know which field is the text. */
function badData(where: string, data: unknown): Fault {
  return new Fault(
    'BAD_CHUNK',
    `the ${where} emits ${kindOf(data)}, which is neither bytes nor text; say which text it has: ` +
      'tap(stream, { text: (chunk) => chunk.choices[0]?.delta?.content }), ' +
      "or of an agent's records { text: (record) => JSON.stringify(record) + '\\n' }",
  )
}

/** The texts of what a source emits. */
async function* textsOf(source: Readable, text: NonNullable<AnyTapOptions['text']>): AsyncGenerator<string> {
  for await (const emitted of source) {
    const found: unknown = text(emitted as never) // cast: what the source emits is the caller's
    if (typeof found === 'string' && found !== '') yield found
    else if (found !== undefined && found !== null && found !== '')
      throw badOption(`text must return a text or nothing, but returned ${kindOf(found)}`)
  }
}

/** Output of one channel that is not a child process; it counts as stdout. */
export type PlainSource =
  | string
  | Uint8Array
  | Readable
  | WebSource<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>
  | FetchedBody

/** A Web stream. The types of Node and of the DOM are not assignable to each other, but both are to this. */
interface WebSource<T> {
  readonly locked: boolean
  getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: T | undefined }> }
}

/** The part of a `fetch` `Response` that is used. */
export interface FetchedBody {
  readonly body: WebSource<Uint8Array> | null
  readonly bodyUsed: boolean
}

const example = 'tap(child), tap(response), tap(stream), tap(text) or tap({ stdout, pty })'

/** A source of one channel as a Node stream; undefined for a child process and for several streams. */
function plainStream(source: unknown): Readable | undefined {
  if (typeof source === 'string' || source instanceof Uint8Array) return Readable.from([source])
  if (Array.isArray(source)) return Readable.from(source)
  if (!isObject(source) || isPromise(source))
    throw misfit('tap', 'a child process, a stream, a Response or a text', source, example)
  if (isChild(source)) return undefined
  if ('body' in source && 'bodyUsed' in source) return bodyOf(source as FetchedBody)
  if ('getReader' in source) return fromWeb(source as WebSource<unknown>)
  if ('pipe' in source && 'on' in source) return source as Readable
  if (Symbol.asyncIterator in source || Symbol.iterator in source)
    return Readable.from(source as Iterable<string>)
  return undefined
}

function bodyOf({ body, bodyUsed }: FetchedBody): Readable {
  if (bodyUsed)
    throw badOption('the body of this Response was read before; tap it instead of calling text() or json()')
  return body === null ? Readable.from([]) : fromWeb(body)
}

function fromWeb(stream: WebSource<unknown>): Readable {
  if (stream.locked)
    throw badOption('this stream is locked to another reader; tap it before it is read, or tee() it')
  // Cast: what has a reader and can be locked is a Web stream.
  return Readable.fromWeb(stream as ReadableStream, { objectMode: true })
}

/** Whether it is a child process, or looks like one. */
function isChild(source: object): source is ChildLike {
  return 'on' in source && 'stdout' in source
}
