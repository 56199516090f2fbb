import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { qwen } from '../../src/engines/qwen/qwen.ts'
import type { Engine } from '../../src/events/engine.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { endOf, lines, only } from '../engines/run.ts'
import { runs } from '../pace.ts'

const schema = { type: 'object', required: ['n'] }
const answer = (n: number) => JSON.stringify({ n })
const timestamp = '2026-11-15T00:00:00Z'

/** What a run says, read in this order: true takes the next record of stdout, false that of the PTY. */
function read(profile: Engine, logs: Logs, order: Iterator<boolean>) {
  const rest = { stdout: [...logs.stdout], pty: [...logs.pty] }
  const chunks: Chunk[] = [{ channel: 'stdout', bytes: new Uint8Array(), channels: ['stdout', 'pty'] }]
  while (rest.stdout.length + rest.pty.length > 0) {
    const channel = order.next().value ? 'stdout' : 'pty'
    const record = rest[channel].shift()
    if (record) chunks.push({ channel, bytes: Buffer.from(lines(record)) })
  }
  chunks.push({ channel: 'exit', code: 0, signal: null })
  const events = drive(eventStage(profile, { clock: () => 0, schema }), chunks)
  const messages = only(events, 'agent.message.final').map(({ data }) => ({
    text: data.text,
    incomplete: data.incomplete,
  }))
  return {
    result: only(events, 'lifecycle.run.result')[0]!.data.value,
    state: endOf(events).state,
    messages: messages.sort((a, b) => (a.text < b.text ? -1 : 1)),
  }
}

interface Logs {
  readonly stdout: readonly object[]
  readonly pty: readonly object[]
}

function* always(value: boolean): Generator<boolean, boolean> {
  for (;;) yield value
}

/** Whatever the weaving, it is what the logs give. */
function sameInEveryWeaving(profile: Engine, logs: Logs) {
  const fromLogs = read(profile, logs, stdoutFirst(logs))
  expect(read(profile, logs, ptyFirst(logs))).toEqual(fromLogs)
  fc.assert(
    fc.property(fc.infiniteStream(fc.boolean()), (order) => {
      expect(read(profile, logs, order)).toEqual(fromLogs)
    }),
    { numRuns: runs(100) },
  )
  return fromLogs
}

const stdoutFirst = ({ stdout }: Logs) => inTwo(true, stdout.length)
const ptyFirst = ({ pty }: Logs) => inTwo(false, pty.length)

function* inTwo(first: boolean, count: number): Generator<boolean, boolean> {
  for (let n = 0; n < count; n++) yield first
  yield* always(!first)
  return first
}

const init = { type: 'init', timestamp, session_id: 's1', model: 'x' }
const delta = (content: string) => ({ type: 'message', timestamp, role: 'assistant', content, delta: true })
const toolUse = { type: 'tool_use', timestamp, tool_name: 'x', tool_id: 't', parameters: {} }
const toolResult = { type: 'tool_result', timestamp, tool_id: 't', status: 'success', output: '' }
const result = { type: 'result', timestamp, status: 'success', stats: {} }

test('Gemini: a message that only the PTY has is neither the result nor glued into the one behind it', () => {
  const stdout = [init, toolUse, toolResult, delta('{"n":2'), delta('}'), result]
  const pty = [init, delta('{"n":'), delta('1}'), ...stdout.slice(1)]
  expect(sameInEveryWeaving(gemini, { stdout, pty })).toEqual({
    result: { n: 2 },
    state: 'awaiting_user_input',
    messages: [{ text: answer(1) }, { text: answer(2) }],
  })
})

test('Gemini: a last message that only the PTY has is the result', () => {
  const pty = [init, delta(answer(1)), toolUse, toolResult, delta(answer(2)), result]
  const stdout = pty.toSpliced(4, 1)
  expect(sameInEveryWeaving(gemini, { stdout, pty }).result).toEqual({ n: 2 })
})

const thread = { type: 'thread.started', thread_id: '01a1' }
const begun = { type: 'turn.started' }
const over = { type: 'turn.completed', usage: { input_tokens: 1 } }
const said = (n: number) => ({
  type: 'item.completed',
  item: { id: `i${n}`, type: 'agent_message', text: answer(n) },
})

test('Codex: stdout lost the end of a turn that is equal to the next one', () => {
  const stdout = [thread, begun, said(1), said(3), over]
  const pty = [thread, begun, said(1), over, begun, said(2), said(3), over]
  expect(sameInEveryWeaving(codex, { stdout, pty })).toMatchObject({
    result: { n: 3 },
    state: 'awaiting_user_input',
  })
})

test('Codex: stdout lost any records of turns that end alike', () => {
  const turn = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.infiniteStream(fc.boolean()))
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.boolean()),
      (turns, order) => {
        let n = 0
        const all = turns.flatMap(([count, lost]) =>
          [begun, ...Array.from({ length: count }, () => said(++n)), over].map((record) => ({
            record,
            lost: lost.next().value,
          })),
        )
        const pty = [thread, ...all.map(({ record }) => record)]
        const stdout = [thread, ...all.filter(({ lost }) => !lost).map(({ record }) => record)]
        const run = read(codex, { stdout, pty }, order)
        expect(run).toMatchObject({ result: { n }, state: 'awaiting_user_input' })
        expect(run.messages).toHaveLength(n)
      },
    ),
    { numRuns: runs(300) },
  )
})

const piece = (uuid: string, event: object) => ({ type: 'stream_event', session_id: 's1', uuid, event })

function partial(id: string, words: string, whole: boolean): object[] {
  const content = [{ type: 'text', text: words }]
  const start = { type: 'message_start', message: { id, role: 'assistant', content: [] } }
  const part = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } }
  const message = { id, type: 'message', role: 'assistant', content }
  return [
    piece(`${id}1`, start),
    piece(`${id}2`, part),
    ...(whole ? [{ type: 'assistant', session_id: 's1', uuid: `${id}3`, message }] : []),
    piece(`${id}4`, { type: 'message_stop' }),
  ]
}

test.each([
  ['claude', claude],
  ['qwen', qwen],
] as const)('%s: pieces of a message that only the PTY has stay out of the one on stdout', (_, profile) => {
  const started = { type: 'system', subtype: 'init', session_id: 's1', model: 'm' }
  const ended = { type: 'result', subtype: 'success', is_error: false, result: answer(2), session_id: 's1' }
  for (const whole of [true, false]) {
    const stdout = [started, ...partial('B', answer(2), whole), ended]
    const pty = [started, ...partial('A', answer(1), whole), ...stdout.slice(1)]
    expect(sameInEveryWeaving(profile, { stdout, pty })).toEqual({
      result: { n: 2 },
      state: 'awaiting_user_input',
      messages: [{ text: answer(1) }, { text: answer(2) }],
    })
  }
})
