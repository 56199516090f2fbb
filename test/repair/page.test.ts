import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tryParse } from '../../src/values/parse.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/repair.md'), 'utf8')
const [, always = ''] = page.split(/^## .*$/m)
const spans = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!.replace('⏎', '\n'))
const cases = [...always.matchAll(/^\|[^|]*\|(.*)\|(.*)\|$/gm)]
  .map(([, texts, values]) => [spans(texts!), spans(values!)] as const)
  .flatMap(([texts, values]) => texts.map((text, i) => [text, values[i]!] as const))

test.each(cases)('the page says what %s becomes', (text, value) => {
  expect(() => JSON.parse(text)).toThrow()
  expect(tryParse(text, { root: 'any' })).toMatchObject({ ok: true, value: JSON.parse(value) })
})
