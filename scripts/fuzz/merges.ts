import fc from 'fast-check'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { inSizes } from '../../test/frames/splits.ts'
import { same } from './same.ts'

const record = (text: string) =>
  `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"${text}"}}`
const word = fc.constantFrom('ok', 'ok', 'a', 'b', 'c')
const pieceSize = fc.constantFrom(1, 7, 50, 90, 200, 1000)

/** Cuts the lines of both channels into pieces and interleaves them in the order of `order`. */
function interleaved(logs: readonly [string, string], sizes: readonly number[], order: readonly boolean[]) {
  const queues = logs.map((log) => inSizes(Buffer.from(log), sizes))
  const chunks: Chunk[] = []
  for (let turn = 0; queues[0]!.length + queues[1]!.length > 0; turn++) {
    const wanted = order[turn % order.length] ? 0 : 1
    const from = queues[wanted]!.length > 0 ? wanted : 1 - wanted
    chunks.push({ channel: from === 0 ? 'stdout' : 'pty', bytes: queues[from]!.shift()! })
  }
  return chunks
}

/** Number of occurrences of each text. */
function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

/** Each record appears as often as in the channel that has it more often, in every interleaving. */
export const merges = fc.property(
  fc.array(word, { maxLength: 6 }),
  fc.array(word, { maxLength: 6 }),
  fc.array(pieceSize, { minLength: 1, maxLength: 4 }),
  fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
  fc.constantFrom('plain', 'announced', 'colour'),
  (stdout, pty, sizes, order, how) => {
    const end = '{"type":"turn.completed","usage":{}}'
    const paint = (line: string) => (how === 'colour' ? `\u001b[2m${line}\u001b[0m` : line)
    const logs = [
      [...stdout.map(record), end].map((line) => `${line}\n`).join(''),
      [...pty.map(record), end].map((line) => `${paint(line)}\r\n`).join(''),
    ] as const
    const chunks = interleaved(logs, sizes, order)
    if (how === 'announced')
      chunks.unshift({ channel: 'stdout', bytes: Buffer.alloc(0), channels: ['stdout', 'pty'] })
    const events = drive(eventStage(codex, { clock: () => 0 }), chunks)
    const said = counted(
      events.filter((event) => isEvent(event, 'agent.message.final')).map((event) => event.data.text),
    )
    const [onStdout, onPty] = [counted(stdout), counted(pty)]
    for (const text of new Set([...stdout, ...pty, ...said.keys()])) {
      const wanted = Math.max(onStdout.get(text) ?? 0, onPty.get(text) ?? 0)
      if (said.get(text) !== wanted)
        throw new Error(
          `"${text}" ${said.get(text)} times, not ${wanted}: ${JSON.stringify({ stdout, pty })}`,
        )
    }
    const ends = events.filter((event) => isEvent(event, 'lifecycle.completion.state'))
    same(
      ends.map((event) => event.data.state),
      ['awaiting_user_input'],
      'the end',
    )
    same(
      events.map((event) => event.seq),
      events.map((_, index) => index + 1),
      'seq',
    )
  },
)
