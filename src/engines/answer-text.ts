import type { EngineFrame, Limits, Say } from '../events/engine.ts'
import { bareRecords } from './bare-records.ts'

/** Maximum number of lines to hold: short lines cost more than their text. */
const MAX_LINES = 131_072

/**
 * Gathers lines of plain text that may be the agent's answer, until it is known whether they are: then
 * they become one message, or go back as raw. Text over the limit becomes messages piece by piece.
 * Several JSON records are not an answer, whatever text is around them.
 */
export function prose({ maxFrame }: Limits) {
  let frames: EngineFrame[] = []
  let size = 0
  /** The warning about pieces was given. */
  let reported = false
  /** There were records among the lines: later lines are not an answer either. */
  let unknown = false

  return {
    /** Keeps a line. */
    keep(frame: EngineFrame, say: Say): 'kept' {
      const other = frames.length > 0 && frames[0]!.channel !== frame.channel
      const cost = frame.text.length + (frame.blanks?.length ?? 0) + 1
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
      const text = frames.map((frame, index) => between(frames[index - 1], frame) + shown(frame)).join('')
      say.about({ channel: first.channel, from: first.from, to: frames.at(-1)!.to })
      say.confidence(first.channel === 'stdout' ? 0.6 : 0.3)
      say.message(undefined, text, incomplete ? { incomplete } : {})
      this.forget()
    },
    /** Gives the lines back: they were noise. */
    giveBack(say: Say) {
      for (const frame of frames) say.giveBack(frame)
      this.forget()
    },
    /** Removes the last frame that fits: it was not part of the answer. */
    takeLast(fits: (frame: EngineFrame, index: number) => boolean): EngineFrame | undefined {
      const at = frames.findLastIndex(fits)
      return at < 0 ? undefined : frames.splice(at, 1)[0]
    },
    forget() {
      frames = []
      size = 0
    },
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
