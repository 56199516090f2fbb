import { expect, test } from 'vitest'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'
import { outcomesOf } from './chunked.ts'

const any = { items: '*', root: 'any', maxDepth: 5000 } as const
const blanks = (count: number) => ' '.repeat(count)

/** The path and the value, or the code of the fault, however the text is cut. */
function found(text: string, options: ValuesOptions<undefined> = any, sizes = [100, 511]) {
  const [whole, ...cut] = [Number.POSITIVE_INFINITY, ...sizes].map((size) =>
    outcomesOf(text, options, size).map((one) => [one.frame.path, one.ok ? one.value : one.fault.code]),
  )
  for (const [index, pieces] of cut.entries()) expect(pieces, `in pieces of ${sizes[index]}`).toEqual(whole)
  return whole
}

const one = ['/0', { a: 1 }]
const lost = ['/0', 'INVALID_JSON']

test('what follows an element says whether it was whole, up to 512 bytes after it', () => {
  for (const count of [0, 1, 500, 510, 511]) {
    expect(found(`[{"a":1}${blanks(count)}},{"a":3}]`), `${count}`).toEqual([lost])
    expect(found(`[{"a":1}${blanks(count)}/b,2]`), `${count}`).toEqual([lost])
  }
  for (const count of [512, 513, 1000]) {
    expect(found(`[{"a":1}${blanks(count)}},{"a":3}]`), `${count}`).toEqual([one, ['', 'INVALID_JSON']])
    expect(found(`[{"a":1}${blanks(count)}/b,2]`), `${count}`).toEqual([one, ['', 'INVALID_JSON']])
  }
  for (const count of [510, 511, 512, 513]) {
    const two = ['/1', { a: 3 }]
    expect(found(`[{"a":1}${blanks(count)},{"a":3}]`), `${count}`).toEqual([one, two])
    expect(found(`[{"a":1},${blanks(count)}{"a":3}]`), `${count}`).toEqual([one, two])
    expect(found(`<json>[{"a":1}${blanks(count)}</json>`), `${count}`).toEqual([one, ['', 'TRUNCATED']])
    expect(found(`[[1],[2]${blanks(count)}]`, any), `${count}`).toEqual([
      ['/0', [1]],
      ['/1', [2]],
    ])
  }
  expect(found(`[{"a":1},${blanks(400)}"b":2},{"a":3}]`)).toEqual([lost])
})

test('what follows a document says whether it goes on, up to 512 bytes after it', () => {
  const first = ['/0', 1]
  for (const count of [0, 1, 510]) {
    expect(found(`[1]${blanks(count)},2]`), `${count}`).toEqual([first, ['', 'INVALID_JSON']])
    expect(found(`[1]${blanks(count)}]`), `${count}`).toEqual([first, ['', 'INVALID_JSON']])
  }
  expect(found(`[1]${blanks(511)}]`)).toEqual([first, ['', 'INVALID_JSON']])
  for (const count of [512, 600]) {
    expect(found(`[1]${blanks(count)},2]`), `${count}`).toEqual([first])
    expect(found(`[1]${blanks(count)}]`), `${count}`).toEqual([first])
  }
})

test('a name has up to 4,096 bytes with its quotes; a longer one is not read', () => {
  const name = 'k'.repeat(4094)
  expect(found(`{"${name}":1}`, any, [1000])).toEqual([[`/${name}`, 1]])
  expect(found(`{"${name}k":1}`, any, [1000])).toEqual([['/…', 1]])
  expect(found(`{"${name}k":[2],"b":[3]}`, { items: '*.*', root: 'any' }, [1000])).toEqual([
    ['/…/0', 2],
    ['/b/0', 3],
  ])
  expect(found(`{"${name}k":1,"b":2}`, { items: `${name}k`, root: 'any' }, [1000])).toEqual([
    [undefined, 'NO_MATCH'],
  ])
})

test('a long element that is broken is read further and further, up to a limit', () => {
  const two = ['/1', { a: 2 }]
  for (const length of [1010, 1030, 4000]) {
    for (const letter of ['y', 'é', '😀']) {
      const text = letter.repeat(Math.ceil(length / Buffer.byteLength(letter)))
      expect(found(`[{"a":"x" ${text}"},{"a":2}]`, any, [1000]), letter).toEqual([
        ['/0', { a: `x" ${text}` }],
        two,
      ])
      const outside = `{"x":"y" ${text}","issues":[{"a":1}]}`
      expect(found(outside, { items: 'issues.*' }, [1000]), letter).toEqual([['/issues/0', { a: 1 }]])
    }
  }
  const huge = 'y'.repeat(70_000)
  expect(found(`[{"a":"x" ${huge}"},{"a":2}]`, any, [30_000])).toEqual([lost])
  expect(found(`{"x":"y" ${huge}","issues":[{"a":1}]}`, { items: 'issues.*' }, [30_000])).toEqual([
    ['/x', 'INVALID_JSON'],
  ])
  // Strings and brackets that are not broken have no limit but maxFrame.
  expect(found(`[{"a":"${huge}"},{"a":2}]`, any, [30_000])).toEqual([['/0', { a: huge }], two])
  expect(found(`{"x":["${huge}"],"issues":[{"a":1}]}`, { items: 'issues.*' }, [30_000])).toEqual([
    ['/issues/0', { a: 1 }],
  ])
})

test('brackets may be nested as deep as maxDepth allows', () => {
  for (const depth of [3, 1023, 1024]) {
    const deep = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    const text = `[${JSON.stringify(deep)},2]`
    expect(found(text, any, [1000])).toEqual([
      ['/0', deep],
      ['/1', 2],
    ])
    expect(found(text, { ...any, maxDepth: depth - 1 }, [1000])).toEqual([
      ['/0', 'MAX_DEPTH'],
      ['/1', 2],
    ])
  }
  // A bracket of the other kind inside is out of place.
  expect(found(`[${'['.repeat(1024)}}${']'.repeat(1023)},2]`, any, [1000])).toEqual([lost])
})

test('paths have all digits of an index', () => {
  const all = outcomesOf(`[${'1,'.repeat(2050)}1]`, any, 1000)
  expect(all.map(({ frame }) => frame.path)).toEqual(Array.from({ length: 2051 }, (_, i) => `/${i}`))
  const objects = outcomesOf(`{"a":[${'{"n":1},'.repeat(1001)}{"n":1}]}`, { items: 'a.*' })
  expect(objects.map(({ frame }) => frame.path)).toEqual(Array.from({ length: 1002 }, (_, i) => `/a/${i}`))
})

test('positions are right however far from the start', () => {
  for (const size of [1000, 4096, Number.POSITIVE_INFINITY]) {
    const text = `${blanks(9000)}{"x":"${'é'.repeat(2000)}","issues":[{"a":1}, {"a":"x" y"},\n{"a":2}],"z":[1 2]}`
    const at = 9000 + Buffer.byteLength(`{"x":"${'é'.repeat(2000)}","issues":[`)
    const all = outcomesOf(text, { items: 'issues.*' }, size)
    expect(
      all.map(({ frame, notes }) => [frame.from - at, frame.to - at, notes[0]?.changes?.[0]?.at]),
    ).toEqual([
      [0, 7, undefined],
      [9, 21, at + 9 + 7],
      [23, 30, undefined],
    ])
  }
})

test('elements come in turns, so that a slow reader is waited for', () => {
  const elements = Array.from({ length: 20 }, (_, n) => `{"n":${n}}`)
  for (const text of [
    `[${elements.join()}]`,
    `<think>[${elements.join()}]`,
    `\`\`\`json\n[${elements}]\n\`\`\``,
  ]) {
    let written = 0
    let ends = 0
    const sink = valueStage({ items: '*' }, 2)({ write: () => void written++, end: () => void ends++ })
    sink.write({ channel: 'stdout', bytes: Buffer.from(text) })
    expect(written).toBeLessThanOrEqual(2)
    const most: number[] = []
    let before = written
    const turn = () => {
      const more = sink.more!()
      most.push(written - before)
      before = written
      return more
    }
    while (turn());
    expect(ends).toBe(0)
    sink.end()
    before = written
    while (turn());
    expect([written, ends]).toEqual([20, 1])
    expect(Math.max(...most)).toBeLessThanOrEqual(2)
    // When all is over there is no more.
    expect(turn()).toBe(false)
    expect(ends).toBe(1)
  }
})

test('the neighbours of a lost element are found in a long document, too', () => {
  const list = Array.from({ length: 60 }, (_, n) => ({ n, text: 'a text in it' }))
  const good = list.map((value, index) => [`/${index}`, value])
  const expected = good.map((one, index) => (index === 1 || index === 50 ? [one[0], 'INVALID_JSON'] : one))
  const pretty = JSON.stringify(list, null, 2)
    .replace('"n": 1,', '"n": [1,')
    .replace('"n": 50,', '"n": {"m": 50,')
  for (const text of [pretty, pretty.replaceAll('\n', '\r\n'), pretty.replaceAll('  ', '\t')]) {
    for (const wrap of [text, `<json>${text}</json>`, `\`\`\`json\n${text}\n\`\`\``])
      expect(found(wrap, { items: '*' }, [33])).toEqual(expected)
  }
  // The lost one goes on for longer than a broken element is read.
  const wide = Object.fromEntries(Array.from({ length: 800 }, (_, n) => [`key ${n}`, 'a text in it']))
  const long = JSON.stringify([{ n: 0 }, { n: 1, ...wide }, { n: 2 }], null, 2).replace(
    '"n": 1,',
    '"n": [1},',
  )
  for (const text of [long, long.replaceAll('\n', '\r\n'), `\`\`\`json\n${long}\n\`\`\``])
    expect(found(text, { items: '*' }, [33, 100, 1001])).toEqual([
      ['/0', { n: 0 }],
      ['/1', 'INVALID_JSON'],
      ['/2', { n: 2 }],
    ])
  // In one line nothing says where the next one begins, and a tag still ends it.
  const compact = JSON.stringify(list).replace('"n":1,', '"n":[1,')
  expect(found(compact, { items: '*' }, [100])).toEqual([good[0], ['/1', 'INVALID_JSON']])
  const blocks = `<json>${compact}</json> and <json>[{"a":1}]</json>`
  expect(found(blocks, { items: '*' }, [33])).toEqual([good[0], ['/1', 'INVALID_JSON'], one])
  // A line that is indented as the lost one but is none of its kind ends the search.
  const stranger = pretty.replace('"n": 2,', '"n": 2\n  },\n  "?": {')
  expect(found(stranger, { items: '*' }, [33])?.length).toBeLessThan(5)
})
