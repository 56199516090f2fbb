import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { whereBroken } from '../../src/json/tokenizer.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { tryParse } from '../../src/values/parse.ts'
import { outcomesOf } from './chunked.ts'
import { below, pickOne, randomDocument, randomFrom } from './random-document.ts'

/** Random numbers from a seed, so that a failure can be seen again. */
function randomOf(seed: number) {
  let state = seed * 2654435761 + 1
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
  const below = (n: number) => Math.floor(next() * n)
  return { below, pick: <T>(all: readonly T[]): T => all[below(all.length)] as T }
}

type Random = ReturnType<typeof randomOf>

const KEYS = ['id', 'title', 'file path', 'line', 'tags', 'note', 'größe', 'a-b']
const STRINGS = [
  'a plain word',
  "it's here, isn't it",
  'see https://a.b/c?d=1, or: (none)',
  'use {x} and [y]',
  'a } too many',
  'open [ and {',
  '名前、値：一',
  '😀 a, b: c',
  '',
  'x',
]

function anyOf(random: Random, depth: number): unknown {
  const kind = random.below(depth > 1 ? 5 : 8)
  if (kind < 3) return random.pick(STRINGS)
  if (kind === 3) return random.pick([0, 12, -1.5, 1e21])
  if (kind === 4) return random.pick([true, false, null])
  if (kind === 5) return Array.from({ length: 1 + random.below(3) }, () => anyOf(random, depth + 1))
  if (kind === 6) return [objectOf(random, depth + 1), objectOf(random, depth + 1)]
  return objectOf(random, depth + 1)
}

/** An object whose first key is always the same, as in real lists, with at least one string in it. */
function objectOf(random: Random, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = { id: random.pick(STRINGS) }
  for (let n = random.below(4); n > 0; n--) object[random.pick(KEYS)] = anyOf(random, depth)
  if (random.below(2) === 0) object.end = anyOf(random, depth)
  return object
}

interface Token {
  readonly kind: 'key' | 'string' | 'word' | 'punctuation'
  readonly from: number
  readonly to: number
}

/** The tokens of valid JSON. */
function tokensOf(json: string): Token[] {
  const tokens: Token[] = []
  for (const match of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const from = match.index
    const to = from + match[0].length
    const first = match[0][0] as string
    const key = first === '"' && /^\s*:/.test(json.slice(to))
    const kind = key ? 'key' : first === '"' ? 'string' : '{}[],:'.includes(first) ? 'punctuation' : 'word'
    tokens.push({ kind, from, to })
  }
  return tokens
}

const splice = (text: string, from: number, to: number, put: string) =>
  text.slice(0, from) + put + text.slice(to)

/** Puts a text between two tokens, never before the first or after the last. */
function between(put: string): Corruption {
  return (json, tokens, random) => {
    const { to } = tokens[random.below(tokens.length - 1)] as Token
    return splice(json, to, to, put)
  }
}

/** Changes one string that is a value. */
function inString(change: (inside: string, random: Random) => string | undefined): Corruption {
  return (json, tokens, random) => {
    const strings = tokens.filter(({ kind, from, to }) => kind === 'string' && to - from > 4)
    if (strings.length === 0) return undefined
    const { from, to } = random.pick(strings)
    const changed = change(json.slice(from, to), random)
    return changed === undefined ? undefined : splice(json, from, to, changed)
  }
}

/** Takes out, or doubles, one of the tokens that fit. */
function token(fits: (text: string, next: string) => boolean, put: (text: string) => string): Corruption {
  return (json, tokens, random) => {
    const all = tokens.filter(({ from, to }, i) => {
      const next = tokens[i + 1]
      return next !== undefined && i > 0 && fits(json.slice(from, to), json.slice(next.from, next.to))
    })
    if (all.length === 0) return undefined
    const { from, to } = random.pick(all)
    return splice(json, from, to, put(json.slice(from, to)))
  }
}

function requoted(left: string, right: string): Corruption {
  return (json, tokens) => {
    let text = json
    for (const { kind, from, to } of tokens.toReversed()) {
      if (kind !== 'key' && kind !== 'string') continue
      const inside = json.slice(from + 1, to - 1)
      const safe = left === "'" ? inside.replaceAll("'", "\\'") : inside
      text = splice(text, from, to, left + safe + right)
    }
    return text
  }
}

type Corruption = (json: string, tokens: readonly Token[], random: Random) => string | undefined

const middle = (text: string) => 2 + Math.floor((text.length - 3) / 2)

/** One corruption each, after which the end of the element can still be known. */
const KINDS: Readonly<Record<string, Corruption>> = {
  'missing comma after a string': (json, tokens, random) => {
    const all = tokens.filter(({ from }, i) => json[from] === ',' && tokens[i - 1]?.kind === 'string')
    if (all.length === 0) return undefined
    const { from, to } = random.pick(all)
    return splice(json, from, to, '')
  },
  'missing closing quote': inString((text) => text.slice(0, -1)),
  'missing opening quote of a key': (json, tokens, random) => {
    const { from } = random.pick(tokens.filter(({ kind }) => kind === 'key'))
    return splice(json, from, from + 1, '')
  },
  'one odd inner quote': inString((text) => splice(text, middle(text), middle(text), '"')),
  'a pair of inner quotes': inString((text) =>
    splice(splice(text, middle(text), middle(text), '"'), 1, 1, 'a "'),
  ),
  'single quotes': requoted("'", "'"),
  'smart quotes': requoted('“', '”'),
  'a line comment': between(' // note\n'),
  'a line comment with a lone bracket': between(' // see } or [\n'),
  'a line comment with an odd quote': between(' // 5" wide\n'),
  'a block comment': between('/* note */'),
  'a block comment with a lone bracket': between('/* { */'),
  'a block comment with an odd quote': between('/* 5" */'),
  'a trailing comma': token(
    (_, next) => next === '}' || next === ']',
    (text) => `${text},`,
  ),
  'a raw line break in a string': inString((text) => splice(text, middle(text), middle(text), '\n')),
  'a backslash path': inString(() => '"C:\\work\\new.txt"'),
  'keys without quotes': (json, tokens) => {
    let text = json
    for (const { kind, from, to } of tokens.toReversed()) {
      if (kind === 'key' && /^"[a-z]+"$/.test(json.slice(from, to))) {
        text = splice(text, from, to, json.slice(from + 1, to - 1))
      }
    }
    return text
  },
  'strings put together': inString((text) => splice(text, middle(text), middle(text), '" + "')),
  'a zero-width space': between('\u200b'),
  'a no-break space': between('\u00a0'),
  'a Python literal': (json, tokens, random) => {
    const python: Record<string, string> = { true: 'True', false: 'False', null: 'None' }
    const all = tokens.filter(({ from, to }) => json.slice(from, to) in python)
    if (all.length === 0) return undefined
    const { from, to } = random.pick(all)
    return splice(json, from, to, python[json.slice(from, to)] as string)
  },
}

/** One corruption each, after which the end of the element is a guess. */
const BRACKETS: Readonly<Record<string, Corruption>> = {
  'a missing closing bracket': token(
    (text) => text === '}' || text === ']',
    () => '',
  ),
  'a missing opening bracket': token(
    (text) => text === '{' || text === '[',
    () => '',
  ),
  'an extra brace': token(
    (text) => text !== ':',
    (text) => `${text}}`,
  ),
  'an extra bracket': token(
    (text) => text !== ':',
    (text) => `${text}]`,
  ),
  'the last brace is missing': (json) => json.trimEnd().slice(0, -1),
  'the first brace is missing': (json) => json.slice(1),
  'a last brace too many': (json) => `${json}}`,
}

interface Case {
  readonly objects: readonly unknown[]
  readonly index: number
  readonly broken: string
  /** The whole array. */
  readonly list: string
}

function caseOf(corruption: Corruption, seed: number, pretty: boolean): Case | undefined {
  const random = randomOf(seed)
  const objects = Array.from({ length: 3 + random.below(3) }, () => objectOf(random, 0))
  const texts = objects.map((object) => JSON.stringify(object, null, pretty ? 2 : undefined))
  const index = random.below(objects.length)
  const whole = texts[index] as string
  const broken = corruption(whole, tokensOf(whole), random)
  if (broken === undefined || isJson(broken)) return undefined
  texts[index] = broken
  const list = pretty ? `[\n  ${texts.join(',\n  ')}\n]` : `[${texts.join(',')}]`
  return { objects, index, broken, list }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** How many of the other elements may be lost, where the ladder itself cannot read the text of some. */
const HARD: Readonly<Record<string, number>> = {
  'missing closing quote': 0.08,
  'one odd inner quote': 0.45,
  'a pair of inner quotes': 0.25,
}
const SEEDS = 60
const options = { root: 'any' } as const

/** What to select, the path of the list, and a document around it. */
type Door = readonly [string, string, (list: string) => string]

const DOORS: readonly Door[] = [
  ['*', '', (list) => list],
  ['issues.*', '/issues', (list) => `{"n":1,"issues":${list},"z":{"id":"no"}}`],
  ['issues.*', '/issues', (list) => `Here:\n\`\`\`json\n{"issues":${list}}\n\`\`\`\nSo {"issues":[]} it is.`],
  ['issues.*', '/issues', (list) => `<json>{"issues":${list}}</json> and "more"`],
]

function* casesOf(corruption: Corruption): Generator<Case & { readonly name: string }> {
  for (const pretty of [false, true]) {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const one = caseOf(corruption, seed, pretty)
      if (one) yield { ...one, name: `seed ${seed}, ${pretty ? 'pretty' : 'compact'}` }
    }
  }
}

/** Every outcome of a case must be right and in its place; the elements that were handed out are counted. */
function check({ objects, index, broken, list, name }: Case & { name: string }, door: Door, size?: number) {
  const [items, path, wrap] = door
  const text = wrap(list)
  const why = `${name}: ${text}`
  const all = outcomesOf(text, { ...options, items }, size)
  const bad = all.find(({ frame }) => frame.path === `${path}/${index}`)
  for (const outcome of all) {
    if (!outcome.ok || outcome === bad) continue
    const at = Number(outcome.frame.path?.slice(path.length + 1))
    expect(outcome.value, why).toEqual(objects[at])
  }
  const kept = all.filter((outcome) => outcome.ok && outcome !== bad).length
  return { bad, kept, good: objects.length - 1, why, differs: bad && differs(bad, broken) }
}

/** How an outcome differs from what the text of the element alone gives: undefined if it does not. */
function differs(outcome: Outcome<unknown>, broken: string): string | undefined {
  const alone = tryParse(broken, options)
  const got = outcome.ok ? { value: outcome.value } : { code: outcome.fault.code }
  const expected = alone.ok ? { value: alone.value } : { code: alone.fault.code }
  if (isDeepStrictEqual(got, expected)) return undefined
  // An element without its brackets is prose by itself, and no element in a list.
  if ('code' in expected && (expected.code === 'NO_MATCH' || expected.code === 'EMPTY') && 'code' in got)
    return 'prose'
  if (isLost(outcome)) return 'its end is not known'
  // A document that ends in the element: a string that never ends, or a guess that nothing confirms.
  if (outcome.frame.open) return 'the document breaks off'
  return `got ${JSON.stringify(got)}, alone ${JSON.stringify(expected)}`
}

function isLost(outcome: Outcome<unknown>): boolean {
  return !outcome.ok && outcome.fault.message.includes('its end cannot be known')
}

const EXCEPTIONS: readonly (string | undefined)[] = [
  undefined,
  'prose',
  'its end is not known',
  'the document breaks off',
]

describe('one corruption in one element gives what the element alone gives, and costs no other', () => {
  test.each(Object.entries(KINDS))('%s', (kind, corruption) => {
    let count = 0
    let lost = 0
    let all = 0
    for (const one of casesOf(corruption)) {
      const door = DOORS[count++ % DOORS.length]!
      const { bad, kept, good, why, differs } = check(one, door, count % 3 === 0 ? 5 : undefined)
      expect(EXCEPTIONS, `${differs}\n${why}`).toContain(differs)
      // Where the end is known, the frame is the element, to the byte.
      if (bad && !isLost(bad) && !bad.frame.open) expect(bad.frame.text, why).toBe(one.broken)
      lost += good - kept
      all += good
    }
    expect(count).toBeGreaterThan(20)
    expect(lost / all, `${kind}: ${lost} of ${all}`).toBeLessThanOrEqual(HARD[kind] ?? 0)
  })
})

describe('a bracket too many or too few never gives another value', () => {
  test.each(Object.entries(BRACKETS))('%s', (_kind, corruption) => {
    let count = 0
    let kept = 0
    let good = 0
    for (const one of casesOf(corruption)) {
      const door = DOORS[count++ % DOORS.length]!
      const checked = check(one, door, count % 3 === 0 ? 5 : undefined)
      expect(checked.bad?.ok, checked.why).not.toBe(true)
      kept += checked.kept
      good += checked.good
    }
    expect(count).toBeGreaterThan(20)
    // Only the layout can tell the next neighbour from an object inside, so on one line nothing more is
    // handed out.
    expect(kept / good).toBeGreaterThan(0.15)
  })
})

describe('random edits in one element', () => {
  test('give what the element alone gives or a fault, and every other element is an original in its place', () => {
    let repaired = 0
    for (let seed = 1; seed <= 3000; seed++) {
      const edited = editedOf(seed)
      if (!edited) continue
      const { elements, index, broken, whole, items, path } = edited
      const why = `seed ${seed}: ${whole}`
      for (const outcome of outcomesOf(whole, { ...options, items }, seed % 3 === 0 ? 7 : undefined)) {
        if (!outcome.ok) continue
        const at = Number(outcome.frame.path?.slice(path.length + 1))
        if (isDeepStrictEqual(outcome.value, elements[at])) continue
        expect(at, why).toBe(index)
        // In a list, a bracket or a comma behind an element is not its own.
        const rest = broken.trim().slice(outcome.frame.text.length)
        if (broken.trim().startsWith(outcome.frame.text) && (rest[0] === ']' || rest === ',')) continue
        const alone = tryParse(broken, options)
        expect(alone.ok && alone.value, why).toEqual(outcome.value)
        repaired++
      }
    }
    expect(repaired).toBeGreaterThan(50)
  })
})

const PIECES = [...'{}[]",:\'\\/#`“” \n;=1a-<', '//', '/*', 'true', '，', '：']

/** A list with one to three edits in one of its elements; undefined if that, or the whole, is JSON still. */
function editedOf(seed: number) {
  const random = randomFrom(seed)
  const alike = below(3, random) > 0
  const elements = Array.from({ length: 3 + below(4, random) }, () => {
    const document = randomDocument(random)
    return alike ? { id: below(100, random), ...document } : document
  })
  const pretty = below(2, random) === 0
  const texts = elements.map((one) =>
    JSON.stringify(one, null, pretty ? 2 : undefined).replaceAll('\n', '\n  '),
  )
  const index = below(elements.length, random)
  let broken = texts[index] as string
  for (let edits = 1 + below(3, random); edits > 0; edits--) {
    const at = below(broken.length + 1, random)
    const kind = pickOne(['replace', 'insert', 'delete'] as const, random)
    broken = splice(
      broken,
      at,
      kind === 'insert' ? at : at + 1,
      kind === 'delete' ? '' : pickOne(PIECES, random)!,
    )
  }
  texts[index] = broken
  const list = pretty ? `[\n  ${texts.join(',\n  ')}\n]` : `[${texts.join(',')}]`
  const inner = below(2, random) === 0
  const whole = inner ? `{"n":1,"issues":${list},"z":{"id":"no"}}` : list
  // What breaks off, but is JSON so far, has no element that is broken.
  if (isJson(broken) || isJson(whole) || whereBroken(whole)?.cut) return undefined
  // A list that begins with something else is none.
  if (index === 0 && !/^\s*[{["\d]/.test(broken)) return undefined
  return { elements, index, broken, whole, items: inner ? 'issues.*' : '*', path: inner ? '/issues' : '' }
}
