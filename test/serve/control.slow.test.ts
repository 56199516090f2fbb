import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { run } from '../../src/run/run.ts'
import type { Run, RunOptions } from '../../src/run/run-options.ts'
import { handler } from '../../src/serve/handler.ts'
import type { RunInfo } from '../../src/serve/run-info.ts'
import type { GivenOrder } from '../../src/serve/serve-options.ts'
import { workspace } from '../run/agent.ts'
import { wires } from '../run/wires.ts'
import { serving, shutAll } from './serving.ts'

const home = process.env['XDG_STATE_HOME']

beforeEach(() => {
  process.env['XDG_STATE_HOME'] = workspace().cwd
})

afterEach(async () => {
  await shutAll()
  if (home === undefined) delete process.env['XDG_STATE_HOME']
  else process.env['XDG_STATE_HOME'] = home
})

/** An agent that says what was recorded. */
function standIn(recorded: string, runs: string, more: Partial<RunOptions> = {}) {
  const { cwd } = workspace()
  const words = [join(wires, 'stand-in.mjs'), join(wires, `${recorded}.jsonl`), join(cwd, 'notes.jsonl')]
  const options = {
    engine: 'acp',
    cwd,
    runs,
    talk: true,
    control: true,
    prompt: 'Go.',
    fsDiff: false,
    ...more,
  }
  return run(process.execPath, words, options as RunOptions)
}

interface Told {
  readonly status: number
  readonly text: string
}

async function post(url: string, path: string, body: unknown, headers: object = {}): Promise<Told> {
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    headers: { origin: new URL(url).origin, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

/** Reads a run until it asks. */
async function asked(agent: Run): Promise<{ request: string; rest: Promise<AgentEvent[]> }> {
  const events = agent[Symbol.asyncIterator]()
  const seen: AgentEvent[] = []
  for (;;) {
    const { value, done } = await events.next()
    if (done) throw new Error('it has ended')
    seen.push(value)
    const request = value.type === 'lifecycle.run.status' ? value.data.request?.id : undefined
    if (request === undefined) continue
    const rest = (async () => {
      for (let next = await events.next(); !next.done; next = await events.next()) seen.push(next.value)
      return seen
    })()
    return { request, rest }
  }
}

const orders = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'lifecycle.run.status' && event.data.result ? [event.data] : []))

test('answers a request over HTTP, and says which runs take orders', async () => {
  const { audit: runs } = workspace()
  const agent = standIn('gemini-acp.allow-once', runs)
  const log: GivenOrder[] = []
  const { url } = await serving(join(runs, '..'), { control: { onOrder: (given) => log.push(given) } })
  const { request, rest } = await asked(agent)
  const list = async () => (await (await fetch(new URL('runs', url))).json()) as RunInfo[]
  const [info] = await list()
  expect(info).toMatchObject({ control: true, run_id: agent.runId })
  const path = `runs/${agent.runId}/control`
  const told = await post(url, path, { do: 'answer', request, option: 'proceed_once' })
  expect(told.status).toBe(202)
  const { id } = JSON.parse(told.text)
  expect(orders(await rest)).toMatchObject([
    { status: 'control', id, do: 'answer', by: 'page', result: 'done' },
  ])
  expect((await agent.end).ok).toBe(true)
  expect(log).toMatchObject([{ address: '127.0.0.1', id, do: 'answer', request, option: 'proceed_once' }])
  // A list may be half a second old.
  await expect.poll(list).not.toMatchObject([{ control: true }])
  expect(await post(url, path, { do: 'stop' })).toMatchObject({ status: 409 })
})

/** Requests that must change nothing: what is sent, and the words of the refusal. */
function hostile(
  url: string,
  id: string,
  request: string,
): [name: string, () => Promise<Told>, status: number, why: RegExp][] {
  const { origin, host } = new URL(url)
  const to = `runs/${id}/control`
  const order = { do: 'answer', request, option: 'proceed_once' }
  const json = { 'content-type': 'application/json' }
  const sends =
    (body: unknown, headers: Record<string, string> = {}, path = to, method = 'POST') =>
    () =>
      raw(
        url,
        path,
        method,
        { origin, ...json, ...headers },
        typeof body === 'string' ? body : JSON.stringify(body),
      )
  const bare =
    (headers: Record<string, string>, method = 'POST') =>
    () =>
      raw(url, to, method, headers, JSON.stringify(order))
  return [
    ['another origin', sends(order, { origin: 'https://evil.example' }), 403, /not the origin/],
    ['another port of this host', sends(order, { origin: 'http://127.0.0.1:1' }), 403, /not the origin/],
    ['a name that looks like it', sends(order, { origin: `${origin}.evil.example` }), 403, /not the origin/],
    ['a file', sends(order, { origin: 'null' }), 403, /not the origin/],
    ['two origins', sends(order, { origin: `${origin}, ${origin}` }), 403, /not the origin/],
    ['another site', sends(order, { 'sec-fetch-site': 'cross-site' }), 403, /another site/],
    ['a site beside', sends(order, { 'sec-fetch-site': 'same-site' }), 403, /another site/],
    ['typed by a user', bare({ ...json, 'sec-fetch-site': 'none' }), 403, /another site/],
    ['no origin at all', bare(json), 403, /needs the header Origin/],
    [
      'another name of the host',
      sends(order, { host: 'evil.example', origin: 'http://evil.example' }),
      403,
      /that name/,
    ],
    ['a form', sends('do=stop', { 'content-type': 'application/x-www-form-urlencoded' }), 415, /send JSON/],
    ['a form of plain text', sends(order, { 'content-type': 'text/plain' }), 415, /send JSON/],
    ['a form with files', sends(order, { 'content-type': 'multipart/form-data' }), 415, /send JSON/],
    ['a type that begins like it', sends(order, { 'content-type': 'application/jsonp' }), 415, /send JSON/],
    ['no type', bare({ origin }), 415, /send JSON/],
    ['a GET', () => raw(url, to, 'GET', { origin }, ''), 405, /posted/],
    ['a PUT', sends(order, {}, to, 'PUT'), 405, /only GET/],
    ['a DELETE', sends(order, {}, to, 'DELETE'), 405, /only GET/],
    ['a preflight', bare({ origin, 'access-control-request-method': 'POST' }, 'OPTIONS'), 405, /only GET/],
    [
      'another method in a header',
      () => raw(url, to, 'GET', { origin, 'x-http-method-override': 'POST' }, ''),
      405,
      /posted/,
    ],
    ['an order of 1 GB, as it says', sends(order, { 'content-length': '1073741824' }), 413, /64 KiB/],
    ['an order that grows', sends({ ...order, request: 'x'.repeat(1 << 20) }), 413, /64 KiB/],
    ['no JSON', sends('{"do":'), 400, /not JSON/],
    ['nothing', sends(''), 400, /not JSON/],
    ['a list', sends([order]), 400, /JSON object/],
    ['null', sends('null'), 400, /JSON object/],
    ['another deed', sends({ do: 'reply', text: 'rm' }), 400, /"do"/],
    ['a deed of Object', sends({ do: 'constructor' }), 400, /"do"/],
    ['a command', sends({ do: 'stop', argv: ['rm', '-rf', '/'] }), 400, /no "argv"/],
    ['a path', sends({ ...order, dir: '/etc' }), 400, /no "dir"/],
    ['who it comes from', sends({ ...order, by: 'user' }), 400, /no "by"/],
    ['an id with a path', sends({ ...order, id: '../../x' }), 400, /id of an order/],
    ['an option and answers', sends({ ...order, answers: { a: 'b' } }), 400, /option of its request/],
    ['neither', sends({ do: 'answer', request }), 400, /option of its request/],
    [
      'an option that was not offered',
      sends({ ...order, option: 'allow_all' }),
      400,
      /no option "allow_all"/,
    ],
    ['a kind', sends({ ...order, option: 'allow_once' }), 400, /no option/],
    ['answers to no question', sends({ do: 'answer', request, answers: { a: 'b' } }), 400, /no question/],
    ['a number for an option', sends({ ...order, option: 0 }), 400, /id of an option/],
    ['an unknown request', sends({ ...order, request: '1:77' }), 404, /no request "1:77"/],
    ['an unknown run', sends(order, {}, 'runs/nonesuch/control'), 404, /no such run/],
    ['a path out of the runs', sends(order, {}, 'runs/..%2F..%2Fetc/control'), 404, /no such run/],
    ['a reply that is not allowed', sends({ text: 'and rm' }, {}, `runs/${id}/reply`), 403, /no replies/],
    [
      'another server in the path',
      () => raw(url, `/${host}/${to}`, 'POST', { origin, ...json }, JSON.stringify(order)),
      404,
      /one slash/,
    ],
  ]
}

/** A request as no browser and no fetch would send it. */
function raw(
  url: string,
  path: string,
  method: string,
  headers: Record<string, string>,
  body: string,
): Promise<Told> {
  return new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url)
    const sent = httpRequest({ host, port, path: `/${path}`, method, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text })
        sent.destroy()
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

test('changes nothing for hostile requests, and says why', async () => {
  const { audit: runs } = workspace()
  const agent = standIn('gemini-acp.allow-once', runs)
  const log: GivenOrder[] = []
  const { url } = await serving(runs, { control: { onOrder: (given) => log.push(given) } })
  const { request, rest } = await asked(agent)
  const tried = hostile(url, agent.runId, request)
  expect(tried.length).toBeGreaterThanOrEqual(40)
  for (const [name, send, status, why] of tried) {
    const told = await send()
    expect([name, told]).toMatchObject([name, { status, text: expect.stringMatching(why) }])
  }
  expect(log).toEqual([])
  const path = `runs/${agent.runId}/control`
  const order = { id: 'mine', do: 'answer', request, option: 'proceed_once' }
  const both = await Promise.all([post(url, path, order), post(url, path, order)])
  expect(both.map(({ status }) => status).sort()).toEqual([202, 409])
  const events = await rest
  expect(orders(events)).toMatchObject([{ id: 'mine', result: 'done' }])
  expect(await post(url, path, { do: 'stop' })).toMatchObject({ status: 409, text: 'this run has ended\n' })
  expect(log).toHaveLength(1)
})

test('passes nothing on without control, of the server or of the run', async () => {
  const { audit: runs } = workspace()
  const agent = standIn('gemini-acp.allow-once', runs, { control: false })
  const [plain, control] = [await serving(runs), await serving(runs, { control: true })]
  const { request, rest } = await asked(agent)
  const order = { do: 'answer', request, option: 'proceed_once' }
  const path = `runs/${agent.runId}/control`
  expect(await post(plain.url, path, order)).toMatchObject({ status: 405 })
  expect(await post(control.url, path, order)).toMatchObject({
    status: 409,
    text: expect.stringMatching(/not started with control/),
  })
  const info = await (await fetch(new URL(`runs/${agent.runId}`, control.url))).json()
  expect(info).not.toHaveProperty('control')
  expect(agent.answer(request, 'cancel')).toBe(true)
  expect(orders(await rest)).toEqual([])
})

test('wants the token, and no other origin, where others can reach it', async () => {
  const { audit: runs } = workspace()
  mkdirSync(runs)
  await expect(serving(runs, { host: '0.0.0.0', insecure: true, control: true })).rejects.toThrow(
    'set a token',
  )
  const token = '0123456789abcdef'
  const log: GivenOrder[] = []
  const control = { origins: ['https://runs.example'], onOrder: (given: GivenOrder) => log.push(given) }
  const { url } = await serving(runs, { token, control })
  const agent = standIn('gemini-acp.allow-once', runs)
  const { request, rest } = await asked(agent)
  const path = `runs/${agent.runId}/control`
  const order = { do: 'answer', request, option: 'proceed_once' }
  expect(await post(url, path, order)).toMatchObject({ status: 401 })
  const may = { authorization: `Bearer ${token}` }
  expect(await post(url, path, order, { ...may, origin: 'https://other.example' })).toMatchObject({
    status: 403,
  })
  expect(await post(url, path, order, { ...may, origin: 'https://runs.example' })).toMatchObject({
    status: 202,
  })
  await rest
  expect(log).toMatchObject([{ token: 'token' }])
})

test('limits the orders of one client', async () => {
  const { audit: runs } = workspace()
  mkdirSync(runs)
  const { url } = await serving(runs, { control: true })
  const all = await Promise.all(
    Array.from({ length: 250 }, () => post(url, 'runs/none/control', { do: 'stop' })),
  )
  const statuses = new Set(all.map(({ status }) => status))
  expect(statuses).toEqual(new Set([404, 429]))
})

test('starts an agent again only where that is allowed', async () => {
  const { audit: runs } = workspace()
  mkdirSync(runs)
  const { cwd } = workspace()
  const script = join(cwd, 'codex')
  const line = (text: object) => `console.log(${JSON.stringify(JSON.stringify(text))})\n`
  writeFileSync(
    script,
    `#!${process.execPath}\n${line({ type: 'thread.started', thread_id: '01a1dca6-d54f-7150-8e64-c1add1133420' })}${line({ type: 'turn.started' })}${line({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'Hi.' } })}${line({ type: 'turn.completed', usage: {} })}`,
    { mode: 0o755 },
  )
  const agent = run(script, ['exec', '--json'], {
    engine: 'codex',
    runs,
    cwd,
    prompt: 'Go.',
    control: true,
    fsDiff: false,
  })
  expect((await agent.end).ok).toBe(true)
  const log: GivenOrder[] = []
  const { url } = await serving(runs, { control: { reply: true, onOrder: (given) => log.push(given) } })
  const info = async () => (await (await fetch(new URL(`runs/${agent.runId}`, url))).json()) as RunInfo
  expect(await info()).toMatchObject({ reply: true, attempts: 1 })
  const path = `runs/${agent.runId}/reply`
  expect(await post(url, path, { text: ' ' })).toMatchObject({ status: 400 })
  expect(await post(url, path, { text: 'x', argv: ['rm'] })).toMatchObject({ status: 400 })
  expect(await post(url, path, { text: 'more' }, { origin: 'http://evil.example' })).toMatchObject({
    status: 403,
  })
  expect(await post(url, path, { text: 'more' })).toMatchObject({ status: 202, text: '{"attempt":2}\n' })
  await expect.poll(info, { timeout: 10_000 }).toMatchObject({ attempts: 2, ok: true, reply: true })
  expect(log).toMatchObject([{ do: 'reply' }])
  expect(JSON.parse(readFileSync(join(agent.audit!, 'meta.2.json'), 'utf8'))).toMatchObject({ control: true })
})

test('takes orders in a server of your own, also over the Fetch API', async () => {
  const { audit: runs } = workspace()
  mkdirSync(runs)
  const seen: string[] = []
  const log: unknown[] = []
  const onOrder = () => {
    log.push('given')
    throw new Error('no log today')
  }
  const runsOf = handler({
    dir: runs,
    control: { origins: ['http://own.example'], onOrder },
    allow: (request) => {
      seen.push(request.method ?? '')
      return request.method === 'GET' || seen.length > 1
    },
  })
  const agent = standIn('gemini-acp.allow-once', runs)
  const { request, rest } = await asked(agent)
  const send = (origin: string, host = origin) =>
    runsOf.fetch(
      new Request(`${host}/runs/${agent.runId}/control`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: JSON.stringify({ do: 'answer', request, option: 'proceed_once' }),
      }),
    )
  expect((await send('http://own.example')).status).toBe(403)
  expect((await send('http://other.example', 'http://own.example')).status).toBe(403)
  // A name that another site has pointed here.
  const rebound = await send('http://evil.example')
  expect(rebound.status).toBe(403)
  expect(await rebound.text()).toMatch(/only if its origin is named/)
  expect((await send('http://own.example')).status).toBe(202)
  expect(log).toEqual(['given'])
  expect(orders(await rest)).toMatchObject([{ result: 'done' }])
  // Over, and not another site.
  expect((await send('http://localhost:3000')).status).toBe(409)
  await runsOf.close()
})
