import { cutter } from '../events/cut.ts'
import type { EngineFrame } from '../events/profile.ts'
import { holdsRecord } from '../events/unknown-records.ts'

/** Blocks in which a model shows or quotes JSON. */
const TAGS = ['json', 'think', 'thinking']

/**
 * Finds JSON records that fill their lines and are in no fence or tag, by the frame each of them begins in; two at most.
 * One is a model's answer as often as not. Two are the records of a program that nothing here understands: they hold
 * prompts and tool output as well as words of the model, so that none of it can be taken for an answer.
 */
export function bareRecords(frames: readonly EngineFrame[], maxFrame: number): Map<EngineFrame, unknown> {
  const found = new Map<EngineFrame, unknown>()
  const { channel = 'stdout' } = frames[0] ?? {}
  /** Frames that were cut as text, by where they begin: their lines are cut again, as records. */
  const places = new Map<number, EngineFrame>()
  let last: EngineFrame | undefined
  let fence: string | undefined
  let tag: string | undefined

  const saw = (frame: EngineFrame | undefined, { value, open, glue }: EngineFrame) => {
    if (glue === undefined) {
      last = frame
      if (frame && (open || holdsRecord(value))) found.set(frame, value)
    } else if (value === undefined && last && channel !== 'pty') {
      //  {"a":1} is the answer
      //          ^ a sentence; on a terminal it may be log text
      found.delete(last)
    }
  }
  const again = cutter({ channel, cut: () => ({ [channel]: 'documents' }), maxFrame }, (part) =>
    saw(places.get(part.from), part),
  )

  for (const frame of frames) {
    // What is behind a record on the same line has yet to come.
    if (found.size > 1 && frame.glue === undefined) return found
    const { text, from, to } = frame
    const mark = text.slice(0, 3)
    if (fence !== undefined) {
      if (mark === fence) fence = undefined
    } else if (tag !== undefined) {
      if (text.includes(`</${tag}>`)) tag = undefined
    } else if (frame.label !== undefined || frame.blank) continue
    else if (frame.value !== undefined || frame.glue !== undefined) saw(frame, frame)
    else if (mark === '```' || mark === '~~~') fence = mark
    else if (again.holding() || mark.startsWith('{') || mark.startsWith('[')) {
      places.set(from, frame)
      again.line({ text, from, to, open: frame.open === true })
    } else if (text.includes('<')) tag = openedIn(text)
  }
  again.end()
  return found
}

function openedIn(text: string): string | undefined {
  return TAGS.find((name) => text.lastIndexOf(`<${name}>`) > text.lastIndexOf(`</${name}>`))
}
