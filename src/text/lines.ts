import type { Code } from '../base/fault.ts'
import { Bytes, isUtf8 } from '../base/platform.ts'
import { EscapeRemover } from './ansi.ts'
import { ByteSearch, NOWHERE } from './byte-search.ts'
import { bomAt, C1_LEAD, CR, NUL } from './characters.ts'
import type { Channel } from './chunk.ts'
import { Decoder } from './decode.ts'
import { Places } from './offsets.ts'
import { Tape } from './tape.ts'

/** How many bytes of a line over the limit are decoded for its raw record. */
const HEAD = 8192
/** Cost of a held line in addition to its text. */
export const LINE_COST = 64

/** One whole line of a channel, without its CRLF and escape sequences. */
export interface Line {
  readonly text: string
  /** Byte offsets in the channel, line end included. */
  readonly from: number
  readonly to: number
  /** The input ended before the LF. */
  readonly open: boolean
  readonly note?: Code
  /** Blank lines before it, included in its range. */
  readonly blanks?: string
  /** Where its own text begins, if that is not `from`. */
  readonly start?: number
  /** Where its characters were, if the text differs from the bytes; `skip` of them are not in `text`. */
  readonly places?: Places
  readonly skip?: number
  /** The rest of a line whose beginning was a record, after these blanks. */
  readonly glue?: string
  /** The whole lines of the PTY that it was cut from, if it is only a part of them. */
  readonly pieces?: string[]
}

/**
 * Cuts the bytes of one channel into lines. LF is the only line end. Held across chunks: the bytes of one
 * unfinished line, at most `maxFrame`; a longer one is passed on in pieces of `maxFrame`, as text. A line
 * that `known` recognizes by its bytes is skipped, and never decoded. `endIn` sees what has arrived of the
 * line after each chunk: the line ends after this many bytes of it, unless that is 0.
 */
export function lines(
  channel: Channel,
  maxFrame: number,
  out: (line: Line) => void,
  known?: (bytes: Bytes) => boolean,
  endIn?: (rest: Bytes) => number,
): { write(bytes: Uint8Array): void; end(): void } {
  const tape = new Tape(maxFrame)
  const decoder = new Decoder(tape)
  const clean = lineCleaner(channel)
  const lf = new ByteSearch(tape, '\n')
  /** The start of any escape sequence, searched for in the whole chunk, not line by line. */
  const starts = [new ByteSearch(tape, '\u001b')]
  if (channel === 'pty') starts.push(new ByteSearch(tape, C1))
  /** Offset of the first byte of the current line. */
  let from = 0
  /** Inside a line over the limit: only its LF matters. */
  let skipping = false

  const cut = (to: number, how: boolean | 'here') => {
    const ended = how !== false
    const { view, base } = tape
    const start = from
    from = to
    const end = base + beforeCr(view, start - base, (how === true ? to - 1 : to) - base)
    if (known && ended && !skipping && end > start && known(view.subarray(start - base, end - base))) return
    if (!skipping && !mayHoldEscapes(start, end)) {
      const text = decoder.decode(start, end)
      const usual = decoder.isPlain(start, end) || !text.includes('\ufffd')
      if (usual && !isMark(text.charCodeAt(0))) {
        out({ text, from: start, to, open: !ended })
        return
      }
    }
    const slice = view.subarray(start - base, (skipping ? Math.min(end, start + HEAD) : end) - base)
    const line = decodeLine(clean(slice, start), start)
    const note = skipping ? 'FRAME_TOO_LONG' : noteOf(line.text, slice)
    out(note ? { ...line, from: start, to, open: !ended, note } : { ...line, from: start, to, open: !ended })
  }

  const mayHoldEscapes = (start: number, end: number): boolean => {
    for (const search of starts) if (search.next(start) < end) return true
    return false
  }

  /** Passes on pieces until the rest up to `to` is within the limit. */
  const cutPieces = (to: number) => {
    while (to - from > maxFrame) {
      skipping = true
      cut(from + maxFrame, false)
    }
  }

  return {
    write(input) {
      tape.append(Bytes.from(input.buffer, input.byteOffset, input.byteLength))
      for (let end = lf.next(from); end !== NOWHERE; end = lf.next(from)) {
        cutPieces(end + 1)
        cut(end + 1, true)
        skipping = false
      }
      cutPieces(tape.end)
      while (endIn && !skipping && tape.end > from) {
        const size = endIn(tape.view.subarray(from - tape.base))
        if (size === 0) break
        cut(from + size, 'here')
      }
      tape.settle(from)
    },
    end() {
      if (tape.end > from) cut(tape.end, false)
      tape.settle(from)
    },
  }
}

/** The offset in the channel where the first `units` units of a line's text end. */
export function endOffset(line: Line, units: number): number {
  if (line.places) return line.places.endOf(line.skip! + units)
  return (line.start ?? line.from) + Bytes.byteLength(line.text.slice(0, units))
}

/** The part of a line up to `end`. */
export function headOf(line: Line, end: number): Line {
  return { ...line, text: line.text.slice(0, end), to: endOffset(line, end), open: false }
}

/** What follows in a line, as a line of its own. */
export function lineAfter(line: Line, end: number): Line {
  const { to, open, places } = line
  const following = { text: line.text.slice(end), from: endOffset(line, end), to, open }
  return places ? { ...following, places, skip: line.skip! + end } : following
}

/** The rest of a line after the record that ends at `end`, unless it is blank. */
export function restOf(line: Line, text: string, end: number): Line | undefined {
  const following = text.slice(end)
  const rest = following.trimStart()
  if (rest === '') return undefined
  const glue = following.slice(0, following.length - rest.length)
  const from = endOffset(line, end)
  return {
    text: rest,
    from,
    to: line.to,
    open: line.open,
    glue,
    start: from + Bytes.byteLength(glue),
    ...(line.places && { places: line.places, skip: line.skip! + end + glue.length }),
  }
}

/** The note about the bytes of a line. */
function noteOf(text: string, bytes: Bytes): Code | undefined {
  if (text.includes('\ufffd') && !isUtf8(bytes)) return 'INVALID_UTF8'
  let at = 0
  while (bomAt(bytes, at) === 3) at += 3
  return bytes[at] === NUL ? 'NUL_BYTES' : undefined
}

/** Decodes a line that begins at `from`, without leading NULs and BOM. */
function decodeLine({ kept, runs }: Cleaned, from: number): Pick<Line, 'text' | 'start' | 'places' | 'skip'> {
  const whole = kept.toString('utf8')
  let skip = 0
  while (isMark(whole.charCodeAt(skip))) skip++
  const text = skip === 0 ? whole : whole.slice(skip)
  const invalid = text.includes('\ufffd') && !isUtf8(kept)
  // A copy: the buffer may be overwritten.
  if (runs.length > 2 || runs[1] !== from || invalid)
    return { text, places: new Places(Bytes.from(kept), runs), skip }
  return skip === 0 ? { text } : { text, start: from + Bytes.byteLength(whole.slice(0, skip)) }
}

interface Cleaned {
  readonly kept: Bytes
  /** Its origin, see Places. */
  readonly runs: number[]
}

/** Removes escape sequences from lines, one by one: none crosses an LF. */
function lineCleaner(channel: Channel): (bytes: Bytes, from: number) => Cleaned {
  let kept: Bytes[] = []
  let runs: number[] = []
  let size = 0
  let at = 0
  const remover = new EscapeRemover(channel, {
    keep(part) {
      runs.push(size, at)
      kept.push(part)
      size += part.length
      at += part.length
    },
    drop(_, start, end) {
      at += end - start
    },
  })
  return (bytes, from) => {
    kept = []
    runs = []
    size = 0
    at = from
    remover.write(bytes)
    remover.end()
    if (runs.length === 0) runs.push(0, from)
    return { kept: kept.length === 1 ? kept[0]! : Bytes.concat(kept, size), runs }
  }
}

/** Whether text of these bytes may hold C1 controls: nearly no output does, and this search is native. */
export function holdsC1Lead({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  return Bytes.from(buffer, byteOffset, byteLength).includes(C1_LEAD)
}

/** The text of a pipe as a terminal shows it: without the sequences that C1 controls introduce there. */
export function shownText(text: string): string {
  if (!/[\u0090\u0098\u009b\u009d-\u009f]/.test(text)) return text
  return shown(Bytes.from(text), 0).kept.toString('utf8')
}

const shown = lineCleaner('pty')

/** Characters at the start of a line that are not part of it: NULs and a BOM. */
function isMark(unit: number): boolean {
  return unit === 0 || unit === 0xfeff
}

/** One past the last byte that is not a CR: a terminal inside a terminal adds another one. */
function beforeCr(bytes: Bytes, start: number, end: number): number {
  let at = end
  while (at > start && bytes[at - 1] === CR) at--
  return at
}

const C1 = Bytes.from([C1_LEAD])
