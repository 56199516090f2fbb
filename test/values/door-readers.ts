import { ask } from '../../src/ask/ask.ts'
import type { AskCall } from '../../src/ask/options.ts'
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
import { isJson } from './corrupt.ts'
import type { Answer } from './doors.ts'
import { below, randomFrom } from './random-document.ts'

export type Options = ValuesOptions<Schema | undefined>

/** A way in for a text. */
export interface Door {
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

type Reason = readonly [why: string, applies: (text: string, expected: Answer) => boolean]

const FENCE = '```'
const prompt = 'Say something.'

const blank: Reason = ['it is blank', (text) => text.trim() === '']
const ownTag: Reason = ['it has the tag in it', (text) => /<\/?json>/.test(text)]
const holdsLf: Reason = ['it has an LF in it', (text) => text.includes('\n')]
/** The splitter of items takes a backslash outside a string for a broken element. */
const writtenBreaks: Reason = ['its line breaks are written out', (text) => /^\s*\{\\n/.test(text)]
const notAlone: Reason = ['it is not one balanced value', (text) => !isOneValue(text)]

/** All doors, with this schema at each of them. */
export function doorsWith(given?: Schema): Record<string, Door> {
  const any = { root: 'any', schema: given } as const satisfies Options
  // One that lets everything pass still is a schema: objects in prose and in messages are judged by it.
  const schema = given ?? {}
  const judged = { root: 'any', schema } as const satisfies Options
  return {
    'the whole input': {
      options: any,
      cannot: [],
      read: (text) => briefly(tryParse(text, { root: 'any', schema: given })),
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
      cannot: [blank, notAlone, writtenBreaks],
      read(text) {
        const outcomes = drive(valueStage({ ...any, items: '*' }), chunksOf(`[0,${text},1]`))
        const found = outcomes.find((outcome) => outcome.frame.path === '/1')
        return found ? briefly(found) : { fault: 'no outcome' }
      },
    },
    'a member': {
      options: any,
      labelled: true,
      cannot: [blank, notAlone, writtenBreaks],
      read(text) {
        const [found] = drive(valueStage({ ...any, items: '/x' }), chunksOf(`{"w":0,"x":${text},"z":1}`))
        return found ? briefly(found) : { fault: 'no outcome' }
      },
    },
    'a run message, with a schema': {
      options: { ...judged, pick: 'last' },
      cannot: [blank, ['it has no bracket', (text) => !/[{[]/.test(text)]],
      read: (text) => resultOf(text, schema),
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
      read: (text) => resultOf(`${FENCE}json\n${text}\n${FENCE}`, schema),
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
      read: (text) => answerOf(async () => ask(() => text, { prompt, rounds: 0, ...any })),
    },
    'ask, with a schema': {
      options: judged,
      cannot: [],
      read: (text) => answerOf(async () => ask(() => text, { prompt, rounds: 0, ...judged })),
    },
    'the last snapshot': {
      options: any,
      cannot: [],
      read: (text) => answerOf(() => lastOf(streamingModel(3, text).call, given)),
    },
  }
}

/** Why a door cannot carry a text that should give this answer; undefined if it can. */
export function reasonOf(door: Door, text: string, expected: Answer): string | undefined {
  return door.cannot.find(([, applies]) => applies(text, expected))?.[0]
}

/** The first good outcome, or the first fault; with `pick: 'last'` the last candidate. */
export function first(text: string, options: Options, size?: () => number): Answer {
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
function resultOf(text: string, schema: Schema): Answer {
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
export function payloadOf(text: string): unknown {
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

async function lastOf(call: AskCall, schema: Schema | undefined): Promise<unknown> {
  let last: unknown
  for await (const { value, done } of ask.stream(call, { prompt, rounds: 0, root: 'any', schema })) {
    if (done) last = value
  }
  return last
}

/**
 * One value from the first bracket to the last, or one scalar of JSON, whatever counts as a quote, and with
 * or without the brackets in comments.
 */
function isOneValue(text: string): boolean {
  const whole = text.trim()
  if (!/^[{[]/.test(whole)) return isJson(whole)
  return [whole, whole.replace(BRACKETS_IN_COMMENT, '')].every((inner) =>
    ['"', '"\'', '"\'`“'].every((quotes) =>
      [true, false].every((everywhere) => endOfBrackets(inner, quotes, everywhere) === inner.length),
    ),
  )
}

const BRACKETS_IN_COMMENT = /\/\*[^*"]*[[\]{}][^*"]*\*\/|<!--.*?-->|(?:\/\/|# )[^"\n]*[[\]{}][^"\n]*$/gm

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
