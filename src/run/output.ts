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
import { chunkLine, type LoggedRead } from './chunk-log.ts'

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
export function recordedOutput(
  logs: Readonly<Record<Channel, string>>,
  chunks: string,
  waker: Waker,
  from: { readonly tee: boolean; readonly here: boolean; readonly hide: TextRedactor | undefined },
): Output {
  const { stdin } = logs
  // A recorder that was killed before its agent was started has left them.
  for (const left of [stdin, chunks]) fs.rmSync(left, { force: true })
  const reads = new LineFile(chunks)
  const note = (read: LoggedRead) => reads.append(chunkLine(read))
  const tails = new Map<OutputChannel, Tail>()
  /** Kept open: by then another file may have its name. */
  let input: number | undefined
  /** Bytes that were sent. */
  let sent = 0
  /** Bytes of the terminal that were read. */
  let shown = 0
  let closed = false
  return {
    recorders: {
      ...logRecorders(logs, waker.wake, from.here, from.hide),
      ...(from.tee && teeRecorders(logs, waker.wake)),
    },
    read(channel, now) {
      let tail = tails.get(channel)
      if (!tail) {
        // Most agents write nothing there, and many runs at once have few files to spare.
        if (channel === 'stderr' && !logSizes(logs).stderr) return undefined
        tail = new Tail(logs[channel])
        tails.set(channel, tail)
      }
      const piece = onDisk('read', tail.path, () => tail.read(), 'RECORD_FAILED')
      if (!piece) return undefined
      const { bytes, from } = piece
      const ms = now()
      note({ channel, from, length: bytes.length, ms })
      if (channel === 'pty') shown = from + bytes.length
      return { bytes, ms }
    },
    told: (channel, control, ms) => note({ channel, from: 0, length: 0, ms, control }),
    still: (ms) => note({ channel: 'pty', from: shown, length: 0, ms }),
    sent(bytes, ms, by) {
      const isFirst = input === undefined
      input ??= createLog(stdin)
      const fd = input
      const write = () => {
        for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at)
        // The task itself: the agent may read it from there.
        if (isFirst) fs.fsyncSync(fd)
      }
      onDisk('write', stdin, write, 'RECORD_FAILED')
      const range = { from: sent, length: bytes.length, ms }
      note({ channel: 'stdin', ...range, by })
      sent += bytes.length
      return () => {
        // A full disk is told with the next read.
        if (!closed) orElse(() => note({ channel: 'sent', ...range }), undefined)
      }
    },
    lastWrite: () => Math.max(...outputs.map((channel) => writtenAt(logs[channel]))),
    sizes: () => logSizes(logs),
    close() {
      closed = true
      for (const tail of tails.values()) tail.close()
      reads.close()
      if (input !== undefined) fs.closeSync(input)
      input = undefined
    },
  }
}

/** Output that nobody records: it is read from the pipes, and a slow reader holds the agent back. */
export function pipedOutput({ wake }: Waker): Output {
  const pipes = { stdout: heldPipe(wake), stderr: heldPipe(wake) }
  const sizes = { stdout: 0, stderr: 0 }
  return {
    recorders: {
      pipes: async () => [pipes.stdout, pipes.stderr],
      terminal() {
        throw new Error('a terminal is always recorded')
      },
    },
    read(channel, now) {
      const bytes = channel === 'pty' ? undefined : pipes[channel].read()
      if (channel === 'pty' || !bytes) return undefined
      sizes[channel] += bytes.length
      return { bytes, ms: now() }
    },
    still() {},
    sent: () => () => {},
    told() {},
    lastWrite: () => Math.max(pipes.stdout.lastWrite(), pipes.stderr.lastWrite()),
    sizes: () => sizes,
    close() {},
  }
}
