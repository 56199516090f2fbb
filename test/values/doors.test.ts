import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ask } from '../../src/ask/ask.ts'
import type { Call } from '../../src/ask/options.ts'
import { Fault } from '../../src/base/fault.ts'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { isEvent } from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { tryParse } from '../../src/values/parse.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { streamingModel } from '../ask/model.ts'
import { slow } from '../pace.ts'
import { type Answer, type Row, rows } from './doors.ts'
import { below, randomFrom } from './random-document.ts'

type Options = ValuesOptions<Schema | undefined>

interface Door {
  /** How the whole input is read for comparison. */
  readonly options: Options
  /**
   * Whether the text claims to be JSON. What is prose for the whole input (NO_MATCH) is then a broken
   * payload (INVALID_JSON): a fence that says `json` around a sentence, say.
   */
  readonly labelled?: boolean
  /** Why the door cannot carry a text; the first reason that applies counts. */
  readonly cannot: readonly Reason[]
  read(text: string): Answer | Promise<Answer>
}

interface Failure {
  readonly text: string
  readonly expected: Answer
  readonly got: Answer
}

type Reason = readonly [why: string, applies: (text: string, expected: Answer) => boolean]

const FENCE = '```'
const any: Options = { root: 'any' }
/** Lets everything pass, and still is a schema: objects in prose and in messages are judged by it. */
const schema = {}
const judged: Options = { root: 'any', schema }
const prompt = 'Say something.'

const blank: Reason = ['it is blank', (text) => text.trim() === '']
const ownTag: Reason = ['it has the tag in it', (text) => /<\/?json>/.test(text)]
const holdsLf: Reason = ['it has an LF in it', (text) => text.includes('\n')]
const notAlone: Reason = ['it is not one balanced value', (text) => !isOneValue(text)]

const doors: Record<string, Door> = {
  'the whole input': {
    options: any,
    cannot: [],
    read: (text) => briefly(tryParse(text, { root: 'any' })),
  },
  'the whole input, byte by byte': {
    options: any,
    cannot: [],
    read: (text) => first(text, any, () => 1),
  },
  'the whole input in random chunks': {
    options: any,
    cannot: [],
    read(text) {
      const random = randomFrom(text.length)
      return first(text, any, () => 1 + below(20, random))
    },
  },
  'a tag': {
    options: any,
    labelled: true,
    cannot: [blank, ownTag],
    read: (text) => first(`Sure: <json>${text}</json> Bye.`, { ...any, tag: 'json' }),
  },
  'a tag that was not asked for': {
    options: any,
    labelled: true,
    cannot: [
      blank,
      ownTag,
      ['no bracket, fence or tag follows it', (text) => !/^[ \t\r\n]*(?:[{[<]|```|~~~)/.test(text)],
    ],
    read: (text) => first(`Sure: <json>${text}</json> Bye.`, any),
  },
  'a fence': {
    options: any,
    labelled: true,
    cannot: [blank, ['it has a fence mark in it', (text) => hasFenceLine(text, '`')]],
    read: (text) => first(`Sure:\n${FENCE}json\n${text}\n${FENCE}\nBye.`, any),
  },
  'a fence of tildes': {
    options: any,
    labelled: true,
    cannot: [blank, ['it has a fence mark in it', (text) => hasFenceLine(text, '~')]],
    read: (text) => first(`Sure:\n~~~json\n${text}\n~~~\nBye.`, any),
  },
  prose: {
    options: judged,
    cannot: [
      blank,
      notAlone,
      ['it is a scalar', (text) => !/^\s*[{[]/.test(text)],
      ['it is an empty bracket', (text) => /^\s*(?:\{\s*\}|\[\s*\])\s*$/.test(text)],
      ['a bracket before no key is prose', (text) => !opensInProse(text)],
      [
        'only a double-quoted key makes a broken object of a brace in prose',
        (text, expected) => 'fault' in expected && !/^\s*(?:\{|\[\s*\{)\s*"/.test(text),
      ],
    ],
    read: (text) => first(`Sure, this is it: ${text}\nBye for now.`, judged),
  },
  'an NDJSON line': {
    options: any,
    labelled: true,
    cannot: [blank, holdsLf, ['it does not begin like JSON', (text) => !beginsLikeJson(text)]],
    read(text) {
      const outcomes = drive(valueStage({ ...any, lines: true }), chunksOf(`{"x":0}\n${text}\n{"x":1}\n`))
      const [, answer] = outcomes.map(briefly)
      return outcomes.length === 3 ? answer! : { fault: `${outcomes.length} outcomes for three lines` }
    },
  },
  'an element': {
    options: any,
    labelled: true,
    cannot: [blank, notAlone],
    read(text) {
      const outcomes = drive(valueStage({ ...any, items: '*' }), chunksOf(`[0,${text},1]`))
      const found = outcomes.find((outcome) => outcome.frame.path === '/1')
      return found ? briefly(found) : { fault: 'no outcome' }
    },
  },
  'a member': {
    options: any,
    labelled: true,
    cannot: [blank, notAlone],
    read(text) {
      const [found] = drive(valueStage({ ...any, items: '/x' }), chunksOf(`{"w":0,"x":${text},"z":1}`))
      return found ? briefly(found) : { fault: 'no outcome' }
    },
  },
  'a run message, with a schema': {
    options: { ...judged, pick: 'last' },
    cannot: [blank, ['it has no bracket', (text) => !/[{[]/.test(text)]],
    read: (text) => resultOf(text),
  },
  'a fence in a run message, with a schema': {
    options: { ...judged, pick: 'last' },
    labelled: true,
    cannot: [
      blank,
      ['it has no bracket', (text) => !/[{[]/.test(text)],
      ['it has a fence mark in it', (text) => hasFenceLine(text, '`')],
      ['more than one candidate', (text) => drive(valueStage(judged), chunksOf(text)).length > 1],
    ],
    read: (text) => resultOf(`${FENCE}json\n${text}\n${FENCE}`),
  },
  'a run message': {
    options: {},
    // What was not a payload is left as words: there is no fault to compare.
    cannot: [blank, ['it has no payload', (text) => payloadOf(text) === undefined]],
    read: (text) => messageOf(text),
  },
  ask: {
    options: any,
    cannot: [],
    read: (text) => answerOf(async () => ask(() => text, { prompt, retries: 0, root: 'any' })),
  },
  'ask, with a schema': {
    options: judged,
    cannot: [],
    read: (text) => answerOf(async () => ask(() => text, { prompt, retries: 0, root: 'any', schema })),
  },
  'the last snapshot': {
    options: any,
    cannot: [],
    read: (text) => answerOf(() => lastOf(streamingModel(3, text).call)),
  },
}

describe.each(Object.entries(doors))('%s', (name, door) => {
  test('gives the answer that a person would', async () => {
    const failures: Failure[] = []
    for (const row of some(name)) {
      const { text, original } = row
      const whole = name === 'a run message' ? { value: payloadOf(text) } : answerFor(row, door.options)
      if (reasonOf(door, text, whole) !== undefined) continue
      const isProse = 'fault' in whole && whole.fault === 'NO_MATCH'
      const expected = isProse && door.labelled ? { fault: 'INVALID_JSON' } : whole
      const got = await door.read(text)
      if (!isDeepStrictEqual(got, expected)) failures.push({ text, expected, got })
      else if (
        original !== undefined &&
        'value' in got &&
        name === 'the whole input' &&
        !isDeepStrictEqual(got.value, original)
      )
        failures.push({ text, expected: { value: original }, got })
    }
    if (failures.length > 0) expect.fail(readable(failures))
  })

  test.runIf(slow)('carries what it can', () => {
    const reasons = rows.map((row) => reasonOf(door, row.text, answerFor(row, door.options)))
    // A reason that applies to no text says nothing.
    expect([...new Set(reasons)].sort()).toEqual([undefined, ...door.cannot.map(([why]) => why)].sort())
    expect(reasons.filter((reason) => reason === undefined).length).toBeGreaterThan(100)
  })
})

test.runIf(slow)('there are texts enough', () => {
  expect(rows.length).toBeGreaterThan(400)
})

/**
 * All rows for the whole input; for each other door a tenth of them in `npm test`, but not the same tenth.
 */
function some(name: string): readonly Row[] {
  const door = Object.keys(doors).indexOf(name)
  return slow || door === 0 ? rows : rows.filter((_, index) => index % 10 === door % 10)
}

/** What the table says, or else what the whole input gives. */
function answerFor({ text, answer, last }: Row, options: Options): Answer {
  return (options.pick === 'last' ? (last ?? answer) : answer) ?? first(text, options)
}

function reasonOf(door: Door, text: string, expected: Answer): string | undefined {
  return door.cannot.find(([, applies]) => applies(text, expected))?.[0]
}

/** The first good outcome, or the first fault; with `pick: 'last'` the last candidate. */
function first(text: string, options: Options, size?: () => number): Answer {
  const outcomes = drive(valueStage({ pick: 'first', ...options }), chunksOf(text, size))
  return briefly(outcomes[0]!)
}

function briefly(outcome: Outcome<unknown>): Answer {
  return outcome.ok ? { value: outcome.value } : { fault: outcome.fault.code }
}

function chunksOf(text: string, size = () => 1 << 20): Chunk[] {
  const bytes = Buffer.from(text)
  const chunks: Chunk[] = []
  for (let at = 0; at < bytes.length; ) {
    const to = at + size()
    chunks.push({ channel: 'stdout', bytes: bytes.subarray(at, to) })
    at = to
  }
  return chunks
}

function eventsOf(text: string, options: EventOptions) {
  const records = [
    { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } },
    { type: 'turn.completed', usage: {} },
  ]
  const stdout = records.map((record) => `${JSON.stringify(record)}\n`).join('')
  const exit: Chunk = { channel: 'exit', code: 0, signal: null }
  return drive(eventStage(codex, { clock: () => 0, ...options }), [...chunksOf(stdout), exit])
}

/** The result of a run that said this and nothing else. */
function resultOf(text: string): Answer {
  for (const event of eventsOf(text, { schema })) {
    if (!isEvent(event, 'lifecycle.run.result')) continue
    const { status, value, warnings } = event.data
    return status === 'success' ? { value } : { fault: warnings[0] ?? 'none' }
  }
  return { fault: 'no result' }
}

function messageOf(text: string): Answer {
  for (const event of eventsOf(text, {})) {
    if (isEvent(event, 'agent.message.final')) return { value: event.data.structured_payload }
  }
  return { fault: 'no message' }
}

/** The last good payload of a text. */
function payloadOf(text: string): unknown {
  const good = drive(valueStage({}), chunksOf(text)).filter((outcome) => outcome.ok)
  return good.at(-1)?.value
}

async function answerOf(read: () => Promise<unknown>): Promise<Answer> {
  try {
    return { value: await read() }
  } catch (error) {
    if (error instanceof Fault) return { fault: error.code }
    throw error
  }
}

async function lastOf(call: Call): Promise<unknown> {
  let last: unknown
  for await (const { value, done } of ask.stream(call, { prompt, retries: 0, root: 'any' })) {
    if (done) last = value
  }
  return last
}

/** One value from the first bracket to the last, or one scalar of JSON, whatever counts as a quote. */
function isOneValue(text: string): boolean {
  const inner = text.trim()
  if (!/^[{[]/.test(inner)) return isJson(inner)
  const ends = ['"', '"\'', '"\'`“'].flatMap((quotes) => [
    endOfBrackets(inner, quotes, true),
    endOfBrackets(inner, quotes, false),
  ])
  return ends.every((end) => end === inner.length)
}

/**
 * Where the first bracket is closed; -1 if it is not, or by the wrong bracket. `everywhere`: a backslash
 * protects outside of strings, too.
 */
function endOfBrackets(text: string, quotes: string, everywhere: boolean): number {
  const open: string[] = []
  let closer: string | undefined
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === '\\' && (everywhere || closer !== undefined)) at++
    else if (closer !== undefined) closer = char === closer ? undefined : closer
    else if (quotes.includes(char)) closer = char === '“' ? '”' : char
    else if (char === '{' || char === '[') open.push(char === '{' ? '}' : ']')
    else if (char === '}' || char === ']') {
      if (open.pop() !== char) return -1
      if (open.length === 0) return at + 1
    }
  }
  return -1
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * What the scanner takes for a candidate: a brace before a key with its colon; a bracket before a brace, or a
 * whole array for the schema.
 */
function opensInProse(text: string): boolean {
  const inner = text.trim()
  if (inner.startsWith('[')) return /^\[\s*\{/.test(inner) || isJson(inner)
  return /^\{\s*(?:["'“]|[\p{L}\p{N}_$-]+\s*:)/u.test(inner)
}

function beginsLikeJson(text: string): boolean {
  const inner = text.replace(/^[ \t\r\0\ufeff]*/, '')
  return /^(?:\{|\[\s*[{["])/.test(inner) || isJson(inner)
}

function hasFenceLine(text: string, mark: '`' | '~'): boolean {
  return text.split('\n').some((line) => line.trimStart().startsWith(mark.repeat(3)))
}

/** Few enough to be read, smallest first, each on a line of its own. */
function readable(failures: readonly Failure[]): string {
  const lines = [...failures]
    .sort((one, two) => one.text.length - two.text.length)
    .slice(0, 40)
    .map(({ text, expected, got }) => `  ${short(text)}  expected ${short(expected)}, got ${short(got)}`)
  return [`${failures.length} answers differ, the smallest are`, ...lines].join('\n')
}

function short(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 160 ? `${text.slice(0, 150)}…` : text
}
