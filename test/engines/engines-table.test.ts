import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { versionsInFixtures, withEngineTable } from '../../scripts/engines-table.ts'
import { recordedVersions, verdictOn } from '../../scripts/newest-versions.ts'
import { engines } from '../../src/engines/engines-by-name.ts'

const page = readFileSync('docs/engines.md', 'utf8')

test('docs/engines.md counts the cases of the fixtures; npm run fixtures writes it', () => {
  expect(page).toBe(withEngineTable(page))
})

test('and has every engine', () => {
  const counted = page.slice(page.indexOf('<!-- engines -->'), page.indexOf('<!-- /engines -->'))
  for (const name of Object.keys(engines)) expect(counted).toMatch(new RegExp(`\`${name}\` \\d+`))
})

test('every version that a fixture was recorded with is in the table of versions, with its day', () => {
  const table = page.slice(page.indexOf('<!-- versions -->'), page.indexOf('<!-- /versions -->'))
  const versions = versionsInFixtures()
  expect(versions.length).toBeGreaterThan(20)
  for (const version of versions)
    expect(table).toMatch(new RegExp(`\\b${version}[ ,].*\\(20\\d\\d-\\d\\d-\\d\\d`))
})

test('a newer version on the registry is told', () => {
  const all = recordedVersions(page)
  const of = (name: string) => all.find(({ cli }) => cli === name)!
  expect(of('OpenCode')).toEqual({ cli: 'OpenCode', name: 'opencode-ai', version: '1.18.34' })
  expect(verdictOn(of('OpenCode'), '1.19.2')).toBe('OpenCode: 1.19.2 is NEW, 1.18.34 is recorded')
  expect(verdictOn(of('OpenCode'), '1.18.33')).toBe('OpenCode: 1.18.34 is recorded')
  expect(verdictOn(of('Claude Code'), '2.1.0')).toBe('Claude Code: 2.1.0, never recorded')
})
