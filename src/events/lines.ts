import { isUtf8 } from 'node:buffer'
import type { Code } from '../base/fault.ts'

const LF = 10
const CR = 13
const ESC = 0x1b
/** Of a line that outgrew the limit, so many bytes are decoded for its raw record. */
const HEAD = 8192

/** One whole line of a channel, without its CRLF and escape sequences. */
export interface Line {
  readonly text: string
  /** Byte offsets in the channel, line end included. */
  readonly from: number
  readonly to: number
  /** The input ended before the LF. */
  readonly open: boolean
  readonly note?: Code
  /** Blank lines before it that belong to its range. */
  readonly blanks?: string
}

/**
 * Cuts the bytes of one channel into lines. LF is the only line end. Held across chunks: the bytes of one
 * unfinished line, at most `maxFrame`; a longer one is let go in pieces of `maxFrame`, as text.
 */
export function lines(
  maxFrame: number,
  out: (line: Line) => void,
): { write(bytes: Uint8Array): void; end(): void } {
  /** The unfinished line, in one buffer that doubles: pieces of one byte would cost more than they hold. */
  let held = Buffer.alloc(0)
  let size = 0
  /** Offset of the held line's first byte. */
  let from = 0
  /** Inside a line that outgrew the limit: only its LF is looked for. */
  let skipping = false

  const cut = (bytes: Buffer, to: number, open: boolean) => {
    let end = bytes.length
    if (!open && bytes[end - 1] === LF) end--
    if (bytes[end - 1] === CR) end--
    const slice = bytes.subarray(0, skipping ? Math.min(end, HEAD) : end)
    const text = clean(slice)
    const note = skipping
      ? 'FRAME_TOO_LONG'
      : text.includes('\ufffd') && !isUtf8(slice)
        ? 'INVALID_UTF8'
        : undefined
    out(note ? { text, from, to, open, note } : { text, from, to, open })
    from = to
  }

  const hold = (bytes: Buffer) => {
    if (size + bytes.length > held.length) {
      const grown = Buffer.allocUnsafe(Math.max(size + bytes.length, held.length * 2, 4096))
      held.copy(grown, 0, 0, size)
      held = grown
    }
    bytes.copy(held, size)
    size += bytes.length
  }

  /** Takes bytes that hold no LF, or end with their only one. */
  const take = (bytes: Buffer, ended: boolean) => {
    let at = 0
    while (size + bytes.length - at > maxFrame) {
      const rest = maxFrame - size
      hold(bytes.subarray(at, at + rest))
      at += rest
      skipping = true
      cut(held.subarray(0, size), from + size, true)
      size = 0
    }
    if (ended && size === 0) {
      if (at < bytes.length) cut(bytes.subarray(at), from + bytes.length - at, false)
      skipping = false
      return
    }
    hold(bytes.subarray(at))
    if (!ended) return
    cut(held.subarray(0, size), from + size, false)
    size = 0
    skipping = false
    // A buffer that once held a huge line is not kept for small ones.
    if (held.length > 1 << 20) held = Buffer.alloc(0)
  }

  return {
    write(input) {
      const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength)
      let start = 0
      for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, start)) {
        take(bytes.subarray(start, at + 1), true)
        start = at + 1
      }
      if (start < bytes.length) take(bytes.subarray(start), false)
    },
    end() {
      if (size > 0) cut(held.subarray(0, size), from + size, true)
      held = Buffer.alloc(0)
      size = 0
    },
  }
}

/** Decodes a line and takes out escape sequences, leading NULs and a BOM. */
function clean(bytes: Buffer): string {
  let text = bytes.toString('utf8')
  if (bytes.includes(ESC)) text = withoutEscapes(text)
  const first = text.charCodeAt(0)
  if (first === 0 || first === 0xfeff) {
    let at = 1
    while (text.charCodeAt(at) === 0 || text.charCodeAt(at) === 0xfeff) at++
    text = text.slice(at)
  }
  return text
}

/** A control string (OSC, DCS, …) longer than this is not one. */
const MAX_CONTROL_STRING = 4096

/**
 * Removes escape sequences from one line. They never cross an LF, so no state is carried between lines.
 * The six characters `\u001b` inside JSON are no escape sequence and stay.
 */
export function withoutEscapes(text: string): string {
  let kept = ''
  let from = 0
  for (let at = text.indexOf('\u001b'); at >= 0; at = text.indexOf('\u001b', from)) {
    kept += text.slice(from, at)
    from = skipEscape(text, at)
  }
  return kept + text.slice(from)
}

/** The position after the sequence that starts at `at`. */
function skipEscape(text: string, at: number): number {
  const kind = text[at + 1]
  if (kind === undefined) return at + 1
  if (kind === '[') {
    //  ESC [ 3 1 ; 1 m
    //       ^^^^^^^^ parameters, then one final byte
    let end = at + 2
    for (; end < text.length; end++) {
      const unit = text.charCodeAt(end)
      if (unit < 0x20 || unit > 0x3f) break
    }
    const final = text.charCodeAt(end)
    return final >= 0x40 && final <= 0x7e ? end + 1 : end
  }
  if (kind === ']' || kind === 'P' || kind === 'X' || kind === '^' || kind === '_') {
    const limit = Math.min(text.length, at + MAX_CONTROL_STRING)
    for (let end = at + 2; end < limit; end++) {
      if (text[end] === '\u0007') return end + 1
      // ESC ends it: as ESC \ it is the terminator, else it begins the next sequence.
      if (text[end] === '\u001b') return text[end + 1] === '\\' ? end + 2 : end
    }
    return limit === text.length ? limit : at + 2
  }
  let end = at + 1
  while (end < text.length && text.charCodeAt(end) >= 0x20 && text.charCodeAt(end) <= 0x2f) end++
  return Math.min(end + 1, text.length)
}
