import { Fault, type Note, quote } from '../base/fault.ts'
import type { Intake } from '../base/stage.ts'
import { encoder } from './encode.ts'

/** The byte channels of a process. */
export type Channel = 'stdout' | 'stderr' | 'pty'

/** Bytes of one channel, as they were read. */
export interface BytesChunk {
  readonly channel: Channel
  readonly bytes: Uint8Array
  /** All channels that will come, where the sender knows: the first chunk of a `tap` says it. */
  readonly channels?: readonly Channel[] | undefined
}

/** How the process ended. The last chunk of a run, if it is known. */
export interface ExitChunk {
  readonly channel: 'exit'
  readonly code: number | null
  readonly signal: string | null
  /** Who stopped it on request, such as `interrupted` or `aborted`; left out if it ended by itself. */
  readonly stopped?: string | undefined
  /** What was noticed around the process: that it was ended by a timeout, that its pipe is still held. */
  readonly notes?: readonly Note[] | undefined
  /** Channels that were let go while something still held them open. */
  readonly held?: readonly Channel[] | undefined
}

/**
 * What enters at the door. A bare Buffer, Uint8Array or string counts as a stdout chunk.
 *
 * @example
 * stream.write({ channel: 'pty', bytes: Buffer.from('{"a":1}\r\n') })
 */
export type Chunk = BytesChunk | ExitChunk

/**
 * The door for bytes: takes a Buffer, a Uint8Array, a string or a Chunk, and portions it by bytes. A string
 * that ends in half a surrogate pair keeps that half back for the next one.
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
        `expected bytes, text or {channel, bytes}, but got ${describe(written)}; write Buffers or Chunks to this stream`,
      )
    },
    // An empty chunk counts as one unit, so that what it announces comes through.
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

function isChunk(value: unknown): value is Chunk {
  if (typeof value !== 'object' || value === null || !('channel' in value)) return false
  switch (value.channel) {
    case 'exit':
      return true
    case 'stdout':
    case 'stderr':
    case 'pty':
      return 'bytes' in value && value.bytes instanceof Uint8Array
    default:
      return false
  }
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'object') return `a ${typeof value}`
  return `an object with the keys ${quote(Object.keys(value).slice(0, 5).join(', '))}`
}
