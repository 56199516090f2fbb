import { once } from 'node:events'
import fs from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { createLog, recordHere } from './log-writer.ts'
import { bothPipes, READS_PIPES, type RealPipe, type Recorder, type Recorders, readPipe } from './recorder.ts'

/**
 * Records what a process writes and passes it on to our own stdout and stderr, at the speed of their reader.
 * The bytes are in the log before the reader gets them.
 */
export function teeRecorders(
  logs: Readonly<Record<'stdout' | 'stderr', string>>,
  wake: () => void,
): Pick<Recorders, 'pipes'> {
  return {
    pipes: () =>
      bothPipes(READS_PIPES, (channel, pipe) =>
        recordAndPass(logs[channel], pipe, wake, process[channel], channel === 'stdout'),
      ),
  }
}

function recordAndPass(
  path: string,
  pipe: RealPipe | undefined,
  wake: () => void,
  reader: Writable,
  closes: boolean,
): Recorder {
  const log = recordHere(path, createLog(path), wake)
  let source: Readable | undefined
  const take = (stream: Readable) => {
    source = stream
    log.attach(stream)
    const proceed = () => void stream.resume()
    // The reader left: the process finds its own pipe closed, as without us.
    const leave = () => void stream.destroy()
    stream.on('data', (bytes: Buffer) => {
      if (!reader.write(bytes)) stream.pause()
    })
    reader.on('drain', proceed).once('error', leave).on('error', ignore)
    stream.once('close', () => {
      reader.off('drain', proceed).off('error', leave)
      if (closes) reader.write('', () => closeOurs(1))
    })
  }
  return {
    ...log,
    ...readPipe(pipe, take),
    isBehind: () => source?.isPaused() ?? false,
    drop: () => void source?.destroy(),
    stop: () => (source ? void source.destroy() : log.stop()),
  }
}

function ignore(): void {}

/** The process has closed its end, and the other side must see that, though we are not done. */
function closeOurs(fd: 0 | 1): void {
  // Node itself leaves these two open.
  fs.closeSync(fd)
  // Takes the number that is free now: nothing else may get it.
  fs.openSync('/dev/null', 'r+')
}

/**
 * Passes what is written to our own stdin on to a process, at the speed at which it reads, until either side
 * closes. `send` writes each piece to the process, and the next one waits for it.
 */
export async function passStdin(to: Writable, send: (bytes: Buffer) => Promise<void>): Promise<void> {
  const from = process.stdin
  to.once('close', () => {
    from.destroy()
    closeOurs(0)
  })
  try {
    for await (const bytes of from) {
      await send(bytes)
      if (to.writableNeedDrain) await once(to, 'drain')
    }
  } catch {
    // A side that fails has closed its end.
  }
  to.end()
}
