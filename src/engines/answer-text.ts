import type { EngineFrame, Limits, Say } from '../events/engine.ts'
import { errorAnswer } from './api-errors.ts'
import { bareRecords, mayBeRecord } from './bare-records.ts'

/** Maximum number of lines to hold: short lines cost more than their text. */
const MAX_LINES = 131_072
/** Cost of a line in addition to its text. */
const LINE_COST = 9

/**
 * Gathers lines of plain text that may be the agent's answer, until it is known whether they are: then
 * they become one message, or go back as raw. Each line is a delta as it comes, unless it may prove to be
 * something else: a record, a block, an error. Text over the limit becomes messages piece by piece.
 * Several JSON records are not an answer, whatever text is around them. `patience`: lines to wait for before
 * the first delta, because a line before the records of an engine is noise.
 */
export function prose({ maxFrame }: Limits, patience = 0) {
  let frames: EngineFrame[] = []
  let size = 0
  /** The warning about pieces was given. */
  let reported = false
  /** There were records among the lines: later lines are not an answer either. */
  let unknown = false
  /** The message whose pieces are being reported, and the number of frames that are in them. */
  let id: string | undefined
  let told = 0
  /** No more pieces: what follows may not be part of the answer. */
  let waiting = false
  let fence: string | undefined

  const textFrom = (from: number): string => {
    let text = ''
    for (let at = from; at < frames.length; at++)
      text += between(frames[at - 1], frames[at]!) + shown(frames[at]!)
    return text
  }

  /** Reports the lines that have not been reported as a piece of the message. */
  const tell = (say: Say) => {
    const piece = textFrom(told)
    told = frames.length
    if (piece === '') return
    id ??= say.newId()
    say.confidence(frames[0]!.channel === 'stdout' ? 0.6 : 0.3)
    say.delta(id, piece)
  }

  /** Whether the lines so far, up to this one, may be reported. */
  const isCertain = (frame: EngineFrame): boolean => {
    if (waiting || unknown || frame.blank) return false
    const mark = frame.text.slice(0, 3)
    const quoted = fence !== undefined
    if (mark === '```' || mark === '~~~') fence = quoted ? (mark === fence ? undefined : fence) : mark
    waiting = frame.label !== undefined || frame.open === true || (!quoted && mayBeRecord(frame))
    // An error in place of an answer is a line or a few.
    return !waiting && (told > 0 || (frames.length > patience && errorAnswer(textFrom(0)) === undefined))
  }

  return {
    /** Keeps a line. With `hold` it may prove not to be part of the answer, which the next line decides. */
    keep(frame: EngineFrame, say: Say, hold = false): 'kept' {
      const other = frames.length > 0 && frames[0]!.channel !== frame.channel
      const cost = frame.text.length + (frame.blanks?.length ?? 0) + LINE_COST
      const full = frames.length > 0 && (size + cost > maxFrame || frames.length >= MAX_LINES)
      if (other || full) {
        this.speak(say, full)
        if (full && !reported)
          say.warning('FRAME_TOO_LONG', 'the text grew past maxFrame; it comes in pieces')
        reported ||= full
        say.about(frame)
      }
      frames.push(frame)
      size += cost
      if (isCertain(frame) && !hold) tell(say)
      return 'kept'
    },
    /** Reports the lines as one message; the confidence depends on whether only the agent writes there. */
    speak(say: Say, incomplete = false) {
      const first = frames[0]
      if (!first) return
      // Blank lines mean nothing: a terminal adds some of its own.
      if (frames.every(({ blank }) => blank)) {
        this.giveBack(say)
        return
      }
      const records = bareRecords(frames, maxFrame)
      unknown ||= records.size > 1 || isCutRecord(frames, records)
      if (unknown) {
        frames = frames.map((frame) => (records.has(frame) ? { ...frame, value: records.get(frame) } : frame))
        this.giveBack(say)
        return
      }
      const text = textFrom(0)
      const error = incomplete ? undefined : errorAnswer(text)
      say.about({ channel: first.channel, from: first.from, to: frames.at(-1)!.to })
      if (error !== undefined) {
        say.confidence(0.7)
        say.error(error, 'fatal')
      } else {
        say.confidence(first.channel === 'stdout' ? 0.6 : 0.3)
        say.message(id, text, incomplete ? { incomplete } : {})
      }
      this.forget()
    },
    /** Gives the lines back: they were noise. `read` may still find something to report about one. */
    giveBack(say: Say, read: (frame: EngineFrame) => boolean = () => false) {
      if (id !== undefined) say.withdraw(id)
      for (const frame of frames) if (!read(frame)) say.giveBack(frame)
      this.forget()
    },
    /** Removes the last frame that fits: it was not part of the answer. */
    takeLast(fits: (frame: EngineFrame, index: number) => boolean): EngineFrame | undefined {
      const at = frames.findLastIndex(fits)
      return at < 0 ? undefined : frames.splice(at, 1)[0]
    },
    forget() {
      frames = []
      size = told = 0
      id = undefined
      waiting = false
    },
    /** Whether there is anything but blank lines. */
    isBlank: (): boolean => frames.every(({ blank }) => blank),
    frames: (): readonly EngineFrame[] => frames,
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
