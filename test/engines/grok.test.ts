import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { grok } from '../../src/engines/grok.ts'
import { fixtures } from './fixture.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'
import { summaryOf, takers } from './summary.ts'

const own = fixtures().filter(({ engine }) => engine === 'grok')

test.each(own.filter(({ name }) => !/^(cut|sigterm)/.test(name)))(
  'reads $name as a plain walk over its messages does',
  (fixture) => {
    const log = readFileSync(join(fixture.path, 'stdout.log'), 'utf8').trim().split('\n')
    const records = log.map((line) => JSON.parse(line))
    const words = records.filter(({ role }) => role === 'assistant').map(({ content }) => content)
    const failed = words.filter((one) => one.startsWith('Sorry, I encountered an error'))
    const tools = records.flatMap(({ tool_calls }) => tool_calls ?? []).map((call) => call.function.name)
    const bad = records.some(({ role, content }) => role === 'tool' && content.startsWith('Command failed'))

    const said = summaryOf(fixture)
    expect(said.messages).toEqual(words.filter((one) => !failed.includes(one)))
    expect([...(said.completed ?? []), ...(said.failed ?? [])]).toEqual(tools)
    expect(said.failed !== undefined).toBe(bad)
    const marked = words.some((one) => one.includes('__SKILL_DONE__'))
    expect(said.state).toBe(failed.length > 0 ? 'interrupted' : marked ? 'completed' : 'unknown')
  },
)

test('a cut or killed run is interrupted', () => {
  for (const fixture of own.filter(({ name }) => /^(cut|sigterm)/.test(name)))
    expect(summaryOf(fixture)).toEqual({ state: 'interrupted', messages: [] })
})

test('a file is told as created', () => {
  const fixture = own.find(({ name }) => name === 'file_write.pipe')!
  expect(summaryOf(fixture).files).toContain('created artifacts/info.json')
})

test('a chat that begins with something else is not read', () => {
  const events = run(grok, {
    stdout: lines(
      { role: 'system', content: 'You are a helper.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
    ),
    exit: 0,
  })
  expect(texts(events)).toEqual([])
  expect(endOf(events).state).toBe('unknown')
})

test('a log record before the chat, or a chat whose beginning is lost, is read', () => {
  const chat = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
  ]
  const log = { level: 'info', msg: 'starting' }
  expect(texts(run(grok, { stdout: lines(log, ...chat), exit: 0 }))).toEqual(['Hello'])
  expect(texts(run(grok, { stdout: lines(chat[1]!), exit: 0 }))).toEqual(['Hello'])
})

test('arguments that are no JSON are told as they are, and other roles are kept as raw', () => {
  const events = run(grok, {
    stdout: lines(
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', function: { name: 'x', arguments: '{' } }],
      },
      { role: 'tool', tool_call_id: 'b', content: 'Error reading x' },
      { role: 'developer', content: 'x' },
      { role: 'assistant', content: 'x', more: 1 },
    ),
    exit: 0,
  })
  expect(only(events, 'tool.call.started')[0]!.data).toMatchObject({ name: 'x', input: '{' })
  expect(only(events, 'tool.call.failed')).toHaveLength(1)
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  expect(texts(events)).toEqual([])
})

test('it takes no record of the others', () => {
  for (const fixture of fixtures())
    if (fixture.engine !== 'grok') expect(takers(fixture).flat(), fixture.path).not.toContain('grok')
})
