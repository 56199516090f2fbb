import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Progress, snapshots } from '../../src/ask/snapshots.ts'

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
  const run = (text: string, size: number, options = {}): (Progress & { json: string })[] => {
    const seen = snapshots(options)
    const all: (Progress & { json: string })[] = []
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
      { numRuns: 300 },
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
      expect(last('here: [1, {"a": 1}]', size)).toBe('{"a":1}')
      expect(last('here: [1, {"a": 1}]', size, { root: 'any' })).toBe('[1,{"a":1}]')
    },
  )

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
    ['one long string', (n) => `{"a":"${'x'.repeat(n)}`],
    ['half pairs', (n) => `{"a":"${'\\ud83d'.repeat(n / 6)}`],
    ['escapes', (n) => `{"a":"${'\\n'.repeat(n / 2)}`],
    ['many small values', (n) => `{"a":[${'1,'.repeat(n / 2)}`],
    ['one long key', (n) => `{"${'k'.repeat(n)}`],
    ['many keys', (n) => `{${Array.from({ length: n / 10 }, (_, i) => `"k${i}":1`).join(',')}`],
  ]
  test.each(families)('take time linear in the text: %s', (_, make) => {
    for (const size of [64, 1 << 20]) {
      const time = (n: number) => {
        const cut = pieces(make(n), [size])
        let best = Number.POSITIVE_INFINITY
        for (let round = 0; round < 3; round++) {
          const seen = snapshots()
          const started = process.cpuUsage()
          for (const piece of cut) seen.push(piece)
          best = Math.min(best, process.cpuUsage(started).user / 1000)
        }
        return best
      }
      // Quadratic work would take 64 times as long for 8 times the text.
      expect(time(400_000)).toBeLessThan(Math.max(100, 24 * time(50_000)))
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
