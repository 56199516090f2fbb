import type { Note } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { opensInProse } from '../frames/gate.ts'
import { isBeginning } from '../json/cut-text.ts'
import type { Rules } from './ladder/attempt.ts'
import { controlsEscaped } from './ladder/control.ts'
import { isPayloadFence } from './ladder/fence-body.ts'
import { climb, climbStrictly, type Miss, type Pass } from './ladder/ladder.ts'
import { mend } from './ladder/mend.ts'
import type { Outcome } from './outcome.ts'
import type { Head } from './unmatched-text.ts'
import { badOf, goodOf, nothingOf, tooLongOf } from './verdict.ts'

export interface JudgeOptions {
  readonly rules: Rules
  readonly label: string | undefined
  readonly head: Head
}

/**
 * Decides what each frame is worth: a tag, a line or a json fence is a payload, good or bad; an object in
 * prose is one only if it is JSON, or passes the schema; the rest is prose. At the end, an input without
 * any payload gives one outcome that says so.
 */
export function judgeStage(options: JudgeOptions): Stage<Frame, Outcome<unknown>> {
  const { rules, head } = options
  return (next) => {
    /** The frame that may turn out to be the whole input. */
    let held: Frame | undefined
    let found = false
    let blank = true
    let channel: Frame['channel'] = 'stdout'

    const emit = (outcome: Outcome<unknown>) => {
      found = true
      head.drop()
      next.write(outcome)
    }
    const good = (frame: Frame, pass: Pass, why?: string) => emit(goodOf(frame, pass, why))
    const bad = (frame: Frame, miss: Miss) => emit(badOf(frame, miss, options.label))

    function payload(frame: Frame, why?: string): void {
      const result = climb(frame.text, rules)
      if (result.ok) good(frame, result, why)
      else bad(frame, result)
    }

    function fence(frame: Frame): void {
      if (isPayloadFence(frame.label ?? '', frame.text)) payload(frame, 'took it from a fence')
      else if (rules.check) {
        const result = climbStrictly(frame.text, rules)
        if (result.ok) good(frame, result, 'took it from a fence')
      }
    }

    function objectInProse(frame: Frame): void {
      if (rules.root === 'object' && frame.text[0] === '[') return
      const mayRepair = rules.check !== undefined || (frame.open && rules.partial)
      const result = (mayRepair ? climb : climbStrictly)(frame.text, rules)
      if (result.ok) good(frame, result, 'took it from prose')
      else if (result.strict || (frame.open && isCutJson(frame.text))) bad(frame, result)
    }

    /** Something follows the frame that stood first, so it was not the whole input. */
    function release(): void {
      const frame = held
      held = undefined
      if (frame && opensInProse(frame.text, rules.check !== undefined)) objectInProse(frame)
    }

    /** Nothing follows. A think block before it is the only thing that can have been passed over. */
    function wholeInput(frame: Frame): void {
      const result = climb(frame.text, rules)
      if (result.ok) good(frame, result, blank ? undefined : 'dropped the think block')
      else if (!frame.open || result.strict || isCutDocument(frame.text, rules.maxRepair)) bad(frame, result)
    }

    const sink: Sink<Frame> = {
      write(frame) {
        channel = frame.channel
        if (frame.kind === 'text') {
          if (!frame.blank) {
            release()
            blank = false
          }
          const tooLong = frame.notes?.find(isLostPayload)
          if (tooLong) emit(tooLongOf(frame, tooLong, options.label))
          return
        }
        if (frame.first) {
          held = frame
          return
        }
        release()
        if (frame.kind === 'fence') fence(frame)
        else if (frame.kind === 'object') objectInProse(frame)
        else payload(frame)
        blank = false
      },
      end() {
        if (held) wholeInput(held)
        if (!found) emit(nothingOf(blank && !held ? 'EMPTY' : 'NO_MATCH', channel, head, options.label))
        next.end()
      },
    }
    return sink
  }
}

/** A block that outgrew its limit may have been the payload; a think block never is. */
function isLostPayload({ code, message }: Note): boolean {
  return code === 'FRAME_TOO_LONG' && !message.startsWith('a think block')
}

/** Is the text the beginning of a JSON text? Raw line breaks in its strings are forgiven. */
function isCutJson(text: string): boolean {
  return isBeginning(controlsEscaped(text).text)
}

/** The same for a text that is the whole input: an object may also be almost JSON. */
function isCutDocument(text: string, maxRepair: number): boolean {
  if (isCutJson(text)) return true
  const mended = text[0] === '{' && text.length <= maxRepair ? mend(text, true) : undefined
  return mended !== undefined && isBeginning(mended.text)
}
