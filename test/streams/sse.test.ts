import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HEARTBEAT, sse, sseId, sseMessage } from '../../src/streams/sse.ts'
import { makeEvent } from '../disk/make-event.ts'

function read(text: string): EventSourceMessage[] {
  const messages: EventSourceMessage[] = []
  createParser({ onEvent: (message) => void messages.push(message) }).feed(text)
  return messages
}

test('gives each event its id, its type and its JSON', async () => {
  const records = [makeEvent(1), makeEvent(2, { text: 'a\nb\r\nc' }), makeEvent(1, { attempt: 2 })]
  let text = ''
  for await (const part of Readable.from(records).pipe(sse())) text += part
  const messages = read(text)
  expect(messages.map((message) => message.id)).toEqual(['r1:1', 'r1:2', 'r1:2.1'])
  expect(messages.map((message) => message.event)).toEqual(records.map((record) => record.type))
  expect(messages.map((message) => JSON.parse(message.data))).toEqual(records)
})

test('a chat record keeps the plain id in every attempt, because chat counts per run', () => {
  const chat = { run_id: 'r', seq: 9, type: 'assistant.reasoning', meta: { attempt: 3, local_seq: 1 } }
  expect(sseId(chat as never)).toBe('r:9')
})

test('splits data at CR, LF and CRLF, and at nothing else', () => {
  const [message] = read(sseMessage({ data: 'a\rb\nc\r\nd\u0085e\u2028f\u2029g\u000bh\n' }))
  expect(message?.data).toBe('a\nb\nc\nd\u0085e\u2028f\u2029g\u000bh\n')
})

test('any data comes back as the parser sees lines, and is always one message', () => {
  const text = fc
    .array(fc.constantFrom('a', '\r', '\n', '\r\n', ': x', 'data: ', 'id: 1', '\n\n', '\0', '\u2028', 'é'))
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (data) => {
      const messages = read(sseMessage({ id: 'x', event: 'e', data }))
      expect(messages).toEqual([{ id: 'x', event: 'e', data: data.replace(/\r\n|\r/g, '\n') }])
    }),
  )
})

test.each(['a\rb', 'a\nb', 'a\r\nb', 'a\0b'])('refuses %j as an id or event name', (name) => {
  expect(() => sseMessage({ id: name, data: '' })).toThrow(expect.objectContaining({ code: 'SSE_FIELD' }))
  expect(() => sseMessage({ event: name, data: '' })).toThrow(expect.objectContaining({ code: 'SSE_FIELD' }))
})

test('a run id that would forge a message ends the stream with a fault', async () => {
  const forged = makeEvent(1, { run: 'x\n\ndata: forged' })
  const sent = Readable.from([forged])
    .pipe(sse({ heartbeat: 0 }))
    .toArray()
  await expect(sent).rejects.toMatchObject({ code: 'SSE_FIELD' })
})

test('beats while it is quiet, and stops when it is closed', async () => {
  const made = sse({ heartbeat: 5 })
  const [first] = (await once(made, 'data')) as [string]
  expect(first).toBe(HEARTBEAT)
  expect(read(first)).toEqual([])
  made.destroy()
  await once(made, 'close')
  await expect(new Promise((resolve) => setTimeout(() => resolve(made.readableLength), 20))).resolves.toBe(0)
})

test('does not pile up heartbeats for a reader that does not read', async () => {
  const made = sse({ heartbeat: 1 })
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(made.readableLength).toBeLessThanOrEqual(1)
  made.destroy()
})

test('goes over HTTP to a client that reads it back', async () => {
  const records = Array.from({ length: 500 }, (_, i) => makeEvent(i + 1))
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    pipeline(Readable.from(records), sse(), response).catch(() => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect(read(await response.text()).map((message) => JSON.parse(message.data))).toEqual(records)
  server.close()
})
