import { Cutter } from '../events/cut.ts'
import type { EngineFrame } from '../events/engine.ts'
import { holdsRecord } from '../events/unknown-records.ts'

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
export function bareRecords(frames: readonly EngineFrame[], maxFrame: number): Map<EngineFrame, unknown> {
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
export function mayBeRecord({ text, value, glue }: EngineFrame): boolean {
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
  if (head === undefined) return undefined
  try {
    return JSON.parse(text.slice(head.length - 1))
  } catch {
    return undefined
  }
}

/** Engines that look for documents after other text cut such a line in two. */
function followsPrefix({ value, glue }: EngineFrame, before: EngineFrame | undefined): boolean {
  if (glue === undefined || !before || before.text.length > MAX_PREFIX || !holdsRecord(value)) return false
  return prefix.test(`${before.text}${glue}{`)
}
