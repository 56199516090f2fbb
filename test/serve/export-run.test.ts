import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replay } from '../../src/index.ts'
import { exportSource, recordedSource } from '../../src/serve/export.ts'
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

test('a run is read again only if what is found late must be hidden before, too', async () => {
  const token = 'ghp_Zq7Xw2Vb9Nk4Jt6Hs8Rd3Mf5Lc1PyGuEoAi0'
  const password = 'Wq7-letmein'
  const last = `the config has password="${password}"`
  for (const [said, hide, readings] of [
    [['say hi', `use ${token}`], [], 1],
    [[`open ${password}`, last], [], 2],
    [['open sesame', `use ${token}`], ['sesame'], 2],
  ] as const) {
    const path = join(mkdtempSync(join(tmpdir(), 'export-')), 'stdout.log')
    const item = (text: string, n: number) => ({ id: `item_${n}`, type: 'agent_message', text })
    const records = said.map((text, n) => ({ type: 'item.completed', item: item(text, n) }))
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    for (const to of ['md', 'html', 'json'] as const) {
      let read = 0
      const events = () => {
        read++
        return replay(path, { engine: 'codex' })
      }
      const source = { ...recordedSource(path), events }
      const exported = exportSource(source, { to, redact: true, hide })
      let text = ''
      for await (const piece of exported.text) text += piece
      for (const secret of [token, password, 'sesame']) expect(text, to).not.toContain(secret)
      expect(text, to).toContain('[redacted:')
      expect(exported.hidden()?.total, to).toBeGreaterThan(0)
      expect(read, to).toBe(readings)
    }
  }
})
