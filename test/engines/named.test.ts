import { describe, expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { some } from '../pace.ts'
import { eventsOf, type Fixture, fixtures } from './fixture.ts'
import { endOf, lines, only, run, texts } from './run.ts'
import { validEvents } from './valid.ts'

type Name = keyof typeof engines

/** What is told of one record, in a few words each; the end of the run is not one of them. */
function told(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => {
    switch (event.type) {
      case 'agent.message.final':
        return [`says ${event.data.text}`]
      case 'agent.message.delta':
        return [`piece ${event.data.text}`]
      case 'agent.reasoning.summary':
        return [`thinks ${event.data.text}`]
      case 'user.message':
        return [`user ${event.data.text}`]
      case 'tool.call.started':
      case 'tool.call.completed':
      case 'tool.call.failed':
        return [`${event.type.slice('tool.call.'.length)} ${event.data.call_id} ${event.data.name}`]
      case 'diagnostic.engine.error':
        return [`${event.data.severity}: ${event.data.message}`]
      case 'lifecycle.run.status':
        return event.data.status === 'started'
          ? [`session ${event.correlation.session_id}`]
          : event.data.status === 'awaiting_user_input'
            ? ['ends']
            : []
      default:
        return []
    }
  })
}

/** What is told while the record is written, before anything follows it. */
function atOnce(name: Name, ...records: object[]): string[] {
  const events: AgentEvent[] = []
  const sink = { write: (event: AgentEvent) => void events.push(event), end: () => {} }
  eventStage(engines[name])(sink).write({ channel: 'stdout', bytes: Buffer.from(lines(...records)) })
  return told(validEvents(events) as AgentEvent[])
}

const text = { type: 'text', text: 'Hi' }
const cut: Partial<Record<Name, readonly (readonly [record: object, told: readonly string[]])[]>> = {
  claude: [
    [{ type: 'system', subtype: 'init', session_id: 's' }, ['session s']],
    [{ type: 'system', subtype: 'init', session_id: 's', cwd: '/w', tools: [], model: 'm' }, ['session s']],
    [{ type: 'system', subtype: 'init' }, []],
    [{ type: 'assistant', message: { role: 'assistant', content: [text] } }, ['says Hi']],
    [{ type: 'assistant', message: { content: 'Hi' } }, ['says Hi']],
    [{ type: 'assistant', message: { content: [{ type: 'text' }] } }, []],
    [{ type: 'assistant', message: {} }, []],
    [{ type: 'assistant' }, []],
    [{ type: 'assistant', message: { content: [{ type: 'thinking', thinking: 'Hm' }] } }, ['thinks Hm']],
    [
      { type: 'assistant', message: { content: [{ type: 'tool_use', id: 't', name: 'Bash' }] } },
      ['started t Bash'],
    ],
    [
      { type: 'assistant', message: { content: [{ type: 'tool_use', name: 'Bash' }] } },
      ['started call-1 Bash'],
    ],
    [
      { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }] } },
      ['started t tool', 'completed t tool'],
    ],
    [{ type: 'user', message: { role: 'user', content: 'Do it' } }, ['user Do it']],
    [{ type: 'result', subtype: 'success', result: 'Done' }, ['says Done', 'ends']],
    [{ type: 'result', subtype: 'success' }, ['ends']],
    [{ type: 'result', is_error: false, result: 'Done' }, ['says Done', 'ends']],
    [{ type: 'result', result: 'Successfully removed' }, ['says Successfully removed']],
    [{ type: 'result', subtype: 'error_max_turns' }, ['fatal: error_max_turns']],
    [{ type: 'result', subtype: 'success', terminal_reason: 'aborted_tools' }, ['fatal: aborted_tools']],
    [
      { type: 'result', subtype: 'success', is_error: true, api_error_status: 529 },
      ['fatal: the API answered with status 529'],
    ],
    [{ type: 'result', subtype: 'success', is_error: true }, ['fatal: the run failed']],
    [
      {
        type: 'assistant',
        message: {
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
          ],
        },
      },
      ['started s web_search', 'completed s web_search'],
    ],
    [
      {
        type: 'assistant',
        message: {
          content: [
            {
              type: 'web_search_tool_result',
              tool_use_id: 's',
              content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
            },
          ],
        },
      },
      ['started s tool', 'failed s tool'],
    ],
    [{ type: 'result', is_error: true, result: 'No credit' }, ['fatal: No credit']],
    [
      {
        type: 'stream_event',
        event: { type: 'content_block_delta', delta: { type: 'text_delta', text: 'H' } },
      },
      ['piece H'],
    ],
  ],
  codex: [
    [{ type: 'thread.started', thread_id: 't' }, ['session t']],
    [{ type: 'thread.started' }, []],
    [{ type: 'turn.completed' }, ['ends']],
    [{ type: 'turn.failed' }, ['fatal: an error without a message']],
    [{ type: 'error', message: 'No' }, ['error: No']],
    [{ type: 'item.completed', item: { type: 'agent_message', text: 'Hi' } }, ['says Hi']],
    [{ type: 'item.completed', item: { type: 'agent_message' } }, []],
    [{ type: 'item.completed', item: { type: 'reasoning', text: 'Hm' } }, ['thinks Hm']],
    [
      { type: 'item.started', item: { type: 'command_execution', command: 'ls' } },
      ['started call-1 command_execution'],
    ],
    [{ id: '0', msg: { type: 'agent_message', message: 'Hi' } }, ['says Hi']],
    [{ msg: { type: 'agent_message', message: 'Hi' } }, ['says Hi']],
    [
      { method: 'item/completed', params: { item: { type: 'agentMessage', id: 'm', text: 'Hi' } } },
      ['says Hi'],
    ],
    [{ method: 'item/agentMessage/delta', params: { itemId: 'm', delta: 'H' } }, ['piece H']],
    [{ method: 'turn/completed', params: { turn: { status: 'completed' } } }, ['ends']],
    [{ jsonrpc: '2.0', method: 'turn/completed', params: { turn: { status: 'completed' } } }, ['ends']],
    [
      {
        jsonrpc: '2.0',
        method: 'item/completed',
        params: { item: { type: 'agentMessage', id: 'm', text: 'Hi' } },
      },
      ['says Hi'],
    ],
    [{ method: 'codex/event', params: { msg: { type: 'agent_message', message: 'Hi' } } }, ['says Hi']],
    [
      { jsonrpc: '2.0', method: 'codex/event/error', params: { msg: { type: 'error', message: 'No' } } },
      ['fatal: No'],
    ],
    [{ jsonrpc: '2.0', method: 'session/update', params: {} }, []],
  ],
  opencode: [
    [{ type: 'text', part: { text: 'Hi' } }, ['says Hi']],
    [{ type: 'text', part: {} }, []],
    [{ type: 'text', sessionID: 's', part: { text: 'Hi' } }, ['session s', 'says Hi']],
    [{ type: 'reasoning', part: { text: 'Hm' } }, ['thinks Hm']],
    [{ type: 'step_finish', part: { reason: 'stop' } }, ['ends']],
    [{ type: 'step_finish', part: {} }, []],
    [
      { type: 'tool_use', part: { tool: 'bash', state: { status: 'completed', output: 'ok' } } },
      ['started call-1 bash', 'completed call-1 bash'],
    ],
    [{ type: 'error', error: { name: 'Bad', message: 'No' } }, ['fatal: Bad: No']],
  ],
  kilo: [[{ type: 'text', part: { text: 'Hi' } }, ['says Hi']]],
  gemini: [
    [{ type: 'init', session_id: 's' }, ['session s']],
    [{ type: 'init', session_id: 's', model: 'm' }, ['session s']],
    [{ type: 'message', role: 'assistant', content: 'Hi' }, ['says Hi']],
    [{ type: 'message', role: 'assistant', content: 'Hi', delta: true }, ['piece Hi']],
    [{ type: 'message', role: 'user', content: 'Do it' }, ['user Do it']],
    [{ type: 'tool_use', tool_name: 'glob' }, ['started call-1 glob']],
    [{ type: 'tool_result', tool_id: 'a', status: 'success' }, ['started a tool', 'completed a tool']],
    [{ type: 'error', severity: 'error', message: 'No' }, ['error: No']],
    [{ type: 'result', status: 'success' }, ['ends']],
    [{ type: 'result', status: 'error' }, ['fatal: the engine failed']],
    [{ type: 'result', status: 'error', error: 'No' }, ['fatal: No']],
    [{ type: 'result', stats: {} }, []],
  ],
  copilot: [
    [{ type: 'assistant.message', data: { messageId: 'm', content: 'x' } }, ['says x']],
    [{ type: 'assistant.message', data: { content: 'x' } }, ['says x']],
    [{ type: 'assistant.message', data: {} }, []],
    [{ type: 'assistant.message_delta', data: { messageId: 'm', deltaContent: 'x' } }, ['piece x']],
    [{ type: 'user.message', data: { content: 'Do it' } }, ['user Do it']],
    [{ type: 'tool.execution_start', data: { toolName: 'bash' } }, ['started call-1 bash']],
    [{ type: 'session.error', data: { message: 'No' } }, ['fatal: No']],
    [{ type: 'result', sessionId: 's', exitCode: 0 }, ['session s', 'ends']],
    [{ type: 'result', exitCode: 1 }, ['fatal: the engine ended with exit code 1']],
    [{ type: 'result', sessionId: 's' }, ['session s']],
  ],
  pi: [
    [{ type: 'session', id: 's' }, ['session s']],
    [{ type: 'message_end', message: { role: 'assistant', content: [text] } }, ['says Hi']],
    [{ type: 'message_start', message: { role: 'user', content: 'Do it' } }, ['user Do it']],
    [
      { type: 'message_update', assistantMessageEvent: { type: 'text_delta', contentIndex: 0, delta: 'H' } },
      ['piece H'],
    ],
    [{ type: 'tool_execution_start', toolName: 'bash', args: {} }, ['started call-1 bash']],
    [
      { type: 'tool_execution_end', toolCallId: 't', toolName: 'bash', isError: false },
      ['started t bash', 'completed t bash'],
    ],
    [{ type: 'agent_end' }, []],
    [{ type: 'turn_end', message: { role: 'assistant', content: 'Done' } }, ['says Done']],
    [{ type: 'turn_end', message: { role: 'assistant' } }, []],
    [{ type: 'auto_retry_end', success: false, finalError: 'No' }, ['fatal: No']],
    [{ type: 'auto_retry_end', success: true }, []],
  ],
  cursor: [
    [{ type: 'system', subtype: 'init', session_id: 's' }, ['session s']],
    [{ type: 'assistant', message: { content: [text] } }, ['says Hi']],
    [{ type: 'assistant', message: { content: [text] }, timestamp_ms: 1 }, ['piece Hi']],
    [{ type: 'user', message: { content: [text] } }, ['user Hi']],
    [
      { type: 'tool_call', subtype: 'started', tool_call: { shellToolCall: { args: {} } } },
      ['started call-1 shellToolCall'],
    ],
    [{ type: 'result', subtype: 'success', result: 'Done' }, ['says Done', 'ends']],
    [{ type: 'result', is_error: true, result: 'No' }, ['fatal: No']],
    [{ type: 'result', result: 'Done' }, ['says Done']],
  ],
  droid: [
    [{ type: 'system', subtype: 'init', session_id: 's' }, ['session s']],
    [{ type: 'message', role: 'assistant', text: 'Hi' }, ['says Hi']],
    [{ type: 'message', role: 'assistant' }, []],
    [{ type: 'tool_call', toolName: 'Read' }, ['started call-1 Read']],
    [{ type: 'completion', finalText: 'Done' }, ['says Done', 'ends']],
    [{ type: 'completion' }, ['ends']],
  ],
  cline: [
    [{ type: 'hook_event', hookEventName: 'agent_start', taskId: 's' }, ['session s']],
    [{ type: 'agent_event', event: { type: 'content_end', contentType: 'text', text: 'Hi' } }, ['says Hi']],
    [{ type: 'agent_event', event: { type: 'content_end', contentType: 'text' } }, []],
    [
      { type: 'agent_event', event: { type: 'content_start', contentType: 'tool', toolName: 'x' } },
      ['started call-1 x'],
    ],
    [{ type: 'run_result', finishReason: 'completed', text: 'Done' }, ['says Done', 'ends']],
    [{ type: 'run_result', text: 'Done' }, []],
  ],
  acp: [
    [
      {
        method: 'session/update',
        params: { update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Hi' } } },
      },
      ['piece Hi'],
    ],
    [
      {
        jsonrpc: '2.0',
        method: 'session/update',
        params: { update: { sessionUpdate: 'tool_call', toolCallId: 't', title: 'ls' } },
      },
      ['started t ls'],
    ],
    [{ jsonrpc: '2.0', id: 1, result: { stopReason: 'end_turn' } }, ['ends']],
  ],
  grok: [
    [{ role: 'user', content: 'Do it' }, ['user Do it']],
    [{ role: 'assistant', content: 'Hi', name: 'x' }, ['says Hi']],
    [{ role: 'assistant', tool_calls: [{ function: { name: 'bash' } }] }, ['started call-1 bash']],
  ],
  nanocoder: [
    [{ kind: 'success', finalText: 'Hi' }, ['says Hi', 'ends']],
    [{ finalText: 'Hi', toolCalls: [] }, ['says Hi']],
    [{ kind: 'error', exitCode: 1 }, ['fatal: the run ended: error']],
  ],
  'claude-session': [
    [{ type: 'user', message: { role: 'user', content: 'Do it' } }, ['user Do it']],
    [{ type: 'assistant', message: { role: 'assistant', content: [text] } }, ['says Hi']],
    [{ type: 'assistant', message: { content: [text] }, sessionId: 's' }, ['session s', 'says Hi']],
  ],
  'codex-session': [
    [{ type: 'session_meta', payload: { id: 's' } }, ['session s']],
    [{ type: 'event_msg', payload: { type: 'user_message', message: 'Do it' } }, ['user Do it']],
    [{ type: 'event_msg', payload: { type: 'agent_message', message: 'Hi' } }, ['says Hi']],
    [
      {
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Do it' }] },
      },
      ['user Do it'],
    ],
    [
      { type: 'response_item', payload: { type: 'function_call', name: 'shell', arguments: '{}' } },
      ['started call-1 command_execution'],
    ],
    [
      { type: 'response_item', payload: { type: 'function_call_output', call_id: 'c', output: 'ok' } },
      ['started c tool', 'completed c tool'],
    ],
    [{ type: 'response_item', payload: { type: 'function_call_output', output: 'ok' } }, []],
    [
      {
        type: 'response_item',
        payload: { type: 'function_call_output', call_id: 'c', output: 'Exit code: 3\nOutput:\nno' },
      },
      ['started c tool', 'failed c tool'],
    ],
  ],
  'copilot-session': [
    [{ type: 'session.start', data: { sessionId: 's' } }, ['session s']],
    [{ type: 'user.message', data: { content: 'Do it' } }, ['user Do it']],
    [{ type: 'assistant.message', data: { content: 'Hi' } }, ['says Hi']],
  ],
  'gemini-session': [
    [{ type: 'gemini', content: 'Hi' }, ['says Hi']],
    [{ type: 'user', id: '1', content: [{ text: 'Do it' }] }, ['user Do it']],
    [{ sessionId: 's', messages: [], startTime: 't' }, ['session s']],
  ],
  'pi-session': [
    [{ type: 'session', id: 's' }, ['session s']],
    [{ type: 'message', message: { role: 'user', content: 'Do it' } }, ['user Do it']],
    [
      { type: 'message', message: { role: 'assistant', content: [text], stopReason: 'stop' } },
      ['says Hi', 'ends'],
    ],
  ],
  'qwen-session': [
    [{ type: 'user', message: { parts: [{ text: 'Do it' }] } }, ['user Do it']],
    [{ type: 'assistant', message: { parts: [{ text: 'Hi' }] } }, ['says Hi']],
  ],
  'cline-session': [
    [{ messages: [{ role: 'assistant', content: [text] }], sessionId: 's' }, ['session s', 'says Hi']],
    [{ messages: [{ role: 'assistant', content: [text] }] }, ['says Hi']],
  ],
  'opencode-session': [
    [
      { opencode: 'message', data: { role: 'assistant' }, parts: [{ type: 'text', text: 'Hi' }] },
      ['says Hi'],
    ],
  ],
}

const rows = Object.entries(cut).flatMap(([name, of]) =>
  of.map(([record, expected]) => [name as Name, JSON.stringify(record), record, expected] as const),
)

const info = (fields: object) => `<Execution Info>\n${JSON.stringify(fields, null, 2)}\n</Execution Info>\n`
const session = 'session-1'
const tokenUsage = { input: 1, output: 2, total: 3 }

/** What is told, without the pieces of a text. */
const toldWhole = (events: readonly AgentEvent[]) =>
  told(events).filter((words) => !words.startsWith('piece'))

/** Engines without records: what is on stdout and on stderr. Their answer is over when the process is. */
const plain: readonly (readonly [name: Name, stdout: string, stderr: string, told: readonly string[]])[] = [
  ['text', 'Hi\n', '', ['says Hi']],
  ['text', '{"a":1}\n', '', ['says {"a":1}']],
  ['text', '\n', '', []],
  ['text', '', 'Hi\n', []],
  ['iflow', 'Hi\n', '', ['says Hi']],
  ['iflow', '', '', []],
  ['iflow', 'Hi\n', info({}), ['says Hi', 'ends']],
  ['iflow', '', info({}), ['ends']],
  ['iflow', `Hi\n${info({})}`, '', ['says Hi', 'ends']],
  ['iflow', 'Hi\n', info({ 'session-id': session }), [`session ${session}`, 'says Hi', 'ends']],
  ['iflow', 'Hi\n', info({ tokenUsage }), ['says Hi', 'ends']],
  [
    'iflow',
    'Hi\n',
    info({ 'session-id': 7, tokenUsage: 'many', executionTimeMs: null }),
    ['says Hi', 'ends'],
  ],
  ['iflow', 'Hi\n', `session-id: ${session}\n`, [`session ${session}`, 'says Hi']],
  [
    ...(['iflow', 'Hi\n', 'Error executing tool read_file: no\n'] as const),
    ['warning: Error executing tool read_file: no', 'says Hi'],
  ],
]

describe('a named engine reads what it can', () => {
  test.each(rows)('%s: %s', (name, _, record, expected) => {
    const known = atOnce(name, record)
    expect(known).toEqual(expected)
  })

  test.each(['qwen', 'amp'] as const)('%s has the dialect of claude', (name) => {
    for (const [record, expected] of cut.claude!)
      expect(atOnce(name, record), JSON.stringify(record)).toEqual(expected)
  })

  test.each(plain)('%s: stdout %j, stderr %j', (name, stdout, stderr, expected) => {
    expect(toldWhole(run(engines[name], { stdout, stderr, exit: 0 }))).toEqual(expected)
  })

  test('iFlow: the block at the end without one of its fields', () => {
    const usage = { ...tokenUsage, cached: 4 }
    const whole = { 'session-id': session, 'conversation-id': 'c', assistantRounds: 1, tokenUsage: usage }
    const all = { ...whole, executionTimeMs: 5, terminationReason: 'max_turns' }
    let tried = 0
    for (const { left, path } of withoutOne('iflow', all)) {
      const events = run(engines.iflow, { stdout: 'Hi\n', stderr: info(left as object), exit: 0 })
      const known = path === 'session-id' ? [] : [`session ${session}`]
      expect(toldWhole(events), path).toEqual([...known, 'says Hi', 'ends'])
      tried++
    }
    expect(tried).toBe(10)
  })

  test('every engine has its rows', () => {
    const named = new Set([...Object.keys(cut), ...plain.map(([name]) => name)])
    // Kilo is OpenCode, and these have a test of their own.
    for (const name of ['kilo', 'qwen', 'amp', 'continue']) named.add(name)
    expect(Object.keys(engines).filter((name) => !named.has(name))).toEqual([])
  })

  test('Cursor: the end of a call that says nothing of its tool', () => {
    const call = (subtype: string, tool_call?: object) => ({
      type: 'tool_call',
      subtype,
      call_id: 't',
      tool_call,
    })
    const started = call('started', { shellToolCall: { args: { command: 'ls' } } })
    for (const end of [call('completed'), call('completed', {})])
      expect(atOnce('cursor', started, end)).toEqual(['started t shellToolCall', 'completed t shellToolCall'])
    expect(atOnce('cursor', call('started'), started)).toEqual(['started t shellToolCall'])
    expect(atOnce('cursor', { type: 'tool_call', subtype: 'completed' })).toEqual([])
  })

  test('pi: one piece of several lacks its index', () => {
    const piece = (delta: string, contentIndex?: number) => ({
      type: 'message_update',
      assistantMessageEvent: { type: 'text_delta', contentIndex, delta },
    })
    const whole = { type: 'message_end', message: { role: 'assistant', content: [{ ...text, text: 'Hi!' }] } }
    for (const [a, b, c] of [
      [undefined, 0, 0],
      [0, undefined, 0],
      [0, 0],
    ] as const) {
      const records = [piece('H', a), piece('i', b), piece('!', c), whole]
      expect(atOnce('pi', ...records)).toEqual(['piece H', 'piece i', 'piece !', 'says Hi!'])
      const ids = only(run(engines.pi, { stdout: lines(...records) }), 'agent.message.delta')
      expect(new Set(ids.map(({ data }) => data.message_id)).size).toBe(1)
    }
  })

  test('Codex: an item of a session without its words says nothing', () => {
    const item = (of: object) => ({ type: 'event_msg', payload: { type: 'item_completed', item: of } })
    expect(atOnce('codex-session', item({ type: 'Reasoning', id: 'r', summary_text: [''] }))).toEqual([])
    expect(
      atOnce('codex-session', item({ type: 'AgentMessage', id: 'm', content: [{ type: 'Text' }] })),
    ).toEqual([])
  })

  test.each([
    ['claude', { type: 'assistant', message: { content: [{ ...text, text: '' }] } }],
    ['claude', { type: 'assistant', message: { content: [{ type: 'thinking', thinking: '' }] } }],
    ['codex', { type: 'item.completed', item: { type: 'agent_message', text: '' } }],
    ['codex', { type: 'item.completed', item: { type: 'reasoning', text: '' } }],
    ['opencode', { type: 'text', part: { text: '' } }],
    ['opencode', { type: 'reasoning', part: { text: '' } }],
    ['gemini', { type: 'message', role: 'assistant', content: '' }],
    ['gemini', { type: 'message', role: 'assistant', content: '', delta: true }],
    ['cursor', { type: 'assistant', message: { content: [] } }],
    ['droid', { type: 'message', role: 'assistant', text: '' }],
    ['droid', { type: 'message', role: 'user', text: '' }],
    ['cline', { type: 'agent_event', event: { type: 'content_end', contentType: 'text', text: '' } }],
    ['claude-session', { type: 'assistant', message: { content: [{ ...text, text: '' }] } }],
    ['codex-session', { type: 'event_msg', payload: { type: 'agent_message', message: '' } }],
    ['pi-session', { type: 'message', message: { role: 'assistant', content: [{ ...text, text: '' }] } }],
    ['cline-session', { messages: [{ role: 'assistant', content: [{ ...text, text: '' }] }] }],
  ] as const)('%s: %j has no words, and says nothing', (name, record) => {
    expect(told(run(engines[name], { stdout: lines(record), exit: 0 }))).toEqual([])
  })

  test('OpenCode: a call is known by its part, and an error of 2.x by its type', () => {
    const part = (status: string) => ({ id: 'p', tool: 'bash', state: { status, output: 'ok' } })
    const lines = (['running', 'completed'] as const).map((status) => ({
      type: 'tool_use',
      part: part(status),
    }))
    expect(atOnce('opencode', ...lines)).toEqual(['started p bash', 'completed p bash'])
    const error = { type: 'no-route', message: 'No such model' }
    expect(atOnce('opencode', { type: 'error', error })).toEqual(['fatal: no-route: No such model'])
  })

  test.each([
    ['claude-session', (words: string) => ({ type: 'user', message: { content: words } })],
    [
      'claude-session',
      (words: string) => ({ type: 'assistant', message: { content: [{ ...text, text: words }] } }),
    ],
    ['gemini-session', (words: string) => ({ type: 'user', content: words })],
    ['gemini-session', (words: string) => ({ type: 'gemini', content: words })],
    ['gemini-session', (words: string) => ({ type: 'model', content: words })],
  ] as const)('%s: of several records without an id, all are told', (name, record) => {
    const head = { sessionId: 's', projectHash: 'h', startTime: 't', lastUpdated: 't' }
    const stdout = lines(
      ...(name === 'gemini-session' ? [head] : []),
      record('One'),
      record('Two'),
      record('Two'),
    )
    const said = told(run(engines[name], { stdout })).filter((words) => /^(?:says|user)/.test(words))
    expect(said.map((words) => words.split(' ')[1])).toEqual(['One', 'Two', 'Two'])
  })

  test('continue has one document', () => {
    const stdout = lines({ response: 'Hi', status: 'success' })
    expect(texts(run(engines.continue, { stdout, exit: 0 }))).toEqual(['Hi'])
  })

  test('the last result of a turn decides', () => {
    const good = { type: 'result', subtype: 'success', is_error: false, result: 'Done' }
    const bad = { type: 'result', subtype: 'error_during_execution', is_error: true, errors: ['No'] }
    const outcome = (name: Name, ...records: object[]) =>
      endOf(run(engines[name], { stdout: lines(...records), exit: 0 })).outcome
    for (const name of ['claude', 'qwen', 'amp', 'cursor'] as const) {
      expect(outcome(name, bad, good)).toBe('finished')
      expect(outcome(name, good, bad)).toBe('failed')
      expect(outcome(name, bad, good, bad)).toBe('failed')
    }
    const failed = { type: 'turn.failed', error: { message: 'No' } }
    // One turn of Codex has one end: two that disagree are no success.
    expect(outcome('codex', failed, { type: 'turn.completed' })).toBe('failed')
    expect(outcome('codex', { type: 'turn.completed' }, failed)).toBe('failed')
    expect(
      outcome('gemini', { type: 'result', status: 'error' }, { type: 'result', status: 'success' }),
    ).toBe('finished')
    // What failed in between is no verdict on the turn, and stays.
    expect(outcome('copilot', { type: 'session.error', data: {} }, { type: 'result', exitCode: 0 })).toBe(
      'failed',
    )
  })

  test('an end of another session is none', () => {
    const outcome = (name: Name, ...records: object[]) =>
      endOf(run(engines[name], { stdout: lines(...records), exit: 0 })).outcome
    const says = { type: 'assistant', message: { content: 'Hi' }, session_id: 'a' }
    const ends = (session_id: string) => ({ type: 'result', subtype: 'success', session_id })
    for (const name of ['claude', 'qwen', 'amp', 'cursor'] as const) {
      expect(outcome(name, { ...says, message: { content: [text] } }, ends('b'))).toBe('unknown')
      expect(outcome(name, { ...says, message: { content: [text] } }, ends('a'))).toBe('finished')
    }
    const part = { text: 'Hi', reason: 'stop' }
    const line = (type: string, sessionID: string) => ({ type, sessionID, part })
    expect(outcome('opencode', line('text', 'a'), line('step_finish', 'b'))).toBe('unknown')
    expect(outcome('opencode', line('text', 'a'), line('step_finish', 'a'))).toBe('finished')
    const droid = (type: string, session_id: string) => ({ type, session_id, role: 'assistant', text: 'Hi' })
    expect(outcome('droid', droid('message', 'a'), droid('completion', 'b'))).toBe('unknown')
  })

  test('a call without an id ends as the only one that is open, or the first of its name', () => {
    const start = (toolName: string) => ({ type: 'tool_execution_start', toolName })
    const end = (toolName?: string) => ({ type: 'tool_execution_end', toolName, isError: false })
    expect(atOnce('pi', start('bash'), end())).toEqual(['started call-1 bash', 'completed call-1 bash'])
    expect(atOnce('pi', start('bash'), start('read'), end('read'), end('bash'))).toEqual([
      'started call-1 bash',
      'started call-2 read',
      'completed call-2 read',
      'completed call-1 bash',
    ])
    expect(atOnce('pi', start('bash'), start('read'), end())).toEqual([
      ...['started call-1 bash', 'started call-2 read', 'started call-3 tool', 'completed call-3 tool'],
    ])
  })

  test('a call that lacks its id at one end ends as the only one, or the only one of its name', () => {
    const use = (block: object) => ({
      type: 'assistant',
      message: { content: [{ type: 'tool_use', ...block }] },
    })
    const result = (block: object) => ({
      type: 'user',
      message: { content: [{ type: 'tool_result', ...block }] },
    })
    const both = ['started call-1 Bash', 'completed call-1 Bash']
    expect(atOnce('claude', use({ name: 'Bash' }), result({ tool_use_id: 't' }))).toEqual(both)
    expect(atOnce('claude', use({ id: 't', name: 'Bash' }), result({}))).toEqual([
      ...['started t Bash', 'completed t Bash'],
    ])
    // A subagent's result does not end the call that runs it.
    const inner = { ...result({}), parent_tool_use_id: 't' }
    expect(atOnce('claude', use({ id: 't', name: 'Task' }), inner)).toEqual([
      ...['started t Task', 'started call-1 tool', 'completed call-1 tool'],
    ])
    const item = (type: string, more: object) => ({
      type,
      item: { type: 'command_execution', command: 'ls', ...more },
    })
    expect(atOnce('codex', item('item.started', {}), item('item.completed', { id: '1' }))).toEqual([
      ...['started call-1 command_execution', 'completed call-1 command_execution'],
    ])
    const start = (toolCallId: string, toolName: string) => ({
      type: 'tool_execution_start',
      toolCallId,
      toolName,
    })
    const end = { type: 'tool_execution_end', toolName: 'read', isError: false }
    expect(atOnce('pi', start('a', 'bash'), start('b', 'read'), end).at(-1)).toBe('completed b read')
  })

  test('pi tells an answer once, in whatever record it comes first', () => {
    const message = (type: string) => ({ type, message: { role: 'assistant', content: [text] } })
    const piece = (delta: string, contentIndex?: number) => ({
      type: 'message_update',
      assistantMessageEvent: { type: 'text_delta', contentIndex, delta },
    })
    expect(atOnce('pi', message('message_end'), message('turn_end'))).toEqual(['says Hi'])
    expect(atOnce('pi', piece('H'), piece('i'), message('turn_end'))).toEqual([
      'piece H',
      'piece i',
      'says Hi',
    ])
    expect(atOnce('pi', piece('H', 0), piece('i', 0), message('message_end'))).toEqual([
      ...['piece H', 'piece i', 'says Hi'],
    ])
    const end = { type: 'tool_execution_end', toolCallId: 't', toolName: 'read', result: 'words' }
    const [ended] = only(run(engines.pi, { stdout: lines(end) }), 'tool.call.completed')
    expect(ended!.data.output).toBe('words')
  })

  test('pi: pieces of an answer whose whole no record has end with their step', () => {
    const piece = (delta: string) => ({
      type: 'message_update',
      assistantMessageEvent: { type: 'text_delta', delta },
    })
    const end = { type: 'turn_end', message: { role: 'assistant', content: [] } }
    expect(atOnce('pi', piece('H'), end, piece('o'), end)).toEqual(['piece H', 'says H', 'piece o', 'says o'])
  })

  test('OpenCode goes on after a step that called a tool, whatever the reason of the step', () => {
    const tool = (metadata?: object) => ({
      type: 'tool_use',
      part: { tool: 'bash', callID: 'c', metadata, state: { status: 'completed', output: 'ok' } },
    })
    const [start, stop] = [
      { type: 'step_start', part: {} },
      { type: 'step_finish', part: { reason: 'stop' } },
    ]
    const outcome = (...records: object[]) =>
      endOf(run(engines.opencode, { stdout: lines(...records) })).outcome
    expect(outcome(start, tool(), stop)).toBe('unknown')
    expect(outcome(start, tool(), stop, start, { type: 'text', part: { text: 'Hi' } }, stop)).toBe('finished')
    expect(outcome(start, tool({ providerExecuted: true }), stop)).toBe('finished')
    // A call of a subagent's session is not this step's.
    const of = (sessionID: string, record: object) => ({ ...record, sessionID })
    expect(outcome(of('a', start), of('b', tool()), of('a', stop))).toBe('finished')
  })

  test('an ACP update without a session is about the session of the client', () => {
    const chunk = (text: string, sessionId?: string) => ({
      method: 'session/update',
      params: {
        sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
      },
    })
    const parents = (...records: object[]) =>
      only(run(engines.acp, { stdout: lines(...records) }), 'agent.message.delta').map(
        ({ data }) => data.parent_call_id,
      )
    expect(parents(chunk('H'), chunk('i', 'a'), chunk('!'))).toEqual([undefined, undefined, undefined])
    expect(parents(chunk('H', 'a'), chunk('i', 'b'), chunk('!'))).toEqual([undefined, 'b', undefined])
  })

  test.each(['claude', 'qwen', 'amp'] as const)('%s: a record that says nothing is no answer', (name) => {
    for (const record of [
      ...['assistant', 'user', 'system', 'stream_event'].map((type) => ({ type })),
      { type: 'conversation_reset', uuid: 'u', session_id: 's' },
      { type: 'assistant', message: {} },
    ])
      expect(texts(run(engines[name], { stdout: lines(record), exit: 0 }))).toEqual([])
    // Nor is the record of another program before or after it.
    const other = { type: 'system', subtype: 'init', apiKeySource: 'login', session_id: 's' }
    const bare = { type: 'user', message: {}, session_id: 's' }
    for (const records of [
      [other, bare],
      [bare, other],
    ])
      expect(texts(run(engines[name], { stdout: lines(...records), exit: 0 }))).toEqual([])
    const answer = JSON.stringify({ type: 'user', name: 'Ada' })
    expect(texts(run(engines[name], { stdout: `${answer}\n`, exit: 0 }))).toEqual([answer])
  })

  test('a piece without an id belongs to the message that is open', () => {
    const delta = (text: string, messageId?: string) => ({
      type: 'assistant.message_delta',
      data: { messageId, deltaContent: text },
    })
    const whole = (messageId?: string) => ({ type: 'assistant.message', data: { messageId, content: 'Hi' } })
    for (const ids of [[], ['m'], [undefined, 'm'], ['m', undefined], ['m', 'm']])
      for (const last of ['m', undefined])
        expect(atOnce('copilot', delta('H', ids[0]), delta('i', ids[1]), whole(last))).toEqual([
          ...['piece H', 'piece i', 'says Hi'],
        ])
    const piece = (delta: string, itemId?: string) => ({
      method: 'item/agentMessage/delta',
      params: { itemId, delta },
    })
    const item = (id?: string) => ({
      method: 'item/completed',
      params: { item: { type: 'agentMessage', id, text: 'Hi' } },
    })
    expect(atOnce('codex', piece('H'), piece('i', 'm'), item('m'))).toEqual(['piece H', 'piece i', 'says Hi'])
    expect(atOnce('codex', piece('H', 'm'), piece('i', 'n'), item('n'))).toEqual([
      ...['piece H', 'says H', 'piece i', 'says Hi'],
    ])
  })

  test('a thought is told once, also if one of its records lacks its id', () => {
    const thought = ['piece of a thought Hm', 'thinks Hm']
    const said = (name: Name, ...records: object[]) =>
      run(engines[name], { stdout: lines(...records) }).flatMap((event) =>
        event.type === 'agent.reasoning.delta' ? [`piece of a thought ${event.data.text}`] : told([event]),
      )
    const codex = (delta?: string, whole?: string, turnId?: string) => [
      { method: 'item/reasoning/textDelta', params: { itemId: delta, delta: 'Hm' } },
      { method: 'item/completed', params: { item: { type: 'reasoning', id: whole, content: ['Hm'] } } },
      { method: 'turn/completed', params: { turn: { id: turnId, status: 'interrupted' } } },
    ]
    const copilot = (delta?: string, whole?: string) => [
      { type: 'assistant.reasoning_delta', data: { reasoningId: delta, deltaContent: 'Hm' } },
      { type: 'assistant.reasoning', data: { reasoningId: whole, content: 'Hm' } },
    ]
    for (const delta of ['r', undefined])
      for (const whole of ['r', undefined]) {
        expect(said('codex', ...codex(delta, whole)).slice(0, 2)).toEqual(thought)
        expect(said('codex', ...codex(delta, whole)).filter((words) => words === 'thinks Hm')).toHaveLength(1)
        expect(said('copilot', ...copilot(delta, whole))).toEqual(thought)
      }
    const piece = (kind: string, delta: string, contentIndex?: number) => ({
      type: 'message_update',
      assistantMessageEvent: { type: `${kind}_delta`, contentIndex, delta },
    })
    const content = [{ type: 'thinking', thinking: 'Hm' }, text]
    const whole = { type: 'message_end', message: { role: 'assistant', content } }
    const end = { type: 'turn_end', message: { role: 'assistant' } }
    for (const [first, second] of [[0, 1], [], [undefined, 1], [0]]) {
      const pieces = [piece('thinking', 'Hm', first), piece('text', 'Hi', second)]
      const parts = ['piece of a thought Hm', 'piece Hi', 'thinks Hm', 'says Hi']
      expect(said('pi', ...pieces, whole)).toEqual(parts)
      expect(said('pi', ...pieces, end)).toEqual(parts)
    }
  })

  test.each(['tool_use', 'server_tool_use'])('the input of a %s of Claude comes in pieces', (type) => {
    const piece = (event: object) => ({ type: 'stream_event', event: { index: 0, ...event } })
    const events = run(engines.claude, {
      stdout: lines(
        piece({ type: 'content_block_start', content_block: { type, id: 't', name: 'web_search' } }),
        piece({ type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{"q"' } }),
      ),
    })
    const [part] = only(events, 'tool.call.input.delta')
    expect(part!.data).toMatchObject({ call_id: 't', name: 'web_search', text: '{"q"' })
  })

  test('a result that does not say how it ended has not failed', () => {
    const ended: Partial<Record<Name, object>> = {
      claude: { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 't' }] } },
      droid: { type: 'tool_result', toolCallId: 't', value: 'ok' },
      gemini: { type: 'tool_result', tool_id: 't', output: 'ok' },
      pi: { type: 'tool_execution_end', toolCallId: 't' },
      copilot: { type: 'tool.execution_complete', data: { toolCallId: 't' } },
    }
    for (const [name, record] of Object.entries(ended))
      expect(atOnce(name as Name, record), name).toEqual(['started t tool', 'completed t tool'])
    const failed = { type: 'tool.execution_complete', data: { toolCallId: 't', error: { message: 'No' } } }
    expect(atOnce('copilot', failed)).toEqual(['started t tool', 'failed t tool'])
    expect(atOnce('copilot', { type: 'tool.execution_complete', data: {} })).toEqual([])
  })

  test('says which engine was named, if none of the records is its own', () => {
    const stdout = lines({ a: 1 }, { a: 2 })
    const [warning] = only(run(engines.codex, { stdout, exit: 0 }), 'diagnostic.parser.warning').filter(
      ({ data }) => data.code === 'ENGINE_UNKNOWN',
    )
    expect(warning!.data.message).toContain('none of the records is one of codex')
  })

  test('but not from torn lines of a terminal, nor from stderr', () => {
    const record = JSON.stringify({ type: 'text', part: { text: 'Hi' } })
    const torn = `${record.slice(0, 20)}2026-11-15T00:48:15Z ERROR log line\r\n${record.slice(20)}\r\n`
    expect(texts(run(engines.opencode, { pty: torn, exit: 0 }))).toEqual([])
    expect(texts(run(engines.opencode, { pty: `${record}\r\n`, exit: 0 }))).toEqual(['Hi'])
    expect(texts(run(engines.opencode, { stderr: `${record}\n`, exit: 0 }))).toEqual([])
    expect(texts(run(engines.opencode, { stdout: `${record}\nand more\n`, exit: 0 }))).toEqual(['Hi'])
  })

  test('a raw line break in a string leaves a record whole', () => {
    const record = JSON.stringify({ type: 'assistant', message: { content: [{ ...text, text: 'a@b' }] } })
    for (const end of ['\n', '\r\n', '\n\n']) {
      const stdout = `${record.replace('@', end)}\n`
      expect(texts(run(engines.claude, { stdout, exit: 0 }))).toEqual([`a${end}b`])
    }
    const part = JSON.stringify({ type: 'text', part: { text: 'a@b' } }).replace('@', '\n')
    expect(texts(run(engines.opencode, { stdout: `${part}\n` }))).toEqual(['a\nb'])
    expect(texts(run(engines.opencode, { stderr: `${part}\n` }))).toEqual([])
  })

  test('more reasoning than output is apart from it', () => {
    const usage = { input_tokens: 10, output_tokens: 3, reasoning_output_tokens: 9 }
    const [ended] = run(engines.codex, { stdout: lines({ type: 'turn.completed', usage }) })
    expect(ended!.data).toMatchObject({ tokens: { input: 10, output: 12, reasoning: 9 } })
  })

  test('but a picker does not guess whose they are', () => {
    for (const [record] of [cut.claude![3]!, cut.gemini![0]!, cut.copilot![0]!, cut.opencode![0]!])
      expect(told(run(auto, { stdout: lines(record, record), exit: 0 }))).toEqual([])
  })
})

/** Fields that say what a record is, and those that are the only sign of what it says. */
const KINDS = new Set([
  'type',
  'subtype',
  'role',
  'method',
  'item_type',
  'contentType',
  'sessionUpdate',
  'opencode',
])

/** Fields that say more than their value, and the engines whose they are. */
const SIGNS: readonly (readonly [engines: RegExp, fields: RegExp])[] = [
  // A text is a piece, or the whole.
  [/^gemini$/, /^delta$/],
  [/^cursor$/, /^(?:timestamp_ms|model_call_id)$/],
  [/^acp$/, /messageId$/],
  // Whether a call has ended.
  [/^(?:acp|opencode|kilo|gemini)/, /status$/],
  // Two records are one message, and one of two is a copy.
  [/^(?:gemini|claude)-session$/, /^(?:message\.)?id$/],
  // An error stands in place of an answer.
  [/^claude$/, /^(?:message\.model|message\.usage.*|is_error)$/],
  [/^cline-session$/, /displayRole$/],
  [/^qwen$/, /^qwen_code_version$/],
  // Which agent it is, where a turn ends, and the only name of a call that others know by it.
  [/^acp$/, /(?:agentInfo|agentInfo\.name|protocolVersion|stopReason|toolCallId)$/],
  [/^codex-session$/, /^payload\.name$/],
  // All that is known of the end of a call.
  [/^copilot/, /^data$/],
  [/^qwen-session$/, /^message\.parts(?:\[\]\.functionResponse)?$/],
]

const isSign = (engine: Name, path: string, key: string): boolean =>
  KINDS.has(key) || SIGNS.some(([engines, fields]) => engines.test(engine) && fields.test(path))

/** Every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

interface Without {
  readonly left: unknown
  readonly path: string
  readonly gone: unknown
  /** The kinds of the records that the field is in, outermost first. */
  readonly kinds: string
}

/** The record without one of its fields, at any depth of records and lists, with what was there. */
function* withoutOne(engine: Name, value: unknown, path = '', within = ''): Generator<Without> {
  if (Array.isArray(value)) {
    for (const [at, one] of value.entries())
      for (const inner of withoutOne(engine, one, `${path}[]`, within))
        yield { ...inner, left: value.with(at, inner.left) }
    return
  }
  if (typeof value !== 'object' || value === null) return
  const words = Object.entries(value).map(([key, of]) => (KINDS.has(key) ? `${of}` : ''))
  const kinds = `${within}/${words.join('')}`
  for (const [key, gone] of Object.entries(value)) {
    const own = path === '' ? key : `${path}.${key}`
    const { [key]: _, ...rest } = value as Record<string, unknown> // cast: an object of JSON
    // What is in a record of its own goes with it.
    if (!isSign(engine, own, key) && !hasSigns(engine, gone, own))
      yield { left: rest, path: own, gone, kinds }
    for (const inner of withoutOne(engine, gone, own, kinds))
      yield { ...inner, left: { ...value, [key]: inner.left } }
  }
}

function hasSigns(engine: Name, value: unknown, path: string): boolean {
  if (Array.isArray(value)) return value.some((one) => hasSigns(engine, one, `${path}[]`))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, inner]) => isSign(engine, `${path}.${key}`, key) || hasSigns(engine, inner, `${path}.${key}`),
  )
}

/** What the agent said and did, without ids. */
const content = (events: readonly AgentEvent[]) =>
  only(events, 'agent.message.final', 'agent.reasoning.summary', 'user.message', 'tool.call.started').map(
    ({ type, data }) => ({ type, words: 'text' in data ? data.text : data.name }),
  )

/** How many calls ended, well or not: a field may be the only sign of it. */
const ends = (events: readonly AgentEvent[]) => only(events, 'tool.call.completed', 'tool.call.failed').length

test.each(Object.keys(engines).filter((name) => !['text', 'iflow'].includes(name)) as Name[])(
  '%s: a record without one of its fields tells the rest',
  (name) => {
    let tried = 0
    const seen = new Set<string>()
    for (const fixture of fixtures().filter(({ engine }) => engine === name)) {
      const stdout = fixture.logs.find(({ channel }) => channel === 'stdout')
      // An answer that is JSON, or text, has no fields of the engine.
      const isText = /text-|json-answer/.test(fixture.name)
      if (!stdout || stdout.bytes.length > 60_000 || isText) continue
      const whole = Buffer.from(stdout.bytes).toString()
      const isDocument = whole.startsWith('{\n')
      const all = isDocument ? [whole] : whole.split('\n')
      const before = eventsOf(fixture, [stdout])
      for (const [at, line] of all.entries()) {
        if (!line.startsWith('{') || !line.trimEnd().endsWith('}')) continue
        const record = JSON.parse(line)
        for (const { left, path, gone, kinds } of some([...withoutOne(name, record)])) {
          // Once for each field of each kind of record.
          const key = `${Object.keys(record).join()} ${kinds} ${path}`
          if (seen.has(key)) continue
          seen.add(key)
          tried++
          const changed = [...all.slice(0, at), JSON.stringify(left), ...all.slice(at + 1)].join('\n')
          expectTheRest(fixture, before, changed, path, gone)
        }
      }
    }
    if (name !== 'continue') expect(tried).toBeGreaterThan(3)
  },
)

/** Every path in a value: `message.content[].id`. */
function pathsIn(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => pathsIn(one, `${path}[]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const own = path === '' ? key : `${path}.${key}`
    return [own, ...pathsIn(inner, own)]
  })
}

/** The value without what is at this path, which goes into `gone`. */
function without(value: unknown, path: string, gone: unknown[], at = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => without(one, path, gone, `${at}[]`))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const own = at === '' ? key : `${at}.${key}`
      if (own === path) gone.push(inner)
      return own === path ? [] : [[key, without(inner, path, gone, own)]]
    }),
  )
}

/** Ids and kinds that tie records together: without all of them nobody knows which belong to which. */
const TIES =
  /(?:^|\.)(?:(?:id|tool_use_id|toolCallId|isSidechain|threadId|tool_call|data|metadata|item|result)|\w+ToolCall)$/

test.each(Object.keys(engines).filter((name) => !['text', 'iflow', 'continue'].includes(name)) as Name[])(
  '%s: a version that writes one of its fields no more is read',
  (name) => {
    const tried = new Set<string>()
    for (const fixture of fixtures().filter(({ engine }) => engine === name)) {
      const stdout = fixture.logs.find(({ channel }) => channel === 'stdout')
      if (!stdout || stdout.bytes.length > 40_000 || /text-|json-answer/.test(fixture.name)) continue
      const whole = Buffer.from(stdout.bytes).toString()
      const all = whole.startsWith('{\n') ? [whole] : whole.split('\n')
      const records = all.map((line) =>
        line.startsWith('{') && line.trimEnd().endsWith('}') ? JSON.parse(line) : line,
      )
      const said = content(eventsOf(fixture, [stdout]))
      const paths = new Set(records.flatMap((record) => pathsIn(record)))
      const fields = [...paths].filter(
        (path) =>
          !tried.has(path) && !isSign(name, path, path.slice(path.lastIndexOf('.') + 1)) && !TIES.test(path),
      )
      for (const path of some(fields)) {
        tried.add(path)
        const gone: unknown[] = []
        const changed = records.map((record) =>
          typeof record === 'string' ? record : JSON.stringify(without(record, path, gone)),
        )
        const bytes = Buffer.from(changed.join('\n'))
        const after = content(eventsOf(fixture, [{ channel: 'stdout', bytes }]))
        const lost = gone.flatMap(textsIn)
        const which = `${fixture.path}: without ${path}`
        for (const one of said) {
          if (lost.some((text) => text.includes(one.words) || one.words.includes(text))) continue
          const at = after.findIndex(({ type, words }) => type === one.type && words === one.words)
          expect(at, `${which} lost ${one.type} ${one.words}`).toBeGreaterThanOrEqual(0)
          after.splice(at, 1)
        }
        expect(
          after.filter(({ words }) => words === ''),
          which,
        ).toEqual([])
      }
    }
    expect(tried.size).toBeGreaterThan(0)
  },
)

function expectTheRest(
  fixture: Fixture,
  before: readonly AgentEvent[],
  changed: string,
  path: string,
  gone: unknown,
): void {
  const after = eventsOf(fixture, [{ channel: 'stdout', bytes: Buffer.from(changed) }])
  const which = `${fixture.engine}/${fixture.name}: without ${path}`
  validEvents(after)
  const lost = textsIn(gone)
  const left = content(after).map(({ type, words }) => `${type} ${words}`)
  for (const { type, words } of content(before)) {
    if (lost.some((one) => one.includes(words) || words.includes(one))) continue
    expect(left, which).toContain(`${type} ${words}`)
  }
  expect(ends(after), which).toBeGreaterThanOrEqual(ends(before))
  // Which of two open calls of one name has ended is known by its id alone.
  const names = only(before, 'tool.call.started').map(({ data }) => data.name)
  const own = path.endsWith('.item.id') && new Set(names).size < names.length ? 1 : 0
  expect(left.length, `${which}: ${left.join(' | ')}`).toBeLessThanOrEqual(content(before).length + own)
  const empty = (events: readonly AgentEvent[]) => content(events).filter(({ words }) => words === '').length
  expect(empty(after), `${which}: an empty text`).toBeLessThanOrEqual(empty(before))
  for (const { data } of only(after, 'tool.call.started')) expect(data.call_id, which).not.toBe('')
  if (!endOf(before).ok) expect(endOf(after).ok, which).toBe(false)
}
