import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withEngineTable } from '../../scripts/engines-table.ts'
import { engines } from '../../src/engines/engines-by-name.ts'

const page = readFileSync('docs/engines.md', 'utf8')

test('the table of docs/engines.md is the one of the fixtures; npm run fixtures writes it', () => {
  expect(page).toBe(withEngineTable(page))
})

test('and has every engine', () => {
  for (const name of Object.keys(engines)) expect(page).toContain(`\n| \`${name}\` | `)
})
