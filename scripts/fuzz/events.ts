import fc from 'fast-check'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { chatStage } from '../../src/views/chat.ts'
import { uncovered } from '../../test/engines/uncovered.ts'
import { validChat, validEvents } from '../../test/engines/valid.ts'
import { inSizes } from '../../test/frames/splits.ts'
import { same } from './same.ts'
import { recordedLines, spoiled } from './spoiled.ts'

const logOf = (lines: readonly string[], maxLength: number) =>
  fc
    .tuple(fc.array(spoiled(lines), { maxLength }), fc.constantFrom('', '\n', '\r\n'))
    .map(([some, end]) => Buffer.from(some.join('\n') + end, 'latin1'))
const stdoutOf = (engine: string) => {
  const own = recordedLines('stdout', new RegExp(`^${engine}$`))
  return own.length > 0 ? own : recordedLines('stdout')
}
const stderr = logOf(recordedLines('stderr'), 4)

const asked = fc.constantFrom(...Object.values(engines), auto).chain((engine) =>
  fc.record({
    engine: fc.constant(engine),
    // Mostly its own records: those of others are kept as raw at once.
    stdout: fc.oneof(
      { weight: 5, arbitrary: logOf(stdoutOf(engine.name), 14) },
      logOf(recordedLines('stdout'), 8),
    ),
    stderr,
    both: fc.boolean(),
    sizes: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
    exit: fc.constantFrom(0, 0, 1, null),
    maxFrame: fc.constantFrom(16 << 20, 16 << 20, 600),
  }),
)

/**
 * A faulty or hostile agent: the same events wherever its output is cut, each valid, every byte in one of
 * them, one end as the last, and a valid conversation.
 */
export const agentEvents = fc.property(asked, ({ engine, stdout, stderr, both, sizes, exit, maxFrame }) => {
  const read = (own: readonly number[]) => {
    const chunks: Chunk[] = [
      ...inSizes(stdout, own).map((bytes) => ({ channel: 'stdout', bytes }) as const),
      ...inSizes(stderr, own).map((bytes) => ({ channel: 'stderr', bytes }) as const),
      ...(both ? inSizes(stdout, own).map((bytes) => ({ channel: 'pty', bytes }) as const) : []),
    ]
    const end: Chunk = { channel: 'exit', code: exit, signal: exit === null ? 'SIGKILL' : null }
    return drive(eventStage(engine, { clock: () => 0, maxFrame, window: 8 }), [...chunks, end])
  }
  const events = read(sizes)
  validEvents(events)
  validChat(drive(chatStage({}), events))
  same(read([1 << 24]), events, 'other events in one piece')
  for (const [stream, bytes] of [
    ['stdout', stdout],
    ['stderr', stderr],
  ] as const) {
    const at = uncovered(events, stream, bytes)
    if (at !== -1) throw new Error(`byte ${at} of ${stream} is in no event`)
  }
  const ends = events.filter((event) => isEvent(event, 'lifecycle.completion.state'))
  if (ends.length !== 1 || events.at(-1) !== ends[0]) throw new Error(`${ends.length} ends, or not the last`)
})
