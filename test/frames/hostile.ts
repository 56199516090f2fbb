import fc from 'fast-check'
import type { CutOptions } from './reference.ts'

/** One input, the options it is cut with, and the sizes of the chunks it comes in. */
export interface Hostile {
  readonly bytes: Buffer
  readonly options: CutOptions
  readonly sizes: readonly number[]
}

type Random = () => number
type Token = string | readonly number[]

const linesOnly: CutOptions = { tags: [], fences: false, objects: false, think: false }
const tagsOnly: CutOptions = { fences: false, lines: false, objects: false, think: false }
const fencesOnly: CutOptions = { tags: [], lines: false, objects: false, think: false }
const objectsOnly: CutOptions = { tags: [], fences: false, lines: false, think: false }
const prose: CutOptions = { lines: false }
const asValues: CutOptions = { lines: false, needsPayload: true, document: 'object', readFences: 'object' }
const asSchema: CutOptions = { ...asValues, loose: true, readFences: 'any', patient: true }
const readFences: CutOptions = { ...fencesOnly, readFences: 'any' }
const asAny: CutOptions = { ...asValues, document: 'any' }

/** What a subject is made of, one token or run of blanks at a time, and the options that show most of it. */
interface Subject {
  readonly tokens: readonly Token[]
  readonly options: readonly CutOptions[]
}

/**
 * By subject: neighbours of one subject are where rules meet. A token that is here twice comes twice as
 * often.
 */
const subjects: readonly Subject[] = [
  subject('<json> <json> </json> </json> " " \\ \n { ␠ x <out> </out>', tagsOnly, {
    ...tagsOnly,
    tags: ['json', 'out'],
  }),
  subject(
    '<json> </json> {"a":1} { [ " ␠ \n ` ``` ~~~ ~ < word',
    { ...tagsOnly, needsPayload: true },
    asValues,
  ),
  subject(
    '<json> <json> </json> {"a":1} { " \\ ␠ \n \n word ```',
    { ...tagsOnly, keepUnclosed: true },
    { ...tagsOnly, keepUnclosed: true, needsPayload: true },
    { ...asValues, keepUnclosed: true },
  ),
  subject('``` ``` ```` ~~~ ` \n \n \r\n ␠ ␠␠␠ >␠ > -␠ 1.␠ 12)␠ * + \t x json', fencesOnly, prose),
  subject('>␠```\n >␠ > ␠ \n ``` x {"a":1} -␠ ␠␠␠>␠ >␠>␠```\n', fencesOnly, {}),
  subject('{ } [ ] \n \n \r\n \r ␠ \0 \ufeff " {"a":1} {"a":1}\n x', {}, linesOnly, { objects: false }),
  subject('{ {" } [ ] [{ " " \\ \n ␠ : , a \' <json> ``` / -1', objectsOnly, prose, {}),
  subject('>␠{"a" >␠{ > >␠ \n \n>␠ \n>␠>␠ ␠ " : 1 , a } -␠ {"b":2} x', objectsOnly, prose, {}),
  subject(
    '{ { a : 1 - _ $ ␠ \u201c \u201d é \u00a0 } [ ] \n # \\ \' true . @ / " , ` <',
    objectsOnly,
    { ...objectsOnly, loose: true },
    asValues,
    asSchema,
    asAny,
  ),
  subject('{"a": { } // / /* */ * : " \n ␠ x 1 , http:// <json>', prose, objectsOnly),
  subject(
    '``` ```\n ```\n ```json ```js\n ```js\n ````\n ~~~ ~~~\n \n \n ␠ ␠␠ >␠ >␠```\n {"a":1} {"a":1}\n { } [1] x <json> </json> <think> </think> " word',
    asValues,
    asSchema,
    readFences,
    { ...prose, readFences: 'object' },
  ),
  subject(
    '``` ``` ``` ```json ```json␠ ```\n ```` ~~~ {"a":1} {"a":1,} {"a": [{" { } [ ] " " \n \n ␠ ␠␠␠␠ \t >␠ >␠ -␠ x 1',
    asValues,
    asSchema,
    readFences,
  ),
  subject(
    '[ ] [1] ["a"] [{"a":1}] 1 , : = ( ␠ \n x a: é \u00a0 \uff1a "x" [1,2] { } _ -',
    { ...objectsOnly, loose: true },
    asSchema,
  ),
  subject(
    "[1 [1, [null ['a' [“a” [`b` [-1.5 ] , ␠ \n \n \r\n x \"y\" 'z' 2 [True [+.5 [ \0",
    linesOnly,
    {},
    { ...linesOnly, scalars: true },
  ),
  subject(
    '{"a":1} {"a":1} } ] , : ␠ \n "k" " \' \\ key true nulls false - 12 1.5 { [ é <json> ```\n "x": "x"\uff1a \uff1a = => \u201c \u2019 [{"b":2}]',
    objectsOnly,
    prose,
    {},
  ),
  subject(
    '```\n ```\n ```json\n >␠```\n >␠ ␠␠```\n {"a":" "} " \n } x\n {"b":1}\n \\ [ ]',
    fencesOnly,
    prose,
  ),
  subject(
    '{"a":1}\n ␠␠{"a":1}\n {"a": [1,2] [ ] "x" " 12 true null - ␠ \t \n \n \r\n \0 \ufeff x INFO { }',
    linesOnly,
    { ...linesOnly, scalars: true },
    { scalars: true },
    { everyLine: true },
    {},
  ),
  subject(
    '<think> \n<think> </think> <thinking> </thinking> so␠<think> <think {"a":1} { \n ␠ x <json> <reasoning> </reasoning> <notes> </notes>',
    prose,
    {},
    asValues,
    { ...prose, patient: true },
    { ...prose, think: ['notes', 'think'] },
  ),
  subject(
    '<think> <THINK␠> <think␠a="b"> <think␠ </think> </think> </Think␠> </thinking> ` " [THINK] [/THINK] [TH ◁think▷ ◁/think▷ <|channel|> analysis<|message|> <|end|> <|channel|>analysis<|message|> <|channel|>analysis <think␠◁think▷> {"a":1} {"b":2} { [ \n \n ␠ ␠ x ```\n',
    prose,
    {},
    asValues,
    asSchema,
    asAny,
  ),
  {
    tokens: [
      ...tokensOf(
        '\x1b[31m \x1b[ \x1b]0;t\x07 \x1b]0; \x1b\\ \x1b \x1b(B \x1b( \x1bP \x07 {"a": } <json> </json>',
      ),
      ...tokensOf('```\n >␠ é {"a":1} \n { m "'),
      ...[[0xc2, 0x9b], [0xc2, 0x9d], [0xc2, 0x9c], [0xc2, 0x85], [0xc2, 0x84], [0xc2, 0x92], [0xc2], [0x9b]],
    ],
    options: [{}, { channel: 'pty' }, { channel: 'pty', ...asAny }, fencesOnly],
  },
  {
    tokens: [
      ...tokensOf('\ufeff \0 é € 😀 \u2028 {" {"a":" "} } \n >␠```\n >␠ <json> </json>'),
      ...[[0xef, 0xbb], [0xef], [0xff], [0xe2, 0x82], [0xf0, 0x9f]],
    ],
    options: [{}, prose, { channel: 'pty' }, { scalars: true }, asAny],
  },
  subject(
    '"k": "k": "a":{ "b":{"x":1} {"a":1} {"a":1} [1] } } }} ] { " \\ , : ␠ \n ... x 1 \' ```json\n ```\n <json> </think> \ufeff é',
    asAny,
    asValues,
    asSchema,
    { ...objectsOnly, document: 'any' },
  ),
  subject('" \\ 12 true -1.5 e+3 ␠ \n {"a":1} \ufeff \0 <think>x</think> x', asAny, asAny, asValues),
]

/** ␠ is a blank. */
function subject(words: string, ...options: readonly CutOptions[]): Subject {
  return { tokens: tokensOf(words), options }
}

function tokensOf(words: string): string[] {
  return words.split(' ').map((word) => word.replaceAll('␠', ' '))
}

const everything = subjects.flatMap(({ tokens }) => tokens)

/** Every kind of frame on and off. */
const switches: readonly CutOptions[] = [
  ...subjects.flatMap(({ options }) => options),
  { objects: false },
  { fences: false },
  { think: false },
  { tags: [] },
  { tags: ['json', 'out'] },
  { lines: false, needsPayload: true },
  { needsPayload: true, fences: false },
  { text: false },
  { everyLine: true, objects: false },
]

/** Numbers from 0 to 1, the same for the same seed. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Noise of one subject, of two, or of all, with limits that bite as well as none. Mostly short: a rule needs
 * few tokens, and short inputs are many.
 */
export function hostile(random: Random): Hostile {
  const one = pick(subjects, random)
  const kind = random()
  const tokens =
    kind < 0.8 ? one.tokens : kind < 0.95 ? [...one.tokens, ...pick(subjects, random).tokens] : everything
  const most = random() < 0.8 ? 12 : 30
  const parts = Array.from({ length: 1 + below(most, random) }, () =>
    Buffer.from(pick(tokens, random) as string),
  )
  const base = pick(random() < 0.8 ? one.options : switches, random)
  const options = random() < 0.7 ? base : { ...base, maxFrame: 1 + below(40, random) }
  const way = random()
  const sizes =
    way < 0.3
      ? [1]
      : way < 0.5
        ? [1000]
        : Array.from({ length: 1 + below(4, random) }, () => below(random() < 0.5 ? 4 : 12, random))
  return { bytes: Buffer.concat(parts), options, sizes }
}

function pick<T>(from: readonly T[], random: Random): T {
  return from[below(from.length, random)]!
}

function below(limit: number, random: Random): number {
  return Math.floor(random() * limit)
}

function madeOf(tokens: readonly Token[]): fc.Arbitrary<Buffer> {
  return fc
    .array(fc.constantFrom(...tokens), { maxLength: 28, size: 'max' })
    .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))))
}

/** For a fuzzer: it takes minutes, and fast-check shortens what it finds. */
export const hostileBytes: fc.Arbitrary<Buffer> = fc.oneof(
  ...subjects.map(({ tokens }) => madeOf(tokens)),
  madeOf(everything),
)

export const cutOptions: fc.Arbitrary<CutOptions> = fc
  .tuple(fc.constantFrom(...switches), fc.option(fc.integer({ min: 1, max: 64 }), { nil: undefined }))
  .map(([base, maxFrame]) => (maxFrame === undefined ? base : { ...base, maxFrame }))

export const chunkSizes = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 5 })
