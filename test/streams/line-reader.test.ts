import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { CacheEntry } from '../../src/disk/cache.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import { exportRun } from '../../src/serve/export.ts'
import { chat } from '../../src/streams/events.ts'
import { events } from '../../src/streams/events-by-name.ts'
import { jsonl } from '../../src/streams/jsonl.ts'
import { lineReader } from '../../src/streams/line-reader.ts'
import { sse } from '../../src/streams/sse.ts'
import { fixtures } from '../engines/fixture.ts'

const records = [
  { type: 'thread.started', thread_id: 't' },
  { type: 'item.completed', item: { id: 'm', type: 'agent_message', text: 'Hi' } },
  { type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } },
]
const stdout = records.map((record) => `${JSON.stringify(record)}\n`).join('')

test('a line reader gives the events of each line at once, and those of the stream in all', () => {
  for (const { engine, logs, exit } of fixtures().filter(({ logs }) => logs.length === 1)) {
    const [log] = logs
    const text = Buffer.from(log!.bytes).toString()
    // Bytes that are no text cannot be handed over as lines.
    if (log!.channel !== 'stdout' || text.includes('\ufffd') || !text.endsWith('\n')) continue
    const reader = lineReader(engines[engine], { clock: () => 0 })
    const told = text
      .slice(0, -1)
      .split('\n')
      .flatMap((line) => reader.line(line))
    told.push(...reader.end(exit))
    const expected = drive(eventStage(engines[engine], { clock: () => 0 }), [log!, exit])
    expect(told).toEqual(expected)
  }
  const reader = lineReader('codex')
  expect(reader.line(JSON.stringify(records[0])).map(({ type }) => type)).toEqual(['lifecycle.run.status'])
  expect(reader.line(`${JSON.stringify(records[1])}\n`).map(({ type }) => type)).toEqual([
    'agent.message.final',
  ])
  expect(reader.end({ code: 0 }).at(-1)!.type).toBe('lifecycle.completion.state')
  expect(() => reader.line('{}')).toThrow('the reader was ended')
  expect(() => reader.end()).toThrow('the reader was ended')
})

test('an event has the record that it was read from, if that was asked for', async () => {
  const told = await Readable.from([Buffer.from(stdout)])
    .pipe(events('codex', { record: true }))
    .toArray()
  const [started, message, ...rest] = told
  expect([started!.record, message!.record]).toEqual(records.slice(0, 2))
  expect(rest.at(-1)!.record).toBe(undefined)
  const without = await Readable.from([Buffer.from(stdout)])
    .pipe(events('codex'))
    .toArray()
  expect(without.some((event) => 'record' in event)).toBe(false)
  // @ts-expect-error: only an event that was asked for it has a record
  void without[0]!.record
  const pieces = ['H', 'i'].map((text) => ({
    type: 'content_block_delta',
    delta: { type: 'text_delta', text },
  }))
  const reader = lineReader('claude', { record: true })
  for (const event of pieces) reader.line(JSON.stringify({ type: 'stream_event', event }))
  const stop = { type: 'stream_event', event: { type: 'message_stop' } }
  expect(reader.line(JSON.stringify(stop)).map(({ type, record }) => [type, record])).toEqual([
    ['agent.message.final', stop],
    ['raw.stdout', stop],
  ])
})

test('a record is in nothing that is printed, sent or stored', async () => {
  const flow = () => Readable.from([Buffer.from(stdout)]).pipe(events('codex', { record: true }))
  const printed = [flow().pipe(jsonl()), flow().pipe(chat()).pipe(jsonl()), flow().pipe(sse())]
  for (const stream of printed) expect((await stream.toArray()).join('')).not.toContain('"record"')
  const audit = join(mkdtempSync(join(tmpdir(), 'sluice-record-')), 'run')
  const kept = new Map<string, CacheEntry>()
  const cached = { schema: { type: 'object' }, cache: kept } as const
  const script = ['-c', `printf '%s' "$0"`, stdout.replace('Hi', '{\\"a\\":1}')]
  await run('sh', script, { engine: 'codex', record: true, ...cached }).end
  expect([...kept.values()].map((entry) => JSON.stringify(entry))).toEqual([
    expect.not.stringContaining('"record"'),
  ])
  const agent = run('sh', ['-c', `printf '%s' "$0"`, stdout], { engine: 'codex', audit, record: true })
  const told = await agent.toArray()
  expect(told.find(({ type }) => type === 'agent.message.final')!.record).toEqual(records[1])
  expect(readFileSync(join(audit, 'events.jsonl'), 'utf8')).not.toContain('"record"')
  for (const to of ['md', 'html', 'json'] as const)
    for await (const piece of exportRun(audit, { to, redact: false }))
      expect(piece).not.toContain('"record":{')
  const again = await replay(audit, { record: true }).toArray()
  expect(again.find(({ type }) => type === 'agent.message.final')!.record).toEqual(records[1])
  expect(JSON.stringify(again)).toBe(JSON.stringify(told))
})
