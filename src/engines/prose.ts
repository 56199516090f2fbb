import type { EngineFrame, Say } from '../events/profile.ts'

/** Text that may be held before it is handed out as a message, and lines: short ones cost more than they hold. */
const MAX_PROSE = 16 * 1024 * 1024
const MAX_LINES = 131_072

/**
 * Gathers lines of plain text that may be the agent's answer, until it is known whether they are: then
 * they become one message, or go back as raw.
 */
export function prose() {
  let frames: EngineFrame[] = []
  let size = 0

  return {
    /** Keeps a line. */
    keep(frame: EngineFrame, say: Say): 'kept' {
      const other = frames.length > 0 && frames[0]!.channel !== frame.channel
      if (other || size > MAX_PROSE || frames.length >= MAX_LINES) {
        this.speak(say)
        say.about(frame)
      }
      frames.push(frame)
      size += frame.text.length
      return 'kept'
    },
    /** Says the lines as one message; how sure we are depends on whether only the agent writes there. */
    speak(say: Say) {
      const first = frames[0]
      if (!first) return
      const text = frames.map((frame, index) => between(frames[index - 1], frame) + shown(frame)).join('')
      say.about({ channel: first.channel, from: first.from, to: frames.at(-1)!.to })
      say.confidence(first.channel === 'stdout' ? 0.6 : 0.3)
      say.message(undefined, text)
      this.forget()
    },
    /** Gives the lines back: they were noise. */
    giveBack(say: Say) {
      for (const frame of frames) say.giveBack(frame)
      this.forget()
    },
    /** Takes out the last frame that fits: it was no part of the answer. */
    takeLast(fits: (frame: EngineFrame) => boolean): EngineFrame | undefined {
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

/** What stood before a frame in the text. */
function between(before: EngineFrame | undefined, { glue, blanks = '', from }: EngineFrame): string {
  if (before === undefined) return ''
  return glue !== undefined && before.to === from ? glue : `\n${blanks}`
}

/** A block as it stood in the text. */
function shown({ label, text }: EngineFrame): string {
  return label === undefined ? text : `<${label}>\n${text}\n</${label}>`
}
