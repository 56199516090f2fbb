import { expect, test } from 'vitest'
import { pageFiles } from '../../src/serve/page.ts'

test('the page weighs at most 125 KB, and what it loads on request 15 and 31 KB', () => {
  const weigh = (of: (path: string) => boolean) =>
    [...pageFiles].reduce((sum, [path, { text }]) => sum + (of(path) ? Buffer.byteLength(text) : 0), 0)
  expect(weigh((path) => !/^\/(?:more|beside)\./.test(path))).toBeLessThanOrEqual(125_000)
  expect(weigh((path) => path.startsWith('/more.'))).toBeLessThanOrEqual(15_000)
  // Changes and comparisons, with a fold of the conversation of their own.
  expect(weigh((path) => path.startsWith('/beside.'))).toBeLessThanOrEqual(31_000)
})
