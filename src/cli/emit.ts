import { once } from 'node:events'
import { jsonLine } from '../sinks/jsonl.ts'
import { harmless } from './print.ts'

/**
 * Prints records as NDJSON at the pace of the reader. On a pipe the bytes are those of `events.jsonl`; on a
 * terminal characters that could steer it are escaped. False when nobody reads any more (`| head`).
 */
export async function emit(records: AsyncIterable<object>): Promise<boolean> {
  const { stdout } = process
  let gone = false
  const leave = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    gone = true
  }
  stdout.on('error', leave)
  for await (const record of records) {
    const line = jsonLine(record)
    if (!stdout.write(stdout.isTTY ? harmless(line) : line)) {
      await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => {})
    }
    if (gone) return false
  }
  return true
}
