import fs from 'node:fs'
import { jsonLine } from '../streams/jsonl.ts'
import type { Channel } from '../text/chunk.ts'
import { channels, openLog } from './audit.ts'
import { isSpan } from './meta.ts'

/** One read of one stream: which bytes, and when, in milliseconds since the start of the attempt. */
export interface Read {
  readonly channel: Channel
  readonly from: number
  readonly length: number
  readonly ms: number
}

/** A line of `chunks.N.jsonl`: `["stdout",0,77,659.8]`. */
export function chunkLine(read: Read): string {
  return jsonLine([read.channel, read.from, read.length, read.ms])
}

/** Reads one line, ours or `{"t_ms":…,"stream":…,"off":…,"len":…}`; undefined for anything else. */
export function parseChunkLine(line: string): Read | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  // Cast: every field is checked below.
  const named = value as Record<string, unknown>
  const [stream, from, length, ms] = Array.isArray(value)
    ? value
    : [named['stream'] ?? 'pty', named['off'], named['len'], named['t_ms']]
  const channel = channels.find((name) => name === stream)
  if (!channel || !isCount(from) || !isCount(length) || !isSpan(ms)) return undefined
  return { channel, from, length, ms }
}

/** The reads of a complete chunk log, line by line; a torn last line is left out. */
export function* readChunkLog(path: string | undefined, within?: string): Generator<Read> {
  if (path === undefined) return
  const fd = openLog(path, within)
  try {
    const block = Buffer.allocUnsafe(64 * 1024)
    let rest = ''
    for (let at = 0; ; ) {
      const length = fs.readSync(fd, block, 0, block.length, at)
      if (length === 0) return
      at += length
      // These lines contain only ASCII, so a block may end anywhere. A line is a few dozen bytes.
      const lines = (rest + block.toString('latin1', 0, length)).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > 1024) return
      for (const line of lines) {
        const read = parseChunkLine(line)
        if (!read) return
        yield read
      }
    }
  } finally {
    fs.closeSync(fd)
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
