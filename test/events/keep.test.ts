import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { type Engine, isRecord, type Picker } from '../../src/events/engine.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Channel } from '../../src/text/chunk.ts'
import { fixtures } from '../engines/fixture.ts'
import { uncovered } from '../engines/uncovered.ts'
import { runs, some } from '../pace.ts'

/**
 * Law 2 in events, record after record. A mix of random lines hardly ever has the one record that ends what
 * another one began (a delta, then the user's line), and recorded runs have few orders. So each kind of line
 * that an engine was seen to write comes once after each other kind.
 */
const kinds = new Map<string, Map<string, string>>()

/** Lines that no fixture has, by engine. */
const more: Record<string, readonly object[]> = {
  gemini: [
    { type: 'message', timestamp: 't', role: 'user', content: 'again' },
    { type: 'message', timestamp: 't', role: 'assistant', content: 'whole' },
    { type: 'error', timestamp: 't', severity: 'warning', message: 'slow' },
    { session_id: 's', response: 'an answer' },
    { response: 'an answer', stats: {} },
    { session_id: 's', error: { message: 'no' } },
    { error: { type: 'Error', message: 'no' } },
    { error: { code: 429 } },
  ],
  ...Object.fromEntries(
    ['claude', 'qwen'].map((name) => [
      name,
      [
        { type: 'control_response', response: { subtype: 'success' } },
        { type: 'user', session_id: 's', message: { content: 'hi' } },
        ...['message_start', 'message_stop', 'content_block_stop', 'mystery'].map((type) => ({
          type: 'stream_event',
          session_id: 's',
          event: { type, message: { id: 'm' } },
        })),
        {
          type: 'stream_event',
          session_id: 's',
          event: { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hel' } },
        },
      ],
    ]),
  ),
  acp: [
    ...['agent_message_chunk', 'agent_thought_chunk', 'user_message_chunk', 'plan', 'mystery'].map(
      (sessionUpdate) => ({
        jsonrpc: '2.0',
        method: 'session/update',
        params: { sessionId: 's', update: { sessionUpdate, content: { type: 'text', text: 'Hel' } } },
      }),
    ),
    { jsonrpc: '2.0', id: 3, result: null },
    { jsonrpc: '2.0', id: 4, method: 'fs/read_text_file', params: { sessionId: 's' } },
    { jsonrpc: '2.0', method: 'mystery' },
    { jsonrpc: '2.0', id: 5, result: { stopReason: 'end_turn' } },
  ],
  codex: [
    { id: '0', msg: { type: 'agent_message_delta', delta: 'Hel' } },
    { id: '1', msg: { type: 'turn_diff' } },
    {
      type: 'item.completed',
      item: { id: 'i', type: 'file_change', changes: [{ path: '.audit/x', kind: 'add' }] },
    },
  ],
}

const words = [
  'Loaded cached credentials.',
  'Attempt 1 failed with status 429',
  '    at Turn.run (a.js:1:1) {',
  'Plain words.',
  'Words {',
  '  "session_id": "s",',
  '  "response": "glued"',
  '}',
  'glued{"session_id":"s","response":"r"}',
  '<Execution Info>',
  '{"session-id": "session-00000001"}',
  '</Execution Info>',
  'glued<Execution Info>{"session-id": "session-00000002"}</Execution Info>glued',
  'Resuming session session-00000003',
  '```',
  '',
]

const keep = (engine: string, line: string) => {
  const known = kinds.get(engine) ?? new Map<string, string>()
  kinds.set(engine, known)
  const kind = kindOf(line)
  if ((known.get(kind)?.length ?? Number.POSITIVE_INFINITY) > line.length) known.set(kind, line)
}

for (const { engine, logs } of fixtures())
  for (const { bytes } of logs)
    for (const line of Buffer.from(bytes).toString('latin1').split('\n')) keep(engine, line)
for (const [engine, records] of Object.entries(more))
  for (const record of records) keep(engine, JSON.stringify(record))

/** What sort of record a line is; all other lines are of one sort. */
function kindOf(line: string): string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {}
  if (!isRecord(value)) return 'text'
  const inner = ['event', 'item', 'msg', 'part', 'payload'].map((key) => value[key]).find(isRecord) ?? {}
  const delta = isRecord(inner['delta']) ? inner['delta']['type'] : inner['delta'] !== undefined
  const { type, subtype, role, method, params } = value
  const update = isRecord(params) && isRecord(params['update']) ? params['update'] : {}
  if ('jsonrpc' in value)
    return [
      method ?? Object.keys(isRecord(value['result']) ? value['result'] : value).join(),
      update['sessionUpdate'],
      update['status'],
    ].join(' ')
  return [type ?? Object.keys(value).join(), subtype, role, value['delta'], inner['type'], delta].join(' ')
}

const lost = (profile: Engine | Picker, channel: Channel, lines: readonly string[]): number => {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''), 'latin1')
  const events = drive(eventStage(profile, { clock: () => 0, maxFrame: 100_000 }), [{ channel, bytes }])
  return uncovered(events, channel, bytes)
}

describe.each<[string, Engine | Picker]>([...Object.entries(engines), ['auto', auto]])(
  'every byte is in some event’s range, for %s',
  (name, profile) => {
    const own = kinds.get(name) ?? new Map([...kinds.values()].flatMap((known) => [...known]))
    const pool = [...own.values()].filter((line) => line.length < 20_000)
    const all = [...pool, ...words]

    test('whatever record follows which', () => {
      const firsts = name === 'auto' ? [] : some(pool)
      for (const first of firsts)
        for (const second of pool)
          expect([first, second, lost(profile, 'stdout', [first, second])]).toEqual([first, second, -1])
    })

    // These look for documents and blocks in lines of text.
    test.runIf(['gemini', 'iflow', 'auto'].includes(name))('whatever lines of text follow each other', () => {
      for (const first of words)
        for (const second of some(words))
          for (const third of some(words)) {
            const lines = [first, second, third]
            expect([lines, lost(profile, 'stdout', lines)]).toEqual([lines, -1])
          }
    })

    test.each(['stdout', 'stderr', 'pty'] as const)('in a mix on %s', (channel) => {
      fc.assert(
        fc.property(fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 8 }), (lines) => {
          expect(lost(profile, channel, lines)).toBe(-1)
        }),
        { numRuns: runs(150) },
      )
    })
  },
)

test.each(Object.entries(engines))(
  'the end of a line of exactly maxFrame bytes is kept, too: %s',
  (_, engine) => {
    for (const log of [
      'aaaaaaaaaa\nb\n',
      'aaaaaaaaaaaaaaaaaaaa\nb\n',
      'aaaaaaaaa\r\nb\n',
      'a\nbbbbbbbbbb\n\nc',
    ]) {
      const bytes = Buffer.from(log)
      const stage = eventStage(engine, { clock: () => 0, maxFrame: 10 })
      expect(uncovered(drive(stage, [{ channel: 'stdout', bytes }]), 'stdout', bytes)).toBe(-1)
    }
  },
)
