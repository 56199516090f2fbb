import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Handler, handler } from '../../src/serve/handler.ts'
import { parseSse, putRun } from '../../test/serve/serving.ts'
import { same } from './same.ts'

const SECRET = 'outside-of-the-directory'
const EVENTS = 12
/** What may be answered to a request of any kind: never a 500. */
const statuses = new Set([200, 204, 206, 302, 304, 400, 401, 403, 404, 405, 409, 410, 413, 415, 416, 429])

let made: { readonly runs: Handler; readonly all: Record<string, string[]> } | undefined
const views = ['events', 'chat', 'ag-ui', 'ai-sdk'] as const

/** A directory with runs of one and two attempts, and something beside it that nobody may read. */
async function served() {
  if (made) return made
  const base = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'))
  const dir = join(base, 'runs')
  mkdirSync(dir)
  writeFileSync(join(base, 'events.jsonl'), `${SECRET}\n`)
  mkdirSync(join(base, 'other'))
  writeFileSync(join(base, 'other', 'stdout.1.log'), SECRET)
  putRun(dir, 'one', EVENTS)
  putRun(dir, 'deep/two words', EVENTS, { run: 'r-2', attempts: 2 })
  const runs = handler({ dir, base: '/agents', allow: () => true, page: true, control: true })
  process.once('exit', () => rmSync(base, { recursive: true, force: true }))
  const all: Record<string, string[]> = {}
  for (const id of ['one', 'deep%2Ftwo%20words'])
    for (const view of views) all[`${id}/${view}`] = await told(runs, `${id}/${view}`, {})
  made = { runs, all }
  return made
}

async function told(runs: Handler, path: string, headers: Record<string, string>): Promise<string[]> {
  const response = await runs.fetch(new Request(`http://a.test/agents/runs/${path}`, { headers }))
  return parseSse(await response.text()).map(({ id, event, data }) => `${id} ${event ?? ''} ${data}`)
}

const piece = fc.constantFrom(
  ...[
    'runs',
    'one',
    'deep',
    'two words',
    'events',
    'chat',
    'ag-ui',
    'ai-sdk',
    'raw',
    'stdout',
    'control',
    'reply',
  ],
  ...[
    '..',
    '.',
    '',
    '%2e%2e',
    '%2F',
    '..%2f..%2fother',
    '%00',
    '%',
    '%zz',
    'a'.repeat(300),
    'other',
    'é',
    'session:%2F%2Fx',
  ],
)
const query = fc.constantFrom(
  ...[
    '',
    '?after=one:3',
    '?after=r-2:2.7',
    '?after=x',
    '?limit=1',
    '?limit=-1',
    '?limit=1e9',
    '?since=1',
    '?since=1.0',
  ],
  ...[
    '?from=0&to=5',
    '?from=-1&to=1e99',
    '?from=9&to=3&attempt=2',
    '?attempt=0',
    '?after=%00',
    '?find=%',
    '?follow=0',
  ],
)
const headers = fc.dictionary(
  fc.constantFrom('last-event-id', 'if-none-match', 'range', 'origin', 'content-type', 'accept'),
  fc.oneof(
    fc.constantFrom(
      'one:3',
      'r-2:2.4',
      'one:99',
      '"x"',
      'bytes=0-5',
      'http://a.test',
      'application/json',
      '*',
    ),
    fc.string({ maxLength: 12 }).filter((text) => /^[\x20-\x7e]*$/.test(text)),
  ),
  { maxKeys: 3 },
)

/** Any request gets a whole answer that is none of our faults, and nothing from beside the directory. */
const anyRequest = fc.record({
  path: fc.array(piece, { maxLength: 5 }).map((pieces) => `/agents/${pieces.join('/')}`),
  query,
  headers,
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
  body: fc.constantFrom('', '{', '{"do":"stop"}', '{"do":"answer"}', '[]', 'x'.repeat(70_000)),
})
const resumed = fc.record({
  run: fc.constantFrom('one', 'deep%2Ftwo%20words'),
  view: fc.constantFrom(...views),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
})

export const requests = fc.asyncProperty(anyRequest, resumed, async (asked, { run, view, at }) => {
  const { runs, all } = await served()
  const { method, body } = asked
  const init = { method, headers: asked.headers, ...(/^P/.test(method) ? { body } : {}) }
  let request: Request
  try {
    request = new Request(`http://a.test${asked.path}${asked.query}`, init)
  } catch {
    // No client can send it.
    return
  }
  const response = await runs.fetch(request)
  if (!statuses.has(response.status)) throw new Error(`${method} ${request.url}: ${response.status}`)
  const text = await response.text()
  if (text.includes(SECRET)) throw new Error(`${request.url} has what is beside the directory`)

  const whole = all[`${run}/${view}`]!
  const place = Math.floor(at * whole.length)
  const id = whole[place]?.split(' ')[0]
  if (id === undefined || id === 'undefined') return
  const rest = await told(runs, `${run}/${view}`, { 'last-event-id': id })
  same(rest, whole.slice(place + 1), `after ${id} of ${run}/${view}`)
})
