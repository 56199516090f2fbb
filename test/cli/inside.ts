import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { vi } from 'vitest'
import { sluice } from '../../src/cli/sluice.ts'

/** A stream like that of a terminal, or of a pipe. */
export function standIn({ tty = false, columns = 80, colors = false } = {}) {
  return Object.assign(
    new PassThrough(),
    tty ? { isTTY: true, columns, rows: 24, hasColors: () => colors } : {},
  )
}

/** What the command gets: its stdin (without it, nobody types), and whether its outputs are terminals. */
export interface Surroundings {
  readonly stdin?: string | Buffer | Readable
  readonly stdout?: PassThrough
  readonly stderr?: PassThrough
}

/**
 * Runs the command in this process, with streams of its own, as a shell would run it. Where signals, pipes or exits
 * of a real process matter, the tests start one.
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
  const texts = Promise.all([text(stdout), text(stderr)])
  let code: number
  try {
    code = await sluice(['node', 'sluice', ...args])
  } finally {
    stdout.end()
    stderr.end()
    for (const spy of spies) spy.mockRestore()
  }
  const [out, err] = await texts
  return { code, out, err }
}
