import { codes } from '../base/fault.ts'
import type { Channel } from '../frames/chunk.ts'
import { isDeeper, isNested } from '../values/depth.ts'
import { type Balance, balance, scan } from './balance.ts'
import type { Line } from './lines.ts'
import type { Cut, EngineFrame } from './profile.ts'

/** A record nested deeper than this would overflow whoever prints it. */
const MAX_DEPTH = 512
/** Characters of a text that may be parsed before anybody has asked how deep it is. */
const LARGE = 1 << 16
/** What a held line costs beside its text. */
const LINE_COST = 64
/** Blank lines before a frame are kept up to this many characters; the range covers all of them. */
const MAX_BLANKS = 4096
/** Log text glued to a torn line is looked for in so many characters at its end. */
const LOG_TAIL = 4096
/** A log line as tracing libraries print it: a time, then a level. */
const logLine = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z\s+(?:ERROR|WARN|INFO|DEBUG|TRACE)\s/

interface CutterOptions {
  readonly channel: Channel
  /** How the channel is cut right now; `auto` changes it when it has picked. */
  readonly cut: () => Cut
  readonly maxFrame: number
}

/**
 * Puts the lines of one channel together to what an engine reads: records, documents, blocks, text. Lines
 * that wait for the end of a document are held, at most `maxFrame`; if it does not come, they are text.
 *
 *     {"type":"item.completed","item":{"text":"aaa2026-11-15T00:48:15Z ERROR log line
 *     aaa"}}                                      ^ torn: the log line is taken out, the rest joined
 */
export function cutter(options: CutterOptions, out: (frame: EngineFrame) => void) {
  const { channel, maxFrame } = options
  let blanks: { from: number; to: number; text: string } | undefined
  let gathering: Gathering | undefined
  let block: { label: string; lines: Line[]; size: number } | undefined

  const emit = (first: Line, frame: Omit<EngineFrame, 'channel' | 'from'>) => {
    const notes = first.note ? [{ code: first.note, message: codes[first.note], at: first.from }] : undefined
    const { blanks } = first
    out({ channel, from: first.from, ...frame, ...(blanks && { blanks }), ...(notes && { notes }) })
  }

  const asText = (line: Line) => {
    const frame = { kind: 'text' as const, to: line.to, text: line.text }
    if (line.text === '' && line.note === undefined) emit(line, { ...frame, blank: true })
    else if (line.open && line.note === undefined && opensDocument(line.text))
      emit(line, { ...frame, open: true })
    else emit(line, frame)
  }

  /** The input ended inside a document: one frame, so that the engine can see what it was. */
  const cutOff = () => {
    const held = gathering
    gathering = undefined
    if (!held) return
    const text = held.lines.map((line) => line.text).join('\n')
    emit(held.lines[0]!, { kind: 'text', to: held.lines.at(-1)!.to, text, open: true })
  }

  const release = () => {
    const failed = gathering
    gathering = undefined
    for (const line of failed?.lines ?? []) asText(line)
  }

  /** A line outside of any document or block. */
  const plain = (line: Line) => {
    const shape = options.cut()[channel]
    if (line.note === 'FRAME_TOO_LONG' || shape === undefined || shape === 'text') return plainText(line)
    const value = parseLine(line.text)
    if (value === undefined && isTooDeep(line.text)) {
      asText({ ...line, note: 'MAX_DEPTH' })
      return
    }
    if (value !== undefined) {
      const { from, to, text } = line
      // Nearly every line of a run comes through here.
      if (line.note === undefined && line.blanks === undefined)
        out({ kind: 'line', channel, from, to, text, value })
      else emit(line, { kind: 'line', to, text, value })
      return
    }
    if ((shape === 'documents' || channel === 'pty') && opensDocument(line.text)) {
      gathering = { lines: [], parts: [], logs: [], size: 0, state: balance() }
      gather(line)
      return
    }
    plainText(line)
  }

  const plainText = (line: Line) => {
    const label = options.cut().blocks?.find((name) => line.text.trim() === `<${name}>`)
    if (label === undefined || line.open) asText(line)
    else block = { label, lines: [line], size: line.text.length }
  }

  const insideBlock = (line: Line) => {
    const open = block!
    open.lines.push(line)
    open.size += line.text.length + LINE_COST
    if (line.text.trim() === `</${open.label}>`) {
      block = undefined
      const inner = open.lines.slice(1, -1).map((held) => held.text)
      const text = inner.join('\n')
      const value = parse(text)
      const frame = { kind: 'tag' as const, to: line.to, text, label: open.label }
      emit(open.lines[0]!, value === undefined ? frame : { ...frame, value })
    } else if (open.size > maxFrame) {
      block = undefined
      for (const held of open.lines) asText(held)
    }
  }

  const gather = (line: Line) => {
    const held = gathering!
    if (held.lines.length > 0) {
      if (channel === 'pty' && startsLog(line.text)) {
        held.logs.push(line)
        held.size += line.text.length + LINE_COST
        if (held.size > maxFrame) release()
        return
      }
      // JSON strings hold no raw line end; only a terminal breaks a record there. And a document's inner
      // lines are indented: a record of its own means that the document will not come.
      const broken = channel !== 'pty' && (held.state.inString || opensDocument(line.text))
      if (broken || parseLine(line.text) !== undefined) {
        release()
        plain(line)
        return
      }
    }
    held.lines.push(line)
    const before = { ...held.state }
    let text = line.text
    let end = scan(text, held.state)
    if (end === 'inside' && channel === 'pty') {
      const log = logAt(text)
      if (log >= 0) {
        //  …aaa2026-11-15T00:48:15Z ERROR …
        //      ^ log: read again up to here
        held.state = before
        const at = line.from + Buffer.byteLength(text.slice(0, log))
        held.logs.push({ text: text.slice(log), from: at, to: line.to, open: false })
        text = text.slice(0, log)
        end = scan(text, held.state)
      }
    }
    if (end === 'broken') {
      release()
      return
    }
    held.size += text.length + LINE_COST
    if (end === 'inside') {
      // Inside a string the line end is the terminal's; outside it is the document's, or may as well be.
      held.parts.push(held.state.inString ? text : `${text}\n`)
      if (held.size > maxFrame) release()
      return
    }
    //  {"a":1}2026-11-15T00:48:15Z ERROR …
    //         ^ end: what follows is a line of its own
    held.parts.push(text.slice(0, end))
    const joined = held.parts.join('')
    const value = parse(joined) ?? parse(joined.replaceAll('\n', ''))
    if (value === undefined) {
      release()
      return
    }
    gathering = undefined
    const first = held.lines[0]!
    const rest = text.slice(end)
    const glued = rest.trim() !== ''
    const to = glued ? line.from + Buffer.byteLength(text.slice(0, end)) : line.to
    const frame = { kind: held.lines.length === 1 ? 'line' : 'object', to, text: joined, value } as const
    emit(first, held.logs.length > 0 || glued ? { ...frame, mended: true } : frame)
    for (const log of held.logs) asText(log)
    if (glued) plain({ text: rest.trimStart(), from: to, to: line.to, open: line.open })
  }

  return {
    line(line: Line) {
      if (line.text.trim() === '' && !block && line.note === undefined) {
        if (gathering) {
          gathering.lines.push({ ...line, text: '' })
          gathering.size += LINE_COST
          if (gathering.size > maxFrame) release()
          return
        }
        blanks ??= { from: line.from, to: line.to, text: '' }
        if (blanks.text.length < MAX_BLANKS) blanks.text += '\n'
        blanks.to = line.to
        return
      }
      const before = blanks
      blanks = undefined
      const whole = before ? { ...line, from: before.from, blanks: before.text } : line
      if (block) insideBlock(whole)
      else if (gathering) gather(whole)
      else plain(whole)
    },
    end() {
      for (const held of block?.lines ?? []) asText(held)
      block = undefined
      cutOff()
      if (blanks) asText({ from: blanks.from, to: blanks.to, text: '', open: false })
      blanks = undefined
    },
    /** Lines are being held, so what comes next may belong to them. */
    holding() {
      return gathering !== undefined || block !== undefined
    },
  }
}

interface Gathering {
  /** The lines as they came, in case the document does not. */
  readonly lines: Line[]
  /** Their text without the log lines in it. */
  readonly parts: string[]
  readonly logs: Line[]
  size: number
  state: Balance
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

/** The value of a line that is one JSON object or array. A failed JSON.parse is dear, so looks come first. */
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
