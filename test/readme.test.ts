import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { codes } from '../src/index.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

describe('README', () => {
  test('has the whole table of codes, word for word', () => {
    const [, listed = ''] = /<!-- codes -->\n([\s\S]*?)<!-- \/codes -->/.exec(readme) ?? []
    const rows = Object.entries(codes).map(([code, text]) => `| \`${code}\` | ${text} |`)
    expect(listed.trim().split('\n')).toEqual(['| Code | Means |', '| --- | --- |', ...rows])
  })

  test('names only pages that are there', () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, path]) => path as string)
    expect(links.length).toBeGreaterThan(10)
    for (const path of links) {
      if (!path.startsWith('http')) readFileSync(new URL(`../${path}`, import.meta.url))
    }
  })
})
