import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { jsonl } from '../../src/streams/jsonl.ts'

test('writes one line per record, whatever the strings hold', async () => {
  const records = [{ a: 'x\ny\r\u2028' }, { b: [1, null] }, { c: '\ud800' }]
  const chunks: Buffer[] = []
  for await (const bytes of Readable.from(records).pipe(jsonl())) chunks.push(bytes as Buffer)
  const lines = Buffer.concat(chunks).toString().split('\n')
  expect(lines).toHaveLength(4)
  expect(lines.pop()).toBe('')
  expect(lines.map((line) => JSON.parse(line))).toEqual(records)
})

test('takes no more records than its slow reader can hold', async () => {
  let made = 0
  function* source() {
    for (; made < 10_000; made++) yield { made }
  }
  let most = 0
  let taken = 0
  const slow = new Writable({
    highWaterMark: 1,
    write(_chunk, _encoding, done) {
      taken++
      most = Math.max(most, made - taken)
      setImmediate(done)
    },
  })
  await pipeline(Readable.from(source()), jsonl(), slow)
  expect(taken).toBe(10_000)
  expect(most).toBeLessThan(200)
})

test('a record is stringified once, if lines are remembered', async () => {
  // Another test may have told the copy that all share to remember. Cast: the query makes it one of its own.
  const own = '../../src/streams/jsonl.ts?own'
  const { jsonLine, rememberLines } = (await import(own)) as typeof import('../../src/streams/jsonl.ts')
  let times = 0
  const record = { toJSON: () => ({ times: ++times }) }
  expect([jsonLine(record), jsonLine(record)]).toEqual(['{"times":1}\n', '{"times":2}\n'])
  rememberLines()
  expect([jsonLine(record), jsonLine(record)]).toEqual(['{"times":3}\n', '{"times":3}\n'])
  expect([jsonLine(1), jsonLine(null)]).toEqual(['1\n', 'null\n'])
})
