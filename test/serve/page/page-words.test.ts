import { expect, test } from 'vitest'
import { addressOf, readAddress } from '../../../src/serve/page/address.ts'
import { ItemList } from '../../../src/serve/page/item-list.ts'
import { firstLine, summaryOf, textOf } from '../../../src/serve/page/item-text.ts'
import { type SseEvent, sseReader } from '../../../src/serve/page/sse-reader.ts'
import { makeEvent } from '../../disk/make-event.ts'

test('an address names a run and an event, whatever the id is', () => {
  for (const run of ['r', 'a/b c', 'run/x', '100%', 'session://claude/-a/s.jsonl', '#/é']) {
    const event = { attempt: 2, seq: 17 }
    expect(readAddress(addressOf(run, event))).toEqual({ run, event })
    expect(readAddress(addressOf(run))).toEqual({ run, event: undefined })
    // As links were until 0.1.
    expect(readAddress(`#${encodeURIComponent(run)}`)).toEqual({ run })
  }
  for (const none of ['', '#', '#run/', '#conversation', '#run/%E0%A4%A'])
    expect(readAddress(none)).toBeUndefined()
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

test('a call is told by what it is about', () => {
  expect(summaryOf({ description: 'why', command: 'npm test\nmore' })).toBe('npm test')
  expect(summaryOf({ cmd: ['ls', '-l'] })).toBe('ls -l')
  expect(summaryOf({ changes: [{ path: 'a' }, null, { path: 'b' }] })).toBe('a, b')
  expect(summaryOf({ other: 1 })).toBe('{"other":1}')
  expect(summaryOf(undefined)).toBe('')
  expect(firstLine(`\n\n  ${'x'.repeat(900)}`)).toHaveLength(300)
})
