import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SnapshotOptions, type SnapshotProgress, snapshots } from '../../src/ask/snapshots.ts'
import { tryParse } from '../../src/values/parse.ts'
import { expectLinear } from '../growth.ts'
import { runs, some } from '../pace.ts'

/** Cuts a text into pieces of these sizes, over and over. */
function pieces(text: string, sizes: readonly number[]): string[] {
  const cut: string[] = []
  for (let at = 0, n = 0; at < text.length; n++) {
    const size = sizes[n % sizes.length]!
    cut.push(text.slice(at, at + size))
    at += size
  }
  return cut
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })

describe('snapshots', () => {
  const run = (text: string, size: number, options = {}): (SnapshotProgress & { json: string })[] => {
    const seen = snapshots(options)
    const all: (SnapshotProgress & { json: string })[] = []
    for (const piece of pieces(text, [size])) {
      const progress = seen.push(piece)
      if (progress)
        all.push({ value: progress.value, complete: progress.complete, json: JSON.stringify(progress.value) })
    }
    return all
  }
  const last = (text: string, size: number, options = {}) => run(text, size, options).at(-1)?.json

  test('show a value growing, and name what became complete', () => {
    const steps = run('{"name": "Alex", "keys": [1, 20]}', 4)
    expect(steps.map(({ json }) => json)).toEqual([
      '{}',
      '{}',
      '{"name":"Al"}',
      '{"name":"Alex"}',
      '{"name":"Alex"}',
      '{"name":"Alex"}',
      '{"name":"Alex","keys":[1]}',
      '{"name":"Alex","keys":[1,20]}',
      '{"name":"Alex","keys":[1,20]}',
    ])
    expect(steps.flatMap(({ complete }) => complete)).toEqual(['/name', '/keys/0', '/keys/1', '/keys', ''])
  })

  test('never hand out a cut number or literal', () => {
    const text = '{"a": 123, "b": true, "c": -1.5e3, "d": null}'
    for (const { value } of [...Array(text.length).keys()].flatMap((n) =>
      run(text.slice(0, n), 1).slice(-1),
    )) {
      const { a, b, c, d } = value as Record<string, unknown>
      expect([undefined, 123]).toContain(a)
      expect([undefined, true]).toContain(b)
      expect([undefined, -1500]).toContain(c)
      expect([undefined, null]).toContain(d)
    }
  })

  test('never show half a character', () => {
    for (const { json } of run('{"a":"x😀y\\ud83d\\ude00z"}', 1)) expect(json).not.toMatch(/\\ud83d"/)
  })

  test('keep what each had to tell, though more becomes complete', () => {
    const seen = snapshots()
    const shots = ['{"a":"x', 'y', '","b":[1', ',2]', '}'].map((piece) => seen.push(piece))
    expect(shots.map((shot) => shot?.complete)).toEqual([[], [], ['/a'], ['/b/0', '/b/1', '/b'], ['']])
  })

  test('only grow: a path that was complete never changes again', () => {
    const record = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }))
    fc.assert(
      fc.property(record, sizes, (value, cut) => {
        fc.pre(!JSON.stringify(value).includes('proto'))
        const seen = snapshots()
        const known = new Map<string, string>()
        let final: unknown
        for (const piece of pieces(JSON.stringify(value), cut)) {
          const progress = seen.push(piece)
          if (!progress) continue
          final = progress.value
          for (const path of progress.complete) {
            expect(known.has(path)).toBe(false)
            known.set(path, JSON.stringify(at(progress.value, path)))
          }
        }
        expect(final).toEqual(JSON.parse(JSON.stringify(value)))
        for (const [path, json] of known) expect(JSON.stringify(at(final, path))).toBe(json)
        expect(seen.done()).toBe(true)
      }),
      { numRuns: runs(300) },
    )
  })

  test.each([1, 2, 7, 1000])(
    'find the payload behind prose, marks and false starts, in pieces of %i',
    (size) => {
      expect(last('Run {cmd} or { x }: {"a": 1} and {"b": 2}', size)).toBe('{"a":1}')
      expect(last('<think>maybe {"a": 0}</think>\n```json\n{"a": 1}\n```', size)).toBe('{"a":1}')
      expect(last('<thinking>{"a": 0}</thinking>{"a": 1}', size)).toBe('{"a":1}')
      expect(last('{"a": 0} <json>{"a": 1}</json>', size, { tag: 'json' })).toBe('{"a":1}')
      expect(last('<<thin <th{ink <jso<json> {"a": 1}', size, { tag: 'json' })).toBe('{"a":1}')
      expect(last('here: [1] {"a": 1}.', size)).toBe('{"a":1}')
      expect(last('here: [{"a": 1}]', size, { root: 'any' })).toBe('[{"a":1}]')
      expect(last('here: [{"a": 1}]', size, { schema: {} })).toBe('[{"a":1}]')
      expect(last('here: [{"a": 1}]', size)).toBeUndefined()
      expect(last('<json>\n```json\n{"a": 1}\n```\n</json>', size, { tag: 'json' })).toBe('{"a":1}')
      expect(last('<json>Well: {"a": 1}</json>', size, { tag: 'json' })).toBe('{"a":1}')
      expect(last('<json>no</json> {"b": 1} <json>{"a": 1}</json>', size, { tag: 'json' })).toBe('{"a":1}')
      expect(last('use <json> tags: {"a": 1}', size)).toBe('{"a":1}')
      expect(last('```js\n{"b": 1}\n```\n~~~\n{"a": 1}', size)).toBe('{"a":1}')
      expect(last('é 😀 {"a": "é😀"}', size)).toBe('{"a":"é😀"}')
      expect(last('\x1b[32m{\x1b[0m"a": 1}', size)).toBe('{"a":1}')
      expect(last('12\n{"a": 1}\n{"b": 1}', size, { lines: true })).toBe('{"a":1}')
    },
  )

  test.each([1, 1000])(
    'take an empty object for the payload only until another comes, in pieces of %i',
    (size) => {
      expect(last('{}', size)).toBe('{}')
      expect(last('{} or {"a": 1}', size)).toBe('{"a":1}')
      expect(last('{"__proto__": 1} or {"a": 1}', size)).toBe('{}')
    },
  )

  test.each([1, 1000])('do not keep a part of a broken whole, in pieces of %i', (size) => {
    const end = (text: string) => {
      const seen = snapshots()
      let shown: SnapshotProgress | undefined
      for (const piece of pieces(text, [size])) shown = seen.push(piece)
      return { value: shown?.value, done: seen.done() }
    }
    const nothing = { value: undefined, done: false }
    expect(end('{"k":1}},"m":2}')).toEqual(nothing)
    expect(end('so {"k":1} , "m":2}')).toEqual(nothing)
    expect(end('<json>{"k":1}]</json>')).toEqual(nothing)
    expect(end('{"k":1}, as asked, {"m":2}')).toEqual({ value: { k: 1 }, done: true })
    expect(end('<json>{"k":1}</json>}')).toEqual({ value: { k: 1 }, done: true })
  })

  // As a person reads it: the value, or nothing if the text is no JSON or has only a piece of something.
  const answers: readonly [string, string | undefined][] = [
    ['{"k":1}"m":2}\n\nDone.', undefined],
    ['{"k":1}23}\n\nDone.', undefined],
    ['{"k":1},\n"m":2}', undefined],
    ['{"k":1};\n"m":2}', undefined],
    ['{"a":1}.a\n\nDone.', undefined],
    ['So {"k": "x"} y", "m": 2}\n\nDone.', undefined],
    ['<json>{"k":1},\nm/n: 2}</json>', undefined],
    ['```json\n{"k":1},\n"m":2}\n```\n', undefined],
    ['```json\n{"k":1}```\n\n"m": 2}', '{"k":1}'],
    ['<json>{"k":1}</json>, "m": 2}\n\nDone.', '{"k":1}'],
    ['{"k":1}, - as asked.\n\nDone.', '{"k":1}'],
    ['Well: {"k":1}, - as asked.\n\nDone.', '{"k":1}'],
    ['{"k":1}, nullable as asked.\n\nDone.', '{"k":1}'],
    ['User(name="x", address={"city": "Paris"})', undefined],
    ['"k": {"a":1}', undefined],
    ['"k": 1, {"a":1}', undefined],
    ['{} as asked.\n\nDone.', undefined],
    ['Draft: {"a":0}.\n</think>\n{"a":1}', '{"a":1}'],
    ['Draft:\n```json\n{"a":0}\n```\nNo.\n</think>\n\n```json\n{"a":1}```', '{"a":1}'],
    ['Draft: {"a":0}.\n</think>\nNo answer.', undefined],
    ['Draft: {"a":0}.\n</think>\n', '{"a":0}'],
    ['{"a":0} is the default.\n<json>{"a":1}</json>', '{"a":1}'],
  ]
  test.each(answers)('agree with tryParse: %j', (text, value) => {
    const outcome = tryParse(text)
    expect(outcome.ok ? JSON.stringify(outcome.value) : undefined).toBe(value)
    for (const size of [1, 3, 1000]) {
      const seen = snapshots()
      const shots = pieces(text, [size]).map((piece) => seen.push(piece))
      expect(JSON.stringify(shots.at(-1)?.value), `in pieces of ${size}`).toBe(value)
      expect(seen.done()).toBe(value !== undefined)
    }
  })

  test('wait for the end of a think block', () => {
    expect(last('<think>{"a": 0}', 1)).toBeUndefined()
    expect(last('<think>{"a": 0}</think>{"a": 1', 1)).toBe('{}')
    expect(last('<json><think>{"a": 0}</think>{"a": 1}', 1, { tag: 'json' })).toBe('{"a":1}')
  })

  test('nothing inside of a broken document is shown, however the text is cut', () => {
    for (const size of [1, 2, 100]) expect(last('{[x{"a":1}', size, { root: 'any' })).toBe(undefined)
    for (const size of [1, 2, 100]) expect(last('x {[x{"a":1}', size, { root: 'any' })).toBe('{"a":1}')
  })

  test('see an escape sequence at the end of the piece in which a fence begins', () => {
    expect(snapshots({ root: 'any' }).push('```\n[{"c":"\x1b[0m')).toBe(undefined)
  })

  test.each<[string, SnapshotOptions]>([
    ['"<json>{b</json>\n{"a', { schema: {} }],
    ['{}<json>{b</json>{{"', {}],
    ['```\n[]```>', { schema: {} }],
    ['```\n{}\n`', {}],
    ['{"":2}<json>\n-{"', {}],
    ['{"":1}<json></json>{"".', {}],
    ['[2,3]f(\n', { schema: {} }],
    ['[{}]<json>\n|{"', { root: 'any' }],
    ['```\n{}\n<', {}],
    ['```\n[]`{"*', { schema: {} }],
    ['```\n{"t":"```"}', {}],
    ['{"":[]}```\n{}}</think>`', { schema: {} }],
    ['```\n[]\n```{"', {}],
    ['```json\n<a{"\n```\n{"', { schema: {} }],
  ])('end the same in small pieces: %j', (text, options) => {
    const ends = [1000, 1, 2, 3].map((size) => {
      const seen = snapshots(options)
      const shots = pieces(text, [size]).map((piece) => seen.push(piece))
      return JSON.stringify([shots.at(-1)?.value, seen.done()])
    })
    expect(new Set(ends).size, ends.join(' or ')).toBe(1)
  })

  test('end the same, however the text is cut', () => {
    const part = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...'{[<>"\\:,]}` \n1xé') },
      fc.constantFrom(
        '<think>',
        '</think>',
        '<thinking>',
        '</thinking>',
        '<json>',
        '</json>',
        '```',
        '```json\n',
      ),
      fc.constantFrom(
        '\n```\n',
        '~~~\n',
        '{"a":1}',
        '{"b":[2,{}]}',
        '[{"c":"',
        '"}]',
        '{}',
        '[]',
        '{x: ',
        '> ',
        'text',
      ),
      fc.constantFrom('"d": ', '[1,', '\x1b[0m', '\x1b', '{cmd}', '😀', 'null'),
    )
    const text = fc.array(part, { maxLength: 25 }).map((parts) => parts.join(''))
    const options = fc.record({
      tag: fc.constantFrom(undefined, undefined, 'json'),
      root: fc.constantFrom(undefined, 'object' as const, 'any' as const),
      schema: fc.constantFrom(undefined, {}),
    })
    const end = (text: string, sizes: readonly number[], given: SnapshotOptions) => {
      const seen = snapshots(given)
      let value: string | undefined
      for (const piece of pieces(text, sizes)) {
        const progress = seen.push(piece)
        value = progress && JSON.stringify(progress.value)
      }
      return { value, done: seen.done() }
    }
    fc.assert(
      fc.property(text, sizes, options, (text, cut, given) => {
        const whole = end(text, [text.length + 1], given)
        expect(end(text, cut, given)).toEqual(whole)
        expect(end(text, [1], given)).toEqual(whole)
      }),
      { numRuns: runs(3000) },
    )
  })

  test('stop at a payload that needs repair, and never show a part of it as the whole', () => {
    const steps = run('{"list": [1,], "inner": {"x": 1}}', 1)
    expect(steps.every(({ json }) => json.startsWith('{"list"') || json === '{}')).toBe(true)
  })

  test.each([1, 1000])('leave out keys that reach for a prototype, in pieces of %i', (size) => {
    const text =
      '{"a":1,"__proto__":{"x":[1,{"y":2}]},"\\u005f_proto__":"s","constructor":{"prototype":{"x":1},"z":1},"b":[2]}'
    const steps = run(text, size)
    expect(steps.at(-1)?.json).toBe('{"a":1,"constructor":{"z":1},"b":[2]}')
    expect(steps.flatMap(({ complete }) => complete)).toEqual([
      '/a',
      '/constructor/z',
      '/constructor',
      '/b/0',
      '/b',
      '',
    ])
    expect(Object.getPrototypeOf(steps.at(-1)?.value)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  test('end at the depth that is allowed', () => {
    const deep = `{"a":${'['.repeat(1_000_000)}`
    expect(run(deep, 65_536)).toEqual([])
    expect(last(`{"a":${'['.repeat(100)}1${']'.repeat(100)}}`, 5)).toContain('1')
  })

  test('the last snapshot of a cut payload has what was there', () => {
    expect(last('{"a": [1, {"b": "xy', 3)).toBe('{"a":[1,{"b":"xy"}]}')
  })

  const families: [string, (n: number) => string][] = [
    ['braces', (n) => '{'.repeat(n)],
    ['braces in prose', (n) => '{x '.repeat(n / 3)],
    ['marks', (n) => '<'.repeat(n)],
    ['think openers', (n) => '<think>'.repeat(n / 7)],
    ['empty think blocks', (n) => '<think></think>'.repeat(n / 15)],
    ['false arrays', (n) => '[{x}] '.repeat(n / 6)],
    ['false arrays between wide characters', (n) => '汉[{x}]'.repeat(n / 6)],
    ['tag blocks', (n) => '<json>[x</json>'.repeat(n / 15)],
    ['a fence without payload', (n) => `\`\`\`json\n${'x > y\n'.repeat(n / 6)}`],
    ['blanks behind brackets', (n) => `[${' '.repeat(n / 2)}{${' '.repeat(n / 2)}x`],
    ['one long string', (n) => `{"a":"${'x'.repeat(n)}`],
    ['half pairs', (n) => `{"a":"${'\\ud83d'.repeat(n / 6)}`],
    ['escapes', (n) => `{"a":"${'\\n'.repeat(n / 2)}`],
    ['many small values', (n) => `{"a":[${'1,'.repeat(n / 2)}`],
    ['one long key', (n) => `{"${'k'.repeat(n)}`],
    ['many keys', (n) => `{${Array.from({ length: n / 10 }, (_, i) => `"k${i}":1`).join(',')}`],
  ]
  test('take time linear in the text', async () => {
    for (const [name, make] of families) {
      for (const length of some([64, 1 << 20])) {
        await expectLinear(`${name} in pieces of ${length}`, (size) => {
          const cut = pieces(make(size), [length])
          return () => {
            const seen = snapshots()
            for (const piece of cut) seen.push(piece)
          }
        })
      }
    }
  })
})

function at(value: unknown, path: string): unknown {
  let found = value
  for (const segment of path.split('/').slice(1)) {
    found = (found as Record<string, unknown>)[segment.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return found
}
