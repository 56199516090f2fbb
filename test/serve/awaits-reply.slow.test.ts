import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { AgentEvent, RunOutcome } from '../../src/events/event.ts'
import { makeEvent } from '../disk/make-event.ts'
import { lines } from '../engines/run.ts'
import { ask, parseSse, putRun, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

/** A run of two messages that ended so. */
function putEnded(dir: string, name: string, outcome: RunOutcome): string {
  const path = putRun(dir, name, 2)
  const type = 'lifecycle.completion.state' as const
  const evidence = { done_marker: false, failure: null, exit_code: 0, signal: null, truncated: false }
  const end = {
    ...makeEvent(3, { run: name }),
    type,
    event: { category: 'lifecycle', type },
    data: {
      state: outcome === 'failed' ? 'interrupted' : 'awaiting_user_input',
      reason_code: 'END_SIGNAL',
      evidence: { ...evidence, end_signal: 'turn.completed' },
      outcome,
      ok: outcome === 'finished',
    },
  }
  appendFileSync(join(path, 'events.jsonl'), `${JSON.stringify(end)}\n`)
  return path
}

/** A browser that comes back: the response, when it has begun. */
function comeBack(url: string, id: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { 'last-event-id': id }, agent: false }, resolve).on('error', reject)
  })
}

/** The ids of the first messages; then the client leaves. */
async function until(response: IncomingMessage, count: number): Promise<(string | undefined)[]> {
  let text = ''
  for await (const piece of response) {
    text += piece
    if (parseSse(text).length >= count) break
  }
  return parseSse(text).map(({ id }) => id)
}

const add = (path: string, event: AgentEvent) =>
  appendFileSync(join(path, 'events.jsonl'), `${JSON.stringify(event)}\n`)

test.each([
  ['needs_input', ''],
  ['finished', '?follow=1'],
  ['failed', '?follow=1'],
] as const)(
  'an EventSource on a run that is %s comes back with the query "%s", waits, and sees the reply',
  async (outcome, query) => {
    const dir = root()
    const path = putEnded(dir, 'r', outcome)
    const { url } = await serving(dir)
    // The first time the stream ends with the run.
    const all = parseSse((await ask(`${url}runs/r/events`)).text)
    expect(all.at(-1)?.id).toBe('r:3')
    const response = await comeBack(`${url}runs/r/events${query}`, 'r:3')
    expect([response.statusCode, response.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    const records = parseSse((await ask(`${url}runs/r/chat`)).text)
    expect(records.at(-1)?.event).toBe('conversation.ended')
    const chat = await comeBack(`${url}runs/r/chat${query}`, records.at(-1)!.id!)
    expect(chat.statusCode).toBe(200)
    add(path, makeEvent(1, { run: 'r', attempt: 2 }))
    expect(await until(response, 1)).toEqual(['r:2.1'])
    expect(await until(chat, 1)).toEqual([`r:${records.length + 1}`])
  },
)

test('a run without a journal lets it wait, too, until its logs change', async () => {
  const dir = root()
  const path = join(dir, 'r')
  mkdirSync(path)
  const turn = lines({ type: 'thread.started', thread_id: 't' }, { type: 'turn.completed' })
  writeFileSync(join(path, 'stdout.1.log'), turn)
  writeFileSync(join(path, 'meta.1.json'), JSON.stringify({ engine: 'codex', exit: { code: 0 } }))
  const { url } = await serving(dir)
  const id = parseSse((await ask(`${url}runs/r/events`)).text).at(-1)!.id!
  const response = await comeBack(`${url}runs/r/events?follow=1`, id)
  expect(response.statusCode).toBe(200)
  writeFileSync(join(path, 'stdout.2.log'), turn)
  writeFileSync(join(path, 'meta.2.json'), JSON.stringify({ engine: 'codex', exit: { code: 0 } }))
  let text = ''
  for await (const piece of response) text += piece
  const again = parseSse(text + (await ask(`${url}runs/r/events`, { 'last-event-id': id })).text)
  expect(again.at(-1)!.data).toContain('"attempt_number":2')
})

test.each(['finished', 'succeeded', 'failed', 'cancelled', 'unknown'] as const)(
  'an EventSource that has seen the end of a run that is %s gets a 204, of events and of the chat',
  async (outcome) => {
    const dir = root()
    putEnded(dir, 'r', outcome)
    const { url } = await serving(dir)
    for (const format of ['events', 'chat']) {
      const { id } = parseSse((await ask(`${url}runs/r/${format}`)).text).at(-1)!
      expect((await ask(`${url}runs/r/${format}`, { 'last-event-id': id! })).status).toBe(204)
    }
  },
)

test.each(['r:99', 'other:1', 'r:x', 'garbage', 'r:2.99', '\u00ff:1'])(
  'an EventSource that comes back to a chat with the id %j gets everything, from the start',
  async (id) => {
    const dir = root()
    putEnded(dir, 'r', 'finished')
    const { url } = await serving(dir)
    const all = parseSse((await ask(`${url}runs/r/chat`)).text)
    const again = parseSse((await ask(`${url}runs/r/chat`, { 'last-event-id': id })).text)
    expect(again[0]?.event).toBe('sluice.reset')
    expect(again.slice(1)).toEqual(all)
  },
)

test('a page that asks with ?after=, and a run that will not go on, get the 204', async () => {
  const dir = root()
  putEnded(dir, 'r', 'finished')
  putEnded(dir, 'bad', 'failed')
  const { url } = await serving(dir)
  expect((await ask(`${url}runs/r/events?after=r:3`)).status).toBe(204)
  expect((await ask(`${url}runs/bad/events`, { 'last-event-id': 'bad:3' })).status).toBe(204)
})
