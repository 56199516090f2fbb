import { Bytes } from '../base/platform.ts'
import { BACKSLASH, C1_LEAD, ESC, LF } from './characters.ts'
import type { Channel } from './chunk.ts'

/** Receives the bytes that stay and those that are removed. */
interface Cleaned {
  keep(bytes: Bytes): void
  /** The bytes from `from` to `to` of a chunk. Not a subarray, because there is one call for each color. */
  drop(chunk: Bytes, from: number, to: number): void
}

//  text ESC [ 3 1 m red ESC ] 0 ; title BEL text
//       ^   ^             ^   ^
//       escape csi        escape string
type State =
  | 'ground'
  | 'maybe-c1'
  | 'escape'
  | 'intermediate'
  | 'csi'
  | 'string'
  | 'string-escape'
  | 'string-maybe-c1'

const BEL = 0x07
const LEAD = Bytes.from([C1_LEAD])
/** A longer sequence is given up as unfinished, and the text continues. */
const MAX_SEQUENCE = 4096

/**
 * Removes escape sequences from a channel, however it is split into chunks: CSI, OSC, DCS and the other
 * strings, and two-byte escapes. C1 controls written as UTF-8 introduce sequences on a PTY only, and only
 * those that can: the others, and all of them in a pipe, are text that a program wrote raw into a JSON
 * string. Carries one state and one counter from chunk to chunk.
 */
export class EscapeRemover {
  readonly #out: Cleaned
  readonly #terminal: boolean
  #state: State = 'ground'
  /** Bytes of the current sequence so far. */
  #length = 0

  constructor(channel: Channel, out: Cleaned) {
    this.#out = out
    this.#terminal = channel === 'pty'
  }

  write(chunk: Bytes): void {
    // Each byte is searched for again only after its last hit is passed: two dense kinds must not multiply.
    let escapeAt = indexOrEnd(chunk, ESC, 0)
    let lead = this.#terminal ? nextC1(chunk, 0) : chunk.length
    let at = 0
    while (at < chunk.length) {
      if (this.#state === 'maybe-c1') {
        at += this.#settleC1(chunk[at]!)
        continue
      }
      if (this.#state !== 'ground') {
        const from = at
        at = this.#passSequence(chunk, at)
        if (at > from) this.#out.drop(chunk, from, at)
        continue
      }
      if (escapeAt < at) escapeAt = indexOrEnd(chunk, ESC, at)
      if (lead < at) lead = nextC1(chunk, at)
      const next = Math.min(escapeAt, lead)
      // The common case: the chunk has no escape, so it is kept as it is.
      if (next > at) this.#out.keep(next - at === chunk.length ? chunk : chunk.subarray(at, next))
      at = next + 1
      if (next === chunk.length) break
      this.#length = 1
      this.#state = next === escapeAt ? 'escape' : 'maybe-c1'
      if (this.#state === 'maybe-c1') continue
      at = this.#passSequence(chunk, at)
      this.#out.drop(chunk, next, at)
    }
  }

  end(): void {
    if (this.#state === 'maybe-c1') this.#out.keep(LEAD)
    this.#state = 'ground'
  }

  /** Continues a sequence; returns one past the last byte of it in this chunk. */
  #passSequence(chunk: Bytes, from: number): number {
    let at = from
    while (at < chunk.length && this.#state !== 'ground') at += this.#step(chunk[at]!)
    return at
  }

  /** The byte after a lead byte that ended its chunk; 1 if it was consumed, 0 if it must be scanned. */
  #settleC1(byte: number): 0 | 1 {
    if (!introducesAsC1(byte)) {
      this.#out.keep(LEAD)
      this.#state = 'ground'
      return 0
    }
    this.#out.drop(Bytes.from([C1_LEAD, byte]), 0, 2)
    this.#length = 2
    this.#state = introduces(byte - 0x40)
    return 1
  }

  /** Handles a byte of a sequence; 1 if it belongs to it, 0 if it must be scanned again. */
  #step(byte: number): 0 | 1 {
    switch (this.#state) {
      case 'escape':
        if (byte >= 0x20 && byte <= 0x2f) return this.#take('intermediate')
        if (byte >= 0x30 && byte <= 0x7e) return this.#take(introduces(byte))
        return this.#abort()
      case 'intermediate':
        if (byte >= 0x20 && byte <= 0x2f && this.#length < MAX_SEQUENCE) return this.#take('intermediate')
        if (byte >= 0x30 && byte <= 0x7e && this.#length < MAX_SEQUENCE) return this.#take('ground')
        return this.#abort()
      case 'csi':
        if (byte >= 0x20 && byte <= 0x3f && this.#length < MAX_SEQUENCE) return this.#take('csi')
        if (byte >= 0x40 && byte <= 0x7e && this.#length < MAX_SEQUENCE) return this.#take('ground')
        return this.#abort()
      case 'string':
        if (byte === LF || this.#length >= MAX_SEQUENCE) return this.#abort()
        if (byte === BEL) return this.#take('ground')
        if (byte === ESC) return this.#take('string-escape')
        return this.#take(this.#terminal && byte === C1_LEAD ? 'string-maybe-c1' : 'string')
      case 'string-escape':
        // ESC \ ends the string; any other ESC aborts it and begins a sequence of its own.
        if (byte === BACKSLASH) return this.#take('ground')
        this.#state = 'escape'
        this.#length = 1
        return 0
      case 'string-maybe-c1':
        if (byte === 0x9c) return this.#take('ground')
        this.#state = 'string'
        return 0
      case 'maybe-c1':
      case 'ground':
        return 0
      default:
        return this.#state satisfies never
    }
  }

  #take(next: State): 1 {
    this.#length++
    this.#state = next
    return 1
  }

  #abort(): 0 {
    this.#state = 'ground'
    return 0
  }
}

/** What ESC followed by `byte` begins. A C1 control is its byte less 0x40. */
function introduces(byte: number): State {
  switch (byte) {
    case 0x5b: // [
      return 'csi'
    case 0x5d: // ] OSC
    case 0x50: // P DCS
    case 0x58: // X SOS
    case 0x5e: // ^ PM
    case 0x5f: // _ APC
      return 'string'
    default:
      return 'ground'
  }
}

/** Whether a C1 control can begin a sequence: DCS, SOS, CSI, OSC, PM, APC. */
function introducesAsC1(byte: number): boolean {
  return byte >= 0x90 && byte <= 0x9f && introduces(byte - 0x40) !== 'ground'
}

function indexOrEnd(chunk: Bytes, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from)
  return index < 0 ? chunk.length : index
}

/** The next lead byte of a C1 control; at the very end, its second byte has not arrived yet. */
function nextC1(chunk: Bytes, from: number): number {
  for (let lead = chunk.indexOf(C1_LEAD, from); lead >= 0; lead = chunk.indexOf(C1_LEAD, lead + 1)) {
    const second = chunk[lead + 1]
    if (second === undefined || introducesAsC1(second)) return lead
  }
  return chunk.length
}
