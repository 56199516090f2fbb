import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { copilot } from '../../src/engines/copilot/copilot.ts'
import { cursor } from '../../src/engines/cursor.ts'
import { droid } from '../../src/engines/droid.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { opencode } from '../../src/engines/opencode/opencode.ts'
import type { Engine } from '../../src/events/engine.ts'
import { lines, only, run, texts } from './run.ts'

interface Row {
  readonly engine: Engine
  readonly first?: object
  readonly record: object
  /** What the warning names. */
  readonly name: string
}

const item = (more: object) => ({ type: 'item.completed', item: { id: 'i', ...more } })
const part = (type: string, more: object) => ({ type, sessionID: 's', part: { id: 'p', ...more } })
const call = (state: unknown) => part('tool_use', { type: 'tool', tool: 'bash', callID: 'c', state })
const data = (type: string, more: object) => ({
  ...{ type, id: 'e', timestamp: 't', parentId: null },
  data: more,
})
const thread = { method: 'thread/started', params: { thread: { id: 't', modelProvider: 'p' } } }
const served = (more: object) => ({ method: 'item/completed', params: { threadId: 't', item: more } })
const event = (more: object) => ({ timestamp: 't', type: 'event_msg', payload: more })
const message = (...parts: object[]) => ({
  ...{ opencode: 'message', id: 'm', sessionID: 's' },
  ...{ data: { role: 'assistant' }, parts },
})

const rows: Readonly<Record<string, Row>> = {
  'a message of Codex': {
    engine: codex,
    record: item({ type: 'agent_message', text: ['a'] }),
    name: 'text: list',
  },
  'a status of Codex': {
    engine: codex,
    record: item({ type: 'command_execution', command: 'x', status: 'exploded' }),
    name: 'status: exploded',
  },
  'an exit code of Codex': {
    engine: codex,
    record: item({ type: 'command_execution', command: 'x', exit_code: '1', status: 'completed' }),
    name: 'exit_code: text',
  },
  'a message of the app-server': {
    engine: codex,
    first: thread,
    record: served({ type: 'agentMessage', id: 'i', text: { a: 1 } }),
    name: 'text: record',
  },
  'the end of a turn of the app-server': {
    engine: codex,
    first: thread,
    record: { method: 'turn/completed', params: { threadId: 't', turn: { status: 'paused' } } },
    name: 'turn.status: paused',
  },
  'a message of Codex 0.42': {
    engine: codex,
    record: { id: '0', msg: { type: 'agent_message', message: 5 } },
    name: 'message: number',
  },
  'a message of a rollout': {
    engine: engines['codex-session'],
    record: event({ type: 'agent_message', message: ['a'] }),
    name: 'message: list',
  },
  'a text of OpenCode': {
    engine: opencode,
    record: part('text', { type: 'text', text: { value: 'a' } }),
    name: 'text: record',
  },
  'the state of a call of OpenCode': { engine: opencode, record: call('completed'), name: 'state: text' },
  'the status of a call of OpenCode': {
    engine: opencode,
    record: call({ status: 'paused', input: {} }),
    name: 'state.status: paused',
  },
  'a status of OpenCode that is no word': {
    engine: opencode,
    record: call({ status: 'key sk-1234', input: {} }),
    name: 'state.status: text',
  },
  'a text in the database of OpenCode': {
    engine: engines['opencode-session'],
    record: message({ type: 'text', id: 'p', text: ['a'] }),
    name: 'text: list',
  },
  'a message of Copilot': {
    engine: copilot,
    record: data('assistant.message', { messageId: 'm', content: [{ text: 'a' }] }),
    name: 'content: list',
  },
  'a piece of Copilot': {
    engine: copilot,
    record: data('assistant.message_delta', { messageId: 'm', deltaContent: { text: 'a' } }),
    name: 'deltaContent: record',
  },
  'a message in the session of Copilot': {
    engine: engines['copilot-session'],
    first: data('session.start', { sessionId: 's', copilotVersion: '1' }),
    record: data('assistant.message', { messageId: 'm', content: ['a'] }),
    name: 'content: list',
  },
  'a call of Cursor': {
    engine: cursor,
    record: {
      ...{ type: 'tool_call', subtype: 'paused', call_id: 'c', session_id: 's' },
      tool_call: { shellToolCall: { args: {} } },
    },
    name: 'subtype: paused',
  },
  'the answer of Cursor': {
    engine: cursor,
    record: { type: 'result', subtype: 'success', session_id: 's', request_id: 'r', result: ['a'] },
    name: 'result: list',
  },
  'the answer of Droid': {
    engine: droid,
    first: { type: 'system', subtype: 'init', session_id: 's', tools: [] },
    record: { type: 'completion', session_id: 's', finalText: { text: 'a' } },
    name: 'finalText: record',
  },
}

describe('a known field of another kind, or with an unknown value', () => {
  test.each(Object.entries(rows))(
    '%s is kept as raw, with a warning',
    (_, { engine, first, record, name }) => {
      const events = run(engine, { stdout: lines(...(first ? [first] : []), record), exit: 0 })
      const raw = only(events, 'raw.stdout').map(({ data: { line } }) => line)
      expect(raw).toContain(JSON.stringify(record))
      const warnings = only(events, 'diagnostic.parser.warning').map(({ data }) => data)
      expect(warnings.filter(({ code }) => code === 'UNKNOWN_FIELD')).toMatchObject([{ name }])
      expect(warnings.at(-1)).toMatchObject({ code: 'DRIFT_REPORT', drift: { fields: { [name]: 1 } } })
      // Nothing was said in place of what could not be read.
      expect(texts(events)).toEqual([])
    },
  )

  test('a missing field, and null, are of every kind', () => {
    const records = [item({ type: 'command_execution', command: 'x', exit_code: null, status: null })]
    const events = run(codex, { stdout: lines(...records), exit: 0 })
    expect(only(events, 'diagnostic.parser.warning')).toEqual([])
  })
})
