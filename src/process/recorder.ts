import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex, Readable, Stream } from 'node:stream'
import type { Pipe } from './supervise.ts'

/** Takes the bytes of one stream of a process: into its log file, or for its only reader. */
export interface Recorder extends Pipe {
  /** The pid of the recording process, if it is not this one. */
  readonly pid: number | undefined
  /** The stdout or stderr of the process: the recorder's other end, or a pipe to us. */
  readonly stdio: number | Stream | 'pipe'
  /** For `'pipe'`: takes the stream when the process is started. */
  attach(source: NodeJS.ReadableStream): void
  /** Closes our copy of the recorder's end once the process has its own: else it never ends. */
  release(): void
  /** The reader has left: what it would have read is dropped, and holds the process back no longer. */
  drop(): void
}

/** What a terminal shows is written by us. */
export type ScreenRecorder = Recorder & { write(bytes: Uint8Array): void }

/** Makes the recorders of a process. */
export interface Recorders {
  /** Of stdout and stderr. With `mirror`, the descriptor of a terminal, the bytes are shown there, too. */
  pipes(mirror?: number): Promise<readonly [Recorder, Recorder]>
  terminal(): ScreenRecorder
}

export interface RealPipe {
  readonly reader: number
  readonly writer: number
}

/**
 * Makes a recorder of each channel, and gives it its `real` pipe if there are such. If one cannot be made,
 * nothing is left of the other.
 */
export async function bothPipes(
  real: boolean,
  make: (channel: 'stdout' | 'stderr', pipe: RealPipe | undefined) => Recorder,
): Promise<readonly [Recorder, Recorder]> {
  const pipes = real ? await realPipes() : []
  const made: Recorder[] = []
  // One that throws has not taken its pipe.
  const one = (channel: 'stdout' | 'stderr') => {
    made.push(make(channel, pipes[0]))
    pipes.shift()
    return made.at(-1)!
  }
  try {
    return [one('stdout'), one('stderr')]
  } catch (error) {
    await abandon(made)
    throw error
  } finally {
    pipes.forEach(closePipe)
  }
}

/** Nothing will be recorded: releases what the recorders hold. */
export async function abandon(recorders: readonly Recorder[]): Promise<void> {
  for (const recorder of recorders) {
    recorder.release()
    recorder.stop()
  }
  await Promise.allSettled(recorders.map((recorder) => recorder.ended))
}

/**
 * Node's own pipes are sockets, and a script with `> /dev/stderr` cannot open a socket. A named pipe
 * that is opened at both ends and then unlinked is a real one. Two, or none.
 */
async function realPipes(): Promise<RealPipe[]> {
  const names = [0, 1].map(() => join(tmpdir(), `sluice-${randomUUID()}`))
  const pipes: RealPipe[] = []
  try {
    const made = spawn('mkfifo', ['-m', '600', ...names], { stdio: 'ignore' })
    const [code] = await once(made, 'close')
    if (code === 0) for (const name of names) pipes.push(openPipe(name))
    return pipes
  } catch {
    pipes.forEach(closePipe)
    return []
  } finally {
    for (const name of names) fs.rmSync(name, { force: true })
  }
}

function openPipe(name: string): RealPipe {
  // Without O_NONBLOCK this would wait for a writer; spawn makes it blocking again for `cat`.
  const reader = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  try {
    return { reader, writer: fs.openSync(name, fs.constants.O_WRONLY) }
  } catch (error) {
    fs.closeSync(reader)
    throw error
  }
}

function closePipe({ reader, writer }: RealPipe): void {
  fs.closeSync(reader)
  fs.closeSync(writer)
}

/** Bun and Deno cannot read a real one as a socket; their own pipes do. */
export const READS_PIPES = !('bun' in process.versions || 'deno' in process.versions)

/** One that this process reads: `take` gets what comes out of it. */
export function readPipe(
  pipe: RealPipe | undefined,
  take: (source: Readable) => void,
): Pick<Recorder, 'stdio' | 'attach' | 'release'> {
  // Cast: the stdout of a child process is one.
  if (!pipe) return { stdio: 'pipe', attach: (stream) => take(stream as Readable), release() {} }
  take(new Socket({ fd: pipe.reader, readable: true, writable: false }))
  return { stdio: pipe.writer, attach() {}, release: () => fs.closeSync(pipe.writer) }
}

/**
 * One stream of a process that nobody records. It holds the process back like any pipe: what is not read
 * fills the buffers (64 KiB here, and the kernel's), and then the process waits.
 */
export function heldPipe(wake: () => void) {
  let source: Readable | undefined
  let last = 0
  let isDropped = false
  let done!: () => void
  const ended = new Promise<void>((resolve) => {
    done = resolve
  })
  const drain = () => {
    while (isDropped && source?.read() != null);
  }
  const isBehind = () => source !== undefined && waitingIn(source) > 0
  const recorder: Recorder = {
    pid: undefined,
    // Node's own pipes: a run that is not recorded starts no other process, not even `mkfifo`.
    stdio: 'pipe',
    attach(stream) {
      source = stream as Readable // cast: the stdout of a child process is one
      source.on('readable', () => {
        last = Date.now()
        drain()
        wake()
      })
      whenOver(source, () => {
        done()
        wake()
      })
    },
    release() {},
    ended,
    isBehind,
    drop() {
      isDropped = true
      drain()
    },
    stop() {
      source?.destroy()
      done()
    },
  }
  return {
    ...recorder,
    /** The next bytes, or undefined if there are none now. */
    read: () => asBytes(source?.read()),
    /** When the process wrote last, in milliseconds since 1970; now, if it may be waiting for its reader. */
    lastWrite: () => (isBehind() ? Date.now() : last),
  }
}

/** Calls back when a stream is over: a stand-in may end without closing, or has before it got here. */
export function whenOver(stream: Readable, over: () => void): void {
  for (const event of ['close', 'end', 'error']) stream.once(event, over)
  if (stream.destroyed || stream.readableEnded) over()
}

/** What a stream of a process gave; that of a stand-in may give text. */
export function asBytes(data: Uint8Array | string | null | undefined): Buffer | undefined {
  if (data === null || data === undefined) return undefined
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}

/** Bytes in a stream that its reader has not taken. A stand-in for a pipe may hold some on both sides. */
export function waitingIn(stream: Readable): number {
  const { writableLength = 0 } = stream as Partial<Duplex>
  return stream.readableLength + writableLength
}
