import { expect, test } from 'vitest'
import { exportRun } from '../../src/serve.ts'

const textOf = async (path: string, to: 'md' | 'html' | 'json') => {
  let text = ''
  for await (const piece of exportRun(path, { to })) text += piece
  return text
}

test('a program gets a recorded run as Markdown, as a page and as data', async () => {
  const dir = 'fixtures/codex/03b-tool-fail.pipe'
  expect(await textOf(dir, 'md')).toContain('## codex run')
  expect(await textOf(dir, 'html')).toMatch(/^<!doctype html>/i)
  expect(JSON.parse(await textOf(dir, 'json')).runs[0].events.length).toBeGreaterThan(5)
})

test('what is no run is refused at once', () => {
  expect(() => exportRun('nowhere', { to: 'md' })).toThrow(expect.objectContaining({ code: 'NOT_AN_AUDIT' }))
})
