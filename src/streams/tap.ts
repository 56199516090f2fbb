import type { ChildProcess } from 'node:child_process'
import { addAbortSignal, finished, Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import {
  DELAY,
  defined,
  isDelay,
  isObject,
  isPromise,
  misfit,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { badOption, Fault } from '../base/fault.ts'
import { type Channel, type Chunk, type ExitChunk, encoder } from '../text/chunk.ts'
import { endChild } from './end-process-tree.ts'
import { type Items, shared } from './flow.ts'
import { cannotStart } from './spawn-fault.ts'

/** How a process ended: code and signal; `stopped` says why, if that was on request. */
export type Exit =
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
  readonly exit?: Exit | Promise<Exit> | undefined
}

export interface TapOptions {
  /**
   * `live` takes bytes as they arrive. For logs: `sequence` reads stdin, then stdout, then stderr,
   * then the PTY; `step` reads stdin first and the others in parallel, 64 KiB of each in turn, so that dedupe
   * holds little. @default 'live'
   */
  readonly order?: 'live' | 'sequence' | 'step' | undefined
  /**
   * Milliseconds to keep reading after the process ended, while another process (a grandchild) holds its pipe
   * open; time in which the reader has no room does not count. Then the pipe is abandoned, and the exit chunk
   * says so.
   * @default 2000
   */
  readonly grace?: number | undefined
  /**
   * End the child and all its descendants when the reader stops before the child has ended by itself: by
   * `break`, an abort, a pipeline that fails, a response that closes. It gets SIGTERM, and SIGKILL after
   * `killGrace`; the tap closes when it is gone. Process groups of `spawn(…, { detached: true })` are
   * signaled as a whole; of other children, only descendants whose parents are still running are found.
   * @default false
   */
  readonly kill?: boolean | undefined
  /** With `kill`: milliseconds between SIGTERM and SIGKILL. @default 5000 */
  readonly killGrace?: number | undefined
  /** Aborting it destroys the tap and every source. */
  readonly signal?: AbortSignal | undefined
}

const TAP_OPTIONS = {
  order: { default: 'live', words: ['live', 'sequence', 'step'] },
  grace: { default: 2000, is: isDelay, must: DELAY },
  kill: OFF,
  killGrace: { default: 5000, is: isDelay, must: DELAY },
} as const satisfies OptionTable<TapOptions>

/** Logs have no clock: what was sent is read first, so that an answer is known when its request comes. */
const CHANNELS = ['stdin', 'stdout', 'stderr', 'pty'] as const
const STEP = 65_536

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
export function tap(from: ChildProcess | TapSources | PlainSource, options: TapOptions = {}): Items<Chunk> {
  const { order, grace, kill, killGrace, signal } = readOptions('tap', options, EXAMPLE, TAP_OPTIONS)
  const plain = plainStream(from)
  // Cast: what is not a plain stream is a child or a set of streams.
  const source = plain ? { stdout: plain } : (from as ChildProcess | TapSources)
  for (const channel of CHANNELS) {
    const stream: unknown = (source as TapSources)[channel]
    if (stream && !(isObject(stream) && 'on' in stream && 'destroy' in stream))
      throw misfit('tap', `a Node stream as ${channel}`, stream, EXAMPLE)
  }
  const child = isChild(source) ? source : undefined
  if (kill && !child)
    throw badOption('kill needs a child process; tap the child itself, or end its process yourself')
  const sources = new Map<Channel, Readable>()
  for (const channel of CHANNELS) {
    const own = !child || channel === 'stdout' || channel === 'stderr'
    const stream = own ? (source as TapSources)[channel] : undefined
    if (stream) sources.set(channel, stream)
  }
  // A child that could not be started may have no streams; its error follows.
  const silent = sources.size === (sources.has('stdin') ? 1 : 0)
  if (silent && !(child && child.pid === undefined))
    throw badOption('tap needs stdout, stderr or pty; spawn the child with stdio: "pipe"')

  const tapped = new Tap(sources, grace, kill ? () => endChild(child!, killGrace) : undefined)
  if (signal) addAbortSignal(shared(signal), tapped)
  tapped.watch(child ?? (source as TapSources).exit)
  if (order === 'live') tapped.listen()
  else tapped.pump(order === 'sequence' ? inSequence(sources) : inStep(sources))
  // Cast: Node types what a stream emits as `any`.
  return tapped as unknown as Items<Chunk>
}

const EXAMPLE = 'tap(spawn("codex", ["exec", "--json", task]), { kill: true })'

/** The chunks of the sources, and at last the exit. */
class Tap extends Readable {
  readonly #sources: ReadonlyMap<Channel, Readable>
  /** Ends the child, if it is ours to end. */
  readonly #endChild: (() => Promise<unknown>) | undefined
  /** Called when the reader has room again. */
  #wake = () => {}
  /** Removes our listeners from the sources, so that nothing is left if the reader stops early. */
  #forget = () => {}
  /** Flushes what live channels kept back: a PTY or an abandoned pipe emits no end. */
  readonly #flushes: (() => void)[] = []
  /** Channels whose end has not been seen. */
  readonly #open: Set<Channel>
  #closed = () => {}
  readonly #allClosed: Promise<void>
  /** Channels that were abandoned while another process held them. */
  #held: Channel[] | undefined
  #exit: Promise<Exit | undefined> = Promise.resolve(undefined)
  #exited = false
  /** True while the reader has room. A slow reader must not lose the last output of the process. */
  #listening = true
  #listeningSince = 0
  #graceLeft: number
  #timer: NodeJS.Timeout | undefined

  constructor(
    sources: ReadonlyMap<Channel, Readable>,
    grace: number,
    endChild: (() => Promise<unknown>) | undefined,
  ) {
    super({ objectMode: true, highWaterMark: 4 })
    this.#sources = sources
    this.#graceLeft = grace
    this.#endChild = endChild
    this.#open = new Set(sources.keys())
    this.#allClosed = new Promise((resolve) => {
      this.#closed = () => this.#open.size === 0 && resolve()
    })
  }

  override _read(): void {
    this.#wake()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer)
    this.#forget()
    for (const stream of this.#sources.values()) stream.destroy()
    this.#wake()
    const ended = () => done(error)
    if (this.#endChild) this.#endChild().then(ended, ended)
    else ended()
  }

  /** Waits for the ends of the sources and of the process, and announces the channels. */
  watch(exit: ChildProcess | Exit | Promise<Exit> | undefined): void {
    for (const [channel, stream] of this.#sources) {
      finished(stream, { writable: false }, (error) => {
        // A PTY ends with EIO when its last writer is gone.
        const usual = channel === 'pty' && error && 'code' in error && error.code === 'EIO'
        if (error && !this.destroyed && !this.#held && !usual) this.destroy(error)
        this.#open.delete(channel)
        this.#closed()
      })
    }
    this.#closed()
    const child = isObject(exit) && isChild(exit) ? exit : undefined
    // Cast: a child is the only other thing that it can be.
    this.#exit = child ? this.#exitOf(child) : Promise.resolve(exit as Exit | Promise<Exit> | undefined)
    // Only the exit of a process starts the clock: the exit of a log is known from the start.
    if (child || isPromise(exit)) {
      this.#exit.then(
        () => {
          this.#listeningSince = 0
          this.#exited = true
          // Nobody reads it any more, and its writer may never end it.
          this.#open.delete('stdin')
          this.#closed()
          this.#setListening(this.#listening)
        },
        (error: Error) => this.destroy(error),
      )
    }
    const channels = [...this.#sources.keys()]
    if (channels[0]) this.push({ channel: channels[0], bytes: new Uint8Array(), channels } satisfies Chunk)
  }

  /** Takes bytes as they arrive. */
  listen(): void {
    const listeners = [...this.#sources].map(([channel, stream]) => {
      const encode = encoder()
      const onData = (data: unknown) => {
        if (this.destroyed) return
        if (!isData(data)) {
          this.destroy(badData(channel))
          return
        }
        if (this.push({ channel, bytes: encode.bytes(data) } satisfies Chunk)) return
        this.#setListening(false)
        for (const other of this.#sources.values()) other.pause()
      }
      stream.on('data', onData)
      this.#flushes.push(() => {
        const bytes = encode.rest()
        if (bytes) this.push({ channel, bytes } satisfies Chunk)
      })
      return () => stream.off('data', onData)
    })
    this.#forget = () => {
      for (const off of listeners) off()
    }
    this.#wake = () => {
      if (!this.#listening) this.#setListening(true)
      for (const stream of this.#sources.values()) stream.resume()
    }
    this.#finish().catch((error) => this.destroy(error))
  }

  /** Takes chunks in their own order, one when there is room for it. */
  pump(chunks: AsyncIterable<Chunk>): void {
    const run = async () => {
      for await (const chunk of chunks) {
        if (this.destroyed) return
        this.#setListening(false)
        if (!this.push(chunk)) await new Promise<void>((resolve) => (this.#wake = resolve))
        if (this.destroyed) return
        this.#setListening(true)
      }
      await this.#finish()
    }
    run().catch((error) => this.destroy(error))
  }

  #exitOf(child: ChildProcess): Promise<Exit> {
    return new Promise((resolve) => {
      child.on('error', (error) => this.destroy(startFault(child, error)))
      if (child.exitCode !== null || child.signalCode !== null)
        resolve({ code: child.exitCode, signal: child.signalCode })
      else child.once('exit', (code, signal) => resolve({ code, signal }))
    })
  }

  /** After the exit, sources are read for `grace` in total; then only another process can hold them open. */
  #setListening(on: boolean): void {
    clearTimeout(this.#timer)
    const now = performance.now()
    if (this.#exited && this.#listening && this.#listeningSince > 0)
      this.#graceLeft -= now - this.#listeningSince
    this.#listening = on
    this.#listeningSince = now
    if (!this.#exited || !this.#listening || this.#open.size === 0 || this.destroyed) return
    this.#timer = setTimeout(
      () => {
        this.#held = [...this.#open]
        for (const stream of this.#sources.values()) stream.destroy()
      },
      Math.max(0, this.#graceLeft),
    )
    this.#timer.unref()
  }

  async #finish(): Promise<void> {
    await this.#allClosed
    clearTimeout(this.#timer)
    const ended = await this.#exit
    if (this.destroyed) return
    for (const flush of this.#flushes) flush()
    if (ended !== undefined || this.#held) this.push(exitChunk(ended ?? null, this.#held))
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
  const readers = [...sources].map(([channel, stream]) => ({
    channel,
    parts: bytesOf(stream),
    rest: new Uint8Array() as Uint8Array,
    done: false,
  }))
  while (readers.some((reader) => !reader.done)) {
    for (const reader of readers) {
      let wanted = reader.channel === 'stdin' ? Number.POSITIVE_INFINITY : STEP
      while (wanted > 0 && !reader.done) {
        if (reader.rest.length === 0) {
          const next = await reader.parts.next()
          if (next.done) reader.done = true
          else reader.rest = next.value
          continue
        }
        const bytes = reader.rest.subarray(0, wanted)
        reader.rest = reader.rest.subarray(bytes.length)
        wanted -= bytes.length
        yield { channel: reader.channel, bytes }
      }
    }
  }
}

function exitChunk(exit: Exit, held: readonly Channel[] | undefined): ExitChunk {
  const { code, signal, stopped } =
    typeof exit === 'object' && exit !== null ? exit : { code: exit, signal: null, stopped: undefined }
  return { channel: 'exit', code, signal, ...defined({ stopped, held }) }
}

async function* bytesOf(stream: Readable): AsyncGenerator<Uint8Array, void> {
  const encode = encoder()
  for await (const data of stream) {
    if (!isData(data)) throw badData('stream')
    yield encode.bytes(data)
  }
  const rest = encode.rest()
  if (rest) yield rest
}

function isData(data: unknown): data is Uint8Array | string {
  return typeof data === 'string' || data instanceof Uint8Array
}

/** A stream of objects, for instance of an SDK: we cannot know which field is the text. */
function badData(where: string): Fault {
  return new Fault(
    'BAD_CHUNK',
    `the ${where} emits something that is neither bytes nor text; map it to text first`,
  )
}

/** Node uses one event for a child that cannot be started, cannot be killed, or was aborted. */
function startFault(child: ChildProcess, error: Error & { syscall?: string }): Error {
  return error.syscall?.startsWith('spawn') ? cannotStart(child.spawnfile, undefined, error) : error
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
  if (!isObject(source))
    throw misfit('tap', 'a child process, a stream, a Response or a text', source, example)
  if ('spawnfile' in source) return undefined
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

/** Whether it is the handle of a child process. */
function isChild(source: object): source is ChildProcess {
  return 'spawnfile' in source
}
