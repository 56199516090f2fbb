import { ESC, LF } from '../json/characters.ts'

/** Where the remover puts what it keeps, and says what it takes out. */
export interface Cleaned {
  keep(bytes: Buffer): void
  drop(count: number): void
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

const C1_LEAD = 0xc2
const BEL = 0x07
const NEXT_LINE = 0x85
const LEAD = Buffer.from([C1_LEAD])
/** No sequence is longer: past it, an unfinished one is given up and the text goes on. */
const MAX_SEQUENCE = 4096

/**
 * Removes escape sequences from a channel, whatever its chunks: CSI, OSC, DCS and the other strings, two-byte
 * escapes, and C1 controls written as UTF-8. U+0085 stays: Codex writes it raw inside JSON strings, where it
 * is text. Carries one state and one counter from chunk to chunk.
 */
export function escapeRemover(out: Cleaned): { write(chunk: Buffer): void; end(): void } {
  let state: State = 'ground'
  let length = 0

  function write(chunk: Buffer): void {
    // Each needle is searched again only when its last hit lies behind: two dense kinds must not multiply.
    let escapeAt = indexOrEnd(chunk, ESC, 0)
    let lead = nextC1(chunk, 0)
    let at = 0
    while (at < chunk.length) {
      if (state !== 'ground') {
        at += step(chunk[at]!)
        continue
      }
      if (escapeAt < at) escapeAt = indexOrEnd(chunk, ESC, at)
      if (lead < at) lead = nextC1(chunk, at)
      const next = Math.min(escapeAt, lead)
      // Nearly every chunk ends here: no escape in it, nothing to do.
      if (next > at) out.keep(next - at === chunk.length ? chunk : chunk.subarray(at, next))
      at = next + 1
      if (next === chunk.length) break
      length = 1
      state = next === escapeAt ? 'escape' : 'maybe-c1'
      if (state === 'escape') out.drop(1)
    }
  }

  /** Looks at one byte of a sequence; answers 1 if it belongs to it, 0 if it must be looked at anew. */
  function step(byte: number): 0 | 1 {
    switch (state) {
      case 'maybe-c1':
        if (byte < 0x80 || byte > 0x9f || byte === NEXT_LINE) {
          out.keep(LEAD)
          state = 'ground'
          return byte === C1_LEAD ? 0 : keepOne(byte)
        }
        out.drop(2)
        length = 2
        state = introduces(byte - 0x40)
        return 1
      case 'escape':
        if (byte >= 0x20 && byte <= 0x2f) return take('intermediate')
        if (byte >= 0x30 && byte <= 0x7e) return take(introduces(byte))
        return abort()
      case 'intermediate':
        if (byte >= 0x20 && byte <= 0x2f && length < MAX_SEQUENCE) return take('intermediate')
        if (byte >= 0x30 && byte <= 0x7e && length < MAX_SEQUENCE) return take('ground')
        return abort()
      case 'csi':
        if (byte >= 0x20 && byte <= 0x3f && length < MAX_SEQUENCE) return take('csi')
        if (byte >= 0x40 && byte <= 0x7e && length < MAX_SEQUENCE) return take('ground')
        return abort()
      case 'string':
        if (byte === LF || length >= MAX_SEQUENCE) return abort()
        if (byte === BEL) return take('ground')
        if (byte === ESC) return take('string-escape')
        return take(byte === C1_LEAD ? 'string-maybe-c1' : 'string')
      case 'string-escape':
        // ESC \ ends the string; any other ESC aborts it and begins a sequence of its own.
        if (byte === 0x5c) return take('ground')
        state = 'escape'
        length = 1
        return 0
      case 'string-maybe-c1':
        if (byte === 0x9c) return take('ground')
        state = 'string'
        return 0
      case 'ground':
        return 0
      default:
        return state satisfies never
    }
  }

  function take(next: State): 1 {
    out.drop(1)
    length++
    state = next
    return 1
  }

  function abort(): 0 {
    state = 'ground'
    return 0
  }

  function keepOne(byte: number): 0 | 1 {
    if (byte === ESC) return 0
    out.keep(Buffer.from([byte]))
    return 1
  }

  return {
    write,
    end() {
      if (state === 'maybe-c1') out.keep(LEAD)
      state = 'ground'
    },
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

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from)
  return index < 0 ? chunk.length : index
}

/** The next lead byte of a C1 control; one at the very end counts, because its second byte is not here yet. */
function nextC1(chunk: Buffer, from: number): number {
  for (let lead = chunk.indexOf(C1_LEAD, from); lead >= 0; lead = chunk.indexOf(C1_LEAD, lead + 1)) {
    const second = chunk[lead + 1]
    if (second === undefined || (second >= 0x80 && second <= 0x9f && second !== NEXT_LINE)) return lead
  }
  return chunk.length
}
