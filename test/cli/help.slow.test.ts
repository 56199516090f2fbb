import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { inside } from './inside.ts'

const helps = new Map<string, string>()
beforeAll(async () => {
  const { out } = await inside(['help'])
  for (const [, name] of out.matchAll(/^ {2}([a-z]+) /gm))
    helps.set(name!, (await inside([name!, '--help-all'])).out)
})

test('the help of every command fits into 80 columns', () => {
  expect(helps.size).toBeGreaterThan(15)
  for (const [name, help] of helps)
    for (const line of help.split('\n')) expect(line.length, `${name}: ${line}`).toBeLessThanOrEqual(80)
})

test.each(['help', '--help', '-h'])('help %s is help, not bad usage', async (word) => {
  expect(await inside(['help', word])).toEqual(await inside(['help']))
})

test('every option is on a page of docs', () => {
  const docs = join(import.meta.dirname, '../../docs')
  const pages = readdirSync(docs).filter((name) => name.endsWith('.md'))
  const text = pages.map((name) => readFileSync(join(docs, name), 'utf8')).join('\n')
  const missing = [...helps].flatMap(([name, help]) =>
    [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)]
      .filter(([, option]) => !new RegExp(`${option}(?![a-z-])`).test(text))
      .map(([, option]) => `${name} ${option}`),
  )
  expect(missing).toEqual([])
})

const agentEnded = ', or its reader left, which ended the\n     agent'
const duringStdin = ', or its reader left while stdin was\n     read'
test.each([
  ['run', agentEnded],
  ['reply', agentEnded],
  ['events', duringStdin],
  ['chat', duringStdin],
  ['replay', ''],
  ['why', ''],
])('%s says when exit code 7 is about a reader that left', (name, left) => {
  expect(helps.get(name)).toContain(`  7  our own output could not be written${left}\n  2  bad usage`)
})
