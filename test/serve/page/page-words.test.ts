import { expect, test } from 'vitest'
import { addressOf, readAddress } from '../../../src/serve/page/address.ts'
import { isShown } from '../../../src/serve/page/filters.ts'
import { ItemList, ItemRows, type Row } from '../../../src/serve/page/item-list.ts'
import { subjectOf, textOf } from '../../../src/serve/page/item-text.ts'
import { type SseEvent, sseReader } from '../../../src/serve/page/sse-reader.ts'
import { firstLine } from '../../../src/views/words.ts'
import { makeEvent } from '../../disk/make-event.ts'
import { ends, makeRun } from '../../views/make-run.ts'

test('an address names a run and an event, whatever the id is', () => {
  for (const run of ['r', 'a/b c', 'run/x', '100%', 'session://claude/-a/s.jsonl', '#/é']) {
    const place = { run, event: { attempt: 2, seq: 17 }, query: { find: 'a b&c', bytes: '' } }
    expect(readAddress(addressOf(place))).toEqual(place)
    expect(readAddress(addressOf({ run, query: {} }))).toEqual({ run, query: {} })
    // As links were until 0.1.
    expect(readAddress(`#${encodeURIComponent(run)}`)).toEqual({ run, query: {} })
  }
  const list = { run: undefined, query: { sort: '-cost' } }
  expect(readAddress(addressOf(list))).toEqual(list)
  for (const none of ['', '#', '#run/']) expect(readAddress(none)).toEqual({ query: {} })
  for (const none of ['#conversation', '#run/%E0%A4%A']) expect(readAddress(none)).toBeUndefined()
})

test('an event stream is read alike however it is cut', () => {
  const text = 'retry: 1\n\nid: r:1\nevent: a\ndata: {"x":"é"}\n\n:\n\nid: r:2\ndata: 1\ndata: 2\n\ndata: cut'
  const read = (size: number) => {
    const found: SseEvent[] = []
    const feed = sseReader((message) => found.push(message))
    for (let at = 0; at < text.length; at += size) feed(text.slice(at, at + size))
    return found
  }
  const whole = read(text.length)
  expect(whole).toEqual([
    { id: 'r:1', event: 'a', data: '{"x":"é"}' },
    { id: 'r:2', event: 'message', data: '1\n2' },
  ])
  for (const size of [1, 2, 3, 7]) expect(read(size)).toEqual(whole)
})

test('what does not have the shape of its type is shown as it is', () => {
  const model = new ItemList()
  for (const data of [null, 'text', 7, {}, { text: 3 }, []]) {
    for (const type of ['agent.message.final', 'tool.call.failed', 'diagnostic.engine.error', 'x.y']) {
      const event = { ...makeEvent(model.items.length + 1), type, data }
      const item = model.take(event as never)
      expect(() => textOf(item)).not.toThrow()
    }
  }
})

test('a call is told by what it is about, as a person would type it', () => {
  const subject = (input: unknown, lateInput?: unknown) => firstLine(subjectOf({ input, lateInput }))
  expect(subject({ description: 'why', command: "/bin/bash -lc 'npm test\nmore'" })).toBe('npm test')
  expect(subject({ cmd: ['ls', '-l'] })).toBe('ls -l')
  expect(subject(undefined, { path: 'a.ts' })).toBe('a.ts')
  expect(subject({ other: 1 })).toBe('{"other":1}')
  expect(firstLine(`\n\n  ${'x'.repeat(900)}`)).toHaveLength(300)
})

const call = (id: string, state: 'started' | 'completed' | 'failed', kind = 'execute') =>
  [`tool.call.${state}`, { call_id: id, name: 'Bash', kind, input: { command: id } }] as const
const message = ['agent.message.final', { message_id: 'm', text: 'x' }] as const

/** The rows of a run, in words, after these events have arrived one by one, or all at once. */
function rowsOf(steps: readonly unknown[], oneByOne: boolean): string[] {
  const model = new ItemList()
  const rows = new ItemRows((item) => item.kind !== 'status')
  const shown: Row[] = []
  // Cast: short forms of real events.
  for (const event of makeRun(steps as Parameters<typeof makeRun>[0])) {
    model.take(event)
    if (!oneByOne) continue
    const from = rows.add(model.items)
    // What the list keeps is what it drew before.
    if (from !== undefined) shown.length = from
    shown.push(...rows.rows.slice(shown.length))
    expect(shown).toEqual(rows.rows)
  }
  rows.add(model.items)
  for (const item of model.items) {
    const at = rows.indexOf(item)
    const row = rows.rows[at]
    if (row && row !== item) expect(rows.groupOf(item)).toBe(row)
  }
  return rows.rows.map((row) => (row.kind === 'group' ? `${row.items.length} calls` : row.kind))
}

test('good calls in a row are one row, however they arrive; failed ones, edits and two alone are not', () => {
  const many = (count: number, kind?: string) =>
    Array.from({ length: count }, (_, i) => [
      call(`c${i}`, 'started', kind),
      call(`c${i}`, 'completed', kind),
    ])
  const cases: [readonly unknown[], string[]][] = [
    [many(5).flat(), ['5 calls']],
    [many(2).flat(), ['tool', 'tool']],
    [
      [...many(3).flat(), message, ...many(4).flat()],
      ['3 calls', 'message', '4 calls'],
    ],
    [
      [...many(3).flat(), call('x', 'failed'), ...many(3).flat()],
      ['3 calls', 'tool', '3 calls'],
    ],
    [many(4, 'edit').flat(), ['tool', 'tool', 'tool', 'tool']],
    // Steps that are hidden do not part them.
    [many(4).flatMap((one) => [...one, ['lifecycle.run.status', { status: 'usage' }]]), ['4 calls']],
    // Calls at the same time end in another order.
    [['a', 'b', 'c'].flatMap((id) => [call(id, 'started')]), ['tool', 'tool', 'tool']],
    [
      [
        ...['a', 'b', 'c'].map((id) => call(id, 'started')),
        ...['c', 'a', 'b'].map((id) => call(id, 'completed')),
      ],
      ['3 calls'],
    ],
  ]
  for (const [steps, wanted] of cases)
    for (const oneByOne of [true, false]) expect(rowsOf(steps, oneByOne)).toEqual(wanted)
})

test('records that say nothing are out of the way, until a line of another kind follows them', () => {
  const raw = (line: string) => ['raw.stdout', { line }] as const
  const model = new ItemList()
  const rows = new ItemRows((item) => isShown(item, new Set()))
  const shown = () => {
    rows.add(model.items)
    return rows.rows.map(({ kind }) => kind)
  }
  const events = makeRun([message, raw('{"a":1}'), raw('{"a":2}'), raw('panic: no disk'), ends.well])
  const wanted = [['message'], ['message'], ['message'], ['message', 'raw'], ['message', 'raw', 'end']]
  for (const [at, event] of events.entries()) {
    model.take(event)
    expect(shown()).toEqual(wanted[at])
  }
  const unknown = { ...events[1]!, source: { ...events[1]!.source, confidence: 0.3 } }
  expect(isShown(new ItemList().take(unknown), new Set())).toBe(true)
  expect(isShown(new ItemList().take(events[1]!), new Set(['raw']))).toBe(true)
})
