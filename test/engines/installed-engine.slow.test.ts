import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installInto } from '../installed.ts'
import { conversation, files, page } from './new-engine-page.ts'

const home = mkdtempSync(join(tmpdir(), 'sluice-installed-'))
afterAll(() => rmSync(home, { recursive: true }))

const log = files.find(({ path }) => path.endsWith('stdout.log'))!.content
const tsc = (words: readonly string[], cwd = home) =>
  execFileSync(process.execPath, [join(home, 'node_modules/typescript/bin/tsc'), ...words], {
    cwd,
    encoding: 'utf8',
  })
const sluice = (...words: string[]) =>
  spawnSync(process.execPath, [join(home, 'node_modules/agent-sluice/dist/cli/main.js'), ...words], {
    cwd: home,
    encoding: 'utf8',
  })
const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

/** The compiler's options on the page. */
const compile = /^npx tsc (.*)$/m.exec(page)![1]!.split(' ')

beforeAll(() => {
  installInto(home)
  for (const name of ['toy.ts', 'read-toy.ts'])
    writeFileSync(join(home, name), files.find(({ path }) => path === name)!.content)
  writeFileSync(join(home, 'toy.log'), log)
  tsc(compile)
}, 600_000)

test('the code of the page compiles from the installed package, and its program runs', () => {
  expect(compile).toContain('--strict')
  const said = execFileSync(process.execPath, ['read-toy.js'], { cwd: home, encoding: 'utf8' })
  expect(said).toBe('Done: <json>{"ok":true}</json>\n')
})

test('the installed command reads with the engine of the page', () => {
  const { stdout, status, stderr } = sluice('chat', '--engine', './toy.js', 'toy.log')
  expect(lines(stdout)).toMatchObject(conversation)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test('it runs and replays with it, and every event is the same', () => {
  const [node, print] = [process.execPath, `process.stdout.write(${JSON.stringify(log)})`]
  const ran = sluice('run', '--engine', './toy.js', '--audit', 'runs/1', '--json', '--', node, '-e', print)
  expect(ran.status).toBe(0)
  const again = sluice('replay', '--engine', './toy.js', 'runs/1', '--json')
  expect(again.stdout).toBe(ran.stdout)
  expect(lines(again.stdout).map(({ source }) => source.engine)).not.toContain('text')
})

test('the page compiled to CommonJS is an engine, too', () => {
  const old = join(home, 'old')
  mkdirSync(old)
  writeFileSync(join(old, 'package.json'), '{}')
  writeFileSync(join(old, 'toy.ts'), files[0]!.content)
  tsc([...compile.filter((word) => word !== 'read-toy.ts'), '--noCheck'], old)
  const { stdout, status } = sluice('chat', '--engine', join(old, 'toy.js'), 'toy.log')
  expect(lines(stdout)).toMatchObject(conversation)
  expect(status).toBe(0)
})
