import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { some } from '../pace.ts'
import { receivedByAgUi } from '../views/ag-ui-client.ts'
import { receivedByAiSdk } from '../views/ai-sdk-client.ts'
import { ends, makeRun } from '../views/make-run.ts'
import { ask, parseSse, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

const steps = [
  ['lifecycle.run.status', { status: 'started', model: 'gpt-5' }],
  ['agent.message.delta', { message_id: 'm', text: 'Hel' }],
  ['agent.message.final', { message_id: 'm', text: 'Hello' }],
  ['tool.call.started', { call_id: 'c', name: 'sh', input: { cmd: 'ls' } }],
  ['tool.call.completed', { call_id: 'c', name: 'sh', output: 'a.txt' }],
] as const
const twoAttempts = [...makeRun([...steps, ends.badly]), ...makeRun([...steps, ends.well], { attempt: 2 })]

const views = ['ag-ui', 'ai-sdk'] as const

describe.each(views)('/runs/:id/%s', (view) => {
  test('goes on behind every message that a client may have seen last', async () => {
    const url = `${(await serving(putEvents(twoAttempts))).url}runs/run/${view}`
    const whole = parseSse((await ask(url)).text)
    const ids = whole.flatMap(({ id }) => id ?? [])
    expect(ids.length).toBeGreaterThan(20)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of some(ids.slice(0, -1))) {
      const { status, text } = await ask(url, { 'last-event-id': id })
      expect([id, status]).toEqual([id, 200])
      expect(parseSse(text)).toEqual(whole.slice(whole.findIndex((message) => message.id === id) + 1))
    }
    expect(await ask(url, { 'last-event-id': ids.at(-1)! })).toMatchObject({ status: 204, text: '' })
  })

  test('takes the ids of /events, and the query, too', async () => {
    const url = `${(await serving(putEvents(twoAttempts))).url}runs/run/${view}`
    const { text } = await ask(`${url}?after=r1:2.4`)
    expect(text).toContain('id: r1:2.5/1\n')
    expect(text).not.toContain('2.4')
    expect((await ask(`${url}?after=0`)).text).toBe((await ask(url)).text)
  })

  test('refuses an id of another run: what was sent cannot be taken back', async () => {
    const url = `${(await serving(putEvents(twoAttempts))).url}runs/run/${view}`
    for (const id of ['other:3/1', 'r1:99/1', 'nonsense', 'r1:2/3/4/x:'])
      expect(await ask(url, { 'last-event-id': encodeURIComponent(id) })).toMatchObject({ status: 409 })
    expect(await ask(`${url}/more`)).toMatchObject({ status: 404 })
  })

  test('says that a journal is damaged, and ends', async () => {
    const dir = putEvents(makeRun(steps))
    appendFileSync(join(dir, 'run', 'events.jsonl'), `what\n${JSON.stringify(makeRun(steps)[0])}\n`)
    const { text } = await ask(`${(await serving(dir)).url}runs/run/${view}`)
    const told = parseSse(text).filter(({ data }) => data !== '[DONE]')
    expect(JSON.parse(told.at(-1)!.data)).toMatchObject(
      view === 'ag-ui' ? { type: 'RUN_ERROR', code: 'JOURNAL_MISMATCH' } : { type: 'error' },
    )
  })

  test('follows a run that is being written', async () => {
    const events = makeRun([...steps, ends.well])
    const dir = putEvents(events.slice(0, 2))
    const journal = join(dir, 'run', 'events.jsonl')
    const lock = takeLock(join(dir, 'run', 'journal.lock'))
    const response = await fetch(`${(await serving(dir)).url}runs/run/${view}`)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('Hel')) text += (await reader.read()).value
    for (const event of events.slice(2)) appendFileSync(journal, `${JSON.stringify(event)}\n`)
    while (!text.includes('a.txt')) text += (await reader.read()).value
    lock.release()
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    const whole = await ask(`${(await serving(putEvents(events))).url}runs/run/${view}`)
    expect(parseSse(text)).toEqual(parseSse(whole.text))
  })
})

test('the client of AG-UI takes what is served', async () => {
  const { url } = await serving(putEvents(twoAttempts))
  const { messages, error } = await receivedByAgUi(await fetch(`${url}runs/run/ag-ui`))
  expect(error).toBeUndefined()
  expect(messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    ...['assistant: Hello', 'assistant: undefined', 'tool: a.txt'],
    ...['assistant: Hello', 'assistant: undefined', 'tool: a.txt'],
  ])
})

test('the AI SDK takes what is served, with its headers, and 204 for nothing new', async () => {
  const { url } = await serving(putEvents(twoAttempts))
  const response = await fetch(`${url}runs/run/ai-sdk`)
  expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const { message, errors } = await receivedByAiSdk(response)
  expect(errors).toEqual([])
  expect(message).toMatchObject({ id: 'r1', metadata: { outcome: 'succeeded', model: 'gpt-5' } })
  const seen = { 'last-event-id': 'r1:2.6/99' }
  const nothing = await receivedByAiSdk(await fetch(`${url}runs/run/ai-sdk`, { headers: seen }))
  expect(nothing).toEqual({ message: undefined, chunks: [], errors: [] })
})

function putEvents(events: readonly AgentEvent[]): string {
  const dir = root()
  mkdirSync(join(dir, 'run'))
  writeFileSync(
    join(dir, 'run', 'events.jsonl'),
    events.map((event) => `${JSON.stringify(event)}\n`).join(''),
  )
  return dir
}
