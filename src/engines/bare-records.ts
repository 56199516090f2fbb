import { cutter } from '../events/cut.ts'
import type { EngineFrame } from '../events/profile.ts'
import { holdsRecord } from '../events/unknown-records.ts'

/** Blocks in which a model shows or quotes JSON. */
const TAGS = ['json', 'think', 'thinking']

/**
 * Finds JSON records that begin their lines and are in no fence or tag, by the frame each of them begins in. One is a
 * model's answer as often as not. Two are the records of a program that nothing here understands: they hold prompts
 * and tool output as well as words of the model, so that none of it can be taken for an answer.
 */
export function bareRecords(frames: readonly EngineFrame[], maxFrame: number): Map<EngineFrame, unknown> {
  const found = new Map<EngineFrame, unknown>()
  const places = new Map<number, EngineFrame>()
  let fence: string | undefined
  let tag: string | undefined
  const channel = frames[0]?.channel ?? 'stdout'
  // A frame that was cut as text has no value: its lines are read again, as records.
  const again = cutter(
    { channel, cut: () => ({ [channel]: 'documents' }), maxFrame },
    ({ from, value, open, glue }) => {
      const frame = places.get(from)
      if (frame && glue === undefined && (open || holdsRecord(value))) found.set(frame, value)
    },
  )
  for (const frame of frames) {
    const { text, from, to, value } = frame
    const mark = text.slice(0, 3)
    if (fence !== undefined) {
      if (mark === fence) fence = undefined
    } else if (tag !== undefined) {
      if (text.includes(`</${tag}>`)) tag = undefined
    } else if (frame.label === undefined && frame.glue === undefined && !frame.blank) {
      if (value !== undefined) {
        if (holdsRecord(value)) found.set(frame, value)
      } else if (mark === '```' || mark === '~~~') fence = mark
      else if (again.holding() || mark.startsWith('{') || mark.startsWith('[')) {
        places.set(from, frame)
        again.line({ text, from, to, open: frame.open === true })
      } else if (text.includes('<')) tag = openedIn(text)
    }
    if (found.size > 1) return found
  }
  again.end()
  return found
}

function openedIn(text: string): string | undefined {
  return TAGS.find((name) => text.lastIndexOf(`<${name}>`) > text.lastIndexOf(`</${name}>`))
}
