import fs from 'node:fs'
import { isWhole } from '../base/check-options.ts'
import { readBlock } from '../disk/plain-file.ts'
import type { Tail } from '../disk/tail.ts'
import { Rec } from '../events/record.ts'
import { jsonValue } from '../json/strict.ts'
import { jsonLine } from '../streams/jsonl.ts'
import type { BytesChunk, Channel, SentBy, ToldOrder } from '../text/chunk.ts'
import { Turns } from '../text/log-turns.ts'
import { type Attempt, channels, openLog, outputs } from './attempt-logs.ts'
import { isSpan } from './meta.ts'

/** One read of one stream: which bytes, and when, in milliseconds since the start of the attempt. */
export interface LoggedRead {
  /**
   * `sent`: these bytes of stdin have reached the process. `taken`: an order is about to be done; `control`:
   * what became of it.
   */
  readonly channel: Channel | 'sent' | 'taken' | 'control'
  readonly from: number
  readonly length: number
  readonly ms: number
  /** Of stdin: who answered in place of the user. */
  readonly by?: SentBy | undefined
  /** Of an order: what became of it; `unknown` as long as it is only taken. */
  readonly control?: ToldOrder | undefined
}

/**
 * A line of `chunks.N.jsonl`: `["stdout",0,77,659.8]`, `["stdin",0,77,659.8,"limit"]`, and of an order
 * `["control",0,0,812.1,{"id":"01J","do":"stop","by":"page","result":"done"}]`.
 */
export function chunkLine(read: LoggedRead): string {
  const { channel, from, length, ms, by, control } = read
  const more = control ?? by
  return asciiOf(jsonLine([channel, from, length, ms, ...(more ? [more] : [])]))
}

/** Readers take these lines in pieces of bytes. */
function asciiOf(line: string): string {
  return line.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Reads one line, ours or `{"t_ms":…,"stream":…,"off":…,"len":…}`; undefined for anything else. */
export function parseChunkLine(line: string): LoggedRead | undefined {
  const value = jsonValue(line)
  if (typeof value !== 'object' || value === null) return undefined
  // Cast: every field is checked below.
  const named = value as Record<string, unknown>
  const [stream, from, length, ms, more] = Array.isArray(value)
    ? value
    : [named['stream'] ?? 'pty', named['off'], named['len'], named['t_ms']]
  const channel = [...channels, ...MARKS].find((name) => name === stream)
  if (!channel || !isWhole(from) || !isWhole(length) || !isSpan(ms)) return undefined
  if (channel !== 'taken' && channel !== 'control')
    return { channel, from, length, ms, ...((more === 'limit' || more === 'control') && { by: more }) }
  const control = controlIn(more)
  return control && { channel, from, length: 0, ms, control }
}

const MARKS = ['sent', 'taken', 'control'] as const
const RESULTS = ['done', 'refused', 'unknown'] as const

function controlIn(value: unknown): ToldOrder | undefined {
  const told = Rec.of(value)
  const [id, does, by, why] = ['id', 'do', 'by', 'why'].map((name) => told?.text(name))
  const result = RESULTS.find((name) => name === told?.text('result'))
  if (id === undefined || does === undefined || by === undefined || !result) return undefined
  return { id, do: does, by, result, ...(why !== undefined && { why }) }
}

/** Bytes of one channel. */
export interface Portion {
  readonly channel: Channel
  readonly from: number
  readonly bytes: Buffer
  /** When they were read, if that is known. */
  readonly ms?: number
  readonly by?: SentBy | undefined
  /** What became of an order; then there are no bytes. */
  readonly control?: ToldOrder | undefined
  /** A line of the chunk log covers them. */
  readonly covered: boolean
  /** No bytes, as in a chunk. */
  readonly still?: true
  /** No bytes: only these channels have more. */
  readonly channels?: readonly Channel[]
}

/** The chunk of a portion. */
export function chunkOf({ channel, bytes, by, still, channels, control }: Portion): BytesChunk {
  return { channel, bytes, by, still, channels, control }
}

/** Reads the bytes of one attempt, which may still be growing. */
export interface AttemptBytes {
  /**
   * The next bytes, undefined if there are none now. With `over`, no more reads will be recorded:
   * then the bytes that no record covers are returned too.
   */
  next(over: boolean): Portion | 'restarted' | undefined
  /** Bytes that were to be sent, and of which no line says that they were. */
  unsent(): number
  /** Orders that were taken, and of which no line says what became of them. */
  untold(): readonly ToldOrder[]
  close(): void
}

const BLOCK = 64 * 1024
const NOTHING = Buffer.alloc(0)
/** A line of a chunk log is a few dozen bytes, or an order with the reason why it was refused. */
const MAX_LINE = 8192

/**
 * The bytes of an attempt as they were recorded: in the order and with the times of its chunk log, whose
 * lines are written after their bytes. Bytes that no line covers (or all, without a chunk log) come in steps
 * of 64 KiB from each log in turn, so that a PTY copy stays close to its stdout. The chunk log counts up to
 * the first line that cannot be true. A line of no bytes says that nothing came for a while (PTY), or that
 * this is all (stderr).
 *
 * `find` looks at the directory again: any file of an attempt may appear late.
 */
export class ChunkedLogs implements AttemptBytes {
  readonly #find: () => Attempt
  readonly #chunks: Tail | undefined
  readonly #logs = new Map<Channel, { readonly fd: number; done: number }>()
  /** The start of a line whose end has not arrived. */
  #rest = ''
  #lines: string[] = []
  /** A read of which a part was returned. */
  #open: LoggedRead | undefined
  #believed: boolean
  #ms = 0
  /** Bytes that have reached the process. */
  #sent = 0
  readonly #untold = new Map<string, ToldOrder>()
  /** Whose uncovered bytes are next. */
  #turns: Turns | undefined
  /** The end of stderr was returned. */
  #stderrEnded = false

  constructor(find: () => Attempt, chunks: Tail | undefined) {
    this.#find = find
    this.#chunks = chunks
    this.#believed = chunks !== undefined
  }

  next(over: boolean): Portion | 'restarted' | undefined {
    if (this.#believed) {
      const portion = this.#noted()
      if (portion) return portion
      if (this.#believed && !over) return undefined
    } else if (this.#chunks?.read()?.restarted) return 'restarted'
    return this.#uncovered(over)
  }

  /** The position in the log of this channel, which is opened if it is not; undefined without a log. */
  done(channel: Channel): number | undefined {
    const known = this.#logs.get(channel)
    if (known) return known.done
    const { logs, within } = this.#find()
    const path = logs[channel]
    if (path === undefined) return undefined
    this.#logs.set(channel, { fd: openLog(path, within), done: 0 })
    return 0
  }

  unsent(): number {
    return (this.done('stdin') ?? 0) - this.#sent
  }

  untold(): readonly ToldOrder[] {
    return [...this.#untold.values()]
  }

  close(): void {
    this.#chunks?.close()
    for (const { fd } of this.#logs.values()) fs.closeSync(fd)
  }

  /** The next bytes that the chunk log covers. */
  #noted(): Portion | 'restarted' | undefined {
    for (;;) {
      while (!this.#open && this.#lines.length === 0) {
        const piece = this.#chunks!.read()
        if (!piece) return undefined
        if (piece.restarted) return 'restarted'
        // These lines contain only ASCII, so a piece may end anywhere.
        this.#lines = (this.#rest + piece.bytes.toString('latin1')).split('\n')
        this.#rest = this.#lines.pop() ?? ''
        if (this.#rest.length > MAX_LINE) return this.#distrust()
      }
      const read: LoggedRead | undefined = this.#open ?? parseChunkLine(this.#lines.shift()!)
      this.#open = undefined
      if (read?.channel === 'sent') {
        this.#sent += read.length
        continue
      }
      if (read?.control) {
        const { channel, control, ms } = read
        if (channel === 'taken') this.#untold.set(control.id, control)
        else this.#untold.delete(control.id)
        if (channel === 'taken') continue
        this.#ms = ms
        return { channel: 'stdin', from: 0, bytes: NOTHING, ms, control, covered: true }
      }
      if (!read || read.channel === 'taken' || read.channel === 'control') return this.#distrust()
      if (this.done(read.channel) !== read.from) return this.#distrust()
      this.#ms = read.ms
      const { channel, from } = read
      if (read.length === 0) {
        if (channel === 'pty' || channel === 'stderr') return { ...this.#empty(channel), covered: true }
        continue
      }
      const bytes = this.#take(channel, read.length)
      if (!bytes) return this.#distrust()
      const length = read.length - bytes.length
      if (length > 0) this.#open = { ...read, from: from + bytes.length, length }
      return { channel, from, bytes, ms: read.ms, by: read.by, covered: true }
    }
  }

  #distrust(): undefined {
    this.#believed = false
  }

  /** What a read without bytes says: nothing came for a while, or stderr has ended. */
  #empty(channel: 'pty' | 'stderr'): Omit<Portion, 'covered'> {
    const portion = { channel, from: this.done(channel) ?? 0, bytes: NOTHING, ms: this.#ms }
    return channel === 'pty' ? { ...portion, still: true } : { ...portion, channels: ['stdout', 'pty'] }
  }

  /** The next bytes that the chunk log does not cover: what was sent, then blocks of the logs in turn. */
  #uncovered(over: boolean): Portion | undefined {
    const sent = this.#block('stdin', over)
    if (sent) return sent
    for (const channel of outputs) this.done(channel)
    this.#turns ??= new Turns(this.#logs.has('pty'))
    // A chunk log tells the end of stderr itself, if the run was told of it.
    if (over && !this.#believed && !this.#stderrEnded && this.#logs.has('pty') && !this.#hasMore('stderr')) {
      this.#stderrEnded = true
      if (this.#logs.has('stderr')) return { ...this.#empty('stderr'), covered: false }
    }
    for (const channel of this.#turns.order((other) => this.#hasMore(other))) {
      const portion = this.#block(channel, over)
      if (portion) return portion
    }
    return undefined
  }

  #hasMore(channel: Channel): boolean {
    const log = this.#logs.get(channel)
    return log !== undefined && fs.fstatSync(log.fd).size > log.done
  }

  #block(channel: Channel, over: boolean): Portion | undefined {
    const from = this.done(channel)
    const bytes = this.#take(channel, BLOCK)
    return bytes && { channel, from: from!, bytes, ...(over && { ms: this.#ms }), covered: false }
  }

  /** At most a block of an open log from its position; undefined if there is none. */
  #take(channel: Channel, length: number): Buffer | undefined {
    const log = this.#logs.get(channel)
    const bytes = log && readBlock(log.fd, log.done, Math.min(length, BLOCK))
    if (!bytes?.length) return undefined
    log!.done += bytes.length
    return bytes
  }
}
