import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../built.ts'
import { workspace } from '../run/agent.ts'
import { wires } from '../run/wires.ts'

/** The command in a directory, with a home of its own for orders. */
function command() {
  const { cwd } = workspace()
  const env = { ...process.env, XDG_STATE_HOME: workspace().cwd }
  const start = (...words: string[]) => {
    const child = spawn(process.execPath, [built('src/cli/main.ts'), ...words], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
      })
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, said }))
    return { ended, said: () => said }
  }
  return { cwd, start }
}

const agent = [
  process.execPath,
  join(wires, 'stand-in.mjs'),
  join(wires, 'gemini-acp.allow-once.jsonl'),
  'notes',
]
const talks = ['run', '--talk', '--engine', 'acp', '--prompt', 'Go.', '--no-fs-diff']
const asks = { timeout: 30_000, interval: 100 }

test('answers the newest run that waits, from another terminal', async () => {
  const { start } = command()
  expect(await start('answer').ended).toMatchObject({
    code: 2,
    said: expect.stringContaining('no run in .audit waits'),
  })
  const run = start(...talks, '--control', '--', ...agent)
  await expect.poll(run.said, asks).toContain('"request":')
  const shown = await start('answer').ended
  expect(shown.code).toBe(5)
  expect(shown.said).toMatch(/ 1:0: touch note\.txt[\s\S]*proceed_once {2}Allow/)
  expect(await start('answer', 'nonsense').ended).toMatchObject({
    code: 1,
    said: expect.stringContaining('no option "nonsense"'),
  })
  expect(await start('answer', '--last', '1:9', 'proceed_once').ended).toMatchObject({ code: 2 })
  expect(await start('answer', '--last', '1:0', 'proceed_once').ended).toEqual({ code: 0, said: '' })
  const { code, said } = await run.ended
  expect(code).toBe(0)
  expect(said).toContain('"by":"terminal","result":"done"')
  expect(await start('stop', '--last').ended).toMatchObject({
    code: 2,
    said: expect.stringContaining('has ended'),
  })
})

test('stops a run by an order, and one without control by its pid', async () => {
  const { cwd, start } = command()
  const sleeper = ['--', process.execPath, '-e', 'setTimeout(() => {}, 60_000)']
  for (const control of [['--control'], []]) {
    const run = start('run', ...control, '--audit', `a${control.length}`, '--no-fs-diff', ...sleeper)
    const meta = join(cwd, `a${control.length}`, 'meta.1.json')
    await expect
      .poll(() => existsSync(meta) && JSON.parse(readFileSync(meta, 'utf8')).pid, asks)
      .toBeGreaterThan(0)
    expect(await start('stop', `a${control.length}`).ended).toEqual({ code: 0, said: '' })
    expect((await run.ended).code).toBe(1)
  }
})
