import { type Engine, type EngineFrame, isRecord, type Reader, type Say, text } from '../../events/engine.ts'
import { turns } from '../session-turns.ts'
import { opencode } from './opencode.ts'

type Line = Record<string, unknown>

/**
 * OpenCode's sessions are rows of a database. They are read as lines: `{opencode: 'session', row}`, then one
 * `{opencode: 'message', id, sessionID, data, parts}` per message. Tools and steps are those of stdout.
 */
export const opencodeSession: Engine = {
  name: 'opencode',
  parser: 'opencode_session',
  growing: true,
  cut: { stdout: 'records' },
  about: 'session of opencode.db (with node:sqlite, from Node 22.5); 1.18, 1.14',
  shape: ({ value }) => isSession(value) || isMessage(value),
  open(limits) {
    const inner = opencode.open(limits)
    const turn = turns()
    let model: string | undefined
    return {
      read(frame, say) {
        const { value } = frame
        if (isSession(value)) {
          const { id, directory, version } = value.row
          say.session(id, { cwd: text(directory), engine_version: text(version) })
          return true
        }
        if (!isMessage(value)) return false
        say.session(value['sessionID'])
        const { role, modelID } = value.data
        if (typeof modelID === 'string' && modelID !== model) say.status('configured', { model: modelID })
        model = text(modelID) ?? model
        if (role === 'user') {
          const words = promptOf(value.parts)
          if (words !== '') say.user(words)
          return turn.begin(say)
        }
        if (role === 'assistant') return readAnswer(frame, value, { inner, turn }, say)
        say.unknownType(`role ${String(role)}`)
        return false
      },
    }
  },
}

function isSession(value: unknown): value is Line & { row: Line } {
  return isRecord(value) && value['opencode'] === 'session' && isRecord(value['row'])
}

function isMessage(value: unknown): value is Line & { data: Line; parts: unknown[] } {
  if (!isRecord(value) || value['opencode'] !== 'message') return false
  return typeof value['sessionID'] === 'string' && isRecord(value['data']) && Array.isArray(value['parts'])
}

/** The user's own text: files and additions of commands are synthetic. */
function promptOf(parts: readonly unknown[]): string {
  const own = parts.filter(isRecord).filter((part) => part['type'] === 'text' && part['synthetic'] !== true)
  return own.flatMap((part) => text(part['text']) ?? []).join('\n')
}

/** Parts that are lines of their own on stdout, under other names. */
const lineTypes: Readonly<Record<string, string>> = {
  'step-start': 'step_start',
  'step-finish': 'step_finish',
  tool: 'tool_use',
}
const silent = new Set(['snapshot', 'patch', 'file', 'agent', 'compaction', 'retry', 'subtask'])

function readAnswer(
  frame: EngineFrame,
  message: Line & { data: Line; parts: unknown[] },
  { inner, turn }: { readonly inner: Reader; readonly turn: ReturnType<typeof turns> },
  say: Say,
): true {
  turn.goOn(say)
  const { error } = message.data
  for (const part of message.parts) {
    if (!isRecord(part)) continue
    const type = text(part['type']) ?? ''
    const words = text(part['text'])
    if (Object.hasOwn(lineTypes, type)) {
      const value = { type: lineTypes[type], sessionID: message['sessionID'], part }
      inner.read({ ...frame, value }, say)
    } else if (type === 'text') {
      // Aborted attempts leave empty texts.
      if (words && part['synthetic'] !== true)
        say.message(text(part['id']), words, isRecord(error) ? { incomplete: true } : {})
    } else if (type === 'reasoning') {
      if (words) say.reasoning(text(part['id']), words)
    } else if (!silent.has(type)) say.unknownType(`part ${type}`)
  }
  if (isRecord(error)) turn.fail(failure(error), say)
  return true
}

function failure(error: Line): string {
  const message = isRecord(error['data']) ? text(error['data']['message']) : undefined
  return `${text(error['name']) ?? 'error'}: ${message ?? 'no message'}`
}
