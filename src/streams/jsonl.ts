import type { Stage } from '../base/stage.ts'
import { type Flow, flow } from './flow.ts'

/**
 * Records to bytes: one JSON text per line, each terminated by LF. JSON escapes every control character
 * inside strings, so a record never spans two lines.
 *
 * @example
 * await pipeline(child.stdout, events(codex), jsonl(), process.stdout)
 */
export function jsonl(): Flow<Buffer> {
  return flow(jsonlStage)
}

const jsonlStage: Stage<unknown, Buffer> = (next) => ({
  write: (record) => next.write(Buffer.from(jsonLine(record))),
  end: () => next.end(),
})

/** The line of one record, its LF included. */
export function jsonLine(record: unknown): string {
  const known = lines?.get(record as object) // cast: it knows only objects
  if (known !== undefined) return known
  const line = `${JSON.stringify(record)}\n`
  if (typeof record === 'object' && record !== null) lines?.set(record, line)
  return line
}

let lines: WeakMap<object, string> | undefined

/**
 * From now on each record is stringified once, and its line is held as long as the record: for a command that
 * stores its events, prints them, and keeps none.
 */
export function rememberLines(): void {
  lines ??= new WeakMap()
}
