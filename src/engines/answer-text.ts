import { Cutter } from '../events/cut.ts'
import type { EngineFrame, ReaderOptions, Say } from '../events/engine.ts'
import { holdsRecord } from '../events/unknown-records.ts'
import { jsonValue } from '../json/strict.ts'
import { errorAnswer } from './api-errors.ts'
import { plainError } from './plain-errors.ts'

/** Maximum number of lines to hold: short lines cost more than their text. */
const MAX_LINES = 131_072
/** Cost of a line in addition to its text. */
const LINE_COST = 9

/**
 * Gathers lines of plain text that may be the agent's answer, until it is known whether they are: then
 * they become one message, or go back as raw. Each line is a delta as it comes, unless it may prove to be
 * something else: a record, a block, an error. Text over the limit becomes messages piece by piece.
 * Several JSON records are not an answer, whatever text is around them.
 */
export class AnswerText {
  readonly #maxFrame: number
  readonly #patience: number
  readonly #plainErrors: boolean
  #frames: EngineFrame[] = []
  #size = 0
  /** The warning about pieces was given. */
  #reported = false
  /** There were records among the lines: later lines are not an answer either. */
  #unknown = false
  /** The message whose pieces are being reported, and the number of frames that are in them. */
  #id: string | undefined
  #told = 0
  /** No more pieces: what follows may not be part of the answer. */
  #waiting = false
  #fence: string | undefined

  /**
   * `patience`: lines to wait for before the first delta, because noise may precede the records.
   * `plainErrors`: an error in plain words is one, if it is all that was written.
   */
  constructor({ maxFrame }: ReaderOptions, patience = 0, plainErrors = false) {
    this.#plainErrors = plainErrors
    this.#maxFrame = maxFrame
    this.#patience = patience
  }

  get frames(): readonly EngineFrame[] {
    return this.#frames
  }

  /** There are only blank lines, or the bare end of one that was longer than `maxFrame`. */
  get isBlank(): boolean {
    return this.#frames.every(({ blank, text }) => blank || text === '')
  }

  /** Keeps a line. With `hold` it may prove not to be part of the answer, which the next line decides. */
  keep(frame: EngineFrame, say: Say, hold = false): 'kept' {
    const held = this.#frames.length
    const other = held > 0 && this.#frames[0]!.channel !== frame.channel
    const cost = frame.text.length + (frame.blanks?.length ?? 0) + LINE_COST
    const full = held > 0 && (this.#size + cost > this.#maxFrame || held >= MAX_LINES)
    if (other || full) {
      this.speak(say, full)
      if (full && !this.#reported)
        say.warning('FRAME_TOO_LONG', 'the text grew past maxFrame; it comes in pieces')
      this.#reported ||= full
      say.about(frame)
    }
    this.#frames.push(frame)
    this.#size += cost
    if (this.#isCertain(frame) && !hold) this.#tell(say)
    return 'kept'
  }

  /** Reports the lines as one message; the confidence depends on whether only the agent writes there. */
  speak(say: Say, incomplete = false, ended = false): void {
    const first = this.#frames[0]
    if (!first) return
    // Blank lines mean nothing: a terminal adds some of its own.
    if (this.isBlank || this.#holdsRecords()) {
      this.giveBack(say)
      return
    }
    const text = this.#textFrom(0)
    const error = incomplete ? undefined : this.#errorIn(text, ended)
    // The blank after a document may come after the next line.
    const to = this.#frames.reduce((last, frame) => Math.max(last, frame.to), 0)
    say.about({ channel: first.channel, from: first.from, to })
    if (error === undefined) {
      say.confidence(first.channel === 'stdout' ? 0.6 : 0.3)
      say.message(this.#id, text, incomplete ? { incomplete } : {})
    } else {
      if (this.#id !== undefined) say.message(this.#id, undefined, { withdrawn: true })
      say.confidence(0.7)
      say.error(error, 'fatal')
    }
    this.#forget()
  }

  /** Gives the lines back: they were noise. `read` may still find something to report about one. */
  giveBack(say: Say, read: (frame: EngineFrame) => boolean = () => false): void {
    if (this.#id !== undefined) say.message(this.#id, undefined, { withdrawn: true })
    for (const frame of this.#frames) if (!read(frame)) say.giveBack(frame)
    this.#forget()
  }

  /** Removes the last frame that fits: it was not part of the answer. */
  takeLast(fits: (frame: EngineFrame, index: number) => boolean): EngineFrame | undefined {
    const at = this.#frames.findLastIndex(fits)
    return at < 0 ? undefined : this.#frames.splice(at, 1)[0]
  }

  /** `ended`: the engine has said that the turn ended well, so that these are the model's words. */
  #errorIn(text: string, ended = false): string | undefined {
    return errorAnswer(text) ?? (this.#plainErrors && !ended ? plainError(text) : undefined)
  }

  #forget(): void {
    this.#frames = []
    this.#size = this.#told = 0
    this.#id = undefined
    this.#waiting = false
  }

  #textFrom(from: number): string {
    const shownFrom = this.#frames.slice(from)
    return shownFrom.map((frame, nth) => between(this.#frames[from + nth - 1], frame) + shown(frame)).join('')
  }

  /** Reports the lines that have not been reported as a piece of the message. */
  #tell(say: Say): void {
    const piece = this.#textFrom(this.#told)
    this.#told = this.#frames.length
    if (piece === '') return
    this.#id ??= say.newId()
    say.confidence(this.#frames[0]!.channel === 'stdout' ? 0.6 : 0.3)
    say.piece('message', this.#id, piece)
  }

  /** Whether the lines so far, up to this one, may be reported. */
  #isCertain(frame: EngineFrame): boolean {
    if (this.#waiting || this.#unknown || frame.blank) return false
    const mark = frame.text.slice(0, 3)
    const quoted = this.#fence !== undefined
    if (mark === '```' || mark === '~~~')
      this.#fence = quoted ? (mark === this.#fence ? undefined : this.#fence) : mark
    this.#waiting = frame.label !== undefined || frame.open === true || (!quoted && mayBeRecord(frame))
    if (this.#waiting || this.#told > 0) return !this.#waiting
    // An error in place of an answer is a line or a few.
    return this.#frames.length > this.#patience && this.#errorIn(this.#textFrom(0)) === undefined
  }

  /** Whether the lines are those of a program that writes records. */
  #holdsRecords(): boolean {
    const records = bareRecords(this.#frames, this.#maxFrame)
    this.#unknown ||= records.size > 1 || isCutRecord(this.#frames, records)
    if (this.#unknown)
      this.#frames = this.#frames.map((frame) =>
        records.has(frame) ? { ...frame, value: records.get(frame) } : frame,
      )
    return this.#unknown
  }
}

/** Only the first record of a program, cut off: half a record is not an answer. */
function isCutRecord(frames: readonly EngineFrame[], records: ReadonlyMap<EngineFrame, unknown>): boolean {
  const [first, second] = frames.filter(({ blank }) => !blank)
  if (!first || second || !records.has(first) || records.get(first) !== undefined) return false
  return recordStarts.some((start) => first.text.startsWith(start))
}

const recordStarts = ['{"type":"', '[{"type":"', '{"jsonrpc":"']

/** What was before a frame in the text. */
function between(before: EngineFrame | undefined, { glue, blanks = '', from }: EngineFrame): string {
  if (before === undefined) return ''
  return glue !== undefined && before.to === from ? glue : `\n${blanks}`
}

/** A block as it was in the text. */
function shown({ label, text, open }: EngineFrame): string {
  return label === undefined ? text : `<${label}>${text}${open ? '' : `</${label}>`}`
}

/** Blocks in which a model quotes JSON. */
const TAGS = ['json', 'think', 'thinking']

/** The header that LSP writes between two records. */
const HEADER = 'Content-Length: '

/**
 * Prefixes that other programs put before a record on its line: server-sent events, a record separator, a
 * time (also with the name of a stream), the name of a container or a pod, the head of a syslog line.
 */
const prefix =
  /^(?:data: ?|\u001e|\d{4}-\d\d-\d\d[T ][\d:.,+Z-]{8,40} (?:\S{1,100} )?|[\w.]{1,64}[-_]\d{1,3} {1,64}\| |\[pod\/[^\]\s]{1,200}\] |[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S{1,64} [^\s:]{1,80}: )[{[]/
const MAX_PREFIX = 320

/**
 * Finds JSON records that fill their lines and are in no fence or tag, by the frame each of them begins in;
 * two at most. One may well be a model's answer. Two are the records of an unknown program: they contain
 * prompts and tool output as well as words of the model, so none of it can count as an answer.
 */
function bareRecords(frames: readonly EngineFrame[], maxFrame: number): Map<EngineFrame, unknown> {
  const found = new Map<EngineFrame, unknown>()
  const { channel = 'stdout' } = frames[0] ?? {}
  /** Frames that were cut as text, by their start: their lines are cut again, as records. */
  const places = new Map<number, EngineFrame>()
  let last: EngineFrame | undefined
  let fence: string | undefined
  let tag: string | undefined

  const saw = (frame: EngineFrame | undefined, { value, open, glue, text }: EngineFrame) => {
    if (glue === undefined) {
      last = frame
      if (frame && (open || holdsRecord(value))) found.set(frame, value)
    } else if (value === undefined && last && channel !== 'pty' && !text.startsWith(HEADER)) {
      //  {"a":1} is the answer
      //          ^ a sentence; on a terminal it may be log text
      found.delete(last)
    }
  }
  const again = new Cutter({ channel, cut: () => ({ [channel]: 'documents' }), maxFrame }, (part) =>
    saw(places.get(part.from), part),
  )

  for (const [index, frame] of frames.entries()) {
    // What follows a record on the same line has not arrived yet.
    if (found.size > 1 && frame.glue === undefined) return found
    const { text, from, to } = frame
    const quoted = fence !== undefined || tag !== undefined
    const following = quoted || again.isHolding ? undefined : afterPrefix(text)
    const mark = text.slice(0, 3)
    if (fence !== undefined) {
      if (mark === fence) fence = undefined
    } else if (tag !== undefined) {
      if (text.includes(`</${tag}>`)) tag = undefined
    } else if (frame.label !== undefined || frame.blank) continue
    else if (followsPrefix(frame, frames[index - 1])) found.set(frame, frame.value)
    else if (frame.value !== undefined || frame.glue !== undefined) saw(frame, frame)
    else if (mark === '```' || mark === '~~~') fence = mark
    else if (following !== undefined) {
      if (holdsRecord(following)) found.set(frame, following)
    } else if (again.isHolding || mark.startsWith('{') || mark.startsWith('[')) {
      places.set(from, frame)
      again.line({ text, from, to, open: frame.open === true })
    } else if (text.includes('<')) tag = openedIn(text)
  }
  again.end()
  return found
}

/** Whether a line may begin a record, as `bareRecords` sees it once all lines are there. */
function mayBeRecord({ text, value, glue }: EngineFrame): boolean {
  if (value !== undefined || glue !== undefined || text.startsWith('{') || text.startsWith('[')) return true
  return (text.endsWith('}') || text.endsWith(']')) && prefix.test(text.slice(0, MAX_PREFIX))
}

function openedIn(text: string): string | undefined {
  return TAGS.find((name) => text.lastIndexOf(`<${name}>`) > text.lastIndexOf(`</${name}>`))
}

/** The record that fills the rest of its line, if there is one. */
function afterPrefix(text: string): unknown {
  if (!text.endsWith('}') && !text.endsWith(']')) return undefined
  const head = prefix.exec(text.slice(0, MAX_PREFIX))?.[0]
  return head === undefined ? undefined : jsonValue(text.slice(head.length - 1))
}

/** Engines that look for documents after other text cut such a line in two. */
function followsPrefix({ value, glue }: EngineFrame, before: EngineFrame | undefined): boolean {
  if (glue === undefined || !before || before.text.length > MAX_PREFIX || !holdsRecord(value)) return false
  return prefix.test(`${before.text}${glue}{`)
}
