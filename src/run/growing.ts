import fs from 'node:fs'
import { Tail } from '../disk/tail.ts'
import type { Channel } from '../text/chunk.ts'
import { type Attempt, channels, openLog } from './audit.ts'
import { parseChunkLine, type Read } from './chunk-log.ts'
import { readBlock } from './read-attempt.ts'

/** Bytes of one channel, and when they were read, if that was recorded. */
interface Portion {
  readonly channel: Channel
  readonly bytes: Buffer
  readonly ms?: number
}

/** Reads the logs of one attempt while they grow. */
export interface Growing {
  /**
   * The next bytes, undefined if there are none now. With `over`, no more reads will be recorded:
   * then the bytes that no record covers are returned too.
   */
  read(over: boolean): Portion | 'restarted' | undefined
  close(): void
}

/**
 * The bytes of an attempt in the order of its chunk log, or as they arrive if there is none. `find` looks at
 * the directory again: the files of an attempt are created one after the other, so any of them may appear
 * late.
 */
export function growing(find: () => Attempt): Growing {
  const logs = tailLogs(find)
  let chosen: Growing | undefined
  return {
    read(over) {
      if (!chosen) {
        const { chunks, within } = find()
        if (chunks !== undefined) chosen = tailChunks(find, chunks, within)
      }
      if (chosen) return chosen.read(over)
      const portion = logs.read(over)
      // A chunk log that appears after the first byte would repeat what was returned already.
      if (portion) chosen = logs
      return portion
    },
    close() {
      chosen?.close()
      logs.close()
    },
  }
}

/** The logs as they grow, for directories without a chunk log. */
function tailLogs(find: () => Attempt): Growing {
  const tails = new Map<Channel, Tail>()
  const next = (): Portion | 'restarted' | undefined => {
    for (const channel of channels) {
      const piece = tails.get(channel)?.read()
      if (piece?.restarted) return 'restarted'
      if (piece) return { channel, bytes: piece.bytes }
    }
    return undefined
  }
  return {
    read() {
      const portion = next()
      if (portion) return portion
      const { logs, within } = find()
      for (const channel of channels) {
        const path = logs[channel]
        if (path !== undefined && !tails.has(channel)) tails.set(channel, new Tail(path, within))
      }
      return next()
    },
    close() {
      for (const tail of tails.values()) tail.close()
    },
  }
}

const BLOCK = 64 * 1024
/** A line of a chunk log is a few dozen bytes; a longer one is invalid. */
const MAX_LINE = 1024

/** The chunks as they were recorded: their bytes are in the logs before their line is written. */
function tailChunks(find: () => Attempt, path: string, within: string | undefined): Growing {
  const tail = new Tail(path, within)
  const logs = new Map<Channel, { readonly fd: number; done: number }>()
  /** The start of a line whose end has not arrived. */
  let rest = ''
  let lines: string[] = []
  /** A read of which a part was returned. */
  let open: Read | undefined
  /** As in a replay, the chunk log counts up to the first line that cannot be true. */
  let believed = true
  let ms = 0
  /** The next channel among those that have uncovered bytes. */
  let turn = 0

  const logOf = (channel: Channel) => {
    const known = logs.get(channel)
    if (known) return known
    const path = find().logs[channel]
    if (path === undefined) return undefined
    const log = { fd: openLog(path, within), done: 0 }
    logs.set(channel, log)
    return log
  }

  /** At most a block of the log from the current position; undefined if there is none. */
  const take = (channel: Channel, length: number): Buffer | undefined => {
    const log = logOf(channel)
    const bytes = log && readBlock(log.fd, log.done, Math.min(length, BLOCK))
    if (!bytes?.length) return undefined
    log!.done += bytes.length
    return bytes
  }

  const distrust = (): undefined => {
    believed = false
  }

  /** The next bytes that the chunk log covers. */
  const noted = (): Portion | 'restarted' | undefined => {
    for (;;) {
      while (!open && lines.length === 0) {
        const piece = tail.read()
        if (!piece) return undefined
        if (piece.restarted) return 'restarted'
        lines = (rest + piece.bytes.toString('latin1')).split('\n')
        rest = lines.pop() ?? ''
        if (rest.length > MAX_LINE) return distrust()
      }
      const read: Read | undefined = open ?? parseChunkLine(lines.shift()!)
      open = undefined
      if (!read || logOf(read.channel)?.done !== read.from) return distrust()
      ms = read.ms
      if (read.length === 0) continue
      const { channel } = read
      const bytes = take(channel, read.length)
      if (!bytes) return distrust()
      const left = read.length - bytes.length
      if (left > 0) open = { ...read, from: read.from + bytes.length, length: left }
      return { channel, bytes, ms }
    }
  }

  /** The next bytes that the chunk log does not cover: a block from each log in turn. */
  const uncovered = (): Pick<Portion, 'channel' | 'bytes'> | undefined => {
    for (let tried = 0; tried < channels.length; tried++) {
      const channel = channels[turn]!
      turn = (turn + 1) % channels.length
      const bytes = take(channel, BLOCK)
      if (bytes) return { channel, bytes }
    }
    return undefined
  }

  return {
    read(over) {
      if (believed) {
        const portion = noted()
        if (portion) return portion
      } else if (tail.read()?.restarted) return 'restarted'
      if (believed && !over) return undefined
      const portion = uncovered()
      return portion && (over ? { ...portion, ms } : portion)
    },
    close() {
      tail.close()
      for (const { fd } of logs.values()) fs.closeSync(fd)
    },
  }
}
