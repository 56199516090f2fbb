/** Gives numbers from 0 up to 1, the same ones for the same seed. */
export type Random = () => number

/** mulberry32: small, fast, and good enough to pick places. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A whole number from 0 up to, but not including, `count`. */
export function below(count: number, random: Random): number {
  return Math.floor(random() * count)
}

export function pickOne<T>(list: readonly T[], random: Random): T | undefined {
  return list[below(list.length, random)]
}

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

export type Layout = 'compact' | 'pretty'

export function layOut(value: Json, layout: Layout): string {
  return JSON.stringify(value, null, layout === 'pretty' ? 2 : undefined)
}

/** A random object, nested to a depth of 4, with the strings, numbers and keys that make repair hard. */
export function randomDocument(random: Random): { [key: string]: Json } {
  // What the document may still hold. Without a limit some documents have a hundred times the size of others.
  const left = { values: 6 + below(12, random) }
  return objectOf(2 + below(5, random), 1, left, random)
}

interface Left {
  values: number
}

function objectOf(size: number, depth: number, left: Left, random: Random): { [key: string]: Json } {
  const object: { [key: string]: Json } = {}
  for (let index = 0; index < size; index++) object[pickOne(KEYS, random)!] = anyValue(depth, left, random)
  return object
}

function anyValue(depth: number, left: Left, random: Random): Json {
  left.values--
  const dice = random()
  const nest = depth < 4 && left.values > 0
  if (nest && dice < 0.16) return objectOf(below(5, random), depth + 1, left, random)
  if (nest && dice < 0.34) return arrayOf(below(5, random), depth + 1, left, random)
  if (dice < 0.5) return numberOf(random)
  if (dice < 0.62) return pickOne([true, false, null], random)!
  return stringOf(random)
}

/** Half of the arrays hold one kind of value, as arrays in real documents do. */
function arrayOf(size: number, depth: number, left: Left, random: Random): Json[] {
  const alike = random() < 0.5
  const first = anyValue(depth, left, random)
  return Array.from({ length: size }, (_, index) => {
    if (index === 0) return first
    if (!alike || (typeof first === 'object' && first !== null)) return anyValue(depth, left, random)
    if (typeof first === 'string') return stringOf(random)
    return typeof first === 'number' ? numberOf(random) : pickOne([true, false, null], random)!
  })
}

function numberOf(random: Random): number {
  const whole = below(10 ** (1 + below(5, random)), random)
  switch (below(8, random)) {
    case 0:
      return -1 - whole
    case 1:
      return whole + 0.5
    case 2:
      return below(100, random) / 100
    case 3:
      return -(1 + below(999, random)) / 1000
    case 4:
      return pickOne([1e21, 1.5e-7, -2e25, 6.02e23, 1e-9], random)!
    default:
      return whole
  }
}

function stringOf(random: Random): string {
  const text = pickOne(STRINGS, random)!
  // Two strings in one now and then, so that the special characters meet.
  return text !== '' && random() < 0.1 ? `${text} ${pickOne(WORDS, random)!}` : text
}

const WORDS = ['alpha', 'two words', '好的', 'done', 'x', "it's", '🎉', 'a, b', 'k: v', '#3']

// No string begins or ends with a comma, a colon or a blank: next to a missing quote such a string cannot be
// told from its neighbour. None looks like a broken number or literal: without its quotes it would be one.
const STRINGS = [
  '',
  ...WORDS,
  'hello',
  'hello world',
  'The quick brown fox, the lazy dog',
  'one,two,three',
  'first, second and third',
  '检查完成，没有问题',
  '你好：世界',
  '日本語のテキスト、です',
  '🚀 launched 👩‍💻',
  "don't panic",
  "rock 'n' roll",
  "the users' names, it's said",
  'https://example.com/a,b:c?x=1&y=2#top',
  'http://localhost:8080/path',
  'see https://example.com/x, then go on',
  'C:\\Users\\dev\\notes.txt',
  'D:\\data\\new\\table.csv',
  'in C:\\Program Files\\Tool, please',
  '\\d+\\s*\\w',
  'a 24" screen',
  'a 5" nail and glue',
  '屏幕24"大小',
  'the "best" one',
  'use the "strict" mode here',
  '他说"好"就走了',
  'he said "yes", then left',
  'call it "done", please',
  '"Quoted" at the start',
  '"Start" and go',
  'at the end it is "quoted"',
  'a pipe of 15"',
  'first line\nsecond line',
  'a\nb\nc',
  'col1\tcol2',
  'old\rmac',
  'dos\r\nline',
  'bell\u0007here',
  'form\ffeed',
  'name: value',
  'status: ok, code: 7',
  'say "k": "v" here',
  'a, b,c , d',
  'issue #12 is open',
  '# heading',
  'C# and F#',
  'either // or',
  'a /* b */ c',
  'an array [1, 2] inside',
  'an object {a: 1} inside',
  'closing ] and } here',
  'opening { and [ here',
  'if (x) { return [y]; }',
  'const a = `b`',
  'use ```js here',
  '“smart” quotes',
  '<b>bold</b>',
  'a -> b => c',
  'x = 1; y = 2',
  'key=value',
  'to be continued...',
  '2024-01-05T10:00:00Z',
  'v1.2.3',
  'true story',
  'null and void',
  '42 is the answer',
  '100%',
  'A new day',
  'email@example.com',
]

const KEYS = [
  'id',
  'name',
  'path',
  'issues',
  'line',
  'a',
  'b',
  'c',
  'value',
  'summary',
  'is_done',
  'camelCase',
  '$ref',
  'two words',
  'with-dash',
  'dotted.key',
  '12',
  '3d',
  '名前',
  '结果',
  'État',
  "it's",
  'x/y',
  'Content-Type',
]

/** A piece of a valid JSON text. */
export interface Token {
  readonly type: '{' | '}' | '[' | ']' | ':' | ',' | 'string' | 'number' | 'literal'
  readonly from: number
  readonly to: number
  readonly raw: string
  /** Whether it is the key of a member. */
  readonly key: boolean
  /** What directly holds it; a bracket is held by what holds its value. Empty for the root. */
  readonly inside: '{' | '[' | ''
  readonly index: number
}

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  const open: ('{' | '[')[] = []
  for (const { 0: raw, index: from } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g)) {
    const type = typeOf(raw)
    if (type === '}' || type === ']') open.pop()
    const inside = open.at(-1) ?? ''
    const before = tokens.at(-1)?.type
    const key = type === 'string' && inside === '{' && (before === '{' || before === ',')
    tokens.push({ type, from, to: from + raw.length, raw, key, inside, index: tokens.length })
    if (type === '{' || type === '[') open.push(type)
  }
  return tokens
}

function typeOf(raw: string): Token['type'] {
  const first = raw[0]!
  if (first === '"') return 'string'
  if ('{}[]:,'.includes(first)) return first as Token['type']
  return first === '-' || (first >= '0' && first <= '9') ? 'number' : 'literal'
}
