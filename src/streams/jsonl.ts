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
  return `${JSON.stringify(record)}\n`
}
