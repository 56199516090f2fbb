import { codes } from '../base/fault.ts'
import { isDeeper, isNested } from '../json/depth.ts'
import { TextBalance } from '../json/text-balance.ts'
import type { Channel } from '../text/chunk.ts'
import { type Line, placeOf, restOf } from '../text/lines.ts'
import { blockCutter } from './block.ts'
import type { Cut, EngineFrame } from './engine.ts'

/** A record nested deeper than this would overflow the stack of code that prints it. */
const MAX_DEPTH = 512
/** Characters of a text that may be parsed before its depth is checked. */
const LARGE = 1 << 16
/** Cost of a held line in addition to its text. */
const LINE_COST = 64
/** Blank lines before a frame are kept up to this many characters; the range covers all of them. */
const MAX_BLANKS = 4096
/** Log text inside a torn line is searched for in this many characters at its end. */
const LOG_TAIL = 4096
/** A log line as tracing libraries print it: a time, then a level. */
const logLine = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z\s+(?:ERROR|WARN|INFO|DEBUG|TRACE)\s/

interface CutterOptions {
  readonly channel: Channel
  /** How the channel is cut at the moment; `auto` changes it when it has picked an engine. */
  readonly cut: () => Cut
  readonly maxFrame: number
}

/**
 * Joins the lines of one channel to what an engine reads: records, documents, blocks, text. Lines
 * that wait for the end of a document are held, at most `maxFrame`; without an end, they are text.
 *
 *     {"type":"item.completed","item":{"text":"aaa2026-11-15T00:48:15Z ERROR log line
 *     aaa"}}                                      ^ torn: the log line is removed, the rest joined
 */
export function cutter(options: CutterOptions, out: (frame: EngineFrame) => void) {
  const { channel, maxFrame } = options
  let blanks: { from: number; to: number; text: string } | undefined
  let gathering: Gathering | undefined
  /** A line that ends in `{`, after other text: the next line decides whether a document begins there. */
  let opener: Line | undefined

  const emit = (first: Line, frame: Omit<EngineFrame, 'channel' | 'from'>) => {
    const notes = first.note ? [{ code: first.note, message: codes[first.note], at: first.from }] : undefined
    const { blanks, glue, pieces } = first
    const before = glue !== undefined ? { glue } : blanks && { blanks }
    out({
      channel,
      from: first.from,
      ...(pieces && { pieces }),
      ...frame,
      ...before,
      ...(notes && { notes }),
    })
  }

  const asText = (line: Line): undefined => {
    const frame = { kind: 'text' as const, to: line.to, text: line.text }
    // The end of the input can cut a character, too: the line is then invalid UTF-8, but still a record that
    // was cut.
    const cut = line.open && line.note !== 'FRAME_TOO_LONG' && line.note !== 'MAX_DEPTH'
    if (line.text === '' && line.note === undefined) emit(line, { ...frame, blank: true })
    else if (cut && opensDocument(line.text)) emit(line, { ...frame, open: true })
    else emit(line, frame)
  }

  /** The input ended inside a document: emits one frame, so that the engine can see what it was. */
  const cutOff = () => {
    const held = gathering
    gathering = undefined
    if (!held) return
    const own = held.lines.filter((line) => !held.logs.has(line))
    const text = own.map((line) => line.text).join('\n')
    emit(own[0]!, { kind: 'text', to: held.lines.at(-1)!.to, text, open: true })
    for (const line of held.lines) if (held.logs.has(line)) asText(line)
  }

  const passBlanks = () => {
    if (blanks) asText({ from: blanks.from, to: blanks.to, text: '', open: false })
    blanks = undefined
  }

  const release = () => {
    const failed = gathering
    gathering = undefined
    for (const line of failed?.lines ?? []) asText(line)
  }

  /** A line outside documents and blocks. Returns the rest of it, if there is something after a document. */
  const plain = (line: Line): Line | undefined => {
    const shape = options.cut()[channel]
    if (line.note === 'FRAME_TOO_LONG' || shape === undefined || shape === 'text') {
      blocks.line(line)
      return undefined
    }
    const gathers = (shape === 'documents' || channel === 'pty') && opensDocument(line.text)
    // A rest may be a record and another rest: scanning all of it each time would be quadratic.
    if (line.glue === undefined || !gathers) {
      const value = parseLine(line.text)
      if (value === undefined && isTooDeep(line.text)) return asText({ ...line, note: 'MAX_DEPTH' })
      if (value !== undefined) {
        const { from, to, text } = line
        // Fast path: nearly every line of a run.
        if (line.note === undefined && line.blanks === undefined && line.glue === undefined)
          out({ kind: 'line', channel, from, to, text, value })
        else emit(line, { kind: 'line', to, text, value })
        return undefined
      }
    }
    if (!gathers) return afterText(line)
    gathering = { lines: [], parts: [], logs: new Set(), size: 0, state: new TextBalance() }
    return gather(line)
  }

  /**
   * A line that does not begin with a document. One that the engine recognizes by its first key may follow
   * the text.
   */
  const afterText = (line: Line): Line | undefined => {
    const keys = options.cut()[channel] === 'documents' ? options.cut().glued : undefined
    const at = keys ? documentAt(line.text, keys) : -1
    if (at < 0) blocks.line(line)
    else if (at < line.text.length - 1) return splitAt(line, at)
    else if (line.open) blocks.line(line)
    else opener = line
    return undefined
  }

  /** Emits what is before the document at `at`, and returns the rest. */
  const splitAt = (line: Line, at: number): Line => {
    asText({ ...line, text: line.text.slice(0, at), to: placeOf(line, at), open: false })
    return restOf(line, line.text, at)!
  }

  /** The line after one that ends in `{` has arrived, or none will. */
  const settleOpener = (next?: Line) => {
    const held = opener
    opener = undefined
    if (!held) return
    const begins = next && options.cut().glued?.some((key) => next.text.trimStart().startsWith(`"${key}"`))
    if (begins) feed(splitAt(held, held.text.length - 1))
    else blocks.line(held)
  }

  /** One more line of a document. Returns what is after its end on the same line. */
  const gather = (line: Line): Line | undefined => {
    const held = gathering!
    if (held.lines.length > 0) {
      if (channel === 'pty' && startsLog(line.text)) {
        held.lines.push(line)
        held.logs.add(line)
        held.size += line.text.length + LINE_COST
        if (held.size > maxFrame) release()
        return undefined
      }
      // A JSON string contains no raw line break; only a terminal breaks a record there. The inner lines of a
      // document are indented: an unindented record means that the document will not be completed.
      const broken = channel !== 'pty' && (held.state.inString || opensDocument(line.text))
      if (broken || parseLine(line.text) !== undefined) {
        release()
        return plain(line)
      }
    }
    held.lines.push(line)
    const before = held.state.copy()
    let text = line.text
    let end = held.state.readStrictly(text)
    if (end === 'inside' && channel === 'pty') {
      const log = logAt(text)
      if (log >= 0) {
        //  …aaa2026-11-15T00:48:15Z ERROR …
        //      ^ log: read again up to here
        held.state = before
        held.logs.add({ text: text.slice(log), from: placeOf(line, log), to: line.to, open: false })
        text = text.slice(0, log)
        end = held.state.readStrictly(text)
      }
    }
    if (end === 'broken') {
      release()
      return undefined
    }
    held.size += text.length + LINE_COST
    if (end === 'inside') {
      // Inside a string the line break is the terminal's; outside, it makes no difference.
      held.parts.push(held.state.inString ? text : `${text}\n`)
      if (held.size > maxFrame) release()
      return undefined
    }
    //  {"a":1}2026-11-15T00:48:15Z ERROR …
    //         ^ end: what follows is a line of its own
    held.parts.push(text.slice(0, end))
    const joined = held.parts.join('')
    const value = parse(joined) ?? parse(joined.replaceAll('\n', ''))
    if (value === undefined) {
      release()
      return undefined
    }
    gathering = undefined
    const rest = restOf(line, text, end)
    const [first, ...more] = held.lines.filter((own) => !held.logs.has(own))
    // Log text that was removed from this line is not part of the record.
    const to = rest ? rest.from : text === line.text ? line.to : placeOf(line, end)
    // Everything cut from the same terminal lines shares one list of them.
    const pieces = first!.pieces ?? (rest || more.length > 0 ? [first!.text] : undefined)
    for (const own of more) pieces!.push(own.text)
    emit(first!, {
      kind: more.length === 0 ? 'line' : 'object',
      to,
      text: joined,
      value,
      ...((rest || held.logs.size > 0) && { mended: true as const }),
      ...(channel === 'pty' && pieces && { pieces }),
    })
    for (const log of held.logs) asText(log)
    return rest && channel === 'pty' ? { ...rest, pieces: pieces! } : rest
  }

  const feed = (line: Line) => {
    for (let next: Line | undefined = line; next; ) next = gathering ? gather(next) : plain(next)
  }

  const blocks = blockCutter({
    names: () => options.cut().blocks,
    maxFrame,
    parse,
    emit,
    asText,
    again(line) {
      settleOpener(line)
      if (blocks.open()) blocks.line(line)
      else feed(line)
    },
  })

  return {
    line(line: Line) {
      settleOpener(line)
      // Inside a string that the terminal has broken, blanks belong to the string.
      const text = channel === 'pty' && gathering?.state.inString
      if (line.text.trim() === '' && !text && !blocks.open() && line.note === undefined) {
        if (gathering) {
          gathering.lines.push({ ...line, text: '' })
          gathering.size += LINE_COST
          if (gathering.size > maxFrame) release()
          return
        }
        if (blanks && blanks.to !== line.from) passBlanks()
        blanks ??= { from: line.from, to: line.to, text: '' }
        if (blanks.text.length < MAX_BLANKS) blanks.text += '\n'
        blanks.to = line.to
        return
      }
      // Between the blanks and this line another line may have been skipped, because the other channel had
      // it.
      if (blanks && blanks.to !== line.from) passBlanks()
      const before = blanks
      blanks = undefined
      const whole = before
        ? { ...line, start: line.start ?? line.from, from: before.from, blanks: before.text }
        : line
      if (blocks.open()) blocks.line(whole)
      else feed(whole)
    },
    end() {
      // Lines that a block gives back may be held again.
      do {
        settleOpener()
        blocks.end()
      } while (opener || blocks.open())
      cutOff()
      passBlanks()
    },
    /** Lines are being held, so the next ones may belong to them. */
    holding() {
      return gathering !== undefined || opener !== undefined || blocks.open()
    },
  }
}

interface Gathering {
  /** The original lines, in case the document is not completed. */
  readonly lines: Line[]
  /** Their text without the log lines in it. */
  readonly parts: string[]
  /** Log lines among them, and log text that was removed from one of them. */
  readonly logs: Set<Line>
  size: number
  state: TextBalance
}

/** True for `{` before a key or the line end, and for `[` before a value or the line end. */
function opensDocument(text: string): boolean {
  const first = text[0]
  if (first !== '{' && first !== '[') return false
  let at = 1
  while (text[at] === ' ' || text[at] === '\t') at++
  const next = text[at]
  return (
    next === undefined ||
    (first === '{' ? next === '"' || next === '}' : next === '{' || next === '[' || next === '"')
  )
}

/**
 * Where in a line a document begins after other text: at a `{` before one of the keys, or at the end of the
 * line. A line that is indented or begins with a key belongs to another document.
 */
function documentAt(text: string, keys: readonly string[]): number {
  if (text[0] === '"' || text.charCodeAt(0) <= 0x20) return -1
  for (let at = text.indexOf('{', 1); at >= 0; at = text.indexOf('{', at + 1)) {
    let next = at + 1
    while (text[next] === ' ' || text[next] === '\t') next++
    if (next === text.length) return next - 1 === at ? at : -1
    if (text[next] === '"' && keys.some((key) => text.startsWith(`${key}"`, next + 1))) return at
  }
  return -1
}

/**
 * The value of a line that is one JSON object or array. A failed JSON.parse is expensive, so cheap checks
 * come first.
 */
function parseLine(text: string): unknown {
  const first = text.charCodeAt(0)
  if (first !== 0x7b && first !== 0x5b) return undefined
  let end = text.length - 1
  while (text.charCodeAt(end) <= 0x20) end--
  const last = text.charCodeAt(end)
  return last === 0x7d || last === 0x5d ? parse(text) : undefined
}

function parse(text: string): unknown {
  if (text.length > LARGE && isTooDeep(text)) return undefined
  try {
    const value = JSON.parse(text)
    return isNested(value, MAX_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}

function isTooDeep(text: string): boolean {
  return text.length > 2 * MAX_DEPTH && isDeeper(text, MAX_DEPTH)
}

function startsLog(text: string): boolean {
  return logLine.exec(text.slice(0, 64))?.index === 0
}

function logAt(text: string): number {
  const from = Math.max(0, text.length - LOG_TAIL)
  const found = logLine.exec(text.slice(from))
  return found ? from + found.index : -1
}
