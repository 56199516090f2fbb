import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pageText, pageTextFile } from '../../scripts/page.ts'

test('the page that is served is made from its sources: if this fails, run `npm run page`', async () => {
  // Not toEqual: a difference of two lines of 70 KB says nothing.
  expect(readFileSync(pageTextFile, 'utf8') === (await pageText())).toBe(true)
})
