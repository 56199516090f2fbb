import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'

test('a record with C1 characters in it is told once, as stdout has it, though a terminal eats some of them', () => {
  const said = 'it\u0092s \u009b31mred\u0085'
  const record = JSON.stringify({
    type: 'item.completed',
    item: { id: 'a', type: 'agent_message', text: said },
  })
  const stdout: Chunk = { channel: 'stdout', bytes: Buffer.from(`${record}\n`) }
  const pty: Chunk = { channel: 'pty', bytes: Buffer.from(`${record}\r\n`) }
  for (const chunks of [
    [stdout, pty],
    [{ channel: 'stdout', bytes: Buffer.from('{"type":"turn.started"}\n') } as const, pty, stdout],
  ]) {
    const events = drive(eventStage(codex, { clock: () => 0 }), chunks)
    const texts = events.flatMap(({ event, data }) =>
      event.type === 'agent.message.final' ? [(data as { text: string }).text] : [],
    )
    expect(texts).toEqual([said])
  }
})
