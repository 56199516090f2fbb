import { expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { qwen } from '../../src/engines/qwen.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'

type Said = readonly ['in' | 'out', object]

/** How a run ends in which the client and the agent say this, and the agent then exits with 0. */
function endOf(engine: Engine, said: readonly Said[], options: EventOptions = {}, exit: Partial<Chunk> = {}) {
  const events: AgentEvent[] = []
  const sink = eventStage(engine, options)({ write: (event) => events.push(event), end() {} })
  const channels = ['stdin', 'stdout'] as const
  sink.write({ channel: 'stdin', bytes: Buffer.alloc(0), channels })
  for (const [way, record] of said)
    sink.write({
      channel: way === 'in' ? 'stdin' : 'stdout',
      bytes: Buffer.from(`${JSON.stringify(record)}\n`),
    })
  sink.write({ channel: 'exit', code: 0, signal: null, ...exit } as Chunk)
  sink.end()
  const codes = events.flatMap((event) => ('code' in event.data ? [event.data.code] : []))
  const end = events.at(-1)!
  if (end.type !== 'lifecycle.completion.state') throw new Error('no end')
  return { ...end.data, codes }
}

const turn: readonly Said[] = [
  ['out', { type: 'thread.started', thread_id: 't-1' }],
  ['out', { type: 'turn.started' }],
  ['out', { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'Done.' } }],
  ['out', { type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } }],
]

test('another session than the one that was continued fails the run, though its turn ends well', () => {
  expect(endOf(codex, turn, { session: 't-1' })).toMatchObject({ outcome: 'finished', ok: true })
  const end = endOf(codex, turn, { session: 't-0' })
  expect(end).toMatchObject({ outcome: 'failed', ok: false, evidence: { end_signal: 'turn.completed' } })
  expect(end.codes).toContain('SESSION_CHANGED')
})

test('a fault of our own at the end fails the run, though its turn ended well', () => {
  const failure = { code: 'TASK_CUT', message: 'half of the task' } as const
  const end = endOf(codex, turn, {}, { failure } as Partial<Chunk>)
  expect(end).toMatchObject({ outcome: 'failed', ok: false, evidence: { failure: 'half of the task' } })
  expect(end.codes).toContain('TASK_CUT')
})

const rpc = (way: Said[0], record: object): Said => [way, { jsonrpc: '2.0', ...record }]
const prompt = (id: number) =>
  rpc('in', {
    id,
    method: 'session/prompt',
    params: { sessionId: 's-1', prompt: [{ type: 'text', text: 'Go.' }] },
  })
const opened = [
  rpc('in', { id: 1, method: 'session/new', params: { cwd: '/', mcpServers: [] } }),
  rpc('out', { id: 1, result: { sessionId: 's-1' } }),
  prompt(2),
]
const content = { type: 'text', text: 'Working' }
const update = { sessionUpdate: 'agent_message_chunk', content }
const works = rpc('out', { method: 'session/update', params: { sessionId: 's-1', update } })
const cancel = rpc('in', { method: 'session/cancel', params: { sessionId: 's-1' } })
const ends = (id: number, stopReason: string) => rpc('out', { id, result: { stopReason } })

test.each(['end_turn', 'cancelled', 'refusal'])(
  'a turn that was interrupted is cancelled, though the agent says %s',
  (reason) => {
    for (const said of [[], [works]])
      expect(endOf(acp, [...opened, ...said, cancel, ends(2, reason)], { wire: true })).toMatchObject({
        outcome: 'cancelled',
        ok: false,
      })
  },
)

test('the turn after the one that was interrupted ends as the agent says', () => {
  const said = [...opened, cancel, ends(2, 'end_turn'), prompt(3), ends(3, 'end_turn')]
  expect(endOf(acp, said, { wire: true })).toMatchObject({ outcome: 'finished', ok: true })
})

test('so is a turn of the control protocol whose result is a success', () => {
  const said: readonly Said[] = [
    ['out', { type: 'system', subtype: 'init', uuid: 'u', session_id: 's', cwd: '/', tools: [], model: 'm' }],
    ['in', { type: 'user', message: { role: 'user', content: 'Go.' } }],
    ['in', { type: 'control_request', request_id: 'r', request: { subtype: 'interrupt' } }],
    [
      'out',
      {
        ...{ type: 'result', subtype: 'success', uuid: 'v', session_id: 's', is_error: false },
        ...{ duration_ms: 1, duration_api_ms: 1, num_turns: 1, result: 'Done.' },
      },
    ],
  ]
  expect(endOf(qwen, said, { wire: true })).toMatchObject({ outcome: 'cancelled', ok: false })
})
