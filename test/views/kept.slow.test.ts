import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withKeptTable } from '../../scripts/views-table.ts'

test('the table of docs/views.md is what the clients keep of the recorded runs; npm run fixtures writes it', async () => {
  const page = readFileSync('docs/views.md', 'utf8')
  expect(page).toBe(await withKeptTable(page))
})
