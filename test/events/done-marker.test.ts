import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'

const marker = '{"__SKILL_DONE__": true}'
const F = '```'

test.each([
  ['the whole message', marker, true],
  ['a tag', `Done <json>${marker}</json> bye`, true],
  ['a json fence', `Done\n${F}json\n${marker}\n${F}\nbye`, true],
  ['a bare fence', `Done\n${F}\n${marker}\n${F}\nbye`, true],
  ['prose, at its end', `Done: ${marker}.`, true],
  ['prose, in the middle', `I print ${marker} when I am done`, false],
  ['a fence of another language', `So:\n${F}js\n${marker}\n${F}`, false],
  ['code', `So:\n${F}js\nprint(${marker})\n${F}`, false],
  ['a tag in code', `So:\n${F}md\n<json>${marker}</json>\n${F}`, false],
  ['what only the last resort finds', "Done: {'__SKILL_DONE__': True}", false],
  ['a thought', `<reasoning>${marker}</reasoning> hm`, false],
  ['a long thought', `Ok <thinking>${'x'.repeat(70_000)}${marker}</thinking> hm`, false],
])('a done marker in %s counts: %s', (_where, text, counts) => {
  expect(isDone(text)).toBe(counts)
})

/** Whether a run that said this, and nothing about its end, is done. */
function isDone(text: string): boolean {
  const record = { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } }
  const chunks: Chunk[] = [{ channel: 'stdout', bytes: Buffer.from(`${JSON.stringify(record)}\n`) }]
  const events = drive(eventStage(codex, { clock: () => 0 }), [
    ...chunks,
    { channel: 'exit', code: null, signal: null },
  ])
  return events.some(
    (event) => isEvent(event, 'lifecycle.completion.state') && event.data.evidence.done_marker,
  )
}
