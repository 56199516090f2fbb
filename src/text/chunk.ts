import { kindOf } from '../base/check-options.ts'
import { Fault, type Note } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import type { Intake } from '../base/stage.ts'
import { isHighSurrogate } from './characters.ts'

/** The byte channels of a process; `stdin` is what was sent to it. */
export type Channel = OutputChannel | 'stdin'

/** The channels that a process writes. */
export type OutputChannel = 'stdout' | 'stderr' | 'pty'

/** Bytes of one channel, as they were read. */
export interface BytesChunk {
  readonly channel: Channel
  readonly bytes: Uint8Array
  /** All channels that will follow, if the sender knows them, as `tap` does in its first chunk. */
  readonly channels?: readonly Channel[] | undefined
  /**
   * In a chunk without bytes: all that was written so far was read, and nothing came for a while. Records of
   * a PTY that wait for their copy on stdout wait no longer.
   */
  readonly still?: true | undefined
  /** Of stdin: who sent this, if it was not the user. */
  readonly by?: SentBy | undefined
  /** In a chunk without bytes: what became of an order to the run. */
  readonly control?: ToldOrder | undefined
}

/** Who answers in place of the user: `limit`, we reject it after `answerIn`; `control`, an order. */
export type SentBy = 'limit' | 'control'

/** What became of an order to a running agent. `unknown`: its recorder was lost before it could tell. */
export interface ToldOrder {
  readonly id: string
  /** `answer`, `interrupt` or `stop`. */
  readonly do: string
  /** Where it came from: `page`, `terminal`. */
  readonly by: string
  readonly result: 'done' | 'refused' | 'unknown'
  /** Why it was not done. */
  readonly why?: string
}

/** How the process ended. The last chunk of a run, if the exit is known. */
export interface ExitChunk {
  readonly channel: 'exit'
  readonly code: number | null
  readonly signal: string | null
  /** Why it was stopped, such as `interrupted` or `aborted`; left out if it ended by itself. */
  readonly stopped?: string | undefined
  /** Notes about the process: a timeout ended it, or its pipe is still held open. */
  readonly notes?: readonly Note[] | undefined
  /** A fault of our own that decides the end, whatever the agent said. */
  readonly failure?: Note | undefined
  /** Channels that were given up after `pipeGrace`, because another process still held them open. */
  readonly held?: readonly Channel[] | undefined
}

/**
 * The input of a stream. A bare Buffer, Uint8Array or string counts as a stdout chunk.
 *
 * @example
 * stream.write({ channel: 'pty', bytes: Buffer.from('{"a":1}\r\n') })
 */
export type Chunk = BytesChunk | ExitChunk

/**
 * Takes a Buffer, a Uint8Array, a string or a Chunk, and splits it by bytes. If a string ends in half a
 * surrogate pair, that half is kept for the next one.
 */
export function chunkIntake(): Intake<Chunk> {
  const stdout = encoder()
  return {
    take(written) {
      if (typeof written === 'string' || written instanceof Uint8Array)
        return { channel: 'stdout', bytes: stdout.bytes(written) }
      if (isChunk(written)) {
        if (written.channel !== 'stdout') return written
        const bytes = stdout.bytes(written.bytes)
        return bytes === written.bytes ? written : { ...written, bytes }
      }
      throw new Fault(
        'BAD_CHUNK',
        `expected bytes, text or {channel, bytes}, but got ${kindOf(written)}; write Buffers or Chunks to this stream`,
      )
    },
    // An empty chunk counts as one unit, so that the channels it announces get through.
    size: (chunk) => (chunk.channel === 'exit' ? 1 : Math.max(1, chunk.bytes.length)),
    portion(chunk, from, to) {
      return chunk.channel === 'exit' ? chunk : { ...chunk, bytes: chunk.bytes.subarray(from, to) }
    },
    rest() {
      const bytes = stdout.rest()
      return bytes && { channel: 'stdout', bytes }
    },
  }
}

/** Bare bytes are stdout, and no other channel follows, so they need no dedupe. */
export function eventIntake(): Intake<Chunk> {
  const chunks = chunkIntake()
  let first = true
  return {
    ...chunks,
    take(written) {
      const chunk = chunks.take(written)
      const bare = typeof written === 'string' || written instanceof Uint8Array
      const alone = first && bare && chunk.channel !== 'exit'
      first = false
      return alone ? { ...chunk, channels: ['stdout'] } : chunk
    },
  }
}

/**
 * Turns what a stream of one channel emits, bytes or text, into bytes. If a text ends in half a surrogate
 * pair, that half is kept for the next one; nothing overtakes it.
 */
export function encoder() {
  let half = ''
  const take = (): string => {
    const kept = half
    half = ''
    return kept
  }
  return {
    bytes(written: Uint8Array | string): Uint8Array {
      // Bytes follow half a pair: the other half will not come.
      if (typeof written !== 'string') return half ? Bytes.concat([Bytes.from(take()), written]) : written
      const text = take() + written
      if (!isHighSurrogate(text.charCodeAt(text.length - 1))) return Bytes.from(text)
      half = text.slice(-1)
      return Bytes.from(text.slice(0, -1))
    },
    /** At the end: the half that is left, as a replacement character. */
    rest: (): Uint8Array | undefined => (half ? Bytes.from(take()) : undefined),
  }
}

function isChunk(value: unknown): value is Chunk {
  if (typeof value !== 'object' || value === null || !('channel' in value)) return false
  switch (value.channel) {
    case 'exit':
      return true
    case 'stdout':
    case 'stderr':
    case 'pty':
    case 'stdin':
      return 'bytes' in value && value.bytes instanceof Uint8Array
    default:
      return false
  }
}
