import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { pick } from 'stream-json/filters/pick.js'
import { streamArray } from 'stream-json/streamers/stream-array.js'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { expectLinear } from '../growth.ts'
import { runs, slow, some } from '../pace.ts'
import { outcomesOf, plain } from './chunked.ts'

const any = { items: 'issues.*', root: 'any', protoKeys: 'keep', maxDepth: 100_000 } as const

/** Values that share keys, as the elements of real lists do, and now and then hold tags and brackets. */
const { element } = fc.letrec<{ element: unknown }>((tie) => ({
  element: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(
      0,
      -1.5e30,
      true,
      null,
      '',
      '"',
      '\\',
      '</json>',
      '<json>',
      '},{"id":',
      '{[',
      '€😀',
    ),
    fc.record({ id: fc.nat(), tags: fc.array(tie('element'), { maxLength: 3 }) }),
    fc.record({ id: tie('element') }),
    fc.record({ 'a"]': fc.string(), id: fc.nat() }),
    fc.array(tie('element'), { maxLength: 3 }),
    fc.dictionary(fc.string(), tie('element'), { maxKeys: 2 }),
  ),
}))

const list = fc.array(element, { maxLength: 8 })
const layout = fc.constantFrom(undefined, 1, '\r\n\t')
const size = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(Number.POSITIVE_INFINITY))

const valuesOf = (all: readonly Outcome<unknown>[]) => all.map((outcome) => outcome.ok && outcome.value)

describe('oracles', () => {
  test('the elements are what JSON.parse says, and their places what the bytes say', () => {
    fc.assert(
      fc.property(
        element,
        list,
        element,
        layout,
        size,
        fc.boolean(),
        (pre, issues, post, indent, pieces, tag) => {
          const json = JSON.stringify({ pre, issues, post }, null, indent)
          const text = tag ? `words\n<json>${json}</json> more` : json
          const all = outcomesOf(text, tag ? { ...any, tag: 'json' } : any, pieces)
          expect(valuesOf(all)).toEqual(JSON.parse(json).issues)
          const bytes = Buffer.from(text)
          for (const [index, { frame, notes, repair_level }] of all.entries()) {
            expect([frame.path, repair_level, notes]).toEqual([`/issues/${index}`, 'none', []])
            expect(bytes.subarray(frame.from, frame.to).toString()).toBe(frame.text)
            expect(frame.text).toBe(frame.text.trim())
          }
        },
      ),
      { numRuns: runs(1000) },
    )
  })

  test('the elements are what stream-json says', async () => {
    await fc.assert(
      fc.asyncProperty(element, list, layout, size, async (pre, issues, indent, pieces) => {
        const json = JSON.stringify({ pre, issues }, null, indent)
        const theirs: unknown[] = []
        const tokens = Readable.from([Buffer.from(json)]).pipe(pick.withParserAsStream({ filter: 'issues' }))
        for await (const { value } of tokens.pipe(streamArray.asStream())) theirs.push(value)
        expect(valuesOf(outcomesOf(json, any, pieces))).toEqual(theirs)
      }),
      { numRuns: runs(100) },
    )
  })

  test('nested selections, and several at once, are what JSON.parse says', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ a: list, b: list }), { minLength: 1 }),
        layout,
        size,
        (files, indent, pieces) => {
          const json = JSON.stringify(files, null, indent)
          const all = outcomesOf(json, { ...any, items: ['*.a.*', '*.b.*'] }, pieces)
          const expected = files.flatMap((file, i) => [
            ...file.a.map((value, j) => [`/${i}/a/${j}`, value]),
            ...file.b.map((value, j) => [`/${i}/b/${j}`, value]),
          ])
          const found = all.map((outcome) => [outcome.frame.path, outcome.ok && outcome.value])
          expect(found).toEqual(JSON.parse(JSON.stringify(expected)))
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('a cut document gives what was whole, then TRUNCATED, and nothing wrong', () => {
    fc.assert(
      fc.property(list, layout, fc.nat(), size, (issues, indent, at, pieces) => {
        const json = JSON.stringify({ issues }, null, indent)
        const cut = Buffer.from(json).subarray(0, 1 + (at % (Buffer.byteLength(json) - 1)))
        const all = outcomesOf(cut, any, pieces)
        const last = all.pop()
        expect(last?.ok === false && last.fault.code).toBe(
          cut.toString().trim() === '{' ? 'NO_MATCH' : 'TRUNCATED',
        )
        expect(valuesOf(all)).toEqual(JSON.parse(json).issues.slice(0, all.length))
      }),
      { numRuns: runs(500) },
    )
  })
})

const hostile = fc
  .array(
    fc.constantFrom(
      ...[
        '{"issues":[',
        '{"a":1}',
        '{"a":2},{"a":3}',
        '{"a":"x"}',
        '{"a":1,}',
        '{a:2}',
        '{"a":[1}',
        '[1,2]',
        '12',
      ],
      ...[
        '"',
        '\\',
        '\\"',
        '{',
        '}',
        '[',
        ']',
        ':',
        ',',
        ',',
        '"a"',
        '"a":',
        '{"a":',
        'tru',
        '...',
        '/* " */',
      ],
      ...[
        '<json>',
        '</json>',
        '<think>',
        '</think>',
        '```json\n',
        '\n',
        ' ',
        'words',
        '<',
        '</js',
        '\ufeff',
        '\u0000',
      ],
      ...[
        '€',
        '😀',
        '\u001b[31m',
        '\r\n',
        '"issues":[',
        ']}',
        '},{"a":',
        '{"response":"{\\"a\\":4}"}',
        'x'.repeat(30),
      ],
      ...[
        '\n```\n',
        '\n~~~\n',
        '\n   ````json\n',
        '> ```\n',
        '`',
        '// " }\n',
        '/*',
        '*/',
        '#',
        "'",
        "{'a':'x'}",
        '“',
        '”',
        '\u00a0',
        '\u200b',
        '" + "',
        'a":',
        '}}',
        ']]',
        '{"a":"x},',
        ',"b":',
      ],
      ...['~', '```', '~~~json\r\n', '# ', '<!--', '-->', "'b, c':", 'b:', '://'],
    ),
    { maxLength: 16 },
  )
  .map((pieces) => pieces.join(''))

const options: fc.Arbitrary<ValuesOptions<undefined>> = fc.record({
  items: fc.constantFrom('*', 'issues.*', '*.*', 'a', ['issues.*', 'a.*']),
  tag: fc.constantFrom('json', undefined),
  partial: fc.boolean(),
  root: fc.constantFrom('object', 'any'),
  maxFrame: fc.constantFrom(undefined, 1, 20),
  pick: fc.constantFrom('each', 'each', 'first', 'last'),
})

describe('laws', () => {
  test('Split: outcomes do not depend on where chunks are cut', () => {
    fc.assert(
      fc.property(hostile, options, fc.array(fc.nat(200), { maxLength: 4 }), (text, chosen, cuts) => {
        const whole = outcomesOf(text, chosen).map(plain)
        expect(outcomesOf(text, chosen, 1).map(plain)).toEqual(whole)
        const bytes = Buffer.from(text)
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
        const chunks = [0, ...at].map(
          (from, i): Chunk => ({ channel: 'stdout', bytes: bytes.subarray(from, at[i] ?? bytes.length) }),
        )
        expect(drive(valueStage(chosen), chunks).map(plain)).toEqual(whole)
      }),
      { numRuns: runs(3000) },
    )
  })

  test('Split: half a blank of another alphabet says nothing about what follows', () => {
    const text = '{"issues":[[1,2]\u00a0{"issues":['
    const chosen = { items: '*.*', root: 'object' } as const
    expect(outcomesOf(text, chosen, 1).map(plain)).toEqual(outcomesOf(text, chosen).map(plain))
  })

  test('Same: a document in a fence gives what it gives bare', () => {
    const pairs = (text: string, chosen: ValuesOptions<undefined>, pieces: number) =>
      outcomesOf(text, chosen, pieces).map((one) => [one.frame.path, one.ok ? one.value : one.fault.code])
    fc.assert(
      fc.property(hostile, options, fc.constantFrom('```', '~~~'), size, (rest, chosen, marks, pieces) => {
        // Tags and other fences mean something outside a fence only.
        const document = `{"issues":[${rest.replaceAll(/[<`~]/g, '')}`
        const fence = `Here:\n${marks}json\n${document}\n${marks}\n`
        const bare = pairs(`${document}\n`, { ...chosen, tag: undefined }, pieces)
        expect(pairs(fence, { ...chosen, tag: undefined }, pieces)).toEqual(bare)
      }),
      { numRuns: runs(3000) },
    )
  })

  test('Order: frames follow each other, and ok means that the schema passed', () => {
    const schema = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }
    fc.assert(
      fc.property(hostile, options, (text, chosen) => {
        let last = 0
        for (const outcome of outcomesOf(text, { ...chosen, schema, pick: 'each' })) {
          const { from, to, open } = outcome.frame
          // Only the word that a document is cut may reach back, to where the document began.
          if (!(open && outcome.frame.text === '')) expect(from).toBeGreaterThanOrEqual(last)
          expect(to).toBeGreaterThanOrEqual(from)
          last = to
          if (outcome.ok) expect(outcome.value).toMatchObject({ a: expect.any(Number) })
        }
      }),
      { numRuns: runs(2000) },
    )
  })

  const much: [string, (n: number) => string][] = [
    ['commas', (n: number) => `[${','.repeat(n)}]`],
    ['numbers', (n: number) => `[${'1,'.repeat(n / 2)}1]`],
    ['brackets', (n: number) => '['.repeat(n)],
    ['braces', (n: number) => '{"a":'.repeat(n / 5)],
    ['objects left open', (n: number) => `[${'{"a":1,'.repeat(n / 8)}`],
    ['strings left open', (n: number) => `[${'{"a":"x},'.repeat(n / 9)}`],
    ['odd quotes', (n: number) => `[${'{"a":"5" x"},'.repeat(n / 13)}`],
    ['quotes', (n: number) => '["'.repeat(n / 2)],
    ['backslashes', (n: number) => `["${'\\'.repeat(n)}`],
    ['tags in strings', (n: number) => '<json>["</json>'.repeat(n / 15)],
    ['tags', (n: number) => '<json>['.repeat(n / 7)],
    ['closers that do not fit', (n: number) => `[${'{'.repeat(500)}${'])'.repeat(n / 2)}`],
    ['heads alike, nested', (n: number) => `[${'{"a":[{"a":1},{"a":2}]},'.repeat(n / 24)}`],
    [
      'heads all different',
      (n: number) => `[${Array.from({ length: n / 14 }, (_, i) => `{"a${i}":1}`).join()}]`,
    ],
    ['blanks', (n: number) => `[{"a":1}${' '.repeat(n)},{"a":2}]`],
    ['prose that looks like it', (n: number) => `x ${'{"a" [{ '.repeat(n / 9)}`],
    ['a key without end', (n: number) => `{"${'k'.repeat(n)}`],
    ['fence lines', (n: number) => '```json\n[{"a":1},\n```\n'.repeat(n / 23)],
    ['fence marks', (n: number) => `\`\`\`\n[{"a":1}\n${'`'.repeat(n)}`],
    ['comments', (n: number) => `[${'/* " */{"a":1},// }\n'.repeat(n / 20)}`],
    ['a comment without end', (n: number) => `[{"a":1}, /* ${'*'.repeat(n)}`],
    ['quotes that end nothing', (n: number) => `[{"a":"${'x" y'.repeat(n / 4)}`],
    ['quotes before blanks', (n: number) => `[{"a":"x" y${`"${' '.repeat(400)}z`.repeat(n / 402)}`],
    ['keys inside a string', (n: number) => `[{"a":"x" y${',"b":1'.repeat(n / 6)}`],
    ['brackets inside a string', (n: number) => `[{"a":"x" y${'}]}],"b":1'.repeat(n / 10)}`],
    ['smart quotes', (n: number) => `[{“a”:“${'x” y'.repeat(n / 8)}`],
    ['closers too many', (n: number) => `[{"a":1${'}'.repeat(n)}`],
  ]
  test.runIf(slow)('Line: much of it takes linear time', { timeout: 300_000 }, async () => {
    const ways = [{}, { tag: 'json' }, { root: 'any', partial: true, maxFrame: 65_536 }] as const
    for (const [name, make] of much) {
      for (const chosen of some(ways)) {
        for (const before of some(['', '<json>'])) {
          await expectLinear(`${before}${name} with ${JSON.stringify(chosen)}`, (size) => {
            const bytes = Buffer.from(before + make(size))
            return () => outcomesOf(bytes, { items: '*', ...chosen }, 512)
          })
        }
      }
    }
  })

  test.runIf(slow)('Bound: memory stays flat while the document grows', async () => {
    const script = `
      import { valueStage } from './src/values/values.ts'
      let count = 0
      const sink = valueStage({ tag: 'json', items: 'issues.*' })({ write: (o) => void (count += o.ok ? 1 : 0), end() {} })
      const write = (text) => sink.write({ channel: 'stdout', bytes: Buffer.from(text) })
      const issue = JSON.stringify({ id: 1, text: 'x'.repeat(200), tags: [{ id: 2 }, { id: 3 }] }) + ','
      const bytes = Buffer.from(issue.repeat(200))
      let rss = 0
      write('<json>{"issues":[')
      for (let n = 0; n < 1500; n++) {
        sink.write({ channel: 'stdout', bytes })
        if (n === 500) rss = process.memoryUsage.rss()
      }
      write('{}]}</json>')
      sink.end()
      console.log(JSON.stringify({ count, grown: process.memoryUsage.rss() - rss }))`
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [out] = await Promise.all([textOf(child.stdout), once(child, 'close')])
    const { count, grown } = JSON.parse(out)
    expect(count).toBe(1500 * 200 + 1)
    expect(grown).toBeLessThan(16e6)
  })
})
