import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { tryParse } from '../../src/index.ts'
import { slow } from '../pace.ts'

// A parser as many programs have it: no thoughts, the first fence mark to the last, control characters in
// strings escaped, else the first brace to the last. Whatever it reads must be read, and as the same value.

const F = '```'

function simpleSteps(raw: string): unknown {
  let text = raw.replace(/<think>[\s\S]*?<\/think>/g, '').trim()
  const first = text.indexOf(F)
  const last = text.lastIndexOf(F)
  if (last > first)
    text = text
      .slice(first + 3, last)
      .replace(/^json/i, '')
      .trim()
  text = text.replace(/"(?:[^"\\]|\\.)*"/gs, (string) =>
    string.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t'),
  )
  const braces = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)
  const value = read(text) ?? read(braces)
  return typeof value === 'object' && !Array.isArray(value) ? value : undefined
}

function read(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const bodies = [
  '{"a":1}',
  '{\n  "a": 1,\n  "b": [1, 2]\n}',
  '{"a":"x\ny"}',
  '{"a":"t\tab","b":{"c":null}}',
  '{"a":"```"}',
  '{"a":"} {","b":"]"}',
  '{"verdict":"买入","理由":["涨"]}',
  '{\n"a":1\n}',
  '{"a":"<think>"}',
  '{"a":[{"b":1},{"b":2}]}',
  '{"text":"say \\"hi\\""}',
]
const thoughts = [
  '',
  '<think>hm</think>',
  '<think>maybe {"a":9}?</think>\n',
  `<think>\n${F}json\n{"a":9}\n${F}\n</think>\n\n`,
]
const before = ['', 'Here:\n', 'Sure, here is the JSON: ', '结果如下：\n\n', 'Note [1] and (x).\n']
const behind = ['', '\n', '\nBye', '\n\nHope this helps!', '  \n以上。', ' Done.']
const wrappings: readonly ((body: string) => string)[] = [
  (body) => body,
  (body) => `${F}json\n${body}\n${F}`,
  (body) => `${F}\n${body}\n${F}`,
  (body) => `${F}${body}${F}`,
  (body) => `${F}${body}\n${F}`,
  (body) => `${F}json${body}${F}`,
  (body) => `${F}json ${body} ${F}`,
  (body) => `${F}JSON\n${body}\n${F}`,
  (body) => `${F}json\n${body}${F}`,
  (body) => `  ${F}json\n  ${body}\n  ${F}`,
  (body) => `${F}json\n${body}`,
  (body) => `${F}json\r\n${body}\r\n${F}`,
  (body) => `${F}\`json\n${body}\n${F}\``,
  (body) => `~~~${body}\n~~~`,
]

test('reads all that a simple parser reads, and the same', { timeout: 60_000 }, () => {
  const others: string[] = []
  let found = 0
  for (const thought of thoughts)
    for (const start of before)
      for (const end of behind)
        for (const wrap of wrappings)
          for (const body of slow ? bodies : bodies.slice(0, 1)) {
            const text = thought + start + wrap(body) + end
            const expected = simpleSteps(text)
            if (expected === undefined || expected === null) continue
            found++
            const outcome = tryParse(text)
            if (!outcome.ok || !isDeepStrictEqual(outcome.value, expected)) others.push(text)
          }
  expect(others).toEqual([])
  expect(found).toBeGreaterThan(slow ? 9504 : 1000)
})
