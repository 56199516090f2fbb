import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { codePoint } from '../code-point.ts'
import { fixtures } from '../engines/fixture.ts'
import { codesOf, run } from '../engines/run.ts'
import { uncovered } from '../engines/uncovered.ts'
import { validEvents } from '../engines/valid.ts'
import { runs, some } from '../pace.ts'

/** Lines of all engines, and what can happen to them. */
const pool = some(fixtures()).flatMap(({ logs }) =>
  logs.flatMap(({ bytes }) =>
    bytes.length > 50_000 ? [] : Buffer.from(bytes).toString('latin1').split('\n').slice(0, 12),
  ),
)
const noise = [
  '',
  '  ',
  '{',
  '}',
  '[',
  '{"a":',
  '"}',
  '\u001b[31mx',
  '<Execution Info>',
  '</Execution Info>',
  '\u0000',
  '2026-11-15T00:48:15Z ERROR x',
  '```json',
  '\xff\xfe',
  '{"type":"turn.completed"}\r',
  'x{',
  '  "session_id": "s",',
  '"response": "r"}',
  'x{"session_id":"s","response":"r"}y',
  'x<Execution Info>{"a":1',
  '}</Execution Info>y',
  'Attempt 1 failed with status 429',
]
const line = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...pool) },
  fc.constantFrom(...noise),
  fc.string({ unit: codePoint, maxLength: 8 }),
)
const log = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom('', '\n', '\r\n'))
  .map(([lines, end]) => Buffer.from(lines.join('\n') + end, 'latin1'))

const cut = (channel: 'stdout' | 'stderr' | 'pty', bytes: Buffer, sizes: readonly number[]): Chunk[] => {
  const chunks: Chunk[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!
    chunks.push({ channel, bytes: bytes.subarray(at, at + size) })
    at += size
  }
  return chunks
}
const read = (
  profile: (typeof engines)[keyof typeof engines] | typeof auto,
  chunks: readonly Chunk[],
): readonly AgentEvent[] =>
  validEvents(drive(eventStage(profile, { clock: () => 0, maxFrame: 4000, window: 8 }), chunks))

describe.each([...Object.values(engines), auto].map((profile) => [profile.name, profile] as const))(
  'the laws, for %s',
  (_, profile) => {
    test('Split: the same events wherever the chunks are cut; Order: no gap in seq', () => {
      fc.assert(
        fc.property(
          log,
          log,
          log,
          fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }),
          (stdout, stderr, pty, sizes) => {
            const chunks = (own: readonly number[]) => [
              ...cut('stdout', stdout, own),
              ...cut('stderr', stderr, own),
              ...cut('pty', pty, own),
            ]
            expect(JSON.stringify(read(profile, chunks(sizes)))).toBe(
              JSON.stringify(read(profile, chunks([1 << 20]))),
            )
          },
        ),
        { numRuns: runs(40) },
      )
    })

    test('Keep: every byte of stdout and stderr is in some event’s range', () => {
      fc.assert(
        fc.property(log, log, (stdout, stderr) => {
          const events = read(profile, [...cut('stdout', stdout, [64]), ...cut('stderr', stderr, [64])])
          for (const [stream, bytes] of [
            ['stdout', stdout],
            ['stderr', stderr],
          ] as const) {
            expect(uncovered(events, stream, bytes)).toBe(-1)
          }
        }),
        { numRuns: runs(40) },
      )
    })
  },
)

describe('hostile input', () => {
  test('nested without end is raw, with MAX_DEPTH, and never overflows a stack', () => {
    const deep = `{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","result":${'['.repeat(100_000)}${']'.repeat(100_000)}}}\n`
    const events = run(codex, { stdout: `${deep}{"type":"turn.completed","usage":{}}\n`, exit: 0 })
    expect(codesOf(events)).toContain('MAX_DEPTH')
    expect(() => JSON.stringify(events)).not.toThrow()
    expect(events.at(-1)!.data).toMatchObject({ state: 'awaiting_user_input' })
  })
})
