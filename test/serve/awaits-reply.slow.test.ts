import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Event, RunOutcome } from '../../src/events/event.ts'
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

const add = (path: string, event: Event) =>
  appendFileSync(join(path, 'events.jsonl'), `${JSON.stringify(event)}\n`)

test.each(['finished', 'needs_input'] as const)(
  'an EventSource on a run that is %s comes back, waits, and sees the reply',
  async (outcome) => {
    const dir = root()
    const path = putEnded(dir, 'r', outcome)
    const { url } = await serving(dir)
    // The first time the stream ends with the run.
    const all = parseSse((await ask(`${url}runs/r/events`)).text)
    expect(all.at(-1)?.id).toBe('r:3')
    const response = await comeBack(`${url}runs/r/events`, 'r:3')
    expect([response.statusCode, response.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    const chat = await comeBack(`${url}runs/r/chat`, 'r:99')
    expect(chat.statusCode).toBe(200)
    chat.destroy()
    add(path, makeEvent(1, { run: 'r', attempt: 2 }))
    let text = ''
    for await (const piece of response) text += piece
    expect(parseSse(text).map(({ id }) => id)).toEqual(['r:2.1'])
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
  const response = await comeBack(`${url}runs/r/events`, id)
  expect(response.statusCode).toBe(200)
  writeFileSync(join(path, 'stdout.2.log'), turn)
  writeFileSync(join(path, 'meta.2.json'), JSON.stringify({ engine: 'codex', exit: { code: 0 } }))
  let text = ''
  for await (const piece of response) text += piece
  const again = parseSse(text + (await ask(`${url}runs/r/events`, { 'last-event-id': id })).text)
  expect(again.at(-1)!.data).toContain('"attempt_number":2')
})

test('a page that asks with ?after=, and a run that will not go on, get the 204', async () => {
  const dir = root()
  putEnded(dir, 'r', 'finished')
  putEnded(dir, 'bad', 'failed')
  const { url } = await serving(dir)
  expect((await ask(`${url}runs/r/events?after=r:3`)).status).toBe(204)
  expect((await ask(`${url}runs/bad/events`, { 'last-event-id': 'bad:3' })).status).toBe(204)
})
