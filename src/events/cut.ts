import { meaningOf } from '../base/fault.ts'
import type { Bytes } from '../base/platform.ts'
import { isDeeper, isNested } from '../json/strict.ts'
import { TextBalance } from '../json/text-balance.ts'
import { CLOSE_BRACE, CLOSE_BRACKET, isBracket, OPEN_BRACE, SPACE } from '../text/characters.ts'
import type { Channel } from '../text/chunk.ts'
import { endOffset, headOf, LINE_COST, type Line, lineAfter, restOf } from '../text/lines.ts'
import { BlockCutter } from './block.ts'
import type { EngineCut, EngineFrame } from './engine.ts'

/** A record nested deeper than this would overflow the stack of code that prints it. */
const MAX_DEPTH = 512
/** A record of up to this many characters has no room for more brackets: nearly every one is that short. */
const LEAST_DEEP = 2 * MAX_DEPTH
/** Characters of a text that may be parsed before its depth is checked. */
const LARGE = 1 << 16
/** Blank lines before a frame are kept up to this many characters; the range covers all of them. */
const MAX_BLANKS = 4096
/** A record may go on for this many lines after a raw line break in a string of it. */
const MAX_BREAKS = 32
/** Log text inside a torn line is searched for in this many characters at its end. */
const LOG_TAIL = 4096
/** A log line as tracing libraries print it: a time, then a level. */
const logLine = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z\s+(?:ERROR|WARN|INFO|DEBUG|TRACE)\s/

interface CutterOptions {
  readonly channel: Channel
  /** How the channel is cut at the moment; `auto` changes it when it has picked an engine. */
  readonly cut: () => EngineCut
  readonly maxFrame: number
}

/**
 * Joins the lines of one channel to what an engine reads: records, documents, blocks, text. Lines
 * that wait for the end of a document are held, at most `maxFrame`; without an end, they are text.
 *
 *     {"type":"item.completed","item":{"text":"aaa2026-11-15T00:48:15Z ERROR log line
 *     aaa"}}                                      ^ torn: the log line is removed, the rest joined
 */
export class Cutter {
  readonly #options: CutterOptions
  readonly #channel: Channel
  readonly #out: (frame: EngineFrame) => void
  readonly #blocks: BlockCutter
  #blanks: { from: number; to: number; text: string } | undefined
  #gathering: Gathering | undefined
  /** A line that ends in `{`, after other text: the next line decides whether a document begins there. */
  #opener: Line | undefined
  /** Where the last document ended that was read at its bracket. */
  #wholeEnd = -1
  /** How far the line that is arriving was looked at, and the document in it. */
  #looked: { at: number; readonly state: TextBalance; over: boolean } | undefined

  constructor(options: CutterOptions, out: (frame: EngineFrame) => void) {
    this.#options = options
    this.#channel = options.channel
    this.#out = out
    this.#blocks = new BlockCutter({
      names: () => options.cut().blocks,
      maxFrame: options.maxFrame,
      parse,
      emit: (first, frame) => this.#emit(first, frame),
      asText: (line) => this.#asText(line),
      again: (line) => {
        this.#settleOpener(line)
        this.#take(line)
      },
    })
  }

  /**
   * Where a document that may be the program's last (`Cut.whole`) ends in these bytes, which are the line
   * that is arriving; 0 if it does not. Each byte is read once.
   */
  endIn(rest: Bytes): number {
    const { whole } = this.#options.cut()
    const held = this.#gathering
    if (!whole || (!held && rest[0] !== OPEN_BRACE)) return 0
    this.#looked ??= { at: 0, state: held ? held.state.copy() : new TextBalance(), over: false }
    const looked = this.#looked
    if (looked.over) return 0
    // As latin1: only brackets, quotes and backslashes matter here.
    const found = looked.state.read(rest.toString('latin1', looked.at))
    looked.over = found !== 'inside'
    const end = typeof found === 'number' ? looked.at + found : 0
    looked.at = rest.length
    const document = `${held?.parts.join('') ?? ''}${rest.toString('utf8', 0, end)}`
    return end > 0 && whole(parse(document)) ? end : 0
  }

  line(line: Line): void {
    this.#looked = undefined
    this.#settleOpener(line)
    if (this.#isBlank(line)) {
      this.#holdBlank(line)
      return
    }
    // Between the blanks and this line another line may have been skipped, because the other channel had it.
    if (this.#blanks && this.#blanks.to !== line.from) this.#passBlanks()
    const before = this.#blanks
    this.#blanks = undefined
    if (!before) this.#take(line)
    else this.#take({ ...line, start: line.start ?? line.from, from: before.from, blanks: before.text })
  }

  end(): void {
    // Lines that a block gives back may be held again.
    do {
      this.#settleOpener()
      this.#blocks.end()
    } while (this.#opener || this.#blocks.isOpen)
    this.#cutOff()
    this.#passBlanks()
  }

  /** Lines are being held, so the next ones may belong to them. */
  get isHolding(): boolean {
    return this.#gathering !== undefined || this.#opener !== undefined || this.#blocks.isOpen
  }

  #isBlank(line: Line): boolean {
    // Nearly every line begins with a bracket or a word.
    if (line.text.charCodeAt(0) > SPACE && line.text.charCodeAt(0) < 0x7f) return false
    if (line.text.trim() !== '' || line.note !== undefined || this.#blocks.isOpen) return false
    // Inside a string that was broken, blanks belong to the string.
    return !this.#gathering?.state.inString
  }

  #holdBlank(line: Line): void {
    if (this.#gathering) {
      this.#hold(this.#gathering, { ...line, text: '' }, '')
      return
    }
    if (this.#blanks && this.#blanks.to !== line.from) this.#passBlanks()
    this.#blanks ??= { from: line.from, to: line.to, text: '' }
    // The end of the document's own line is no blank line.
    if (line.from !== this.#wholeEnd && this.#blanks.text.length < MAX_BLANKS) this.#blanks.text += '\n'
    this.#blanks.to = line.to
  }

  #passBlanks(): void {
    const blanks = this.#blanks
    this.#blanks = undefined
    if (!blanks) return
    const { from, to } = blanks
    // Without a blank line there is only the end of the line that a document is on.
    this.#asText({ from, to, text: '', open: false, ...(blanks.text === '' && { glue: '' }) })
  }

  #take(line: Line): void {
    if (this.#blocks.isOpen) this.#blocks.line(line)
    else this.#feed(line)
  }

  #feed(line: Line): void {
    for (let next: Line | undefined = line; next; )
      next = this.#gathering ? this.#gather(this.#gathering, next) : this.#plain(next)
  }

  /** A line outside documents and blocks. Returns the rest of it, if there is something after a document. */
  #plain(line: Line): Line | undefined {
    const shape = this.#options.cut()[this.#channel]
    if (line.note === 'FRAME_TOO_LONG' || shape === undefined || shape === 'text') {
      this.#blocks.line(line)
      return undefined
    }
    const opens = opensDocument(line.text)
    const gathers = opens && (shape === 'documents' || this.#channel === 'pty')
    // A rest may be a record and another rest: scanning all of it each time would be quadratic.
    if (line.glue === undefined || !gathers) {
      const value = recordIn(line.text)
      if (value === undefined && isTooDeep(line.text)) return this.#asText({ ...line, note: 'MAX_DEPTH' })
      if (value !== undefined) {
        const { from, to, text } = line
        if (line.note === undefined && this.#isWhole(value)) {
          const end = text.trimEnd().length
          this.#emit(line, { kind: 'line', to: endOffset(line, end), text: text.slice(0, end), value })
          return this.#behind(line, end)
        }
        // Fast path: nearly every line of a run.
        if (line.note === undefined && line.blanks === undefined && line.glue === undefined)
          this.#out({ kind: 'line', channel: this.#channel, from, to, text, value })
        else this.#emit(line, { kind: 'line', to, text, value })
        return undefined
      }
    }
    if (!gathers && !(opens && !line.open && breaksInString(line.text))) return this.#afterText(line)
    this.#gathering = { lines: [], parts: [], logs: new Set(), size: 0, breaks: 0, state: new TextBalance() }
    return this.#gather(this.#gathering, line)
  }

  /** A line without a document at its start; one that the engine knows by its key may follow. */
  #afterText(line: Line): Line | undefined {
    const cut = this.#options.cut()
    const keys = cut[this.#channel] === 'documents' ? cut.glued : undefined
    const at = keys ? documentAt(line.text, keys) : -1
    if (at >= 0 && at < line.text.length - 1) return this.#splitAt(line, at)
    if (at < 0 || line.open) this.#blocks.line(line)
    else this.#opener = line
    return undefined
  }

  /** Emits what is before the document at `at`, and returns the rest. */
  #splitAt(line: Line, at: number): Line {
    this.#asText(headOf(line, at))
    return restOf(line, line.text, at)!
  }

  /** The line after one that ends in `{` has arrived, or none will. */
  #settleOpener(next?: Line): void {
    const held = this.#opener
    this.#opener = undefined
    if (!held) return
    const start = next?.text.trimStart()
    const begins = this.#options.cut().glued?.some((key) => start?.startsWith(`"${key}"`))
    if (begins) this.#feed(this.#splitAt(held, held.text.length - 1))
    else this.#blocks.line(held)
  }

  /** One more line of a document. Returns what is after its end on the same line. */
  #gather(held: Gathering, line: Line): Line | undefined {
    if (held.lines.length > 0) {
      if (this.#channel === 'pty' && startsLog(line.text)) {
        held.logs.add(line)
        this.#hold(held, line, line.text)
        return undefined
      }
      // The inner lines of a document are indented: an unindented record means that the document will not be
      // completed. After a raw line break in a string, that would be a second reading of the line.
      const inString = this.#channel !== 'pty' && held.state.inString
      const broken = this.#channel !== 'pty' && opensDocument(line.text)
      if (inString) held.breaks++
      if (broken || held.breaks > MAX_BREAKS || recordIn(line.text) !== undefined) {
        this.#release()
        return this.#plain(line)
      }
    }
    const { text, end } = this.#read(held, line)
    if (end === 'broken') {
      held.lines.push(line)
      this.#release()
      return undefined
    }
    if (end !== 'inside') return this.#complete(held, line, text, end)
    // Inside a string the line break is the terminal's, or a raw one; outside, it makes no difference.
    const inString = held.state.inString
    held.parts.push(inString ? (this.#channel === 'pty' ? text : `${text}${breakOf(line)}`) : `${text}\n`)
    this.#hold(held, line, text)
    return undefined
  }

  /** Reads a line of the document: its text without the log text in it, and where the document ends. */
  #read(held: Gathering, line: Line): { text: string; end: ReturnType<TextBalance['read']> } {
    const { text } = line
    const before = this.#channel === 'pty' ? held.state.copy() : undefined
    const end = held.state.read(text)
    // Log text between two tokens breaks the document; in a string it seems to belong to it.
    const log = before && typeof end === 'string' ? logAt(text) : -1
    if (!before || log < 0) return { text, end }
    //  …aaa2026-11-15T00:48:15Z ERROR …
    //      ^ log: read again up to here
    held.state = before
    held.logs.add({ text: text.slice(log), from: endOffset(line, log), to: line.to, open: false })
    const own = text.slice(0, log)
    return { text: own, end: before.read(own) }
  }

  //  {"a":1}2026-11-15T00:48:15Z ERROR …
  //         ^ end: what follows is a line of its own
  #complete(held: Gathering, line: Line, text: string, end: number): Line | undefined {
    held.lines.push(line)
    held.parts.push(text.slice(0, end))
    const joined = held.parts.join('')
    const value = parse(joined) ?? parse(joined.replaceAll('\n', ''))
    // Only what a document may be followed by is read apart from it.
    const isOver = held.breaks === 0 || text.slice(end).trim() === ''
    if (value === undefined || !isOver) {
      this.#release()
      return undefined
    }
    this.#gathering = undefined
    const isWhole = this.#isWhole(value)
    const rest = isWhole ? undefined : restOf(line, text, end)
    const [first, ...more] = held.lines.filter((own) => !held.logs.has(own))
    // Log text that was removed from this line is not part of the record.
    const ends = rest !== undefined || isWhole || text !== line.text
    const to = ends ? endOffset(line, end) : line.to
    // Everything cut from the same terminal lines shares one list of them.
    const pieces = first!.pieces ?? (rest || more.length > 0 ? [first!.text] : undefined)
    for (const own of more) pieces!.push(own.text)
    this.#emit(first!, {
      kind: more.length === 0 ? 'line' : 'object',
      to,
      text: joined,
      value,
      ...(rest || held.logs.size > 0
        ? { mended: true as const }
        : held.breaks > 0 && { mended: 'breaks' as const }),
      ...(this.#channel === 'pty' && pieces && { pieces }),
    })
    for (const log of held.logs) this.#asText(log)
    if (isWhole) return this.#behind(line, end)
    return rest && this.#channel === 'pty' ? { ...rest, pieces: pieces! } : rest
  }

  /** On a terminal a line end always follows. */
  #isWhole(value: unknown): boolean {
    return this.#channel !== 'pty' && this.#options.cut().whole?.(value) === true
  }

  /** What follows a document that ends at its bracket: a line of its own, or the end of this one. */
  #behind(line: Line, end: number): Line | undefined {
    const rest = lineAfter(line, end)
    this.#wholeEnd = rest.from
    if (rest.text.trim() !== '') return rest
    if (rest.from < rest.to) this.#holdBlank({ ...rest, text: '' })
    return undefined
  }

  /** Keeps a line of a document. If they grow past the limit, all of them are text. */
  #hold(held: Gathering, line: Line, text: string): void {
    held.lines.push(line)
    held.size += text.length + LINE_COST
    if (held.size > this.#options.maxFrame) this.#release()
  }

  #release(): void {
    const failed = this.#gathering
    this.#gathering = undefined
    for (const line of failed?.lines ?? []) this.#asText(line)
  }

  /** The input ended inside a document: emits one frame, so that the engine can see what it was. */
  #cutOff(): void {
    const held = this.#gathering
    this.#gathering = undefined
    if (!held) return
    const own = held.lines.filter((line) => !held.logs.has(line))
    const text = own.map((line) => line.text).join('\n')
    this.#emit(own[0]!, { kind: 'text', to: held.lines.at(-1)!.to, text, open: true })
    for (const line of held.lines) if (held.logs.has(line)) this.#asText(line)
  }

  #asText(line: Line): undefined {
    const { from, to, text, open, note, blanks, glue, pieces } = line
    // Fast path: nearly every line of text.
    if (!open && text !== '' && (note ?? blanks ?? glue ?? pieces) === undefined) {
      this.#out({ kind: 'text', channel: this.#channel, from, to, text })
      return
    }
    const frame = { kind: 'text' as const, to, text }
    // The end of the input can cut a character, too: invalid UTF-8, but still a record that was cut.
    const cut = open && note !== 'FRAME_TOO_LONG' && note !== 'MAX_DEPTH'
    if (text === '' && note === undefined) this.#emit(line, { ...frame, blank: true })
    else if (cut && opensDocument(text)) this.#emit(line, { ...frame, open: true })
    else this.#emit(line, frame)
  }

  #emit(first: Line, frame: Omit<EngineFrame, 'channel' | 'from'>): void {
    const { blanks, glue, pieces, note, from } = first
    const notes = note ? [{ code: note, message: meaningOf(note), at: from }] : undefined
    const before = glue !== undefined ? { glue } : blanks && { blanks }
    this.#out({
      channel: this.#channel,
      from,
      ...(pieces && { pieces }),
      ...frame,
      ...before,
      ...(notes && { notes }),
    })
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
  /** Raw line breaks in strings. */
  breaks: number
  state: TextBalance
}

/** Whether the line ends inside a string of its record. */
function breaksInString(text: string): boolean {
  const state = new TextBalance()
  return state.read(text) === 'inside' && state.inString
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

/** The value of a line that is JSON. A failed JSON.parse is expensive, so cheap checks come first. */
export function recordIn(text: string): unknown {
  const first = text.charCodeAt(0)
  if (!isBracket(first)) return undefined
  let end = text.length - 1
  while (text.charCodeAt(end) <= 0x20) end--
  const last = text.charCodeAt(end)
  return last === CLOSE_BRACE || last === CLOSE_BRACKET ? parse(text) : undefined
}

function parse(text: string): unknown {
  if (text.length > LARGE && isTooDeep(text)) return undefined
  try {
    const value = JSON.parse(text)
    return text.length > LEAST_DEEP && isNested(value, MAX_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}

function isTooDeep(text: string): boolean {
  return text.length > LEAST_DEEP && isDeeper(text, MAX_DEPTH)
}

/**
 * The raw line end of a line, as it is written in a string: with its carriage returns. A line that was cut
 * where its document ends has none.
 */
function breakOf(line: Line): string {
  const bare = line.places || line.open ? 0 : Math.max(0, line.to - 1 - endOffset(line, line.text.length))
  return `${'\\r'.repeat(bare)}\\n`
}

function startsLog(text: string): boolean {
  return logLine.exec(text.slice(0, 64))?.index === 0
}

function logAt(text: string): number {
  const from = Math.max(0, text.length - LOG_TAIL)
  const found = logLine.exec(text.slice(from))
  return found ? from + found.index : -1
}
