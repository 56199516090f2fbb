import {
  type EngineFrame,
  isRecord,
  type Limits,
  type Profile,
  type Reader,
  type Say,
  text,
} from '../events/profile.ts'
import { TextBalance } from '../json/text-balance.ts'
import { prose } from './answer-text.ts'
import { conversation } from './claude-turn.ts'
import { isCursor } from './cursor.ts'
import { isDroid } from './droid.ts'

type Message = Record<string, unknown>

/** Claude Code (`claude -p --output-format stream-json | json | text`), with or without partial messages. */
export const claude: Profile = {
  name: 'claude',
  parser: 'claude_ndjson',
  cut: { stdout: 'documents', pty: 'documents' },
  about: 'claude -p --output-format stream-json, json or text; read from its published types, not run',
  shape: (frame) =>
    isDialect(first(frame)) && ![isQwen, isAmp, isCursor, isDroid].some((is) => is(first(frame))),
  open: openDialect,
}

const types = new Set(['system', 'assistant', 'user', 'result', 'stream_event'])

function isDialect(value: unknown): value is Message {
  return isRecord(value) && types.has(text(value['type']) ?? '') && typeof value['session_id'] === 'string'
}

/** What the SDK is told before the first message; it has no session yet. */
function isControl(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { type, request, response } = value
  return (
    (type === 'control_response' && isRecord(response)) || (type === 'control_request' && isRecord(request))
  )
}

/** Qwen Code names itself, and spells its permission mode in another way. */
export function isQwen(value: unknown): boolean {
  return isDialect(value) && ('qwen_code_version' in value || 'permission_mode' in value)
}

/** A thread of Amp: Claude Code's sessions are bare UUIDs. */
export function isAmp(value: unknown): boolean {
  return isDialect(value) && (text(value['session_id']) ?? '').startsWith('T-')
}

/** Claude Code, Qwen Code and Amp speak one dialect. */
export function openDialect(limits: Limits): Reader {
  const answer = prose(limits)
  const turn = conversation()
  let spoke = false
  const read = (value: unknown, say: Say, extra: boolean): boolean => {
    if (!isRecord(value) || typeof value['type'] !== 'string') return false
    // What came before the first record is no answer: it comes out now, in its place.
    if (!spoke) answer.giveBack(say)
    spoke = true
    return turn.read(value, say, extra)
  }
  return {
    read(frame, say) {
      const { value } = frame
      const extra = frame.extra !== undefined
      if (Array.isArray(value) && isDialect(value[0]))
        return value.map((one) => read(one, say, extra)).some(Boolean)
      if (isDialect(value) || isControl(value) || (spoke && isRecord(value))) return read(value, say, extra)
      // The one array of json mode, cut off: its whole elements still count.
      if (isDialect(first(frame)))
        return elements(frame.text)
          .map((one) => read(one, say, extra))
          .some(Boolean)
      return spoke ? false : answer.keep(frame, say)
    },
    end(say) {
      answer.speak(say)
    },
  }
}

/** The record in the frame, or the first one of its array, be it whole or cut off. */
export function first({ value, text, open }: EngineFrame): unknown {
  if (Array.isArray(value)) return value[0]
  return open && text.startsWith('[{') ? elements(text, 1)[0] : value
}

/** The elements of an array that are complete, though the array may not be. */
function elements(array: string, max = Number.POSITIVE_INFINITY): unknown[] {
  const found: unknown[] = []
  let at = 1
  for (;;) {
    if (found.length >= max) return found
    while (array[at] === ',' || array[at] === ' ') at++
    const rest = array.slice(at)
    const end = new TextBalance().readStrictly(rest)
    if (typeof end !== 'number') return found
    try {
      found.push(JSON.parse(rest.slice(0, end)))
    } catch {
      return found
    }
    at += end
  }
}
