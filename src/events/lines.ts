import { isUtf8 } from 'node:buffer'
import type { Code } from '../base/fault.ts'
import { escapeRemover } from '../frames/ansi.ts'
import { bomAt, CR, ESC, LF, NUL } from '../frames/bytes.ts'

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
 * unfinished line, at most `maxFrame`; a longer one is let go in pieces of `maxFrame`, as text. A line that
 * `known` knows by its bytes is passed over, and never decoded.
 */
export function lines(
  maxFrame: number,
  out: (line: Line) => void,
  known?: (bytes: Buffer) => boolean,
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
    if (known && !skipping && !open && end > 0 && known(bytes.subarray(0, end))) {
      from = to
      return
    }
    const slice = bytes.subarray(0, skipping ? Math.min(end, HEAD) : end)
    const text = clean(slice)
    const note = skipping ? 'FRAME_TOO_LONG' : noteOf(text, slice, 0, slice.length)
    out(note ? { text, from, to, open, note } : { text, from, to, open })
    from = to
  }

  const hold = (bytes: Buffer) => {
    if (size + bytes.length > held.length) {
      const grown = Buffer.allocUnsafe(
        Math.min(maxFrame, Math.max(size + bytes.length, held.length * 2, 4096)),
      )
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

  /** A line that lies whole in one chunk, as nearly all do: decoded in place, without a view of its own. */
  const whole = (bytes: Buffer, start: number, at: number, escaped: boolean) => {
    const to = from + at + 1 - start
    const end = at > start && bytes[at - 1] === CR ? at - 1 : at
    if (!(known && end > start && known(bytes.subarray(start, end)))) {
      const text =
        escaped || isFramedByC1(bytes, start, end)
          ? clean(bytes.subarray(start, end))
          : withoutMarks(bytes.toString('utf8', start, end))
      const note = noteOf(text, bytes, start, end)
      out(note ? { text, from, to, open: false, note } : { text, from, to, open: false })
    }
    from = to
  }

  return {
    write(input) {
      const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength)
      let start = 0
      /** The next ESC, so that a line need not be searched for one. */
      let nextEscape = bytes.indexOf(ESC)
      for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, start)) {
        if (nextEscape >= 0 && nextEscape < start) nextEscape = bytes.indexOf(ESC, start)
        if (size > 0 || skipping || at + 1 - start > maxFrame) take(bytes.subarray(start, at + 1), true)
        else whole(bytes, start, at, nextEscape >= 0 && nextEscape < at)
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

/** What there is to say about the bytes of a line. */
function noteOf(text: string, bytes: Buffer, start: number, end: number): Code | undefined {
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) return 'INVALID_UTF8'
  return beginsWithNul(bytes, start, end) ? 'NUL_BYTES' : undefined
}

function beginsWithNul(bytes: Buffer, start: number, end: number): boolean {
  let at = start
  while (at + 3 <= end && bomAt(bytes, at) === 3) at += 3
  return at < end && bytes[at] === NUL
}

/** Decodes a line and takes out escape sequences. */
function clean(bytes: Buffer): string {
  if (bytes.includes(ESC)) return withoutMarks(withoutEscapes(bytes).toString('utf8'))
  if (!isFramedByC1(bytes, 0, bytes.length)) return withoutMarks(bytes.toString('utf8'))
  // Without ESC, C1 controls inside a record are text that a CLI did not escape in its JSON; around it they
  // are sequences.
  const open = bytes.indexOf(BRACE)
  const from = open < 0 ? bytes.length : open
  const to = Math.max(from, bytes.lastIndexOf(CLOSING_BRACE) + 1)
  const head = withoutEscapes(bytes.subarray(0, from))
  const tail = withoutEscapes(bytes.subarray(to))
  return withoutMarks(Buffer.concat([head, bytes.subarray(from, to), tail]).toString('utf8'))
}

const C1_LEAD = 0xc2
const BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** May C1 controls stand before or after a record? Two bytes tell for nearly every line. */
function isFramedByC1(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] === C1_LEAD) return true
  return bytes[start] === BRACE && bytes[end - 1] !== CLOSING_BRACE
}

/** Takes NULs and a BOM off the start. */
function withoutMarks(text: string): string {
  let at = 0
  while (text.charCodeAt(at) === 0 || text.charCodeAt(at) === 0xfeff) at++
  return at === 0 ? text : text.slice(at)
}

/** No sequence crosses an LF, so each line is cleaned by itself. */
function withoutEscapes(bytes: Buffer): Buffer {
  const kept: Buffer[] = []
  const remover = escapeRemover({ keep: (part) => void kept.push(part), drop() {} })
  remover.write(bytes)
  remover.end()
  return Buffer.concat(kept)
}
