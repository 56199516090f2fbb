import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { Dedupe } from '../../src/events/dedupe.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { codesOf, lines, run, texts } from '../engines/run.ts'

const say = (...words: readonly string[]) =>
  lines(...words.map((text) => ({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } })))
const onPty = (text: string) => text.replaceAll('\n', '\r\n')

/** Both channels, record by record in the order given: `>` is stdout, `~` the PTY. */
function woven(order: readonly string[], options: EventOptions = {}): readonly AgentEvent[] {
  const chunks: Chunk[] = order.map((word, i) => ({
    channel: word.startsWith('>') ? 'stdout' : 'pty',
    bytes: Buffer.from(word.startsWith('>') ? say(word.slice(1)) : onPty(say(word.slice(1)))),
    ...(i === 0 ? { channels: ['stdout', 'pty'] as const } : {}),
  }))
  return drive(eventStage(codex, { clock: () => 0, ...options }), chunks)
}

test('the same text twice on purpose: both are kept within one stream, only the cross-stream twin is removed', () => {
  expect(texts(run(codex, { stdout: say('ok', 'ok') }))).toEqual(['ok', 'ok'])
  expect(texts(run(codex, { pty: onPty(say('ok', 'ok')) }))).toEqual(['ok', 'ok'])
  expect(texts(run(codex, { stdout: say('ok', 'ok'), pty: onPty(say('ok', 'ok')) }))).toEqual(['ok', 'ok'])
  // In every order in which two on stdout and two on the PTY can come.
  for (let mask = 0; mask < 16; mask++) {
    const order = [0, 1, 2, 3].map((bit) => (mask & (1 << bit) ? '>ok' : '~ok'))
    const out = order.filter((word) => word === '>ok').length
    expect(texts(woven(order)), order.join(' ')).toHaveLength(Math.max(out, 4 - out))
  }
})

test('crafted collisions and delimiter ambiguity: nothing that differs is ever merged', () => {
  // Pairs that collide under CRC-32, FNV-1a, djb2, Java's hashCode and a 31-bit polynomial; and texts that a
  // joined key confuses.
  const pairs = [
    ['plumless', 'buckeroo'],
    ['costarring', 'liquid'],
    ['hetairas', 'mentioner'],
    ['Aa', 'BB'],
    ['AaAaAa', 'BBBBBB'],
    ['a|b', 'a'],
    ['a', 'b|c'],
    ['a\u0000b', 'a'],
    ['a:1', 'a'],
    ['é', 'e\u0301'],
    ['ok', 'ok '],
  ] as const
  for (const [one, other] of pairs) {
    expect(texts(woven([`>${one}`, `~${other}`])).sort(), `${one} / ${other}`).toEqual([one, other].sort())
  }
  expect(texts(woven(['>a|b', '>c', '~a', '~b|c'])).sort()).toEqual(['a', 'a|b', 'b|c', 'c'])
  // Two records whose JSON differs only in the order of keys say the same: they are one.
  const spelled = '{"item":{"id":"i","type":"agent_message","text":"ok"},"type":"item.completed"}\n'
  expect(texts(run(codex, { stdout: say('ok'), pty: onPty(spelled) }))).toEqual(['ok'])
})

test('the digest has 128 bits: of 200,000 different records none meets another', () => {
  // With 32 bits about four of them would.
  const count = 100_000
  let passed = 0
  const seen: string[] = []
  const chunks: Chunk[] = []
  for (const channel of ['stdout', 'pty'] as const) {
    for (let from = 0; from < count; from += 5000) {
      let text = ''
      for (let i = from; i < from + 5000; i++) text += `${channel} ${i}\n`
      chunks.push({ channel, bytes: Buffer.from(text), channels: ['stdout', 'pty'] })
    }
  }
  const events = drive(eventStage(codex, { clock: () => 0, window: 4 * count }), chunks)
  for (const { event, data } of events) {
    if (!event.type.startsWith('raw.')) continue
    passed++
    if (seen.length < 3) seen.push(JSON.stringify(data))
  }
  expect(seen[0]).toContain('stdout 0')
  expect(passed).toBe(2 * count)
}, 60_000)

test('a twin that arrives after the window: emitted again, with LATE_DUPLICATE_POSSIBLE, and what is held stays within the window', () => {
  const words = Array.from({ length: 40 }, (_, i) => `m${i}`)
  const events = woven([...words.map((word) => `>${word}`), '~m0', '~m39'], { window: 8 })
  expect(texts(events)).toEqual([...words, 'm0'])
  expect(codesOf(events)).toContain('LATE_DUPLICATE_POSSIBLE')
  // With room enough there is neither the copy nor the warning.
  const roomy = woven([...words.map((word) => `>${word}`), '~m0', '~m39'])
  expect(texts(roomy)).toEqual(words)
  expect(codesOf(roomy)).not.toContain('LATE_DUPLICATE_POSSIBLE')

  const window = 64
  const floor = new Dedupe({ hash: String, window, maxHeld: 1 << 20, pass: () => {} })
  floor.announce(['stdout', 'stderr', 'pty'])
  const put = (channel: Channel, text: string) =>
    floor.admit({ kind: 'line', channel, from: 0, to: 1, text, value: { text } })
  let most = 0
  for (let i = 0; i < 100_000; i++) {
    put('stdout', `s${i}`)
    put('pty', `p${i}`)
    if (i % 97 === 0) most = Math.max(most, floor.counts().held)
  }
  // Digests of three channels, and the PTY records that wait.
  expect(most).toBeLessThanOrEqual(4 * window)
})
