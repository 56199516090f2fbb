import { PassThrough, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { vi } from 'vitest'
import { sluice } from '../../src/cli/sluice.ts'

/** A stream like that of a terminal, or of a pipe. */
export function standIn({ tty = false, columns = 80, colors = false } = {}) {
  return Object.assign(
    new PassThrough(),
    tty ? { isTTY: true, columns, rows: 24, hasColors: () => colors } : {},
  )
}

/** What the command gets: its stdin (empty if there is none), and whether its outputs are terminals. */
export interface Surroundings {
  readonly stdin?: string | Buffer | Readable
  readonly stdout?: PassThrough
  readonly stderr?: PassThrough
}

/**
 * Runs the command in this process, with streams of its own, as a shell would run it. Where signals, pipes or
 * exits of a real process matter, the tests start one.
 */
export async function inside(args: readonly string[], surroundings: Surroundings = {}) {
  const { stdin, stdout = standIn(), stderr = standIn() } = surroundings
  const input =
    stdin === undefined
      ? Object.assign(Readable.from([]), { isTTY: true })
      : stdin instanceof Readable
        ? stdin
        : Readable.from([Buffer.from(stdin)])
  const spies = [
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(input as typeof process.stdin),
    vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as unknown as typeof process.stdout),
    vi.spyOn(process, 'stderr', 'get').mockReturnValue(stderr as unknown as typeof process.stderr),
    vi.spyOn(console, 'error').mockImplementation((line) => void stderr.write(`${line}\n`)),
  ]
  const [out, err] = [said(stdout), said(stderr)]
  let code: number
  try {
    code = await sluice(['node', 'sluice', ...args])
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return { code, out: await out(), err: await err() }
}

/** Gathers what is written, until it is asked for. */
function said(stream: PassThrough): () => Promise<string> {
  const pieces: Buffer[] = []
  stream.on('data', (bytes: Buffer) => pieces.push(bytes))
  return async () => {
    // What was written last is read in the next turn.
    await setImmediate()
    return Buffer.concat(pieces).toString()
  }
}
