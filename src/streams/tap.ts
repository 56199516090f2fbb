import type { ChildProcess } from 'node:child_process'
import { addAbortSignal, finished, Readable } from 'node:stream'
import { DELAY, isDelay, isObject, misfit, type OptionTable, readOptions } from '../base/check-options.ts'
import { Fault } from '../base/fault.ts'
import type { Channel, Chunk, ExitChunk } from '../text/chunk.ts'
import { encoder } from '../text/encode.ts'
import { endChild } from './end-process-tree.ts'
import type { Items } from './items.ts'
import { cannotStart } from './spawn-fault.ts'
import { isChild, type PlainSource, plainStream } from './tap-source.ts'

/**
 * How a process ended: its code, or code and signal; `stopped` says why it was stopped, if that was on
 * request.
 */
export type Exit =
  | number
  | null
  | { readonly code: number | null; readonly signal: string | null; readonly stopped?: string | undefined }

/** The streams of one run. `exit` becomes the last chunk. */
export interface TapSources {
  readonly stdout?: Readable | null | undefined
  readonly stderr?: Readable | null | undefined
  readonly pty?: Readable | null | undefined
  readonly exit?: Exit | Promise<Exit> | undefined
}

export interface TapOptions {
  /**
   * `live` takes bytes as they arrive. For logs: `sequence` reads stdout, then stderr, then the PTY; `step`
   * reads them in parallel, 64 KiB of each in turn, so that dedupe holds little. @default 'live'
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
  order: { default: 'live' },
  grace: { default: 2000, is: isDelay, must: DELAY },
  kill: { default: false },
  killGrace: { default: 5000, is: isDelay, must: DELAY },
} as const satisfies OptionTable<TapOptions>

const CHANNELS = ['stdout', 'stderr', 'pty'] as const
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
  const example = 'tap(spawn("codex", ["exec", "--json", task]), { kill: true })'
  const { order, grace, kill, killGrace, signal } = readOptions('tap', options, example, TAP_OPTIONS)
  const plain = plainStream(from)
  // Cast: what is not a plain stream is a child or a set of streams.
  const source = plain ? { stdout: plain } : (from as ChildProcess | TapSources)
  for (const channel of CHANNELS) {
    const stream: unknown = (source as TapSources)[channel]
    if (stream && !(isObject(stream) && 'on' in stream && 'destroy' in stream))
      throw misfit('tap', `a Node stream as ${channel}`, stream, example)
  }
  const child = isChild(source)
  if (kill && !child)
    throw new Fault(
      'BAD_OPTION',
      'kill needs a child process; tap the child itself, or end its process yourself',
    )
  const sources = new Map<Channel, Readable>()
  for (const channel of CHANNELS) {
    const stream = channel === 'pty' && child ? undefined : (source as TapSources)[channel]
    if (stream) sources.set(channel, stream)
  }
  // A child that could not be started may have no streams; its error follows.
  if (sources.size === 0 && !(child && source.pid === undefined))
    throw new Fault('BAD_OPTION', 'tap needs stdout, stderr or pty; spawn the child with stdio: "pipe"')

  let wake = () => {}
  /** Removes our listeners from the sources, so that nothing is left if the reader stops early. */
  let forget = () => {}
  const tapped = new Readable({
    objectMode: true,
    highWaterMark: 4,
    read: () => wake(),
    destroy(error, done) {
      clearTimeout(timer)
      forget()
      for (const stream of sources.values()) stream.destroy()
      wake()
      if (kill && child) {
        const ended = () => done(error)
        endChild(source, killGrace).then(ended, ended)
      } else done(error)
    },
  })
  let timer: NodeJS.Timeout | undefined
  if (signal) addAbortSignal(signal, tapped)

  const fail = (error: Error) => void tapped.destroy(error)
  const room = () => new Promise<void>((resolve) => (wake = resolve))
  const push = (chunk: Chunk) => tapped.push(chunk)

  /** Channels whose end has not been seen. */
  const open = new Set(sources.keys())
  for (const [channel, stream] of sources) {
    finished(stream, { writable: false }, (error) => {
      // A PTY ends with EIO when its last writer is gone.
      if (
        error &&
        !tapped.destroyed &&
        !held &&
        !(channel === 'pty' && 'code' in error && error.code === 'EIO')
      )
        fail(error)
      open.delete(channel)
      closed()
    })
  }

  /** Channels that were abandoned while another process held them. */
  let held: Channel[] | undefined
  let closed = () => {}
  const allClosed = new Promise<void>((resolve) => {
    closed = () => open.size === 0 && resolve()
  })
  closed()

  const exit: Promise<Exit | undefined> = child
    ? new Promise((resolve) => {
        source.on('error', (error) => fail(startFault(source, error)))
        if (source.exitCode !== null || source.signalCode !== null)
          resolve({ code: source.exitCode, signal: source.signalCode })
        else source.once('exit', (code, signal) => resolve({ code, signal }))
      })
    : Promise.resolve((source as TapSources).exit)
  let exited = false
  /** True while the reader has room. A slow reader must not lose the last output of the process. */
  let listening = true
  let graceLeft = grace
  let listeningSince = 0
  /** After the exit, sources are read for `grace` in total; then only another process can hold them open. */
  const listen = (on: boolean) => {
    clearTimeout(timer)
    if (exited && listening && listeningSince > 0) graceLeft -= performance.now() - listeningSince
    listening = on
    listeningSince = performance.now()
    if (!exited || !listening || open.size === 0 || tapped.destroyed) return
    timer = setTimeout(
      () => {
        held = [...open]
        for (const stream of sources.values()) stream.destroy()
      },
      Math.max(0, graceLeft),
    )
    timer.unref()
  }
  // Only the exit of a process starts the clock: the exit of a log is known from the start.
  const live = child || isPromise((source as TapSources).exit)
  if (live) {
    exit.then(
      () => {
        listeningSince = 0
        exited = true
        listen(listening)
      },
      (error: Error) => fail(error),
    )
  }

  const channels = [...sources.keys()]
  if (channels[0]) push({ channel: channels[0], bytes: new Uint8Array(), channels })

  /**
   * Flushes what live channels kept back: not all of them emit an end, for instance a PTY or an abandoned
   * pipe.
   */
  const flushes: (() => void)[] = []
  const finish = async () => {
    await allClosed
    clearTimeout(timer)
    const ended = await exit
    if (tapped.destroyed) return
    for (const say of flushes) say()
    if (ended !== undefined || held) push(exitChunk(ended ?? null, held))
    tapped.push(null)
  }

  if (order === 'live') {
    const ears = [...sources].map(([channel, stream]) => {
      const encode = encoder()
      const hear = (data: unknown) => {
        if (tapped.destroyed) return
        if (!isData(data)) return fail(badData(channel))
        if (push({ channel, bytes: encode.bytes(data) })) return
        listen(false)
        for (const other of sources.values()) other.pause()
      }
      stream.on('data', hear)
      flushes.push(() => {
        const bytes = encode.rest()
        if (bytes) push({ channel, bytes })
      })
      return () => stream.off('data', hear)
    })
    forget = () => {
      for (const off of ears) off()
    }
    wake = () => {
      if (!listening) listen(true)
      for (const stream of sources.values()) stream.resume()
    }
    finish().catch(fail)
  } else {
    const pump = order === 'sequence' ? inSequence(sources) : inStep(sources)
    const run = async () => {
      for await (const chunk of pump) {
        if (tapped.destroyed) return
        listen(false)
        if (!push(chunk)) await room()
        if (tapped.destroyed) return
        listen(true)
      }
      await finish()
    }
    run().catch(fail)
  }
  // Cast: Node types what a stream emits as `any`.
  return tapped as unknown as Items<Chunk>
}

async function* inSequence(sources: ReadonlyMap<Channel, Readable>): AsyncGenerator<Chunk> {
  for (const [channel, stream] of sources) {
    for await (const bytes of bytesOf(stream)) yield { channel, bytes }
  }
}

/**
 * Takes 64 KiB of each channel in turn, however the streams are chunked, so that the order is always the
 * same.
 */
async function* inStep(sources: ReadonlyMap<Channel, Readable>): AsyncGenerator<Chunk> {
  const readers = [...sources].map(([channel, stream]) => ({
    channel,
    parts: bytesOf(stream),
    rest: new Uint8Array() as Uint8Array,
    done: false,
  }))
  while (readers.some((reader) => !reader.done)) {
    for (const reader of readers) {
      let wanted = STEP
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
  return {
    channel: 'exit',
    code,
    signal,
    ...(stopped === undefined ? {} : { stopped }),
    ...(held ? { held } : {}),
  }
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

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}
