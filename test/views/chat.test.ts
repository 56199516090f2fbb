import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { chat, events } from '../../src/streams/events.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { type Chat, type ChatOf, chatStage } from '../../src/views/chat.ts'
import { lines, run } from '../engines/run.ts'
import { validChat } from '../engines/valid.ts'

const session = '00000000-0000-4000-8000-000000000001'
const turn = (...records: object[]) =>
  lines({ type: 'thread.started', thread_id: session }, { type: 'turn.started' }, ...records, {
    type: 'turn.completed',
    usage: {},
  })
const item = (type: string, more: object, phase = 'completed') => ({
  type: `item.${phase}`,
  item: { id: 'item_0', type, ...more },
})

describe('a conversation', () => {
  const stdout = turn(
    item('reasoning', { text: 'Hm.' }),
    item(
      'command_execution',
      { command: 'ls', aggregated_output: '', exit_code: null, status: 'in_progress' },
      'started',
    ),
    item('command_execution', { command: 'ls', aggregated_output: 'no', exit_code: 2, status: 'failed' }),
    item('agent_message', { text: 'Done.' }),
    item('file_change', { changes: [{ path: 'a.txt', kind: 'add' }], status: 'completed' }),
  )
  const records = validChat(drive(chatStage(), run(codex, { stdout, stderr: 'log\n', exit: 0 })))

  test('has every step once, and an end', () => {
    expect(
      records.map(({ type, data }) => (type === 'assistant.tool_call' ? `${type} ${data.phase}` : type)),
    ).toEqual([
      'conversation.started',
      'assistant.reasoning',
      'assistant.tool_call started',
      'assistant.tool_call failed',
      'assistant.message.final',
      'assistant.tool_call started',
      'assistant.tool_call completed',
      'user.input.required',
      'raw.stderr',
      'diagnostic.warning',
      'artifact.created',
      'conversation.ended',
    ])
  })

  test('keeps the place in the log and the session of each step', () => {
    const message = records.find(({ type }) => type === 'assistant.message.final')!
    const { byte_from, byte_to } = message.raw_ref!
    expect(JSON.parse(stdout.slice(byte_from, byte_to)).item.text).toBe('Done.')
    expect(message.correlation.session_id).toBe(session)
  })
})

test('one chat() can read several attempts, each when it is run', async () => {
  const stdout = turn(item('agent_message', { text: 'Hello.' }))
  const talk = chat()
  const told = talk.toArray()
  for (const attempt of [1, 2]) {
    const source = Readable.from(run(codex, { stdout, exit: 0 }, { attempt }))
    await pipeline(source, talk, { end: attempt === 2 })
  }
  const records = validChat(await told)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
  expect(records.filter(({ type }) => type === 'conversation.started')).toHaveLength(1)
  expect(new Set(records.map(({ meta }) => meta.attempt))).toEqual(new Set([1, 2]))
})

test('starts once, at the first session id, over all attempts; seq goes on, local_seq begins again', () => {
  const stdout = turn(item('agent_message', { text: 'Hi.' }))
  const attempts = [1, 2].flatMap((attempt) => [...run(codex, { stdout, exit: 0 }, { attempt })])
  const records = drive(chatStage(), attempts)
  expect(records.map(({ type }) => type)).toEqual([
    'conversation.started',
    'assistant.message.final',
    'user.input.required',
    'conversation.ended',
    'assistant.message.final',
    'user.input.required',
    'conversation.ended',
  ])
  expect(records.map(({ seq, meta }) => [seq, meta.attempt, meta.local_seq])).toEqual([
    [1, 1, 1],
    [2, 1, 2],
    [3, 1, 3],
    [4, 1, 4],
    [5, 2, 1],
    [6, 2, 2],
    [7, 2, 3],
  ])
  const later = drive(chatStage({ after: 4, started: true }), run(codex, { stdout, exit: 0 }, { attempt: 2 }))
  expect(later.map(({ seq, type }) => [seq, type])).toEqual([
    [5, 'assistant.message.final'],
    [6, 'user.input.required'],
    [7, 'conversation.ended'],
  ])
})

test('shows a message of deltas as deltas and one final', () => {
  const sdk = (type: string, more: object) => ({
    type,
    uuid: 'u',
    session_id: session,
    parent_tool_use_id: null,
    ...more,
  })
  const delta = (text: string) =>
    sdk('stream_event', {
      event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    })
  const stdout = lines(
    sdk('stream_event', { event: { type: 'message_start', message: { id: 'm' } } }),
    delta('Hel'),
    delta('lo'),
    sdk('assistant', { message: { id: 'm', content: [{ type: 'text', text: 'Hello' }] } }),
    sdk('result', { subtype: 'success', is_error: false, result: 'Hello' }),
  )
  const shown = drive(chatStage(), run(claude, { stdout, exit: 0 })).filter(({ type }) =>
    type.startsWith('assistant'),
  )
  expect(shown.map(({ type, data }) => [type, (data as { text: string }).text])).toEqual([
    ['assistant.message.delta', 'Hel'],
    ['assistant.message.delta', 'lo'],
    ['assistant.message.final', 'Hello'],
  ])
  expect(new Set(shown.map(({ data }) => (data as { message_id: string }).message_id))).toEqual(
    new Set(['m']),
  )
})

test('flows: bytes in, records out', async () => {
  const source = events(codex)
  const flow = source.pipe(chat())
  source.end(Buffer.from(turn(item('agent_message', { text: 'Hi.' }))))
  const types: Chat['type'][] = []
  for await (const record of flow) types.push(record.type)
  expect(types).toEqual([
    'conversation.started',
    'assistant.message.final',
    'user.input.required',
    'conversation.ended',
  ])
})

test('tells the end of a turn for a journal that did not, at its end', () => {
  const stdout = turn(item('agent_message', { text: 'Hi.' }))
  const old = run(codex, { stdout, exit: 0 }).filter(
    (event) => event.type !== 'lifecycle.run.status' || event.data.status !== 'awaiting_user_input',
  )
  const types = validChat(drive(chatStage(), old)).map(({ type }) => type)
  expect(types.slice(-3)).toEqual(['assistant.message.final', 'user.input.required', 'conversation.ended'])
})

describe('the last record of an attempt', () => {
  const ended = (events: readonly AgentEvent[]) => {
    const records = validChat(drive(chatStage(), events))
    const found = records.filter(
      (record): record is ChatOf<'conversation.ended'> => record.type === 'conversation.ended',
    )
    expect(records.at(-1)).toBe(found.at(-1))
    return found.map(({ data }) => data)
  }
  const said = item('agent_message', { text: 'Done.' })

  test('says how it ended, what was said last, and what it took', () => {
    const tokens = { input: 3, output: 2, cached: 0 }
    const usage = { input_tokens: 3, output_tokens: 2, cached_input_tokens: 0 }
    const stdout = lines({ type: 'thread.started', thread_id: session }, { type: 'turn.started' }, said, {
      type: 'turn.completed',
      usage,
    })
    expect(ended(run(codex, { stdout, exit: 0 }))).toEqual([
      { outcome: 'finished', ok: true, text: 'Done.', tokens },
    ])
  })

  test('also after a failure, a cancel, and no end at all', () => {
    const begun = lines({ type: 'thread.started', thread_id: session }, { type: 'turn.started' })
    const failed = begun + lines({ type: 'turn.failed', error: { message: 'no credit' } })
    expect(ended(run(codex, { stdout: failed, exit: 1 }))).toEqual([
      { outcome: 'failed', ok: false, problem: 'no credit' },
    ])
    expect(ended(run(codex, { stdout: begun }))).toMatchObject([{ outcome: 'unknown', ok: false }])
    const chunks: Chunk[] = [
      { channel: 'stdout', bytes: Buffer.from(begun + lines(said)) },
      { channel: 'exit', code: null, signal: 'SIGTERM', stopped: 'aborted' },
    ]
    const cancelled = drive(eventStage(codex), chunks)
    expect(ended(cancelled)).toMatchObject([{ outcome: 'cancelled', ok: false, text: 'Done.' }])
  })

  test('is one for each attempt, with the words of that one alone', () => {
    const first = run(codex, { stdout: turn(said), exit: 0 })
    const second = run(codex, { stdout: turn(), exit: 0 }, { attempt: 2 })
    expect(ended([...first, ...second]).map(({ text }) => text)).toEqual(['Done.', undefined])
  })

  test('does not take the words of a subagent', () => {
    const sdk = (parent: string | null, text: string) => ({
      ...{ type: 'assistant', uuid: 'u', session_id: session, parent_tool_use_id: parent },
      message: { id: text, content: [{ type: 'text', text }] },
    })
    const stdout = lines(sdk(null, 'mine'), sdk('call', 'its own'))
    expect(ended(run(claude, { stdout, exit: 0 }))).toMatchObject([{ text: 'mine' }])
  })

  test('says the word that a recording of 0.2 did not have', () => {
    const old = run(codex, { stdout: turn(said), exit: 0 }).map((event) => {
      if (event.type !== 'lifecycle.completion.state') return event
      const { outcome: _, ok: __, ...data } = event.data
      return { ...event, data } as AgentEvent // cast: as 0.2 wrote it
    })
    expect(ended(old)).toMatchObject([{ outcome: 'finished', ok: true }])
  })
})
