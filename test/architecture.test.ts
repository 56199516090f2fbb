import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

describe.each(['docs/architecture.md', 'CONTRIBUTING.md'])('%s', (page) => {
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

describe('the table of where to change what in docs/architecture.md', () => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const [, rows = []] = text
    .split(/\| What \| File \|\n.*\n/)
    .map((part) => part.split('\n\n')[0]!.split('\n'))

  test('has twenty rows or more, and each names a file', () => {
    expect(rows.length).toBeGreaterThanOrEqual(20)
    for (const row of rows) expect(row).toMatch(/^\| [^|]+ \| `src\/[\w/-]+\.ts`/)
  })
})
