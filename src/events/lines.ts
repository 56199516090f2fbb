import { isUtf8 } from 'node:buffer'
import type { Code } from '../base/fault.ts'
import { escapeRemover } from '../frames/ansi.ts'
import { bomAt, CR, ESC, LF, NUL } from '../json/characters.ts'
import { type Kept, Places } from './places.ts'

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
  /** Where its own text begins, if that is not `from`. */
  readonly start?: number
  /** Where its characters stood, if the text is not the bytes one by one; `skip` of them are not in `text`. */
  readonly places?: Places
  readonly skip?: number
  /** It is the rest of a line whose beginning was a record, behind these blanks. */
  readonly glue?: string
  /** The whole lines of the PTY that it came from, if it is only a part of them. */
  readonly pieces?: string[]
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
    end = beforeCr(bytes, 0, end)
    if (known && !skipping && !open && end > 0 && known(bytes.subarray(0, end))) {
      from = to
      return
    }
    const slice = bytes.subarray(0, skipping ? Math.min(end, HEAD) : end)
    const line = clean(slice, from)
    const note = skipping ? 'FRAME_TOO_LONG' : noteOf(line.text, slice, 0, slice.length)
    out(note ? { ...line, from, to, open, note } : { ...line, from, to, open })
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
    const end = beforeCr(bytes, start, at)
    if (!(known && end > start && known(bytes.subarray(start, end)))) {
      const text = escaped || isFramedByC1(bytes, start, end) ? undefined : bytes.toString('utf8', start, end)
      if (text === undefined || isMark(text.charCodeAt(0)) || text.includes('\ufffd')) {
        const slice = bytes.subarray(start, end)
        const line = clean(slice, from)
        const note = noteOf(line.text, slice, 0, slice.length)
        out(note ? { ...line, from, to, open: false, note } : { ...line, from, to, open: false })
      } else out({ text, from, to, open: false })
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

/** Decodes a line that begins at `from`, and takes out escape sequences, and NULs and a BOM at its start. */
function clean(bytes: Buffer, from: number): Pick<Line, 'text' | 'start' | 'places' | 'skip'> {
  const kept: Buffer[] = []
  const runs: Kept[] = []
  const escapes = bytes.includes(ESC)
  if (escapes) keepPlain(bytes, 0, kept, runs)
  else if (isFramedByC1(bytes, 0, bytes.length)) {
    // Without ESC, C1 controls inside a record are text that a CLI did not escape in its JSON; around it they
    // are sequences.
    const open = bytes.indexOf(BRACE)
    const start = open < 0 ? bytes.length : open
    const end = Math.max(start, bytes.lastIndexOf(CLOSING_BRACE) + 1)
    keepPlain(bytes.subarray(0, start), 0, kept, runs)
    kept.push(bytes.subarray(start, end))
    runs.push({ at: start, length: end - start })
    keepPlain(bytes.subarray(end), end, kept, runs)
  } else kept.push(bytes)
  const cleaned = kept.length === 1 ? kept[0]! : Buffer.concat(kept)
  const whole = cleaned.toString('utf8')
  let skip = 0
  while (isMark(whole.charCodeAt(skip))) skip++
  const text = skip === 0 ? whole : whole.slice(skip)
  const invalid = text.includes('\ufffd') && !isUtf8(cleaned)
  // A copy: the bytes may stand in a buffer that is written again.
  if (runs.length > 0 || invalid) return { text, places: new Places(Buffer.from(cleaned), from, runs), skip }
  return skip === 0 ? { text } : { text, start: from + Buffer.byteLength(whole.slice(0, skip)) }
}

/** What stands at the start of a line and is no part of it: NULs and a BOM. */
function isMark(unit: number): boolean {
  return unit === 0 || unit === 0xfeff
}

/** One past the last byte that is no CR: a terminal inside a terminal adds one more. */
function beforeCr(bytes: Buffer, start: number, end: number): number {
  let at = end
  while (at > start && bytes[at - 1] === CR) at--
  return at
}

const C1_LEAD = 0xc2
const BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** May C1 controls stand before or after a record? Two bytes tell for nearly every line. */
function isFramedByC1(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] === C1_LEAD) return true
  return bytes[start] === BRACE && bytes[end - 1] !== CLOSING_BRACE
}

/** Keeps what is no escape sequence. None crosses an LF, so each line is cleaned by itself. */
function keepPlain(bytes: Buffer, offset: number, kept: Buffer[], runs: Kept[]): void {
  let at = offset
  const remover = escapeRemover('pty', {
    keep(part) {
      kept.push(part)
      runs.push({ at, length: part.length })
      at += part.length
    },
    drop(_, from, to) {
      at += to - from
    },
  })
  remover.write(bytes)
  remover.end()
}
