import { describe, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { amp } from '../../src/engines/amp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { cline } from '../../src/engines/cline.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { copilot } from '../../src/engines/copilot.ts'
import { cursor } from '../../src/engines/cursor.ts'
import { droid } from '../../src/engines/droid.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { grok } from '../../src/engines/grok.ts'
import { nanocoder } from '../../src/engines/nanocoder.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { pi } from '../../src/engines/pi.ts'
import { qwen } from '../../src/engines/qwen.ts'
import type { Engine } from '../../src/events/engine.ts'
import { lines, only, run, texts } from './run.ts'

interface Row {
  readonly engine: Engine
  readonly first?: object
  readonly record: object
  /** What the warning names. */
  readonly name: string
  /** The field has nothing to do with how the call ended. */
  readonly good?: true
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

const entry = (more: object) => ({
  ...{ type: 'message', id: 'e', parentId: null, timestamp: 't' },
  message: more,
})
const chats = { sessionId: 's', projectHash: 'h', startTime: 't', lastUpdated: 't' }

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
  'the content of Claude Code': {
    engine: claude,
    record: { type: 'assistant', uuid: 'u', session_id: 's', message: { id: 'm', content: 5 } },
    name: 'message.content: number',
  },
  'the answer of Claude Code': {
    engine: claude,
    record: { type: 'result', subtype: 'success', uuid: 'u', session_id: 's', result: ['a'] },
    name: 'result: list',
  },
  'the cost of Claude Code': {
    engine: claude,
    record: { type: 'result', subtype: 'success', uuid: 'u', session_id: 's', total_cost_usd: '0.25' },
    name: 'total_cost_usd: text',
  },
  'the denials of Claude Code': {
    engine: claude,
    record: { type: 'result', subtype: 'success', uuid: 'u', session_id: 's', permission_denials: 'a' },
    name: 'permission_denials: text',
  },
  'the content in a session of Claude Code': {
    engine: engines['claude-session'],
    record: {
      ...{ type: 'assistant', uuid: 'u', parentUuid: null, sessionId: 's' },
      message: { role: 'assistant', id: 'm', content: { text: 'a' } },
    },
    name: 'message.content: record',
  },
  'a response of Gemini CLI': {
    engine: gemini,
    record: { session_id: 's', response: { text: 'a' }, stats: {} },
    name: 'response: record',
  },
  'a message of Gemini CLI': {
    engine: gemini,
    first: { type: 'init', timestamp: 't', session_id: 's', model: 'm' },
    record: { type: 'message', timestamp: 't', role: 'assistant', content: ['a'] },
    name: 'content: list',
  },
  'the status of a call of Gemini CLI': {
    engine: gemini,
    record: { type: 'tool_result', timestamp: 't', tool_id: 'c', status: 'paused' },
    name: 'status: paused',
  },
  'a text of Cline': {
    engine: cline,
    record: {
      ...{ ts: 't', type: 'agent_event' },
      event: { type: 'content_end', contentType: 'text', text: ['a'] },
    },
    name: 'text: list',
  },
  'why pi stopped': {
    engine: pi,
    record: {
      type: 'message_end',
      message: { role: 'assistant', timestamp: 1, content: [], stopReason: 'bored' },
    },
    name: 'stopReason: bored',
  },
  'the content of pi': {
    engine: pi,
    record: { type: 'message_end', message: { role: 'assistant', timestamp: 1, content: 'a' } },
    name: 'content: text',
  },
  'a line in a session of Qwen Code': {
    engine: engines['qwen-session'],
    record: {
      ...{ type: 'tool_result', uuid: 'u', parentUuid: null, sessionId: 's' },
      ...{ message: { parts: [] }, toolCallResult: 'a' },
    },
    name: 'toolCallResult: text',
  },
  'a chunk of ACP': {
    engine: acp,
    record: {
      ...{ jsonrpc: '2.0', method: 'session/update' },
      params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: 'a' } },
    },
    name: 'content: text',
  },
  'the flag of a result of Claude Code': {
    engine: claude,
    record: {
      ...{ type: 'user', uuid: 'u', session_id: 's' },
      message: { content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x', is_error: 'yes' }] },
    },
    name: 'is_error: text',
  },
  'the error of OpenCode': {
    engine: opencode,
    record: { type: 'error', sessionID: 's', error: 'boom' },
    name: 'error: text',
  },
  'why a step of OpenCode ended': {
    engine: opencode,
    record: part('step_finish', { type: 'step-finish', reason: { why: 'stop' } }),
    name: 'reason: record',
  },
  'a thought of OpenCode': {
    engine: opencode,
    record: part('reasoning', { type: 'reasoning', text: ['a'] }),
    name: 'text: list',
  },
  'the tokens of OpenCode': {
    engine: opencode,
    record: part('step_finish', { type: 'step-finish', reason: 'stop', tokens: 5 }),
    name: 'tokens: number',
  },
  'the id of a call of OpenCode': {
    engine: opencode,
    record: part('tool_use', {
      type: 'tool',
      tool: 'bash',
      callID: 5,
      state: { status: 'completed', input: {} },
    }),
    name: 'callID: number',
    good: true,
  },
  'a thought of Codex': {
    engine: codex,
    record: item({ type: 'reasoning', text: { a: 1 } }),
    name: 'text: record',
  },
  'the changes of Codex': {
    engine: codex,
    record: item({ type: 'file_change', changes: { 'a.txt': 'add' }, status: 'completed' }),
    name: 'changes: record',
    good: true,
  },
  'the usage of Codex': {
    engine: codex,
    first: { type: 'thread.started', thread_id: 't' },
    record: { type: 'turn.completed', usage: [1] },
    name: 'usage: list',
  },
  'the error of a turn of Codex': {
    engine: codex,
    first: { type: 'thread.started', thread_id: 't' },
    record: { type: 'turn.failed', error: { message: ['a'] } },
    name: 'error.message: list',
  },
  'the stats of Gemini CLI': {
    engine: gemini,
    first: { type: 'init', timestamp: 't', session_id: 's', model: 'm' },
    record: { type: 'result', timestamp: 't', status: 'success', stats: [1] },
    name: 'stats: list',
  },
  'the role of Gemini CLI': {
    engine: gemini,
    record: { type: 'message', timestamp: 't', role: 'robot', content: 'a' },
    name: 'role: robot',
  },
  'the severity of an error of Gemini CLI': {
    engine: gemini,
    record: { type: 'error', timestamp: 't', severity: 'mild', message: 'a' },
    name: 'severity: mild',
  },
  'the flag of Claude Code': {
    engine: claude,
    record: { type: 'result', subtype: 'success', uuid: 'u', session_id: 's', is_error: 'no' },
    name: 'is_error: text',
  },
  'the message of Qwen Code': {
    engine: qwen,
    record: { type: 'assistant', uuid: 'u', session_id: 's', message: 'a' },
    name: 'message: text',
  },
  'the usage of Qwen Code': {
    engine: qwen,
    record: { type: 'result', subtype: 'success', uuid: 'u', session_id: 's', usage: 5 },
    name: 'usage: number',
  },
  'the message of Amp': {
    engine: amp,
    record: { type: 'assistant', session_id: 'T-1', parent_tool_use_id: null, message: ['a'] },
    name: 'message: list',
  },
  'the end of a call of Copilot': {
    engine: copilot,
    record: data('tool.execution_complete', { toolCallId: 'c', success: 'yes', result: {} }),
    name: 'success: text',
  },
  'a message of Cursor': {
    engine: cursor,
    first: { type: 'thinking', subtype: 'delta', session_id: 's', text: 'Hm.' },
    record: { type: 'assistant', session_id: 's', message: 'a' },
    name: 'message: text',
  },
  'a thought of Cursor': {
    engine: cursor,
    record: { type: 'thinking', subtype: 'delta', session_id: 's', text: ['Hm.'] },
    name: 'text: list',
  },
  'a message of Droid': {
    engine: droid,
    first: { type: 'tool_call', session_id: 's', toolName: 'Read', toolCallId: 'c' },
    record: { type: 'message', session_id: 's', role: 'assistant', text: ['a'] },
    name: 'text: list',
  },
  'the role of Droid': {
    engine: droid,
    record: { type: 'message', session_id: 's', role: 'robot', text: 'a' },
    name: 'role: robot',
  },
  'the answer of nanocoder': {
    engine: nanocoder,
    record: { kind: 'success', exitCode: 0, finalText: ['a'], toolCalls: [] },
    name: 'finalText: list',
  },
  'the calls of grok': {
    engine: grok,
    first: { role: 'user', content: 'Hi' },
    record: { role: 'assistant', content: '', tool_calls: 'none' },
    name: 'tool_calls: text',
  },
  'the text of a thought of Cline': {
    engine: cline,
    record: {
      ...{ ts: 't', type: 'agent_event' },
      event: { type: 'content_end', contentType: 'reasoning', reasoning: ['a'] },
    },
    name: 'reasoning: list',
  },
  'the result of Cline': {
    engine: cline,
    record: { ts: 't', type: 'run_result', finishReason: 'completed', iterations: 1, text: ['a'] },
    name: 'text: list',
  },
  'a call of pi': {
    engine: pi,
    record: { type: 'tool_execution_end', toolCallId: 'c', toolName: 'bash', result: {}, isError: 'no' },
    name: 'isError: text',
  },
  'the usage of ACP': {
    engine: acp,
    first: { jsonrpc: '2.0', id: 0, result: { protocolVersion: 1, agentInfo: { name: 'a' } } },
    record: { jsonrpc: '2.0', id: 1, result: { stopReason: 'end_turn', usage: 5 } },
    name: 'usage: number',
  },
  'a status of ACP': {
    engine: acp,
    record: {
      ...{ jsonrpc: '2.0', method: 'session/update' },
      params: { sessionId: 's', update: { sessionUpdate: 'tool_call', toolCallId: 'c', status: 'exploded' } },
    },
    name: 'status: exploded',
  },
  'the text of a message of ACP': {
    engine: acp,
    record: {
      ...{ jsonrpc: '2.0', method: 'session/update' },
      params: {
        sessionId: 's',
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: ['a'] } },
      },
    },
    name: 'content.text: list',
  },
  'the prompt of Copilot': {
    engine: copilot,
    record: data('user.message', { content: [{ text: 'a' }] }),
    name: 'content: list',
  },
  'the prompt in the session of Copilot': {
    engine: engines['copilot-session'],
    first: data('session.start', { sessionId: 's', copilotVersion: '1' }),
    record: data('user.message', { content: ['a'] }),
    name: 'content: list',
  },
  'the call of a result of grok': {
    engine: grok,
    first: { role: 'user', content: 'Hi' },
    record: { role: 'tool', tool_call_id: 5, content: 'done' },
    name: 'tool_call_id: number',
    good: true,
  },
  'a call in the session of pi': {
    engine: engines['pi-session'],
    record: entry({ role: 'toolResult', toolCallId: 'c', toolName: 'bash', content: [], isError: 'true' }),
    name: 'isError: text',
  },
  'the content in the session of pi': {
    engine: engines['pi-session'],
    record: entry({ role: 'assistant', content: 'a', stopReason: 'toolUse' }),
    name: 'content: text',
  },
  'the end of an answer in the session of pi': {
    engine: engines['pi-session'],
    record: entry({ role: 'assistant', content: [], stopReason: 'paused' }),
    name: 'stopReason: paused',
  },
  'the prompt in the session of pi': {
    engine: engines['pi-session'],
    record: entry({ role: 'user', content: { text: 'a' } }),
    name: 'content: record',
  },
  'the content in the session of Gemini CLI': {
    engine: engines['gemini-session'],
    first: chats,
    record: { id: 'm', timestamp: 't', type: 'gemini', content: 5 },
    name: 'content: number',
  },
  'the calls in the session of Gemini CLI': {
    engine: engines['gemini-session'],
    first: chats,
    record: { id: 'm', timestamp: 't', type: 'gemini', content: '', toolCalls: { a: 1 } },
    name: 'toolCalls: record',
  },
  'a call in the session of Gemini CLI': {
    engine: engines['gemini-session'],
    first: chats,
    record: {
      ...{ id: 'm', timestamp: 't', type: 'gemini', content: '' },
      toolCalls: [{ id: 'c', name: 'replace', args: {}, status: 'exploded' }],
    },
    name: 'status: exploded',
  },
  'the end of a patch in a rollout': {
    engine: engines['codex-session'],
    record: event({ type: 'patch_apply_end', call_id: 'c', success: 'yes', changes: {} }),
    name: 'success: text',
  },
}

describe('a known field of another kind, or with an unknown value', () => {
  test.each(Object.entries(rows))(
    '%s is kept as raw, with a warning',
    (_, { engine, first, record, name, good }) => {
      const events = run(engine, { stdout: lines(...(first ? [first] : []), record), exit: 0 })
      const raw = only(events, 'raw.stdout').map(({ data: { line } }) => line)
      expect(raw).toContain(JSON.stringify(record))
      const warnings = only(events, 'diagnostic.parser.warning').map(({ data }) => data)
      expect(warnings.filter(({ code }) => code === 'UNKNOWN_FIELD')).toMatchObject([{ name }])
      const report = warnings.find(({ code }) => code === 'DRIFT_REPORT')
      expect(report?.drift?.fields).toEqual({ [name]: 1 })
      // Nothing was said in place of what could not be read, and no call ended well.
      expect(texts(events)).toEqual([])
      expect(only(events, 'tool.call.completed')).toHaveLength(good ? 1 : 0)
    },
  )

  test('a missing field, and null, are of every kind', () => {
    const records = [item({ type: 'command_execution', command: 'x', exit_code: null, status: null })]
    const events = run(codex, { stdout: lines(...records), exit: 0 })
    expect(only(events, 'diagnostic.parser.warning')).toEqual([])
  })
})
