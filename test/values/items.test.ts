import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { drive } from '../../src/base/stage.ts'
import { values } from '../../src/streams/values.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { slow } from '../pace.ts'
import { outcomes } from './chunked.ts'

/** The outcomes in short: the path, and the value or the code of the fault. */
function brief(text: string, options: ValuesOptions<undefined>): unknown[] {
  return outcomes(text, options).map((outcome) => [
    outcome.frame.path,
    outcome.ok ? outcome.value : outcome.fault.code,
  ])
}

const issues = { items: 'issues.*' } as const

describe('what is handed out', () => {
  test('each element of an array, with its path and its place', () => {
    const text = '{"summary":"s","issues":[{"a":1}, {"a":[{"a":2}]}],"z":1}'
    expect(outcomes(text, issues)).toMatchObject([
      { ok: true, value: { a: 1 }, repair_level: 'none', notes: [] },
      { ok: true, value: { a: [{ a: 2 }] }, frame: { path: '/issues/1', from: 34, to: 49 } },
    ])
  })

  test('the elements of a root array, of arrays in it, and the members of an object', () => {
    expect(brief('[{"a":1},{"b":2}]', { items: '*' })).toEqual([
      ['/0', { a: 1 }],
      ['/1', { b: 2 }],
    ])
    expect(brief('[[{"a":1}],[],[{"a":2},{"a":3}]]', { items: '*.*' })).toEqual([
      ['/0/0', { a: 1 }],
      ['/2/0', { a: 2 }],
      ['/2/1', { a: 3 }],
    ])
    expect(brief('{"files":{"a/b~c.ts":{"n":1},"d":{"n":2}}}', { items: 'files.*' })).toEqual([
      ['/files/a~1b~0c.ts', { n: 1 }],
      ['/files/d', { n: 2 }],
    ])
  })

  test('a key that is spelled with escapes is the same key, a very long one is none', () => {
    expect(brief('{"iss\\u0075es":[{"a":1}]}', issues)).toEqual([['/issues/0', { a: 1 }]])
    const text = `{"${'k'.repeat(5000)}":[{"a":0}],"issues":[{"a":1}]}`
    expect(brief(text, issues)).toEqual([['/issues/0', { a: 1 }]])
    expect(brief(text, { items: '*.*' })).toEqual([
      ['/…/0', { a: 0 }],
      ['/issues/0', { a: 1 }],
    ])
  })

  test('objects only, unless any root will do', () => {
    const text = '[1, "x", null, [2], {"a":1}, -1.5e3 ]'
    expect(brief(text, { items: '*' }).map((one) => (one as unknown[])[1])).toEqual([
      ...Array(4).fill('ROOT_NOT_OBJECT'),
      { a: 1 },
      'ROOT_NOT_OBJECT',
    ])
    const any = brief(text, { items: '*', root: 'any' }).map((one) => (one as unknown[])[1])
    expect(any).toEqual(JSON.parse(text))
  })

  test('nothing for an empty list; NO_MATCH without the list; EMPTY without anything', () => {
    expect(outcomes('{"issues":[]}', issues)).toEqual([])
    expect(outcomes('{"other":[{"a":1}]}', issues)).toMatchObject([
      { ok: false, fault: { code: 'NO_MATCH' }, comment: { text: '{"other":[{"a":1}]}' } },
    ])
    expect(brief('{"issues":"none"}', issues)).toEqual([[undefined, 'NO_MATCH']])
    expect(brief(' \n\ufeff', issues)).toEqual([[undefined, 'EMPTY']])
  })

  test('an element as soon as what follows shows that it is whole', () => {
    const seen: unknown[] = []
    const sink = valueStage(issues)({ write: (outcome) => void seen.push(outcome), end() {} })
    const write = (text: string) => sink.write({ channel: 'stdout', bytes: Buffer.from(text) })
    write('{"issues":[{"a":{"b":1}')
    expect(seen).toHaveLength(0)
    write('}')
    // Another brace here, or a comma and a key, would say that it is not over.
    expect(seen).toHaveLength(0)
    write(', {')
    expect(seen).toHaveLength(1)
    write('"a":2} ')
    write(']')
    expect(seen).toHaveLength(2)
  })

  test.runIf(slow)('in turns, where much is read again', async () => {
    const list = JSON.stringify(Array.from({ length: 3000 }, (_, n) => ({ n })))
    const flow = values({ items: '*' })
    flow.end(`<think>${list}`)
    let count = 0
    for await (const outcome of flow) {
      expect(outcome).toMatchObject({
        ok: true,
        value: { n: count++ },
        notes: [{}, { code: 'THINK_UNCLOSED' }],
      })
      expect(flow.readableLength).toBeLessThan(600)
    }
    expect(count).toBe(3000)
  })
})

describe('each element by itself', () => {
  test('is normalized and shown to the schema, with the place of what fails', () => {
    const text = '{"issues":[{"A":1},{"A":"x"},{"A":3}]}'
    const all = outcomes(text, {
      ...issues,
      schema: z.object({ a: z.number() }),
      normalize: [({ A }) => ({ a: A })],
    })
    expect(all).toMatchObject([
      { ok: true, value: { a: 1 } },
      {
        ok: false,
        fault: { code: 'SCHEMA_FAILED', at: 19, errors: [{ path: '/a' }] },
        frame: { path: '/issues/1', from: 19, to: 28 },
      },
      { ok: true, value: { a: 3 } },
    ])
  })

  test.each([
    ['a trailing comma', '{"a":2,}', { a: 2 }],
    ['single quotes', "{'a':2}", { a: 2 }],
    ['a key without quotes', '{a:2}', { a: 2 }],
    ['a raw line break in a string', '{"a":"x\ny"}', { a: 'x\ny' }],
    ['an odd quote in a string', '{"a":"5" tall"}', { a: '5" tall' }],
    ['an envelope', '{"response":"{\\"a\\":2}"}', { a: 2 }],
    ['a comment before it', '/* no */ {"a":2}', { a: 2 }],
    ['a missing value', '{"a":}', 'INVALID_JSON'],
    ['a string that was left open', '{"a":"x}', { a: 'x' }],
    ['a missing colon', '{"a" 2}', { a: 2 }],
    ['an equals sign', '{"a"=2}', { a: 2 }],
    ['a wide colon and comma', '{"a"：2，"b"：1}', { a: 2, b: 1 }],
    ['a comment that holds an element', '{"a":2 /* {"a":1}, */}', { a: 2 }],
    ['an HTML comment', '{"a":<!-- } -->2}', { a: 2 }],
    ['backticks', '{`a`:`x`}', { a: 'x' }],
    ['smart quotes', '{“a”:“x”}', { a: 'x' }],
    ['a quote too few', '{"a":x"}', { a: 'x' }],
    ['one level of escapes too many', '{\\"a\\":2}', { a: 2 }],
    ['an ellipsis', '...', 'INVALID_JSON'],
    ['a word', 'True', 'SCHEMA_FAILED'],
    ['a key that reaches for a prototype', '{"__proto__":{"x":1},"a":2}', { a: 2 }],
  ])('is repaired or reported, and the rest goes on: %s', (_name, broken, expected) => {
    const schema = z.looseObject({ a: z.any().refine((a) => a !== undefined) })
    for (const gap of ['', '\n  ']) {
      const text = `{"issues":[${gap}{"a":1},${gap}${broken},${gap}{"a":3},${gap}{"a":4}]}`
      const all = outcomes(text, { ...issues, schema })
      expect(all.map((one) => one.frame.path)).toEqual(['/issues/0', '/issues/1', '/issues/2', '/issues/3'])
      const [before, bad, ...after] = all.map((one) => (one.ok ? one.value : one.fault.code))
      expect([before, ...after]).toEqual([{ a: 1 }, { a: 3 }, { a: 4 }])
      expect(bad).toEqual(expected)
      // A comment between two elements belongs to neither.
      expect(all[1]?.frame.from).toBe(text.indexOf(broken.replace('/* no */ ', '')))
      if (all[1]?.ok && !broken.includes('proto')) expect(all[1].repair_level).toBe('deterministic_generic')
    }
  })

  test.each([
    ['a bracket behind an odd quote', '{"a":"x {" y"}'],
    ['an object that was left open', '{"a":2'],
    ['an array that was left open', '{"a":[2}'],
    ['closing brackets that are swapped', '{"a":[2}]'],
  ])('is reported, and nothing after it is handed out, if its end is not known: %s', (_name, broken) => {
    const text = `{"issues":[{"a":1},${broken},{"a":3},{"a":4}]}`
    expect(brief(text, issues)).toEqual([
      ['/issues/0', { a: 1 }],
      ['/issues/1', 'INVALID_JSON'],
    ])
    // The layout may leave no doubt where the next one begins.
    const pretty = text.replaceAll(/\{"a"/g, '{\n    "a"').replaceAll(',{', ',\n  {')
    expect(brief(pretty, issues)).toEqual([
      ['/issues/0', { a: 1 }],
      ['/issues/1', 'INVALID_JSON'],
      ['/issues/2', { a: 3 }],
      ['/issues/3', { a: 4 }],
    ])
  })

  test('never swallows its neighbours: their indentation gives them away', () => {
    const text =
      '[\n {\n  "a": 1\n },\n {\n  "a": [ 0 {\n },\n {\n  "a": 2\n },\n {\n  "a": 3\n }\n],\n "z": 1}'
    for (const outcome of outcomes(text, { items: '*', root: 'any' }).slice(1)) expect(outcome.ok).toBe(false)
  })

  test('is let go when it outgrows maxFrame, and the rest goes on', () => {
    const text = `{"issues":[{"a":"${'x'.repeat(100)}"},{"a":1}],"issues":[["${']'.repeat(99)}"],{"a":2}]}`
    const all = outcomes(text, { ...issues, maxFrame: 50 })
    expect(all).toMatchObject([
      { fault: { code: 'FRAME_TOO_LONG', at: 11 }, frame: { path: '/issues/0', from: 11, to: 61, text: '' } },
      { value: { a: 1 } },
      { fault: { code: 'FRAME_TOO_LONG' }, frame: { path: '/issues/0' } },
      { value: { a: 2 } },
    ])
  })

  test('is too deep for itself only', () => {
    const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`
    expect(brief(`[{"a":1},${deep},{"a":2}]`, { items: '*' })).toEqual([
      ['/0', { a: 1 }],
      ['/1', 'MAX_DEPTH'],
      ['/2', { a: 2 }],
    ])
  })

  test('has offsets in the original bytes, escapes and all', () => {
    const text = '\u001b[1m[{"a":1},\u001b[31m{"a":\u001b[0m2}\u001b[0m]'
    const [, second] = outcomes(text, { items: '*' })
    expect(second).toMatchObject({ value: { a: 2 }, frame: { from: 18, to: 29, text: '{"a":\u001b[0m2}' } })
    const bytes = Buffer.concat([Buffer.from('[{"a":"'), Buffer.from([0xff]), Buffer.from('"},{"a":1}]')])
    expect(outcomes(bytes, { items: '*' })).toMatchObject([
      { value: { a: '\ufffd' }, notes: [{ code: 'INVALID_UTF8', at: 7 }] },
      { value: { a: 1 }, notes: [] },
    ])
  })
})

test.each([
  ['an array that is closed twice', '[{"a":[{"b":1}]],"c":[{"a":2},{"d":3}]},{"a":4}]'],
  ['an array that was left open, and a number', '[{"a":[[[[1]]]},2]'],
  ['an array that was left open, and another object', '[{"a":{"b":[{"c":1]}},{"d":1}]'],
  ['an array that was not opened', '[{"a":1,"b":true,false,{"a":2}]},{"a":4}]'],
  [
    'an array that was left open, and objects inside that begin alike',
    '[{"a":[{"a":1},[{"a":2}},{"a":3}]]},{"a":4}]',
  ],
])('what may be inside a broken element is not handed out: %s', (_name, text) => {
  for (const [items, input] of [
    ['*', text],
    ['issues.*', `{"issues":${text}}`],
    ['issues.*', `<json>{"issues":${text}}</json>`],
  ] as const) {
    const all = outcomes(input, { items, root: 'any' })
    expect(all[0]).toMatchObject({ ok: false, fault: { code: 'INVALID_JSON' } })
    for (const outcome of all) if (outcome.ok) expect(outcome.value).toEqual({ a: 4 })
  }
})

describe('the document', () => {
  test('is found amid noise, in a fence or behind a think block, and that is a repair', () => {
    const clean = '{"issues":[{"a":1}]}'
    for (const [text, level] of [
      [` \ufeff\n${clean}\n`, 'none'],
      [`${clean} and more words`, 'none'],
      [`Here: <json>${clean}</json>`, 'none'],
      [`[info] run {cmd} and {"x": y} or [1, 2\n${clean}`, 'deterministic_generic'],
      [`\`\`\`json\n${clean}\n\`\`\``, 'deterministic_generic'],
      [`<think>{"issues":[{"a":0}]}</think>${clean}`, 'deterministic_generic'],
      [`<json>\`\`\`json\n${clean}\n\`\`\`</json>`, 'deterministic_generic'],
    ] as const) {
      const all = outcomes(text, issues)
      expect(all, text).toMatchObject([{ ok: true, value: { a: 1 }, repair_level: level }])
    }
  })

  test('gives in a fence what it gives bare', () => {
    for (const document of [
      '{"issues":[{"a":1},{"a":2}]}',
      '{"issues":[\n{"a":1},\n{"a":2}\n]\n}',
      "{issues:[{a:1},{'a':2}]} // so",
      '{"issues":[{"a":"5" tall"},{"a":"x},{"a":[3},{"a":4}]}',
      '{"issues":[{"a":1},',
      '{"issues":[{"a":"x',
      '{"issues":[{"a":1}]} and {"issues":[{"a":2}]}',
      '{"other":1}',
    ]) {
      const bare = brief(document, issues)
      for (const [open, close] of [
        ['```json', '```'],
        ['```', '  ```  '],
        ['~~~~ JSON5', '~~~~~'],
        ['1. ```jsonc', '   ```'],
      ]) {
        const all = outcomes(`Here:\n${open}\n${document}\n${close}\nSo {"x": 1} it is.`, issues)
        const found = all.map((one) => [one.frame.path, one.ok ? one.value : one.fault.code])
        expect(found, `${open} ${document}`).toEqual(bare)
        for (const one of all) if (one.ok) expect(one.repair_level).toBe('deterministic_generic')
      }
    }
  })

  test('ends where its fence ends, and the next one is found', () => {
    const next = 'and\n```\n{"issues":[{"a":2}]}\n```'
    for (const cut of ['{"issues":[{"a":1},', '{"issues":[{"a":1},{"a":"x', '{"issues":[{"a":1},{"a":[1,']) {
      expect(brief(`\`\`\`json\n${cut}\n\`\`\`\n${next}`, issues)).toEqual([
        ['/issues/0', { a: 1 }],
        [cut.endsWith('},') ? '/issues' : '/issues/1', 'TRUNCATED'],
        ['/issues/0', { a: 2 }],
      ])
    }
    // Other marks, too few of them, or something after them close nothing.
    for (const line of ['~~~', '``', '``` x', '    ```']) {
      const text = `\`\`\`json\n{"issues":[{"a":1},\n${line}\n{"a":2}]}\n\`\`\``
      expect(brief(text, issues).at(0)).toEqual(['/issues/0', { a: 1 }])
      expect(brief(text, issues).at(-1), line).not.toEqual(['/issues', 'TRUNCATED'])
    }
  })

  test('in a fence is never closed by the marks of another block', () => {
    const document = '{"issues":[{"a":1}]}'
    const text = `<json>\n\`\`\`json\n${document}\n\`\`\`\n</json> then <json>${document}</json>`
    expect(brief(text, issues)).toEqual([
      ['/issues/0', { a: 1 }],
      ['/issues/0', { a: 1 }],
    ])
    expect(brief(text, { ...issues, tag: 'json' })).toEqual(brief(text, issues))
  })

  test('in a fence of another language, or a quoted one, is found as in prose', () => {
    for (const text of [
      '```ts\nconst x = {"issues":[{"a":1}]}\n```',
      '> ```json\n> {"issues":[{"a":1}]}\n> ```',
      '```\nlog: {"issues":[{"a":1}]}\n```',
    ]) {
      expect(outcomes(text, issues)).toMatchObject([
        { ok: true, value: { a: 1 }, notes: [{ changes: [{ kind: 'took an object from prose' }] }] },
      ])
    }
  })

  test('may have comments and odd blanks between its elements', () => {
    const text =
      '{ // all } of "them\n"issues" /* [ */: [ # one\n{"a":1}, // 5" wide\n\u00a0{"a":2}\u200b,/**/{"a":3} /* ] */]}'
    expect(brief(text, issues)).toEqual([
      ['/issues/0', { a: 1 }],
      ['/issues/1', { a: 2 }],
      ['/issues/2', { a: 3 }],
    ])
  })

  test('may be not quite JSON around its elements', () => {
    for (const text of [
      '{issues:[{"a":1}]}',
      '{\'issues\':[{"a":1}]}',
      '{"n":1 "issues":[{"a":1}]}',
      '{"n":1,,"issues":[{"a":1}],}',
      '{"summary":"he said "hi, you" twice","issues":[{"a":1}]}',
      '{"x":{"s":"5" tall"},"issues":[{"a":1}]}',
      '{"n"=1,"issues"=>[{"a":1}]}',
      '{“issues”:[{"a":1}]}',
      '{"issues"：[{"a":1}]}',
    ]) {
      expect(outcomes(text, issues), text).toMatchObject([
        { ok: true, value: { a: 1 }, repair_level: 'deterministic_generic' },
      ])
    }
  })
})

describe('options', () => {
  test.each([
    ['no path', []],
    ['an empty path', ''],
    ['an empty step', 'a..b'],
    ['something else', 7],
    ['a path inside another', ['issues.*', '*.0.tags.*']],
    ['a path inside another, by name', ['a.b', 'a.b.c']],
    ['a path that is a number', ['a', 7]],
    ['65 paths', Array.from({ length: 65 }, (_, i) => `p${i}`)],
    ['33 steps', 'a.'.repeat(32).concat('a')],
  ])('%s is refused at once', (_name, items) => {
    expect(() => values({ items: items as string })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  })

  test.each([
    ['64 paths', Array.from({ length: 64 }, (_, i) => `p${i}`)],
    ['32 steps', 'a.'.repeat(31).concat('a')],
    ['paths side by side', ['a.b', 'a.c.d', 'b.b.c', 'a.b']],
  ])('%s are taken', (_name, items) => {
    expect(() => values({ items })).not.toThrow()
  })

  test('items and lines exclude each other', () => {
    expect(() => values({ items: '*', lines: true })).toThrow(/exclude each other/)
  })

  test('the schema gives the type of an element', () => {
    const flow = valueStage({ items: '*', schema: z.object({ a: z.number() }) })
    const chunk: Chunk = { channel: 'stdout', bytes: Buffer.from('[{"a":1}]') }
    const [outcome] = drive(flow, [chunk])
    expect(outcome?.ok && outcome.value.a + 1).toBe(2)
  })
})
