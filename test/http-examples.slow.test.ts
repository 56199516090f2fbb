import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPrograms, codeOf, pageAt, programOf, root, runProgram } from './page-programs.ts'

/**
 * Agents that do what the file `mode` says: end well, fail, or stay. `PORT` is any; `runs` is where the
 * example records.
 */
const before = `
  import { rmSync, watch, writeFileSync } from 'node:fs'
  process.env['PORT'] = '0'
  console.error = () => {}
  const first = '{"type":"thread.started","thread_id":"t"}'
  const script = (good: string) => [
    '#!/bin/sh',
    'case "$(cat mode)" in',
    'good) cat ' + good + ';;',
    "failing) echo '" + first + "'; exit 1;;",
    "stays) echo '" + first + "'; : > started; exec sleep 60;;",
    'esac', ''].join('\\n')
  const fixtures = ${JSON.stringify(join(root, 'fixtures'))}
  writeFileSync('codex', script(fixtures + '/codex/07a-file-write.tee80/stdout.log'), { mode: 0o755 })
  writeFileSync('opencode', script(fixtures + '/opencode/01-plain.tee80/stdout.log'), { mode: 0o755 })
  let runs = 'runs'
  const task = 'say hi'`

/** Asks the server of the example in every way; a request that hangs is ended by the limit of the test. */
const after = `
  await new Promise<void>((resolve) => (server.listening ? resolve() : server.once('listening', () => resolve())))
  const url = 'http://127.0.0.1:' + (server.address() as { port: number }).port
  const ask = (signal?: AbortSignal) =>
    fetch(url, { signal: signal ?? null }).then(async (answer) => answer.status + ' ' + (await answer.text()).length)
  const settle = async (name: string, mode: string, signal?: AbortSignal) => {
    writeFileSync('mode', mode)
    console.log(name, await ask(signal).catch((error) => error.name))
  }
  await settle('good', 'good')
  await settle('failing', 'failing')
  const leave = new AbortController()
  const watcher = watch('.', (_, name) => { if (name === 'started') leave.abort() })
  await settle('leaves', 'stays', leave.signal)
  watcher.close()
  writeFileSync('file', '')
  runs = 'file'
  await settle('unwritable', 'good')
  for (const name of ['codex', 'opencode']) rmSync(name)
  runs = 'runs'
  await settle('missing', 'good')
  server.close()`

const examples = [{ page: 'docs/recipes.md', name: 'disconnect' }]

let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-http-'))
  const programs = examples.map(({ page, name }) => [
    name,
    programOf(codeOf(pageAt(page), name), { before, after }),
  ])
  buildPrograms(dir, Object.fromEntries(programs))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test.for(examples)('no request to the example $name of $page ever hangs', ({ name }) => {
  const { stdout, stderr, status } = runProgram(dir, name)
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' })
  const told = Object.fromEntries(stdout.split('\n').map((line) => [line.split(' ')[0], line]))
  expect(told['good']).toMatch(/^good 200 [1-9]/)
  expect(told['failing']).toMatch(/^failing 200 [1-9]/)
  expect(told['leaves']).toMatch(/AbortError/)
  expect(told['unwritable']).toMatch(/^unwritable 200/)
  expect(told['missing']).toMatch(/^missing (TypeError|500)/)
})
