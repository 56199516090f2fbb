import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { tryParse } from '../../src/values/parse.ts'
import { valueStage } from '../../src/values/values.ts'
import { runs, slow } from '../pace.ts'
import { type Case, type Count, casesOf, judge, KINDS, type Parser, pairsOf } from './corrupt.ts'
import { peers } from './peers.ts'
import { below, randomFrom } from './random-document.ts'

const SEEDS = runs(60)
const PAIRS = runs(3000)
const schema = { type: 'object' }

const ours: Parser = (text) => valueIn(tryParse(text))
const oursWithSchema: Parser = (text) => valueIn(tryParse(text, { schema }))
const others = slow ? await peers() : []

describe.runIf(slow).each(KINDS.map((kind) => [kind.name, kind] as const))('%s', (_name, kind) => {
  test.each(['compact', 'pretty'] as const)(
    '%s: never another value, and right as often as the best',
    (layout) => {
      const cases = casesOf(kind, { seeds: SEEDS, layout })
      const mine = judge(cases, ours)
      expect(wrongs(mine)).toEqual([])
      expect(wrongs(judge(cases, oursWithSchema))).toEqual([])
      if (kind.refused) return
      const [best] = others
        .map(({ name, parse }) => ({ name, count: judge(cases, parse) }))
        .sort((one, two) => two.count.right - one.count.right)
      // Behind a peer: what it reads, and we do not.
      const behind = mine.right < best!.count.right ? only(mine, best!.count) : []
      expect(behind, `${best!.name} is right ${best!.count.right} times, we are ${mine.right} times`).toEqual(
        [],
      )
    },
  )
})

test(`${PAIRS} documents with two corruptions: never another value`, () => {
  const cases = pairsOf(PAIRS)
  expect(cases).toHaveLength(PAIRS)
  expect(wrongs(judge(cases, ours))).toEqual([])
  expect(wrongs(judge(cases, oursWithSchema))).toEqual([])
})

test('in prose, too: never another value, and nearly as often right', () => {
  const cases = pairsOf(PAIRS).filter(({ text }) => /^\{\s*"/.test(text) && text.endsWith('}'))
  const around = [
    (text: string) => `Here it is:\n\n${text}\n\nDo you need "more"?`,
    (text: string) => `I found ${text} in it.`,
  ]
  const alone = judge(cases, ours).right
  for (const inProse of around) {
    const count = judge(cases, (text) => ours(inProse(text)))
    expect(wrongs(count)).toEqual([])
    expect(count.right).toBeGreaterThan(0.9 * alone)
  }
})

test.runIf(slow)('the same comes out of values(), whatever the chunks', () => {
  const cases = [...KINDS.flatMap((kind) => casesOf(kind, { seeds: 3, layout: 'pretty' })), ...pairsOf(300)]
  for (const { text, kind, seed } of cases) {
    for (const options of [{}, { schema }]) {
      const whole = briefly(tryParse(text, options))
      const [first] = drive(valueStage({ ...options, pick: 'first' }), chunksOf(text, seed))
      expect([kind, text, briefly(first!)]).toEqual([kind, text, whole])
    }
  }
})

test.runIf(slow)('the kinds have names of their own, and documents to try them on', () => {
  expect(new Set(KINDS.map((kind) => kind.name)).size).toBe(KINDS.length)
  for (const kind of KINDS) {
    const found = (['compact', 'pretty'] as const).map(
      (layout) => casesOf(kind, { seeds: SEEDS, layout }).length,
    )
    expect([kind.name, Math.max(...found)]).toEqual([kind.name, SEEDS])
  }
})

function valueIn(outcome: Outcome<unknown>): unknown {
  if (outcome.ok) return outcome.value
  throw outcome.fault
}

function briefly(outcome: Outcome<unknown>): unknown {
  return outcome.ok ? { value: outcome.value } : { fault: outcome.fault.code }
}

/** The wrong answers, smallest text first, and few enough to be read. */
function wrongs({ missed }: Count): object[] {
  return smallest(missed.filter((miss) => miss.got !== undefined))
}

/** What another parser read right and we did not. */
function only(mine: Count, theirs: Count): object[] {
  const missedByThem = new Set(theirs.missed.map((miss) => miss.text))
  return smallest(mine.missed.filter((miss) => !missedByThem.has(miss.text)))
}

function smallest<T extends Case>(cases: readonly T[]): object[] {
  const sorted = [...cases].sort((one, two) => one.text.length - two.text.length)
  return sorted.slice(0, 3).map((one) => ({ ...one, of: cases.length }))
}

function chunksOf(text: string, seed: number): Chunk[] {
  const bytes = Buffer.from(text)
  const random = randomFrom(seed)
  const chunks: Chunk[] = []
  for (let at = 0; at < bytes.length; ) {
    const to = at + 1 + below(12, random)
    chunks.push({ channel: 'stdout', bytes: bytes.subarray(at, to) })
    at = to
  }
  return chunks
}
