import fs from 'node:fs'
import type { Readable } from 'node:stream'
import { type Recorder, readPipe } from './recorder.ts'

/** Bytes of one stream of a process that nobody records: they wait in the pipe until they are read. */
export interface HeldPipe {
  readonly recorder: Recorder
  /** The next bytes, or undefined if there are none now. */
  read(): Buffer | undefined
  /** When the process wrote last, in milliseconds since 1970; now, if it may be waiting for its reader. */
  lastWrite(): number
}

/**
 * Holds the process back like any pipe: what is not read fills the buffers (64 KiB here, and the kernel's),
 * and then the process waits.
 */
export function heldPipe(wake: () => void): HeldPipe {
  const pipe = readPipe()
  let source: Readable | undefined
  let last = 0
  let done!: () => void
  const ended = new Promise<void>((resolve) => {
    done = resolve
  })
  const attach = (stream: Readable) => {
    source = stream
    const over = () => {
      done()
      wake()
    }
    stream
      .on('readable', () => {
        last = Date.now()
        wake()
      })
      .once('close', over)
      .once('error', over)
  }
  if (pipe) attach(pipe.source)
  return {
    recorder: {
      pid: undefined,
      stdio: pipe?.writer ?? 'pipe',
      ended,
      isBehind: () => (source?.readableLength ?? 0) > 0,
      attach: (stream) => attach(stream as Readable), // cast: the stdout of a child process is one
      release: () => void (pipe && fs.closeSync(pipe.writer)),
      stop: () => (source ? void source.destroy() : done()),
    },
    read: () => (source?.read() as Buffer | null | undefined) ?? undefined, // cast: it has no encoding
    lastWrite: () => ((source?.readableLength ?? 0) > 0 ? Date.now() : last),
  }
}
