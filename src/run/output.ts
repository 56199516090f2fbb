import fs from 'node:fs'
import { orElse } from '../base/fault.ts'
import { onDisk } from '../base/system-error-code.ts'
import { LineFile } from '../disk/line-file.ts'
import { writtenAt } from '../disk/plain-file.ts'
import { Tail } from '../disk/tail.ts'
import type { Waker } from '../disk/wake.ts'
import { createLog, logRecorders } from '../process/log-writer.ts'
import { heldPipe, type Recorders } from '../process/recorder.ts'
import { teeRecorders } from '../process/tee.ts'
import type { Channel, OutputChannel, SentBy, ToldOrder } from '../text/chunk.ts'
import type { TextRedactor } from '../views/redact/redact.ts'
import { logSizes, outputs } from './attempt-logs.ts'
import { chunkLine } from './chunk-log.ts'

/** What a process writes, between the process and the reader of its events. */
export interface Output {
  readonly recorders: Recorders
  /** The next bytes of a channel, if there are any now; `now` tells their milliseconds since the start. */
  read(channel: OutputChannel, now: () => number): { readonly bytes: Buffer; readonly ms: number } | undefined
  /** All was read, and nothing came for a while. */
  still(ms: number): void
  /** Takes bytes that are about to be sent to the process; call the result when they are. */
  sent(bytes: Buffer, ms: number, by?: SentBy): () => void
  /** An order is about to be done (`taken`), or what became of it. */
  told(channel: 'taken' | 'control', control: ToldOrder, ms: number): void
  /** When the process wrote last, in milliseconds since 1970. */
  lastWrite(): number
  /** Bytes per channel, of those that can still be read. */
  sizes(): Partial<Record<OutputChannel, number>>
  close(): void
}

/**
 * Output that is recorded: the bytes go into the logs first and are read from there, and each read is
 * recorded in `chunks.N.jsonl` before it is passed on. The disk is the queue, so a slow reader slows neither
 * the agent nor its recording.
 */
export class RecordedOutput implements Output {
  readonly recorders: Recorders
  readonly #logs: Readonly<Record<Channel, string>>
  readonly #tails = new Map<OutputChannel, Tail>()
  readonly #reads: LineFile
  #stdin: number | undefined
  #sent = 0
  /** Bytes of the terminal that were read. */
  #shown = 0
  #closed = false

  constructor(
    logs: Readonly<Record<Channel, string>>,
    chunks: string,
    waker: Waker,
    {
      tee,
      here,
      hide,
    }: { readonly tee: boolean; readonly here: boolean; readonly hide: TextRedactor | undefined },
  ) {
    this.#logs = logs
    // A recorder that was killed before its agent was started has left them.
    for (const left of [logs.stdin, chunks]) fs.rmSync(left, { force: true })
    this.#reads = new LineFile(chunks)
    this.recorders = {
      ...logRecorders(logs, waker.wake, here, hide),
      ...(tee && teeRecorders(logs, waker.wake)),
    }
  }

  read(channel: OutputChannel, now: () => number) {
    let tail = this.#tails.get(channel)
    if (!tail) {
      // Most agents write nothing there, and many runs at once have few files to spare.
      if (channel === 'stderr' && !this.sizes().stderr) return undefined
      tail = new Tail(this.#logs[channel])
      this.#tails.set(channel, tail)
    }
    const piece = onDisk('read', tail.path, () => tail.read(), 'RECORD_FAILED')
    if (!piece) return undefined
    const { bytes, from } = piece
    const ms = now()
    this.#reads.append(chunkLine({ channel, from, length: bytes.length, ms }))
    if (channel === 'pty') this.#shown = from + bytes.length
    return { bytes, ms }
  }

  told(channel: 'taken' | 'control', control: ToldOrder, ms: number): void {
    this.#reads.append(chunkLine({ channel, from: 0, length: 0, ms, control }))
  }

  still(ms: number): void {
    this.#reads.append(chunkLine({ channel: 'pty', from: this.#shown, length: 0, ms }))
  }

  sent(bytes: Buffer, ms: number, by?: SentBy): () => void {
    const path = this.#logs.stdin
    const isFirst = this.#stdin === undefined
    // Kept open: by then another file may have its name.
    this.#stdin ??= createLog(path)
    const written = this.#stdin
    const write = () => {
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(written, bytes, at)
      // The task itself: the agent may read it from there.
      if (isFirst) fs.fsyncSync(written)
    }
    onDisk('write', path, write, 'RECORD_FAILED')
    const range = { from: this.#sent, length: bytes.length, ms }
    this.#reads.append(chunkLine({ channel: 'stdin', ...range, by }))
    this.#sent += bytes.length
    return () => {
      // A full disk is told with the next read.
      if (!this.#closed) orElse(() => this.#reads.append(chunkLine({ channel: 'sent', ...range })), undefined)
    }
  }

  lastWrite(): number {
    return Math.max(...outputs.map((channel) => writtenAt(this.#logs[channel])))
  }

  sizes(): Partial<Record<OutputChannel, number>> {
    return logSizes(this.#logs)
  }

  close(): void {
    this.#closed = true
    for (const tail of this.#tails.values()) tail.close()
    this.#reads.close()
    if (this.#stdin !== undefined) fs.closeSync(this.#stdin)
    this.#stdin = undefined
  }
}

/** Output that nobody records: it is read from the pipes, and a slow reader holds the agent back. */
export class PipedOutput implements Output {
  readonly recorders: Recorders
  readonly #pipes: Readonly<Record<'stdout' | 'stderr', ReturnType<typeof heldPipe>>>
  readonly #sizes = { stdout: 0, stderr: 0 }

  constructor(waker: Waker) {
    this.#pipes = { stdout: heldPipe(waker.wake), stderr: heldPipe(waker.wake) }
    this.recorders = {
      pipes: async () => [this.#pipes.stdout.recorder, this.#pipes.stderr.recorder],
      terminal() {
        throw new Error('a terminal is always recorded')
      },
    }
  }

  read(channel: OutputChannel, now: () => number) {
    const bytes = channel === 'pty' ? undefined : this.#pipes[channel].read()
    if (channel === 'pty' || !bytes) return undefined
    this.#sizes[channel] += bytes.length
    return { bytes, ms: now() }
  }

  still(): void {}

  sent(): () => void {
    return () => {}
  }

  told(): void {}

  lastWrite(): number {
    return Math.max(this.#pipes.stdout.lastWrite(), this.#pipes.stderr.lastWrite())
  }

  sizes(): Partial<Record<OutputChannel, number>> {
    return this.#sizes
  }

  close(): void {}
}
