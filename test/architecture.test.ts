import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

describe.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8')

  test('names only files and folders that are there', () => {
    const paths = [...text.matchAll(/(?<![\w/])(?:src|test|scripts|fixtures|bench)\/[\w./-]*\w/g)].map(
      ([path]) => path,
    )
    expect(paths.length).toBeGreaterThan(5)
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('names only scripts that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })
})

describe('the questions in ARCHITECTURE.md', () => {
  const rows = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| Where '))

  test('are twenty or more, and each is answered by a file', () => {
    expect(rows.length).toBeGreaterThanOrEqual(20)
    for (const row of rows) expect(row).toMatch(/\? \| `src\/[\w/-]+\.ts`/)
  })
})
