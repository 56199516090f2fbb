import { describe, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { cline } from '../../src/engines/cline.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { copilot } from '../../src/engines/copilot.ts'
import { cursor } from '../../src/engines/cursor.ts'
import { pi } from '../../src/engines/pi.ts'
import { qwen } from '../../src/engines/qwen.ts'
import type { Engine } from '../../src/events/engine.ts'
import { type AgentEvent, isEvent } from '../../src/events/event.ts'
import { jsonValue } from '../../src/json/strict.ts'
import { eventsOf, fixtures, inPieces } from './fixture.ts'
import { chat, endOf, lines, only, run } from './run.ts'

/** What was said, thought and called: `think t1 Hm` is a piece, `thought t1 Hm.` all of it. */
function told(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => {
    const by = 'parent_call_id' in event.data ? ` by ${event.data.parent_call_id}` : ''
    if (isEvent(event, 'agent.reasoning.delta', 'agent.reasoning.summary')) {
      const { message_id, text, incomplete } = event.data
      const word = event.type === 'agent.reasoning.delta' ? 'think' : incomplete ? 'broken' : 'thought'
      return `${word} ${message_id} ${text}${by}`
    }
    if (isEvent(event, 'tool.call.input.delta'))
      return `write ${event.data.call_id} ${event.data.name} ${event.data.text}${by}`
    if (isEvent(event, 'tool.call.started'))
      return `start ${event.data.call_id} ${event.data.name} ${JSON.stringify(event.data.input)}${by}`
    return isEvent(event, 'agent.message.final') ? `say ${event.data.message_id} ${event.data.text}${by}` : []
  })
}

const of = (engine: Engine, ...records: object[]) => told(run(engine, { stdout: lines(...records), exit: 0 }))

const init = { type: 'system', subtype: 'init', session_id: 's', uuid: 'u', mcp_servers: [], tools: [] }
const claudes = (parent: string | null = null) => {
  const base = { session_id: 's', uuid: 'u', parent_tool_use_id: parent }
  const event = (type: string, more: object = {}) => ({
    type: 'stream_event',
    ...base,
    event: { type, ...more },
  })
  return {
    start: (id: string) => event('message_start', { message: { id } }),
    block: (index: number, content_block: object) => event('content_block_start', { index, content_block }),
    think: (thinking: string, index = 0) =>
      event('content_block_delta', { index, delta: { type: 'thinking_delta', thinking } }),
    write: (partial_json: string, index = 1) =>
      event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }),
    text: (text: string, index = 0) =>
      event('content_block_delta', { index, delta: { type: 'text_delta', text } }),
    stop: () => event('message_stop'),
    whole: (id: string, ...content: object[]) => ({ type: 'assistant', ...base, message: { id, content } }),
  }
}
const { start, block, think, write, text, stop, whole } = claudes()
const tool = (id: string, name = 'Read') => ({ type: 'tool_use', id, name, input: {} })
const thinking = (words: string) => ({ type: 'thinking', thinking: words, signature: 'x' })

describe.each([claude, qwen])('the pieces of $name', (engine) => {
  const first = engine === qwen ? { ...init, qwen_code_version: '0.24' } : init
  const from = (...records: object[]) => of(engine, first, ...records)

  test('are those of the thought and the input that follow, whole', () => {
    const call = { ...tool('t'), input: { path: 'a b' } }
    expect(
      from(
        start('m'),
        block(0, { type: 'thinking', thinking: '' }),
        think('I '),
        think('look.'),
        whole('m', thinking('I look.')),
        block(1, tool('t')),
        write(''),
        write('{"path": "a'),
        write(' b"}'),
        whole('m', call),
        stop(),
      ),
    ).toEqual([
      'think m I ',
      'think m look.',
      'thought m I look.',
      'write t Read {"path": "a',
      'write t Read  b"}',
      'start t Read {"path":"a b"}',
    ])
  })

  test('of a subagent have its call', () => {
    const sub = claudes('t0')
    expect(
      from(
        start('m'),
        sub.start('n'),
        think('main'),
        sub.think('sub'),
        sub.block(1, tool('t1')),
        sub.write('{}'),
        sub.whole('n', thinking('sub')),
        whole('m', thinking('main')),
      ),
    ).toEqual([
      'think m main',
      'think n sub by t0',
      'write t1 Read {} by t0',
      'thought n sub by t0',
      'thought m main',
    ])
  })

  test('are the thought if no line repeats it, and one that broke off is told so', () => {
    expect(from(start('m'), think('a'), text('b', 1), stop())).toEqual([
      'think m a',
      'thought m a',
      'say m.1 b',
    ])
    // Qwen Code 0.7 repeats it after its end.
    expect(
      from(start('m'), think('a'), stop(), whole('m', thinking('a'), { type: 'text', text: 'b' })),
    ).toEqual(['think m a', 'thought m a', 'say m.1 b'])
    expect(from(start('m'), think('a'), start('n'), think('b'))).toEqual([
      'think m a',
      'broken m a',
      'think n b',
      'broken n b',
    ])
    // Claude Code shows no thought in the whole line, only its signature.
    expect(from(start('m'), think('a'), whole('m', thinking('')))).toEqual(['think m a', 'thought m a'])
  })

  test('whose beginning is missing are nobody’s input', () => {
    expect(from(start('m'), write('{"a":1}'))).toEqual([])
    const other = { type: 'no_call', id: 't', name: 'web_search' }
    expect(from(start('m'), block(1, tool('t')), block(1, other), write('{"a":1}'))).toEqual([])
  })

  test('that only the PTY has stay raw, because they come out of order', () => {
    const [a, b] = [think('a'), think('b')]
    const stdout = lines(first, start('m'), a, whole('m', thinking('ab')))
    const pty = lines(first, start('m'), a, b, whole('m', thinking('ab'))).replaceAll('\n', '\r\n')
    const events = run(engine, { stdout, pty, exit: 0 })
    expect(told(events)).toEqual(['think m a', 'thought m ab'])
    expect(only(events, 'raw.pty')).toHaveLength(1)
  })

  test('are no payload and no done marker', () => {
    const done = '{"__SKILL_DONE__": true}'
    const events = run(
      engine,
      {
        stdout: lines(
          first,
          start('m'),
          think(`<json>${done}</json>`),
          block(1, tool('t')),
          write(done),
          whole('m', { type: 'text', text: 'Hi.' }),
          { type: 'result', subtype: 'success', is_error: false, session_id: 's', uuid: 'u', num_turns: 1 },
        ),
        exit: 0,
      },
      { schema: { '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) } } },
    )
    expect(endOf(events).evidence.done_marker).toBe(false)
    expect(only(events, 'lifecycle.run.result')[0]?.data.status).toBe('failed')
  })
})

const jsonrpc = (method: string, params: object) => ({
  method,
  params: { threadId: 'th', turnId: 'tu', ...params },
})
const summary = (delta: string, summaryIndex = 0) =>
  jsonrpc('item/reasoning/summaryTextDelta', { itemId: 'r', delta, summaryIndex })
const content = (delta: string, contentIndex = 0) =>
  jsonrpc('item/reasoning/textDelta', { itemId: 'r', delta, contentIndex })
const reasoning = (item: object) =>
  jsonrpc('item/completed', { item: { type: 'reasoning', id: 'r', summary: [], content: [], ...item } })
const acpUpdate = (sessionUpdate: string, words: string, messageId?: string) => ({
  jsonrpc: '2.0',
  method: 'session/update',
  params: { sessionId: 's', update: { sessionUpdate, messageId, content: { type: 'text', text: words } } },
})
const copilotLine = (type: string, data: object) => ({
  type: `assistant.${type}`,
  data,
  id: 'i',
  timestamp: '2026-11-15T11:52:18.320Z',
  parentId: null,
})
const piLine = (event: object) => ({ type: 'message_update', assistantMessageEvent: event })
const piMessage = (type: string, parts: object[]) => ({
  type,
  message: { role: 'assistant', timestamp: 1, stopReason: 'stop', content: parts },
})
const cursorLine = (type: string, more: object) => ({ type, session_id: 's', ...more })
const clineLine = (type: string, more: object) => ({
  ts: '2026-11-15T11:52:18.320Z',
  type: 'agent_event',
  event: { type, contentType: 'reasoning', ...more },
})

test.each<[string, Engine, object[], string[]]>([
  [
    'codex app-server, the parts of a summary',
    codex,
    [
      jsonrpc('thread/started', { thread: { id: 'th' } }),
      summary('A'),
      summary('b', 1),
      reasoning({ summary: ['A', 'b'] }),
    ],
    ['think r A', 'think r \n\nb', 'thought r A\n\nb'],
  ],
  [
    'codex app-server, a content beside a summary',
    codex,
    [summary('A'), content('raw'), reasoning({ summary: ['A'], content: ['raw'] })],
    ['think r A', 'thought r A'],
  ],
  [
    'codex app-server, a content alone, and no words at its end',
    codex,
    [content('a'), content('b'), reasoning({})],
    ['think r a', 'think r b', 'thought r ab'],
  ],
  [
    'codex 0.42',
    codex,
    [
      { id: '0', msg: { type: 'session_configured', session_id: 's', model: 'm' } },
      { id: '1', msg: { type: 'agent_reasoning_delta', delta: 'a' } },
      { id: '1', msg: { type: 'agent_reasoning_delta', delta: 'b' } },
      { id: '1', msg: { type: 'agent_reasoning', text: 'ab' } },
    ],
    ['think reasoning-1 a', 'think reasoning-1 b', 'thought reasoning-1 ab'],
  ],
  [
    'acp, which does not say where a thought ends',
    acp,
    [
      acpUpdate('agent_thought_chunk', 'a'),
      acpUpdate('agent_thought_chunk', 'b'),
      acpUpdate('agent_message_chunk', 'Hi'),
      acpUpdate('agent_thought_chunk', 'c', 'm2'),
    ],
    [
      'think reasoning-1 a',
      'think reasoning-1 b',
      'thought reasoning-1 ab',
      'say message-2 Hi',
      'think m2 c',
      'broken m2 c',
    ],
  ],
  [
    'copilot, where a message has the thought, too',
    copilot,
    [
      copilotLine('reasoning_delta', { reasoningId: 'r', deltaContent: 'a' }),
      copilotLine('message_delta', { messageId: 'm', deltaContent: 'Hi' }),
      copilotLine('tool_call_delta', { toolCallId: 't', toolName: 'view', inputDelta: '{"a"' }),
      copilotLine('tool_call_delta', { toolCallId: 't', toolName: 'view', inputDelta: ':1}' }),
      copilotLine('message', { messageId: 'm', content: 'Hi', reasoningText: 'a' }),
      copilotLine('reasoning', { reasoningId: 'r', content: 'a' }),
    ],
    ['think r a', 'write t view {"a"', 'write t view :1}', 'thought r a', 'say m Hi'],
  ],
  [
    'copilot, a thought that was asked for again',
    copilot,
    [
      copilotLine('reasoning_delta', { reasoningId: 'r', deltaContent: 'a' }),
      copilotLine('turn_retry', { reason: 'x' }),
      copilotLine('reasoning_delta', { reasoningId: 'q', deltaContent: 'b', parentToolCallId: 't' }),
    ],
    ['think r a', 'broken r a', 'think q b by t', 'broken q b by t'],
  ],
  [
    'pi, 0.87 and 0.73',
    pi,
    [
      piMessage('message_start', []),
      piLine({ type: 'thinking_delta', contentIndex: 0, delta: 'a' }),
      piLine({ type: 'toolcall_start', contentIndex: 1, id: 't', toolName: 'read' }),
      piLine({ type: 'toolcall_delta', contentIndex: 1, delta: '{}' }),
      piLine({
        type: 'toolcall_start',
        contentIndex: 2,
        partial: { content: [{}, {}, { type: 'toolCall', id: 'u', name: 'edit' }] },
      }),
      piLine({ type: 'toolcall_delta', contentIndex: 2, delta: '{}' }),
      piMessage('message_end', [{ type: 'thinking', thinking: 'a' }]),
    ],
    ['think reasoning-1 a', 'write t read {}', 'write u edit {}', 'thought reasoning-1 a'],
  ],
  [
    'cursor',
    cursor,
    [
      cursorLine('system', { subtype: 'init', apiKeySource: 'login', permissionMode: 'default', model: 'm' }),
      cursorLine('thinking', { subtype: 'delta', text: 'a', timestamp_ms: 1 }),
      cursorLine('thinking', { subtype: 'delta', text: 'b', timestamp_ms: 1 }),
      cursorLine('thinking', { subtype: 'completed', timestamp_ms: 1 }),
      cursorLine('thinking', { subtype: 'delta', text: 'c', timestamp_ms: 1 }),
    ],
    [
      'think reasoning-1 a',
      'think reasoning-1 b',
      'thought reasoning-1 ab',
      'think reasoning-2 c',
      'broken reasoning-2 c',
    ],
  ],
  [
    'cline',
    cline,
    [
      clineLine('content_start', { reasoning: 'a', accumulated: 'a' }),
      clineLine('content_start', { reasoning: 'b', accumulated: 'ab' }),
      clineLine('content_end', { reasoning: 'ab' }),
      clineLine('content_start', { reasoning: 'c' }),
      clineLine('iteration_end', {}),
    ],
    [
      'think reasoning-1 a',
      'think reasoning-1 b',
      'thought reasoning-1 ab',
      'think reasoning-2 c',
      'broken reasoning-2 c',
    ],
  ],
])('%s', (_, engine, records, expected) => {
  expect(of(engine, ...records)).toEqual(expected)
})

test('a thought that outgrows maxFrame is cut, and its pieces are all told', () => {
  const records = lines(init, start('m'), ...Array.from({ length: 40 }, () => think('x'.repeat(20))), stop())
  const events = run(claude, { stdout: records, exit: 0 }, { maxFrame: 400 })
  expect(only(events, 'agent.reasoning.delta')).toHaveLength(40)
  const [thought] = only(events, 'agent.reasoning.summary')
  expect(thought!.data.incomplete).toBe(true)
  expect(thought!.data.text.length).toBeLessThanOrEqual(400)
})

test('in chat they are pieces, too', () => {
  const events = run(claude, {
    stdout: lines(init, start('m'), think('a'), block(1, tool('t')), write('{}')),
    exit: 0,
  })
  expect(chat(events).flatMap(({ type, data }) => (type.endsWith('.delta') ? [[type, data]] : []))).toEqual([
    ['assistant.reasoning.delta', { message_id: 'm', text: 'a' }],
    ['assistant.tool_call.delta', { call_id: 't', name: 'Read', kind: 'read', text: '{}' }],
  ])
})

test('in every fixture a message is its pieces, and none comes after it', () => {
  const engines = new Set<string>()
  for (const fixture of fixtures()) {
    const pieces = new Map<string, string>()
    const over = new Set<string>()
    for (const event of eventsOf(fixture, inPieces(fixture))) {
      if (!isEvent(event, 'agent.message.delta', 'agent.message.final')) continue
      const { message_id: id, text } = event.data
      const which = `${fixture.path} ${id}`
      if (event.type === 'agent.message.delta') {
        expect(over.has(id), which).toBe(false)
        pieces.set(id, (pieces.get(id) ?? '') + text)
        continue
      }
      over.add(id)
      const joined = pieces.get(id)
      if (joined === undefined) continue
      engines.add(fixture.engine)
      // Of plain text, what could be an error or a record is shown at its end only.
      const isText = ['text', 'iflow'].includes(fixture.engine) || fixture.name.includes('.text-')
      expect(isText ? text.slice(0, joined.length) : text, which).toBe(joined)
    }
    expect([...pieces.keys()].filter((id) => !over.has(id))).toEqual([])
  }
  expect([...engines].sort()).toEqual([
    ...['acp', 'claude', 'cline', 'codex', 'copilot', 'cursor', 'gemini', 'iflow'],
    ...['nanocoder', 'pi', 'qwen', 'text'],
  ])
})

/** Paths in these recordings were replaced later, but not where two pieces have a half of one each. */
const replaced = ['copilot/file_edit.pipe', 'pi/file_edit.pipe']

test('in every fixture the whole is its pieces, none comes after it, and an input is read as it was written', () => {
  let [thoughts, inputs] = [0, 0]
  for (const fixture of fixtures()) {
    const pieces = new Map<string, string>()
    const over = new Set<string>()
    for (const event of eventsOf(fixture, inPieces(fixture))) {
      if (isEvent(event, 'agent.reasoning.delta', 'tool.call.input.delta')) {
        const id = 'call_id' in event.data ? `call ${event.data.call_id}` : event.data.message_id
        expect(over.has(id), `${fixture.name} ${id}`).toBe(false)
        pieces.set(id, (pieces.get(id) ?? '') + event.data.text)
      } else if (isEvent(event, 'agent.reasoning.summary') && pieces.has(event.data.message_id)) {
        expect(event.data.text).toBe(pieces.get(event.data.message_id))
        over.add(event.data.message_id)
        thoughts++
      } else if (isEvent(event, 'tool.call.started') && pieces.has(`call ${event.data.call_id}`)) {
        const id = `call ${event.data.call_id}`
        if (!replaced.some((name) => fixture.path.endsWith(name)))
          expect(jsonValue(pieces.get(id)!)).toEqual(event.data.input)
        over.add(id)
        inputs++
      }
    }
    expect([...pieces.keys()].filter((id) => !over.has(id))).toEqual([])
  }
  expect([thoughts, inputs]).toEqual([6, 12])
})
