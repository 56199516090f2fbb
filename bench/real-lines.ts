import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { AgentEvent as Event } from '../src/index.ts'
import { random } from './make.ts'
import type { Visit } from './measure.ts'

/** Records that real agents wrote; ORIGIN.md there says which. */
export const LINES = 'fixtures/lines'

const LF = Buffer.from('\n')

/** The packed runs of every engine, each run as its lines. In a file a blank line separates runs. */
export function realRuns(): Map<string, Buffer[][]> {
  const names = readdirSync(LINES).filter((name) => name.endsWith('.jsonl.gz'))
  return new Map(
    names.sort().map((name) => {
      const bytes = gunzipSync(readFileSync(join(LINES, name)))
      return [name.slice(0, -'.jsonl.gz'.length), runsOf(bytes)]
    }),
  )
}

function runsOf(bytes: Buffer): Buffer[][] {
  const runs: Buffer[][] = [[]]
  for (let from = 0; from < bytes.length; ) {
    const to = bytes.indexOf(LF, from)
    if (to === from) runs.push([])
    else runs.at(-1)!.push(bytes.subarray(from, to))
    from = to + 1
  }
  return runs
}

/**
 * The lines of one engine, about so many bytes: its runs in shuffled order, each in its own order inside,
 * again and again. Every run occurs equally often, so the statistics are those of the packed lines.
 */
export function engineLines(engine: string, bytes: number): Buffer[] {
  return grown(realRuns().get(engine)!, bytes).flat()
}

/** The lines of all engines, shuffled one by one, about so many bytes. */
export function mixedLines(bytes: number): Buffer[] {
  return grown([...realRuns().values()].flat(2), bytes)
}

/**
 * The runs of all engines in shuffled order, each whole, about so many bytes: a log that many agents wrote to
 * in turn.
 */
export function mixedRuns(bytes: number): Buffer[] {
  return grown([...realRuns().values()].flat(1), bytes).flat()
}

/** Lines as one log, each with its LF. */
export function logOf(lines: readonly Buffer[]): Buffer {
  return Buffer.concat(lines.flatMap((line) => [line, LF]))
}

/** What reading the lines must find. */
export function* recordsOf(lines: readonly Buffer[]): Generator<unknown> {
  for (const line of lines) yield JSON.parse(line.toString())
}

/** Where each line ends in the log, with its LF. */
export function* endsOf(lines: readonly Buffer[]): Generator<number> {
  let end = 0
  for (const { length } of lines) {
    end += length + 1
    yield end
  }
}

/**
 * Shows how far events have come in the log: whatever the engine, they must lead from line to line through
 * all bytes.
 */
export function endsReached(): (event: Event, visit: Visit) => void {
  let end = 0
  return ({ raw_ref }, visit) => {
    if (!raw_ref || raw_ref.byte_to <= end) return
    end = raw_ref.byte_to
    visit(end)
  }
}

/** All items, as often as brings them nearest to so many bytes, each time in another order. */
function grown<T extends Buffer | Buffer[]>(items: readonly T[], bytes: number): T[] {
  const next = random(9)
  const once = logOf(items.flat() as Buffer[]).length
  const passes = Array.from({ length: Math.max(1, Math.round(bytes / once)) }, () => shuffled(items, next))
  return passes.flat() as T[]
}

function shuffled<T>(items: readonly T[], next: () => number): T[] {
  const order = [...items]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1))
    ;[order[last], order[other]] = [order[other]!, order[last]!]
  }
  return order
}
