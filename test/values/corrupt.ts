import { isDeepStrictEqual } from 'node:util'
import {
  below,
  type Json,
  type Layout,
  layOut,
  pickOne,
  type Random,
  randomDocument,
  randomFrom,
  type Token,
  tokensOf,
} from './random-document.ts'

/**
 * One way to break a document at a single place, so that a reader can still see what was meant, or must
 * refuse.
 */
export interface Kind {
  readonly name: string
  /**
   * A fault is the answer we want: what is missing would have to be invented. Only a wrong value is a
   * failure.
   */
  readonly refused: boolean
  /** It takes away what a second corruption would need: never half of a pair. */
  readonly alone: boolean
  /** Strings that it needs, and that documents do not have: one of them replaces a text. */
  readonly strings?: readonly string[] | undefined
  /** The broken text, or undefined if the document has no place for this kind. */
  corrupt(text: string, random: Random): string | undefined
  /** What to change in a document, or undefined if it has no place for this kind. Not for kinds that wrap. */
  readonly edits?: (document: Document, random: Random) => Edit[] | undefined
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly put: string
}

interface Document {
  readonly text: string
  readonly tokens: readonly Token[]
}

/** A document, and what became of its text. */
export interface Case {
  readonly kind: string
  readonly seed: number
  readonly original: Json
  readonly text: string
  /** It has two corruptions. */
  readonly pair?: boolean
}

export interface Count {
  right: number
  fault: number
  wrong: number
  /** The cases that were not read right. */
  readonly missed: Miss[]
}

export interface Miss extends Case {
  /** What the parser gave; undefined for a fault. */
  readonly got: unknown
}

/** Gives the value, or throws. */
export type Parser = (text: string) => unknown

export interface MeasureOptions {
  /** How many documents each kind is tried on. */
  readonly seeds: number
  readonly layout: Layout
}

/** Counts for each kind how often a parser gives the original, a fault, or (the worst) another value. */
export function measure(
  kinds: readonly Kind[],
  parse: Parser,
  { seeds, layout }: MeasureOptions,
): Map<string, Count> {
  return new Map(kinds.map((kind) => [kind.name, judge(casesOf(kind, { seeds, layout }), parse)]))
}

/** Compares what a parser makes of the broken texts with the originals. */
export function judge(cases: readonly Case[], parse: Parser): Count {
  const count: Count = { right: 0, fault: 0, wrong: 0, missed: [] }
  for (const one of cases) {
    let got: unknown
    try {
      got = parse(one.text)
    } catch {
      count.fault++
      count.missed.push({ ...one, got: undefined })
      continue
    }
    if (isDeepStrictEqual(got, one.original) || (one.pair && isSingleOf(got as Json, one.text))) count.right++
    else {
      count.wrong++
      count.missed.push({ ...one, got })
    }
  }
  return count
}

//  {"a":{,"b":1}}      {"a":{}"b":1}
//       a comma too many   a comma too few: in another document, and nobody can tell
/**
 * Whether a single corruption of what was read gives this text, so that two are not the likelier story. Line
 * breaks are no corruption: `{"a":"\\" // c",⏎⏎}` and `{"a":[]⏎,⏎}` have a comma too many, and nothing else.
 */
function isSingleOf(value: Json, text: string): boolean {
  // All documents are objects, so a scalar is none of them, corrupted or not.
  if (typeof value !== 'object' || value === null) return false
  const wanted = withoutOddBreaks(text)
  return (['compact', 'pretty'] as const).some((layout) => {
    const clean = layOut(value, layout)
    return KINDS.some((kind) => {
      if (kind.alone || !kind.edits) return false
      const random = randomFrom(1)
      for (let place = 0; place < PLACES; place++)
        if (withoutOddBreaks(kind.corrupt(clean, random) ?? '') === wanted) return true
      return false
    })
  })
}

function withoutOddBreaks(text: string): string {
  return text.replace(/\n[ \t]*(?=[\n,])/g, '')
}

/** How often a kind picks a place: the documents have at most a hundred tokens. */
const PLACES = 300

const made = new Map<string, Case[]>()

/** The broken texts of one kind: always the same ones, for every parser. */
export function casesOf(kind: Kind, { seeds, layout }: MeasureOptions): readonly Case[] {
  const name = `${kind.name} ${layout} ${seeds}`
  const known = made.get(name)
  if (known) return known
  const cases: Case[] = []
  made.set(name, cases)
  // Not every document has a place for every kind, so more are made than are asked for.
  for (let seed = 1; cases.length < seeds && seed <= seeds * 60; seed++) {
    const random = randomFrom(seedOf(`${seed} ${kind.name} ${layout}`))
    const original = planted(documentOf(seed), kind, random)
    const text = kind.corrupt(layOut(original, layout), random)
    if (text !== undefined && !isJson(text)) cases.push({ kind: kind.name, seed, original, text })
  }
  return cases
}

/** Documents with two corruptions of different kinds, in both layouts. */
export function pairsOf(count: number, kinds: readonly Kind[] = KINDS, first = 1): Case[] {
  const cases: Case[] = []
  const able = kinds.filter((kind) => !kind.alone)
  for (let seed = first; cases.length < count && seed < first + count * 30; seed++) {
    const random = randomFrom(seedOf(`pair ${seed}`))
    const [one, two] = [pickOne(able, random)!, pickOne(able, random)!]
    if (one === two) continue
    const plain = documentOf(1 + below(3000, random))
    const original = planted(planted(plain, one, random), two, random)
    const clean = layOut(original, random() < 0.5 ? 'compact' : 'pretty')
    const text = corruptTwice(clean, one, two, random)
    if (text !== undefined)
      cases.push({ kind: `${one.name} + ${two.name}`, seed, original, text, pair: true })
  }
  return cases
}

/** Both corruptions are made from the clean text, so that each one hits what it means to hit. */
function corruptTwice(clean: string, one: Kind, two: Kind, random: Random): string | undefined {
  const document = { text: clean, tokens: tokensOf(clean) }
  const edits: Edit[] = []
  for (const kind of [one, two]) {
    if (!kind.edits) continue
    const more = kind.edits(document, random)
    // A change that is valid JSON by itself changes the meaning, with or without a second one.
    if (!more || isJson(apply(clean, more)) || touch(edits, more, document.tokens)) return undefined
    edits.push(...more)
  }
  let text: string | undefined = apply(clean, edits)
  for (const kind of [one, two]) {
    if (!kind.edits && text !== undefined) text = kind.corrupt(text, random)
  }
  return text === undefined || isJson(text) ? undefined : text
}

/**
 * Whether two corruptions are at one place, or in one string. Together they are then a third one, and often
 * of another document: `["a","b"]` without a quote and the comma next to it is `["a\"b"]` without a
 * backslash.
 */
function touch(one: readonly Edit[], two: readonly Edit[], tokens: readonly Token[]): boolean {
  if (one.some((edit) => two.some((other) => edit.from <= other.to && other.from <= edit.to))) return true
  const changed = (edits: readonly Edit[], { from, to }: Token) =>
    edits.some((edit) => edit.from < to && edit.to > from)
  return tokens.some((token) => token.type === 'string' && changed(one, token) && changed(two, token))
}

function apply(text: string, edits: readonly Edit[]): string {
  let result = ''
  let at = 0
  for (const { from, to, put } of [...edits].sort((one, two) => one.from - two.from || one.to - two.to)) {
    result += text.slice(at, from) + put
    at = to
  }
  return result + text.slice(at)
}

const documents = new Map<number, { [key: string]: Json }>()

function documentOf(seed: number): { [key: string]: Json } {
  const known = documents.get(seed)
  if (known) return known
  const made = randomDocument(randomFrom(seedOf(`document ${seed}`)))
  documents.set(seed, made)
  return made
}

/** The document with one of the strings that the kind needs. */
function planted(document: Json, { strings }: Kind, random: Random): Json {
  const places = strings ? tokensOf(JSON.stringify(document)).filter((token) => isText(token, [])).length : 0
  if (places === 0) return document
  const chosen = below(places, random)
  let place = 0
  const copy = (value: Json): Json => {
    if (typeof value === 'string') return place++ === chosen ? pickOne(strings!, random)! : value
    if (Array.isArray(value)) return value.map(copy)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copy(inner)]))
  }
  return copy(document)
}

/** FNV-1a, so that a new kind leaves the places of the others as they are. */
function seedOf(name: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// How kinds are made.

type Edits = NonNullable<Kind['edits']>

function kind(
  name: string,
  edits: Edits,
  {
    refused = false,
    alone = false,
    strings,
  }: { refused?: boolean; alone?: boolean; strings?: readonly string[] } = {},
): Kind {
  return {
    name,
    refused,
    alone,
    strings,
    edits,
    corrupt(text, random) {
      const found = edits({ text, tokens: tokensOf(text) }, random)
      return found && apply(text, found)
    },
  }
}

/** A kind that changes the text as a whole. In a pair it comes last. */
function around(name: string, corrupt: Kind['corrupt'], { refused = false } = {}): Kind {
  return { name, refused, alone: false, corrupt }
}

const REFUSED = { refused: true }
const LOST = { refused: true, alone: true }

type Place = (token: Token, tokens: readonly Token[]) => boolean

/** Changes one token of those that qualify. */
function one(
  place: Place,
  change: (token: Token, random: Random, tokens: readonly Token[]) => Edit[] | undefined,
): Edits {
  return ({ tokens }, random) => {
    const token = pickOne(
      tokens.filter((token) => place(token, tokens)),
      random,
    )
    return token && change(token, random, tokens)
  }
}

/** Changes all tokens that qualify. */
function all(place: Place, change: (token: Token, random: Random) => Edit[]): Edits {
  return ({ tokens }, random) => {
    const found = tokens.filter((token) => place(token, tokens))
    return found.length === 0 ? undefined : found.flatMap((token) => change(token, random))
  }
}

const before = (token: Token, put: string): Edit => ({ from: token.from, to: token.from, put })
const after = (token: Token, put: string): Edit => ({ from: token.to, to: token.to, put })
const instead = (token: Token, put: string): Edit => ({ from: token.from, to: token.to, put })
const opening = (token: Token, put: string): Edit => ({ from: token.from, to: token.from + 1, put })
const closing = (token: Token, put: string): Edit => ({ from: token.to - 1, to: token.to, put })
const inner = (token: Token): string => token.raw.slice(1, -1)

const isType =
  (...types: Token['type'][]): Place =>
  (token) =>
    types.includes(token.type)
const isString = isType('string')
const isNumber = isType('number')
const isLiteral = isType('literal')
const isKey: Place = (token) => token.key
const isText: Place = (token) => token.type === 'string' && !token.key
const isScalar: Place = (token) => (isType('string', 'number', 'literal') as Place)(token, []) && !token.key
const isWhole: Place = (token) => isNumber(token, []) && /^-?\d+$/.test(token.raw)
const isCloser = isType('}', ']')
const isInner: Place = (token) => token.inside !== ''

function and(...places: Place[]): Place {
  return (token, tokens) => places.every((place) => place(token, tokens))
}

/** The comma after a value of these types. */
function commaAfter(...types: Token['type'][]): Place {
  return (token, tokens) => token.type === ',' && types.includes(tokens[token.index - 1]!.type)
}

/** The last value before a closing bracket of this type. */
function lastIn(closer: '}' | ']'): Place {
  return (token, tokens) => {
    const next = tokens[token.index + 1]
    return next?.type === closer && token.type !== '{' && token.type !== '['
  }
}

/** A string whose raw text matches: `place` looks at what is between the quotes. */
function like(pattern: RegExp): Place {
  return (token) => isText(token, []) && pattern.test(inner(token))
}

/** Replaces each match in the raw text of a string. */
function within(token: Token, pattern: RegExp, put: string | ((found: string) => string)): Edit[] {
  const edits: Edit[] = []
  for (const { 0: found, index } of token.raw.matchAll(pattern)) {
    const from = token.from + index
    edits.push({ from, to: from + found.length, put: typeof put === 'string' ? put : put(found) })
  }
  return edits
}

/** The backslashes of escaped quotes. */
const unescapeQuotes = (token: Token): Edit[] => within(token, /\\(?=")/g, '')

/** Puts something at a random place between two tokens, never at the ends of the text. */
function between(put: (random: Random) => string): Edits {
  return one(isInner, (token, random) => [before(token, put(random))])
}

const afterComma = (put: (random: Random) => string): Edits =>
  one(isType(','), (token, random) => [after(token, put(random))])

const choose =
  (...list: string[]) =>
  (random: Random): string =>
    pickOne(list, random)!

// What follows a number or a literal without a blank could belong to it.
const LINE_COMMENTS = {
  plain: choose('// a note', '// TODO check this', '// 说明', '//x'),
  bracket: choose('// see [1', '// the } is missing', '// ) ] }', '// { or ['),
  quote: choose('// 5" wide', "// it's fine", '// the " sign'),
  comma: choose('// one, two', '// a: 1, b: 2', '// last, of all,'),
  member: choose('// "old": 1,', '// "x": "y"', '// {"a": 1},'),
}
const BLOCK_COMMENTS = {
  plain: choose('/* a note */', '/** doc */', '/* 说明 */', '/**/'),
  bracket: choose('/* see [1 */', '/* the } is missing */', '/* { or [ */'),
  quote: choose('/* 5" wide */', "/* it's fine */"),
  comma: choose('/* one, two */', '/* a: 1, b: 2, */'),
  member: choose('/* "old": 1, */', '/* "x": "y" */'),
}

const inSingleQuotes = (apostrophe: string) => (token: Token) => [
  opening(token, "'"),
  ...within(token, /'/g, apostrophe),
  closing(token, "'"),
]

/** As Python's repr writes a string: in single quotes, unless it has an apostrophe and no quote. */
function repr(token: Token): Edit[] {
  if (token.type === 'literal') return [instead(token, PYTHON[token.raw]!)]
  if (token.raw.includes("'") && !token.raw.includes('\\"')) return []
  return [...inSingleQuotes("\\'")(token), ...unescapeQuotes(token)]
}

const PYTHON: { [raw: string]: string } = { true: 'True', false: 'False', null: 'None' }

const bracketsOf = (tokens: readonly Token[], token: Token): number => {
  let depth = 0
  for (let index = token.index; index < tokens.length; index++) {
    const { type } = tokens[index]!
    if (type === '{' || type === '[') depth++
    if ((type === '}' || type === ']') && --depth === 0) return index
  }
  return -1
}

const QUOTED_LISTS = [
  'choose "red", "green" or "blue"',
  'x "a", "b" y',
  '"one", "two"',
  'either "on" or "off"',
  'keys: "id", "name"',
  'the words "a", "b", "c" and "d"',
]

const PRICES = ['costs $5', '$HOME/x', 'a $ sign\nand a line', 'from $1 to $2']

const DIRECTORIES = [
  'C:\\',
  'C:\\temp\\',
  'D:\\data\\new\\',
  '\\\\host\\share\\',
  '\\',
  'a\\',
  'in C:\\x y\\',
]

const EXPRESSIONS = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a template
  '`${x}`',
  ...['f()', 'a || 3', 'a && b', 'x ? 1 : 2', 'a + b', '2 * x', 'x => x', 'new Date()', 'string', 'number'],
  ...[
    'Array<string>',
    'string | null',
    '"low" | "high"',
    "'a' | 'b'",
    '"x" if y else "z"',
    '[...a]',
    '{...a}',
  ],
  ...['1 + 2', '3 > 2', '!done', 'a.b(c)', 'a[0]', '"a" + b', 'str', 'list[int]', 'boolean'],
]

const CALLS = [
  ['np.float64(', ')'],
  ['Decimal(', ')'],
  ['str(', ')'],
  ['(', ')'],
  ['', ' || 3'],
  ['', ' | null'],
  ['', ' as const'],
  ['', '!'],
] as const

// A character of the structure: what is inside a scalar would still be valid, or be lost for good. For the
// same reason no digit, sign, dot or comment mark is put in.
const isMark = isType('{', '}', '[', ']', ':', ',')

const GREETINGS = [
  "Here is the result you asked for, it's short:",
  '好的，结果如下：',
  'Sure! Result:',
  'Done.',
]
const GOODBYES = ['Let me know if you need more.', "That's all (for now).", '以上。', 'Hope this helps!']

const FENCE = '```'

/** One more comma behind the last member of the root. */
const commaAtEnd = (text: string): string => text.replace(/\s*\}$/, (end) => `,${end}`)

export const KINDS: readonly Kind[] = [
  // Commas.
  kind(
    'trailing comma in an object',
    one(lastIn('}'), (token) => [after(token, ',')]),
  ),
  kind(
    'trailing comma in an array',
    one(lastIn(']'), (token) => [after(token, ',')]),
  ),
  kind(
    'missing comma after a string',
    one(commaAfter('string'), (token) => [instead(token, '')]),
  ),
  kind(
    'missing comma after a number',
    one(commaAfter('number'), (token) => [instead(token, '')]),
  ),
  kind(
    'missing comma after a literal',
    one(commaAfter('literal'), (token) => [instead(token, '')]),
  ),
  kind(
    'missing comma after a bracket',
    one(commaAfter('}', ']'), (token) => [instead(token, '')]),
  ),
  kind(
    'leading comma',
    one(
      (token, tokens) => isType('{', '[')(token, []) && !isCloser(tokens[token.index + 1]!, []),
      (token) => [after(token, ',')],
    ),
  ),
  kind(
    'double comma',
    one(isType(','), (token) => [after(token, ',')]),
    REFUSED,
  ),
  kind(
    '`;` for `,`',
    one(isType(','), (token) => [instead(token, ';')]),
  ),
  kind(
    'full-width comma',
    one(isType(','), (token) => [instead(token, '，')]),
  ),

  // Quotes.
  kind(
    'missing closing quote of a value',
    one(isText, (token) => [closing(token, '')]),
  ),
  kind(
    'missing closing quote of a key',
    one(isKey, (token) => [closing(token, '')]),
  ),
  kind(
    'missing opening quote of a value',
    one(isText, (token) => [opening(token, '')]),
  ),
  kind(
    'missing opening quote of a key',
    one(isKey, (token) => [opening(token, '')]),
  ),
  kind(
    'one key without quotes',
    one(isKey, (token) => [opening(token, ''), closing(token, '')]),
  ),
  kind(
    'all keys without quotes',
    all(isKey, (token) => [opening(token, ''), closing(token, '')]),
  ),
  kind(
    'one value without quotes',
    one(like(/^(?!# )[^()|&?+*=<>]+$/), (token) => [opening(token, ''), closing(token, '')]),
  ),
  kind(
    // It is an expression as well.
    'one value without quotes, with an operator',
    one(like(/[()|&?+*=<>]/), (token) => [opening(token, ''), closing(token, '')]),
    REFUSED,
  ),
  kind('one string in single quotes', one(isString, inSingleQuotes("\\'"))),
  kind('single quotes, apostrophes escaped', all(isString, inSingleQuotes("\\'"))),
  kind('single quotes, apostrophes as they are', all(isString, inSingleQuotes("'"))),
  kind(
    'as Python prints it',
    all((token) => isString(token, []) || isLiteral(token, []), repr),
  ),
  kind(
    'backtick quotes',
    all(isString, (token) => [opening(token, '`'), ...within(token, /`/g, '\\`'), closing(token, '`')]),
  ),
  kind(
    'mixed quotes',
    one(isString, (token, random) => [random() < 0.5 ? opening(token, "'") : closing(token, "'")]),
  ),
  kind(
    'smart quotes throughout',
    all(isString, (token) => [opening(token, '“'), closing(token, '”')]),
  ),
  kind(
    'smart quotes around one string',
    one(isString, (token) => [opening(token, '“'), closing(token, '”')]),
  ),
  kind(
    'one smart quote',
    one(isString, (token, random) => [random() < 0.5 ? opening(token, '“') : closing(token, '”')]),
  ),
  kind(
    'one odd inner quote',
    one(
      and(like(/^[^"]*[^"\s]\\"(?![,:}\]])[^"]+$/), (token) => token.inside === '{'),
      unescapeQuotes,
    ),
  ),
  kind(
    // `["a 5" b", "c"]` may have lost a quote and a comma.
    'one odd inner quote in an array',
    one(
      and(like(/^[^"]*[^"\s]\\"(?![,:}\]])[^"]+$/), (token) => token.inside === '['),
      unescapeQuotes,
    ),
    REFUSED,
  ),
  kind('paired inner quotes', one(like(/^[^"]+\\"[^"\s]+\\"(?![,:}\]])[^"]+$/), unescapeQuotes)),
  kind('inner quotes before a comma', one(like(/^[^"]+\\"[^"\s]+\\",[^"]+$/), unescapeQuotes)),
  kind('unescaped quotes at the start', one(like(/^\\"[^"]+\\"[^"]+$/), unescapeQuotes)),
  kind('unescaped quotes at the end', one(like(/^[^"]+\\"[^"]+\\"$/), unescapeQuotes)),
  // `15""` may as well be a quote that was doubled.
  kind('one unescaped quote at the end', one(like(/^[^"]+\\"$/), unescapeQuotes), REFUSED),
  kind('all inner quotes unescaped', all(like(/\\"/), unescapeQuotes), REFUSED),
  kind('a list of quoted words, quotes unescaped', one(like(/\\"/), unescapeQuotes), {
    refused: true,
    strings: QUOTED_LISTS,
  }),

  // What is inside strings.
  kind(
    'raw LF in a string',
    one(like(/(?<!\\r)\\n/), (token) => within(token, /(?<!\\)\\n/g, '\n')),
  ),
  kind(
    'raw CRLF in a string',
    one(like(/\\r\\n/), (token) => within(token, /\\r\\n/g, '\r\n')),
  ),
  kind(
    'raw TAB in a string',
    one(like(/[^\\]\\t/), (token) => within(token, /(?<!\\)\\t/g, '\t')),
  ),
  kind(
    'raw CR in a string',
    one(like(/[^\\]\\r(?!\\n)/), (token) => within(token, /(?<!\\)\\r/g, '\r')),
  ),
  kind(
    'raw control character in a string',
    one(like(/\\u0007|[^\\]\\f/), (token) =>
      within(token, /\\u0007|(?<!\\)\\f/g, (found) => JSON.parse(`"${found}"`)),
    ),
  ),
  kind(
    'path that ends in a backslash',
    one(like(/\\\\$/), (token) => within(token, /\\\\/g, '\\')),
    { refused: true, strings: DIRECTORIES },
  ),
  kind(
    'backslashes of a path not doubled',
    one(like(/\\\\/), (token) => within(token, /\\\\/g, '\\')),
  ),
  kind(
    'escape `\\x41`',
    one(like(/A/), (token) => within(token, /A/g, '\\x41')),
  ),
  kind(
    'escape `\\$`',
    one(like(/\$/), (token) => within(token, /\$/g, '\\$')),
    { strings: PRICES },
  ),
  kind(
    "escape `\\'`",
    one(like(/'/), (token) => within(token, /'/g, "\\'")),
  ),
  kind(
    'half a unicode escape',
    one(like(/[\u4e00-\u9fff]/), (token) =>
      within(
        token,
        /[\u4e00-\u9fff]/g,
        (found) => `\\u${found.charCodeAt(0).toString(16).slice(0, 3)}`,
      ).slice(0, 1),
    ),
    REFUSED,
  ),
  kind('concatenation `"a" + "b"`', one(like(/^[^\\]{2,}$/), concatenation(' + '))),
  kind('concatenation over two lines', one(like(/^[^\\]{2,}$/), concatenation(' +\n    '))),
  // With other backslashes in the text it could not be told which of them are one too many.
  around('quotes escaped once too often', (text) =>
    text.includes('\\') ? undefined : text.replaceAll('"', '\\"'),
  ),
  // With other quotes around strings nothing shows that there is a backslash too many.
  around('all escaped once too often', (text) =>
    /^\{\s*"/.test(text) && !/[{[,:]\s*['`]/.test(text) ? JSON.stringify(text).slice(1, -1) : undefined,
  ),

  // Comments.
  ...Object.entries(LINE_COMMENTS).map(([name, put]) =>
    kind(`\`//\` comment${name === 'plain' ? ' after a comma' : ` with a ${name}`}`, afterComma(lineOf(put))),
  ),
  kind('`//` comment at the end of a line', atLineEnd(LINE_COMMENTS.plain)),
  ...Object.entries(BLOCK_COMMENTS).map(([name, put]) =>
    kind(`\`/* */\` comment${name === 'plain' ? '' : ` with a ${name}`}`, between(put)),
  ),
  kind(
    '`//` comment with a quote at the end',
    afterComma(lineOf(choose('// 5"', '// the "', '// x",'))),
    REFUSED,
  ),
  kind(
    '`//` comment with a quote, after a value',
    one(isScalar, (token, random) => [after(token, lineOf(choose('// 5" wide', '// 5"', '// c",'))(random))]),
    REFUSED,
  ),
  kind(
    '`#` comment with a quote at the end',
    afterComma(lineOf(choose('# 5"', '# the "x"', '# x",'))),
    REFUSED,
  ),
  kind('`#` comment', afterComma(lineOf(choose('# a note', '# TODO', '#说明')))),
  kind('`#` comment with a bracket or a quote', afterComma(lineOf(choose('# see [1', '# 5" wide', '# }')))),
  kind('`#` comment at the end of a line', atLineEnd(choose('# a note', '# TODO, later'))),
  kind('HTML comment', between(choose('<!-- a note -->', '<!-- it\'s 5" wide, see [1 -->'))),
  kind(
    'ellipsis in an array',
    one(and(lastIn(']')), (token) => [after(token, ', ...')]),
    REFUSED,
  ),
  kind(
    'ellipsis in an object',
    one(and(lastIn('}')), (token) => [after(token, ', ...')]),
    REFUSED,
  ),

  // Numbers and literals.
  kind(
    'one Python literal',
    one(isLiteral, (token) => [instead(token, PYTHON[token.raw]!)]),
  ),
  kind(
    'Python literals',
    all(isLiteral, (token) => [instead(token, PYTHON[token.raw]!)]),
  ),
  kind(
    'upper-case literal',
    one(isLiteral, (token) => [instead(token, token.raw.toUpperCase())]),
  ),
  kind(
    '`undefined`',
    one(isNull, (token) => [instead(token, 'undefined')]),
    REFUSED,
  ),
  kind(
    '`NaN`',
    one(isNull, (token) => [instead(token, 'NaN')]),
  ),
  kind(
    '`Infinity`',
    one(isNull, (token, random) => [instead(token, choose('Infinity', '-Infinity')(random))]),
  ),
  kind(
    'half a literal',
    one(isLiteral, (token) => [instead(token, token.raw.slice(0, -1))]),
    REFUSED,
  ),
  kind(
    'hexadecimal number',
    one(
      and(isWhole, (token) => token.raw[0] !== '-'),
      (token) => [instead(token, `0x${Number(token.raw).toString(16).toUpperCase()}`)],
    ),
  ),
  kind(
    'leading `+`',
    one(
      and(isNumber, (token) => token.raw[0] !== '-'),
      (token) => [before(token, '+')],
    ),
  ),
  kind(
    // A code, a number with a zero too many, or an octal number.
    'leading zeros',
    one(isNumber, (token, random) => [
      instead(token, token.raw.replace(/^-?/, `$&${choose('0', '00')(random)}`)),
    ]),
    REFUSED,
  ),
  kind(
    'no digit before the dot',
    one(
      (token) => /^-?0\./.test(token.raw),
      (token) => [instead(token, token.raw.replace('0.', '.'))],
    ),
  ),
  kind(
    'no digit after the dot',
    one(isWhole, (token) => [after(token, '.')]),
  ),
  kind(
    'number with `_`',
    one(isThousands, (token) => [instead(token, grouped(token, '_'))]),
  ),
  kind(
    'an expression for a value',
    one(isScalar, (token, random) => [instead(token, choose(...EXPRESSIONS)(random))]),
    REFUSED,
  ),
  kind(
    'an expression around a value',
    one(isScalar, (token, random) => {
      const [open, close] = pickOne(CALLS, random)!
      return [before(token, open), after(token, close)]
    }),
    REFUSED,
  ),
  kind(
    'number with `,`',
    one(isThousands, (token) => [instead(token, grouped(token, ','))]),
    REFUSED,
  ),
  kind(
    'number with a unit',
    one(isNumber, (token, random) => [after(token, choose('px', ' ms', '%')(random))]),
    REFUSED,
  ),

  // Colons.
  kind(
    'missing colon',
    one(isType(':'), (token) => [instead(token, '')]),
  ),
  kind(
    'double colon',
    one(isType(':'), (token) => [instead(token, '::')]),
  ),
  kind(
    '`=` for `:`',
    one(isType(':'), (token) => [instead(token, '=')]),
  ),
  kind(
    '`=>` for `:`',
    one(isType(':'), (token) => [instead(token, ' =>')]),
  ),
  kind(
    'full-width colon',
    one(isType(':'), (token) => [instead(token, '：')]),
  ),
  kind(
    'missing value',
    one(
      and(isScalar, (token) => token.inside === '{'),
      (token) => [instead(token, '')],
    ),
    LOST,
  ),

  // Blanks that JSON does not know.
  kind('zero-width space', between(choose('\u200b'))),
  kind('no-break space', between(choose('\u00a0'))),
  kind('ideographic space', between(choose('\u3000'))),
  kind('BOM between tokens', between(choose('\ufeff'))),
  kind('BOM at the start', ({ tokens }) => [before(tokens[0]!, '\ufeff')]),
  kind('indented with no-break spaces', ({ text }) => {
    const edits = [...text.matchAll(/(?<=\n *) /g)].map(({ index }) => ({
      from: index,
      to: index + 1,
      put: '\u00a0',
    }))
    return edits.length === 0 ? undefined : edits
  }),
  kind(
    'terminal colours',
    one(and(isScalar), (token) => [before(token, '\u001b[32m'), after(token, '\u001b[0m')]),
  ),

  // Brackets. Which one is missing, or too many, cannot be known.
  kind(
    'extra `}` inside',
    one(and(isScalar), (token) => [after(token, '}')]),
    REFUSED,
  ),
  kind(
    'extra `]` inside',
    one(and(isScalar), (token) => [after(token, ']')]),
    REFUSED,
  ),
  kind(
    'extra bracket at the end',
    ({ tokens }, random) => [after(tokens.at(-1)!, choose('}', ']')(random))],
    REFUSED,
  ),
  kind(
    'missing inner `]`',
    one(and(isType(']'), isInner), (token) => [instead(token, '')]),
    REFUSED,
  ),
  kind(
    'missing inner `}`',
    one(and(isType('}'), isInner), (token) => [instead(token, '')]),
    REFUSED,
  ),
  kind(
    'missing inner `[`',
    one(and(isType('['), isInner), (token) => [instead(token, '')]),
    REFUSED,
  ),
  kind(
    'missing inner `{`',
    one(and(isType('{'), isInner), (token) => [instead(token, '')]),
    REFUSED,
  ),
  kind('missing first bracket', ({ tokens }) => [instead(tokens[0]!, '')], REFUSED),
  kind('missing last bracket', ({ tokens }) => [instead(tokens.at(-1)!, '')], REFUSED),
  kind(
    'wrong closing bracket',
    one(isCloser, (token) => [instead(token, token.type === '}' ? ']' : '}')]),
    REFUSED,
  ),
  kind(
    'both brackets of the wrong type',
    one(and(isType('['), isInner), (token, _random, tokens) => {
      const end = bracketsOf(tokens, token)
      return end === token.index + 1 ? undefined : [instead(token, '{'), instead(tokens[end]!, '}')]
    }),
    REFUSED,
  ),
  kind(
    'swapped closing brackets',
    one(
      (token, tokens) =>
        isCloser(token, []) &&
        isCloser(tokens[token.index + 1] ?? token, []) &&
        token.type !== tokens[token.index + 1]?.type,
      (token, _random, tokens) => {
        const next = tokens[token.index + 1]
        return next && [instead(token, next.type), instead(next, token.type)]
      },
    ),
    REFUSED,
  ),
  kind(
    'cut anywhere',
    ({ text }, random) => [{ from: 1 + below(text.length - 1, random), to: text.length + 1, put: '' }],
    LOST,
  ),

  // Any character of the structure.
  kind(
    'one character deleted',
    ({ tokens }, random) => {
      const token = pickOne(
        tokens.filter((token) => isMark(token, []) || isString(token, [])),
        random,
      )!
      if (isMark(token, [])) return [instead(token, '')]
      return [random() < 0.5 ? opening(token, '') : closing(token, '')]
    },
    REFUSED,
  ),
  kind(
    'one character doubled',
    one(isMark, (token) => [after(token, token.raw)]),
    REFUSED,
  ),
  kind(
    'one quote doubled',
    one(isString, (token, random) => [random() < 0.5 ? opening(token, '""') : closing(token, '""')]),
    REFUSED,
  ),
  kind(
    'both quotes doubled',
    one(isString, (token) => [opening(token, '""'), closing(token, '""')]),
    REFUSED,
  ),
  kind(
    'one single quote doubled',
    one(isString, (token, random) => {
      const [first, last] = random() < 0.5 ? ["''", "'"] : ["'", "''"]
      return [opening(token, first!), ...within(token, /'/g, "\\'"), closing(token, last!)]
    }),
    REFUSED,
  ),
  kind(
    'two neighbours swapped',
    ({ text, tokens }, random) => {
      const places = tokens.flatMap((token) => swapsAt(token, text))
      const from = pickOne(places, random)
      return from === undefined ? undefined : [{ from, to: from + 2, put: text[from + 1]! + text[from]! }]
    },
    REFUSED,
  ),
  kind(
    'one sign inserted',
    one(isInner, (token, random, tokens) => {
      const sign = pickOne([...'{}[],:;"\'`()<>=/*&|!?@^~%\\'], random)!
      // Next to a string a quote is an inner quote as well.
      const besideString = isString(token, []) || isString(tokens[token.index - 1]!, [])
      return sign === '"' && besideString ? undefined : [before(token, sign)]
    }),
    REFUSED,
  ),

  // The document is whole, but not alone.
  around(
    'in prose',
    (text, random) => `${choose(...GREETINGS)(random)}\n\n${text}\n\n${choose(...GOODBYES)(random)}`,
  ),
  around('after prose on its line', (text, random) => `${choose(...GREETINGS)(random)} ${text}`),
  around(
    'before prose',
    (text, random) => `${text}${choose('\n\n', '\n', ' ')(random)}${choose(...GOODBYES)(random)}`,
  ),
  around('in a fence', (text) => `${FENCE}json\n${text}\n${FENCE}`),
  around('in a fence in prose', (text, random) =>
    [choose(...GREETINGS)(random), `${FENCE}json\n${text}\n${FENCE}`, choose(...GOODBYES)(random)].join(
      '\n\n',
    ),
  ),
  around('in a one-line fence', (text) => (text.includes('\n') ? undefined : `${FENCE}json ${text}${FENCE}`)),
  around('in a tag', (text, random) => `${choose(...GREETINGS)(random)}\n<json>${text}</json>`),
  around(
    'after a think block',
    (text, random) =>
      choose('<think>\nA draft: {"draft": 1}\n</think>\n\n', '<think>I\'d say {"a": 0}.</think>')(random) +
      text,
  ),
  around('in bold', (text) => `**${text}**`),
  around('after the word json', (text) => `json\n${text}`),
  around('as an assignment', (text) => `const result = ${text};`),
  around('in parentheses', (text) => `(${text})`),
  kind(
    'fence mark inside',
    one(isType(','), (token, random) => [after(token, `\n${FENCE}${choose('json', '')(random)}\n`)]),
  ),
  around('trailing comma, in prose', (text, random) =>
    [choose(...GREETINGS)(random), commaAtEnd(text), choose(...GOODBYES)(random)].join('\n\n'),
  ),
  around('trailing comma, in a fence', (text) => `${FENCE}json\n${commaAtEnd(text)}\n${FENCE}`),
  around('trailing comma, in a one-line fence', (text) =>
    text.includes('\n') ? undefined : `${FENCE}json ${commaAtEnd(text)}${FENCE}`,
  ),
]

/** A comment that ends with its line. */
function lineOf(put: (random: Random) => string): (random: Random) => string {
  return (random) => ` ${put(random)}\n`
}

/** Before a line end of the layout; in a text of one line, at any place, with a line end of its own. */
function atLineEnd(put: (random: Random) => string): Edits {
  return ({ text, tokens }, random) => {
    const ends = tokens.filter((token) => text[token.to] === '\n')
    const token = pickOne(ends.length > 0 ? ends : tokens.slice(0, -1), random)!
    return [after(token, ` ${put(random)}${ends.length > 0 ? '' : '\n'}`)]
  }
}

function concatenation(plus: string): (token: Token, random: Random) => Edit[] {
  return (token, random) => {
    const place = 2 + below(token.raw.length - 3, random)
    // Not between the halves of a surrogate pair.
    const half = /[\udc00-\udfff]/.test(token.raw[place]!)
    const from = token.from + (half ? place - 1 : place)
    return [{ from, to: from, put: `"${plus}"` }]
  }
}

function isNull(token: Token): boolean {
  return token.raw === 'null'
}

function isThousands(token: Token): boolean {
  return isWhole(token, []) && Math.abs(Number(token.raw)) >= 1000
}

function grouped(token: Token, mark: string): string {
  return token.raw.replace(/\B(?=(\d{3})+$)/g, mark)
}

/** Where this token and the character after it, or its last one and the quote, can change places. */
function swapsAt(token: Token, text: string): number[] {
  const next = text[token.to]
  if (token.type === 'number' || token.type === 'literal' || next === undefined) return []
  // The first digit or letter of what follows would leave its scalar.
  if (/[-\w\s]/.test(next)) return []
  return [token.to - 1]
}
