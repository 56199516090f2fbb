import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { conversation, files as shown } from './new-engine-page.ts'
import { validChat, validEvents } from './valid.ts'

const home = mkdtempSync(join(tmpdir(), 'sluice-new-engine-'))
afterAll(() => rmSync(home, { recursive: true }))

/** What the page says to change in the file of the engine, so that it is one of the project. */
const files = shown
  .filter(({ path }) => path !== 'read-toy.ts')
  .map((file) =>
    file.path === 'toy.ts'
      ? {
          path: 'src/engines/toy.ts',
          content: file.content
            .replace("'agent-sluice/engines'", "'../events/engine.ts'")
            .replace('export default toy\n', ''),
        }
      : file,
  )
const run = (...args: string[]) =>
  execFileSync(process.execPath, ['--import', 'tsx', ...args], { cwd: home, encoding: 'utf8' })
const records = (path: string) =>
  readFileSync(join(home, path), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

beforeAll(() => {
  for (const part of ['src', 'scripts', 'package.json', 'test/engines'])
    cpSync(part, join(home, part), { recursive: true })
  symlinkSync(resolve('node_modules'), join(home, 'node_modules'))
  for (const { path, content } of files) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    if (path.endsWith('index.ts')) appendFileSync(join(home, path), content)
    else writeFileSync(join(home, path), content)
  }
  run('scripts/fixtures.ts')
})

test('the page adds one file, one line and one fixtures folder', () => {
  expect(files.map(({ path }) => path)).toEqual([
    'src/engines/toy.ts',
    'src/engines/all-engines.ts',
    'fixtures/toy/hello.pipe/stdout.log',
    'fixtures/toy/hello.pipe/meta.json',
    'fixtures/toy/hello.pipe/ORIGIN.md',
  ])
  const [engine, line] = files
  expect(engine!.content.split('\n').length).toBeLessThan(100)
  expect(line!.content.trim().split('\n')).toHaveLength(1)
})

test('a new engine that follows it gives the conversation that it shows', () => {
  validEvents(records('fixtures/toy/hello.pipe/events.jsonl'))
  const chat = records('fixtures/toy/hello.pipe/chat.jsonl')
  validChat(chat)
  expect(chat).toMatchObject(conversation)
})

test('and the commands know it, auto too', () => {
  const log = 'fixtures/toy/hello.pipe/stdout.log'
  expect(run('src/cli/main.ts', 'engines')).toContain('toy --json; 1.0')
  expect(run('src/cli/main.ts', 'chat', '--engine', 'toy', log)).toContain('user.input.required')
  expect(run('src/cli/main.ts', 'events', log)).toContain('auto picked toy')
})
