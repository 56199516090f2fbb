import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codes } from '../src/base/fault.ts'
import { pageExamples } from './page-examples.ts'
import { buildPrograms, codeOf, pageAt, programOf, root, runProgram, standIns } from './page-programs.ts'

describe.each(Object.entries(pageExamples))('the programs on %s', (path, examples) => {
  const page = pageAt(path)
  let dir = ''
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'sluice-page-'))
    standIns(dir)
    const programs = Object.entries(examples).map(([name, example]) => [
      name,
      programOf(codeOf(page, name), example),
    ])
    buildPrograms(dir, Object.fromEntries(programs))
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  test('are all tested', () => {
    const marked = [...page.matchAll(/<!-- example: ([\w-]+) -->\n```ts\n/g)].map(([, name]) => name)
    expect(marked).toEqual(Object.keys(examples))
    expect(page.match(/^```ts$/gm)).toHaveLength(marked.length)
  })

  test.for(Object.entries(examples))('%s prints what the page says', ([name, { prints, fails }]) => {
    const { stdout, stderr, status } = runProgram(dir, name)
    if (fails) expect(stderr).toMatch(fails)
    else expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const line of prints) expect(stdout).toMatch(line)
  })
})

test('docs/dependencies.md and CONTRIBUTING.md have a row for every dependency and peer, and for no package that is gone', () => {
  const page = `${pageAt('docs/dependencies.md')}\n${pageAt('CONTRIBUTING.md')}`
  const { dependencies, peerDependencies, devDependencies } = JSON.parse(pageAt('package.json'))
  const sections = page.split('\n## ')
  const rowsOf = (title: string) => {
    const section = sections.find((each) => each.startsWith(title)) ?? ''
    const cells = [...section.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell]) => cell!)
    return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)).sort()
  }
  expect(rowsOf('What `npm install')).toEqual(Object.keys(dependencies).sort())
  expect(rowsOf('Optional peers')).toEqual(Object.keys(peerDependencies).sort())
  const check = JSON.parse(pageAt('scripts/check/package.json')).devDependencies
  expect(Object.keys(check).filter((name) => name in devDependencies)).toEqual([])
  const developing = { ...devDependencies, ...check }
  expect(rowsOf('Development packages').filter((name) => !(name in developing))).toEqual([])
})

test('the pages in docs link only to sections that are there', () => {
  const names = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  expect(names.length).toBeGreaterThan(5)
  for (const name of names) {
    const links = [...pageAt(`docs/${name}`).matchAll(/\]\((?!https?:)([^)#]*)#([^)]*)\)/g)]
    for (const [, path, section] of links) {
      const linked = pageAt(join('docs', path || name))
      const titles = [...linked.matchAll(/^#+ (.*)$/gm)].map(([, title]) => anchorOf(title!))
      expect(titles, `${name}: ${path}#${section}`).toContain(section)
    }
  }
})

test('docs/limits.md names options that are there, and every code in it is one of ours', () => {
  const page = pageAt('docs/limits.md')
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => pageAt(join('src', name)))
    .join('')
  const options = [...page.matchAll(/`(max[A-Z]\w+|window)`/g)].map(([, name]) => name!)
  expect(options.length).toBeGreaterThan(12)
  expect(options.filter((name) => !sources.includes(`readonly ${name}?:`))).toEqual([])
  const named = [...page.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, code]) => code!)
  expect(named.filter((code) => !(code in codes))).toEqual([])
})

/** What GitHub makes of a title. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
