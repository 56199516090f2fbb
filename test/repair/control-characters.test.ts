import { expect, test } from 'vitest'
import { withoutSequences } from '../../src/repair/control-characters.ts'
import { slow } from '../pace.ts'
import { outcomes } from '../values/chunked.ts'

test.each([
  ['colours between tokens are dropped', '{"a":\u001b[32m1\u001b[0m}', '{"a":1}', 2],
  ['those in strings are escaped', '{"a":"\u001b[1mx"}', '{"a":"\\u001b[1mx"}', 1],
  ['a title', '\u001b]0;{"x"\u0007{"a":1}', '{"a":1}', 1],
  ['a link', '{\u001b]8;;http://x\u001b\\"a":1}', '{"a":1}', 1],
  ['a title that a line end breaks off', '{\u001b]0;x\n"a":1}', '{\n"a":1}', 1],
  ['a choice of character set', '\u001b(B{"a":1}', '{"a":1}', 1],
  ['a string that never ends', '{"a":"\u001b[1mx', '{"a":"\\u001b[1mx', 1],
  ['one in a string at the very start', '"\u001b[1mx"', '"\\u001b[1mx"', 1],
  ['one after a string at the very start', '"a"\u001b[0m', '"a"', 1],
  ['two beside each other in a string', '["\u001b\u001b"]', '["\\u001b\\u001b"]', 2],
  ['one in each of two adjacent strings', '["\u001b""\u001b"]', '["\\u001b""\\u001b"]', 2],
  ['an empty title', '{\u001b]\u0007"a":1}', '{"a":1}', 1],
  ['a title that never ends', '{\u001b]0;x', '{', 1],
  ['the longest parameters', `\u001b[${'1'.repeat(4096)}m1`, '1', 1],
  ['parameters that are too long', `\u001b[${'1'.repeat(4097)}m1`, '1m1', 1],
  ['the longest title', `\u001b]${'x'.repeat(4095)}\u00071`, '1', 1],
  ['a title that is too long', `\u001b]${'x'.repeat(4096)}\u00071`, '\u00071', 1],
  ['the longest choice', `\u001b${' '.repeat(4095)}B1`, '1', 1],
  ['a choice that is too long', `\u001b${' '.repeat(4096)}B1`, ' B1', 1],
  ['a lone ESC at the end', '{"a":1}\u001b', '{"a":1}', 1],
])('%s', (_name, text, without, count) => {
  const made = withoutSequences(text)?.done()
  expect([made?.text, made?.changes.length]).toEqual([without, count])
})

test('there is nothing to do for a text without them', () => {
  expect(withoutSequences('{"a":"\\u001b[1m"}')).toBeUndefined()
})

test.runIf(slow)('they are taken out of texts that are too long for any other repair', () => {
  const text = `{"a":"${'x'.repeat(100_000)}","b":\u001b[32m1\u001b[0m}`
  expect(outcomes(text, { maxRepair: 100 })).toMatchObject([
    { ok: true, value: { b: 1 }, repair_level: 'deterministic_generic' },
  ])
})

test('before and after the value they are no repair', () => {
  expect(outcomes('\u001b[32m{"a":1}\u001b[0m')).toMatchObject([{ value: { a: 1 }, repair_level: 'none' }])
})
