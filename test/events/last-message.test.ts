import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { text } from '../../src/engines/text.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { endOf, lines, only } from '../engines/run.ts'
import { runs } from '../pace.ts'

const schema = { type: 'object', required: ['a'] }
const message = (a: number | string) => ({
  type: 'item.completed',
  item: { id: `item_${a}`, type: 'agent_message', text: `<json>${JSON.stringify({ a })}</json>` },
})
const begun = { type: 'turn.started' }
const over = { type: 'turn.completed', usage: {} }
const [m1, m2, m3, m4] = [message(1), message(2), message(3), message(4)]

type Logs = Partial<Record<Channel, string>>

/**
 * Every way to read the logs: which channel comes first, one after the other or in turn, with a word about
 * the channels or without.
 */
function weavings(logs: Logs): [name: string, chunks: Chunk[]][] {
  const names = Object.keys(logs) as Channel[]
  const cut = (channel: Channel, size: number) => {
    const bytes = Buffer.from(logs[channel]!)
    const count = Math.ceil(bytes.length / size)
    return Array.from({ length: count }, (_, n) => ({
      channel,
      bytes: bytes.subarray(n * size, (n + 1) * size),
    }))
  }
  const orders = [names, names.toReversed()]
  const woven = orders.flatMap((order): [string, Chunk[]][] => {
    const inTurn = [1, 50, 130].map((size): [string, Chunk[]] => {
      const parts = order.map((channel) => cut(channel, size))
      const rounds = Math.max(...parts.map((part) => part.length))
      const chunks = Array.from({ length: rounds }, (_, n) => parts.flatMap((part) => part[n] ?? [])).flat()
      return [`${order.join(', ')} in turn, ${size} bytes each`, chunks]
    })
    return [[`${order.join(', then ')}`, order.flatMap((channel) => cut(channel, 1 << 20))], ...inTurn]
  })
  const announced = (channels: readonly Channel[]): Chunk => ({
    channel: channels[0]!,
    bytes: new Uint8Array(),
    channels,
  })
  return woven.flatMap(([name, chunks]): [string, Chunk[]][] => [
    [name, chunks],
    [`${name}, announced`, [announced(names), ...chunks]],
    [`${name}, announced with a silent stderr`, [announced(['stdout', 'stderr', 'pty']), ...chunks]],
  ])
}

function read(chunks: readonly Chunk[], profile: Engine = codex): AgentEvent[] {
  const exit = { channel: 'exit', code: 0, signal: null } as const
  return drive(eventStage(profile, { clock: () => 0, schema }), [...chunks, exit])
}

const resultOf = (events: readonly AgentEvent[]) => only(events, 'lifecycle.run.result')[0]!.data.value

describe('the result of a run is its last message, whatever channel is read first', () => {
  const cases: [name: string, stdout: object[], pty: object[], a: number][] = [
    ['the first message is on the PTY only', [m2, over], [m1, m2, over], 2],
    ['the first message is on stdout only', [m1, m2, over], [m2, over], 2],
    ['one in the middle is on the PTY only', [m1, m3, over], [m1, m2, m3, over], 3],
    ['two in the middle are', [m1, m4, over], [m1, m2, m3, m4, over], 4],
    ['the last one is', [m1, over], [m1, m2, over], 2],
    ['the last two are', [m1, over], [m1, m2, m3, over], 3],
    ['all are', [over], [m1, m2, over], 2],
    ['the PTY has no more after it', [m2, over], [m1], 2],
    ['it is said twice, once on the PTY only', [m2, m1, over], [m1, m2, m1, over], 1],
    ['an equal one follows', [m1, m2, over], [m1, m1, m2, over], 2],
  ]
  test.each(cases)('%s', (_, stdout, pty, a) => {
    for (const [name, chunks] of weavings({ stdout: lines(...stdout), pty: lines(...pty) })) {
      const events = read(chunks)
      expect(resultOf(events), name).toEqual({ a })
      expect(endOf(events).state, name).toBe('awaiting_user_input')
    }
  })

  test('with the turn that it is in', () => {
    const failed = { type: 'turn.failed', error: { message: 'overloaded' } }
    const runs: [object[], object[]][] = [
      [
        [m2, over],
        [begun, m1, m2, over],
      ],
      [
        [begun, m2, over],
        [failed, begun, m2, over],
      ],
      [
        [begun, m2],
        [begun, m2, over],
      ],
    ]
    for (const [stdout, pty] of runs) {
      for (const [name, chunks] of weavings({ stdout: lines(...stdout), pty: lines(...pty) })) {
        expect(endOf(read(chunks)), name).toMatchObject({
          state: 'awaiting_user_input',
          evidence: { end_signal: 'turn.completed', failure: null },
        })
      }
    }
    for (const [name, chunks] of weavings({ stdout: lines(begun, m1), pty: lines(begun, m1, failed) }))
      expect(endOf(read(chunks)), name).toMatchObject({ state: 'interrupted' })
  })

  // In this order: `p` is the next record of the PTY, `s` that of stdout.
  test.each([
    ['the PTY told two that are equal before stdout began', [m1, m2, m1, m2, m1], [0], 'pppsppss'],
    ['it told four of them', [m1, m1, m1, m3, m2, m1, m2, m1], [0, 1, 2, 3, 7], 'ppppppsssspspssp'],
    ['stdout is behind with two that are equal', [m2, m1, m2, m1, m1, m2, m2, m3], [0, 2, 7], 'ssspppss'],
  ])('of equal messages, though stdout lost some: %s', (_, said, lost, order) => {
    const rest = { p: [...said, over], s: [...said.filter((_, n) => !lost.includes(n)), over] }
    const chunks: Chunk[] = []
    for (const from of `${order}${'p'.repeat(9)}${'s'.repeat(9)}` as Iterable<'p' | 's'>) {
      const record = rest[from].shift()
      if (record) chunks.push({ channel: from === 'p' ? 'pty' : 'stdout', bytes: Buffer.from(lines(record)) })
    }
    expect(`<json>${JSON.stringify(resultOf(read(chunks)))}</json>`).toBe(said.at(-1)!.item.text)
  })

  test('of an engine that keeps lines until the end', () => {
    const stdout = 'The answer:\n<json>{"a":2}</json>\n\n'
    for (const profile of [claude, gemini, text]) {
      for (const [name, chunks] of weavings({ stdout, pty: `{"a":1}\n${stdout}` }).filter(
        // A PTY that speaks first, because no stdout was announced, is one text: its own line is in the
        // answer.
        ([name, [first]]) => first?.channel === 'stdout' || name.includes('announced'),
      ))
        expect(resultOf(read(chunks, profile)), `${profile.name}: ${name}`).toEqual({ a: 2 })
    }
  })

  test('live, as soon as a later record of the PTY has its twin', () => {
    const events: AgentEvent[] = []
    const sink = eventStage(codex, { clock: () => 0, schema })({
      write: (event) => void events.push(event),
      end() {},
    })
    const put = (channel: Channel, record: object) =>
      sink.write({ channel, bytes: Buffer.from(lines(record)), channels: ['stdout', 'pty'] })
    put('stdout', m2)
    put('pty', m1)
    expect(only(events, 'agent.message.final')).toHaveLength(1)
    put('pty', m2)
    expect(only(events, 'agent.message.final').map(({ raw_ref }) => raw_ref!.stream)).toEqual([
      'stdout',
      'pty',
    ])
  })

  test('for any run of which each channel lacks some messages', () => {
    const said = fc.record({ a: fc.nat(3), lost: fc.boolean() })
    fc.assert(
      fc.property(
        fc.array(said, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('stdout', 'pty'),
        fc.boolean(),
        fc.infiniteStream(fc.boolean()),
        (all, lossy, announced, order) => {
          const whole = lossy === 'stdout' ? 'pty' : 'stdout'
          const rest = {
            [whole]: [...all.map(({ a }) => message(a)), over],
            [lossy]: [...all.flatMap(({ a, lost }) => (lost ? [] : [message(a)])), over],
          } as Record<'stdout' | 'pty', object[]>
          const chunks: Chunk[] = announced
            ? [{ channel: 'stdout', bytes: new Uint8Array(), channels: ['stdout', 'pty'] }]
            : []
          while (rest.stdout.length + rest.pty.length > 0) {
            const channel = order.next().value ? 'stdout' : 'pty'
            const record = rest[channel].shift()
            if (record) chunks.push({ channel, bytes: Buffer.from(lines(record)) })
          }
          const events = read(chunks)
          expect(resultOf(events)).toEqual({ a: all.at(-1)!.a })
          expect(only(events, 'agent.message.final')).toHaveLength(all.length)
          const told = only(events, 'lifecycle.run.status').filter(
            ({ data }) => data.status === 'awaiting_user_input',
          )
          expect(told).toHaveLength(1)
        },
      ),
      { numRuns: runs(500) },
    )
  })
})
