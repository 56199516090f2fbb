import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pty from '@lydell/node-pty'
import { expect, test } from 'vitest'
import { built } from '../built.ts'

const QUESTION = /Remove 2 runs of 3 from runs\? \[y\/N\] /

/** A folder of three runs, of which two ended long ago. */
function recorded(): string {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-prune-'))
  for (const days of [1, 40, 50]) {
    const at = new Date(Date.now() - days * 86_400_000).toISOString()
    const dir = join(cwd, 'runs', `${at.replaceAll(':', '-')}-0000000${days % 10}`)
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'stdout.1.log'), 'x\n')
    writeFileSync(join(dir, 'meta.1.json'), JSON.stringify({ run_id: dir, started_at: at, ended_at: at }))
  }
  return cwd
}

/** Runs `prune` in a real terminal, and types `keys` when it asks. */
async function onTerminal(keys: string, ...flags: string[]) {
  const cwd = recorded()
  const words = [built('src/cli/main.ts'), 'prune', 'runs', ...flags]
  const terminal = pty.spawn(process.execPath, words, { cols: 100, cwd, env: { ...process.env } })
  let shown = ''
  let asked = false
  terminal.onData((text) => {
    shown += text
    if (asked || !QUESTION.test(shown)) return
    asked = true
    terminal.write(keys)
  })
  const code = await new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)))
  return { code, shown, asked, left: readdirSync(join(cwd, 'runs')).length }
}

test.each([
  ['yes', 'y\r', 1, /2 runs of 3 removed/],
  ['no', 'n\r', 3, /nothing was removed/],
  ['nothing', '\r', 3, /nothing was removed/],
  ['another word', 'yep\r', 3, /nothing was removed/],
  ['Ctrl-D', '\u0004', 3, /nothing was removed/],
])('prune asks on a terminal, and %s decides', async (_, keys, left, words) => {
  const given = await onTerminal(keys, '--older', '30d')
  expect(given).toMatchObject({ code: 0, asked: true, left, shown: expect.stringMatching(words) })
})

test('Ctrl-C at the question removes nothing', async () => {
  expect(await onTerminal('\u0003', '--older', '30d')).toMatchObject({ asked: true, left: 3 })
})

test('prune does not ask with --yes, nor when it removes nothing', async () => {
  expect(await onTerminal('', '--older', '30d', '--yes')).toMatchObject({ code: 0, asked: false, left: 1 })
  expect(await onTerminal('', '--older', '30d', '--dry-run')).toMatchObject({ asked: false, left: 3 })
  expect(await onTerminal('', '--older', '90d')).toMatchObject({ asked: false, left: 3 })
  expect(await onTerminal('')).toMatchObject({ code: 2, asked: false, left: 3 })
})
