import { test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { payloadFinder } from '../../src/events/payload.ts'
import { expectLinear } from '../growth.ts'

test.each([
  ['a line without end', 'x'.repeat(1 << 16)],
  ['lookalike openers', '{"a":\n'.repeat(2_000)],
  ['open brackets', '['.repeat(1 << 16)],
  ['quotes', '"'.repeat(1 << 16)],
  ['blank lines', '\n'.repeat(1 << 13)],
  ['escapes', '\u001b['.repeat(1 << 15)],
  ['block openers', '<Execution Info>\n'.repeat(1_000)],
  ['block openers on one line', '<Execution Info>'.repeat(4_000)],
  ['blocks on one line', 'x<Execution Info>{}</Execution Info>'.repeat(500)],
  ['blocks that are none', 'x<Execution Info>{\n1\n'.repeat(500)],
  ['documents behind text', 'x{"session_id":1}'.repeat(1_000)],
  ['documents behind text that are none', 'x{"session_id"\nx{\n'.repeat(1_000)],
  ['braces behind text', 'x{ '.repeat(10_000)],
])('hostile input takes linear time: %s', async (_, piece) => {
  const bytes = Buffer.from(piece)
  // No input may reach maxFrame: what is longer is passed on unread.
  await expectLinear(
    'chunks',
    (chunks) => () => {
      const sink = eventStage(auto, { clock: () => 0, maxFrame: 1 << 26 })({ write() {}, end() {} })
      for (let i = 0; i < chunks; i++) sink.write({ channel: 'pty', bytes })
      sink.end()
    },
    { size: 4 },
  )
})

test('a message with many objects in prose takes linear time', async () => {
  await expectLinear(
    'objects',
    (objects) => {
      const text = 'See {"a":1} there. '.repeat(objects)
      const { find } = payloadFinder({
        schema: undefined,
        pick: 'last',
        maxFrame: 1 << 26,
        maxRepair: 1 << 20,
      })
      return () => find(text, undefined, false)
    },
    { size: 2_000 },
  )
})
