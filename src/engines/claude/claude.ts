import {
  type Engine,
  type EngineFrame,
  isRecord,
  type Limits,
  type Reader,
  type Say,
  text,
} from '../../events/engine.ts'
import { TextBalance } from '../../json/text-balance.ts'
import { prose } from '../answer-text.ts'
import { conversation } from './turn.ts'

type Message = Record<string, unknown>

/** Claude Code (`claude -p --output-format stream-json | json | text`), with or without partial messages. */
export const claude: Engine = {
  name: 'claude',
  parser: 'claude_ndjson',
  cut: { stdout: 'documents', pty: 'documents' },
  about: 'claude -p --output-format stream-json, json or text; read from its published types, not run',
  shape: (frame) => isOwn(first(frame)) && !isQwen(first(frame)) && !isAmp(first(frame)),
  open: openDialect,
}

const types = new Set(['system', 'assistant', 'user', 'result', 'stream_event', 'rate_limit_event'])

function isDialect(value: unknown): value is Message {
  return isRecord(value) && types.has(text(value['type']) ?? '') && typeof value['session_id'] === 'string'
}

/**
 * A record that only this dialect has. Others borrow its envelope (Cursor, Droid), but not the fields
 * required here.
 */
function isOwn(value: unknown): value is Message {
  if (!isDialect(value)) return false
  if (typeof value['uuid'] === 'string' || 'parent_tool_use_id' in value) return true
  const { type, message, event } = value
  if (type === 'system') return Array.isArray(value['mcp_servers'])
  if (type === 'result') return typeof value['num_turns'] === 'number'
  if (type === 'stream_event') return isRecord(event) && typeof event['type'] === 'string'
  return isRecord(message) && typeof message['id'] === 'string'
}

/** Control records for the SDK before the first message; there is no session yet. */
function isControl(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { type, request, response } = value
  if (type === 'control_cancel_request') return typeof value['request_id'] === 'string'
  return (
    (type === 'control_response' && isRecord(response)) || (type === 'control_request' && isRecord(request))
  )
}

/** A record of a run that has begun: an unknown type counts as drift. An answer of Cursor does not count. */
function isLater(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { type } = value
  if (type === 'assistant') return isOwn(value)
  if (type === 'result' && 'request_id' in value) return isOwn(value)
  return isDialect(value) || !types.has(text(type) ?? '')
}

/** Qwen Code names itself, and spells its permission mode differently. */
export function isQwen(value: unknown): boolean {
  return isOwn(value) && ('qwen_code_version' in value || 'permission_mode' in value)
}

/** A thread of Amp: Claude Code's sessions are bare UUIDs. */
export function isAmp(value: unknown): boolean {
  return isDialect(value) && (text(value['session_id']) ?? '').startsWith('T-')
}

/** Claude Code, Qwen Code and Amp share one dialect. */
export function openDialect(limits: Limits): Reader {
  const answer = prose(limits)
  const turn = conversation()
  let spoke = false
  const read = (value: unknown, say: Say, extra: boolean): boolean => {
    if (!isRecord(value) || typeof value['type'] !== 'string') return false
    // What came before the first record is not an answer: it is emitted as raw now, at its own position.
    if (!spoke) answer.giveBack(say)
    spoke = true
    return turn.read(value, say, extra)
  }
  return {
    read(frame, say) {
      const { value } = frame
      const extra = frame.extra !== undefined
      if (Array.isArray(value) && isOwn(value[0]))
        return value.map((one) => read(one, say, extra)).some(Boolean)
      if (isOwn(value) || isControl(value) || (spoke && isLater(value))) return read(value, say, extra)
      // The single array of json mode, cut off: its complete elements still count.
      if (isOwn(first(frame)))
        return elements(frame.text)
          .map((one) => read(one, say, extra))
          .some(Boolean)
      return spoke ? false : answer.keep(frame, say)
    },
    end(say) {
      answer.speak(say)
      turn.end(say)
    },
  }
}

/** The record in the frame, or the first one of its array, complete or cut off. */
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
