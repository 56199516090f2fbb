import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageExamples } from './page-examples.ts'
import { buildPrograms, codeOf, pageAt, programOf, runProgram, standIns } from './page-programs.ts'

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
