import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { mirrorInBackground } from '../../src/cli/commands/mirror.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { ship } from '../../src/nats/ship.ts'
import { run } from '../../src/run/run.ts'
import { serveWith } from '../../src/serve/serve.ts'
import { workspace } from '../run/agent.ts'
import { wires } from '../run/wires.ts'
import { hasNats, type NatsServer, natsServer, needsNats, until } from './nats-server.ts'
import { lineAt } from './runs.ts'

const home = process.env['XDG_STATE_HOME']

const host = (name: string) => `{ user: ${name}, password: pw, permissions: {
  publish: { allow: ["sluice.${name}.>", "$JS.API.STREAM.INFO.sluice", "$JS.API.DIRECT.GET.sluice.sluice.${name}.>"] }
  subscribe: ["_INBOX_${name}.>", "sluice-control.${name}.*"]
  allow_responses: true } }`

/** The users of docs/hosts.md. */
const USERS = `authorization { users: [
  { user: admin, password: pw }
  ${host('host-a')}
  ${host('host-b')}
  { user: page, password: pw, permissions: {
      publish: ["sluice-control.>", "$JS.API.STREAM.INFO.sluice", "$JS.API.CONSUMER.*.sluice.>", "$JS.API.CONSUMER.MSG.NEXT.sluice.>", "$JS.API.DIRECT.GET.sluice.>"]
      subscribe: ["_INBOX_page.>"] } }
] }`

describe.skipIf(!hasNats)(`orders over NATS${needsNats}`, () => {
  let server: NatsServer
  beforeAll(async () => {
    server = await natsServer(USERS)
    const empty = mkdtempSync(join(tmpdir(), 'sluice-empty-'))
    await ship(empty, as('admin'))
    rmSync(empty, { recursive: true })
  })
  afterAll(() => server.close())
  beforeEach(() => {
    process.env['XDG_STATE_HOME'] = workspace().cwd
  })
  const ends: (() => unknown)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
    if (home === undefined) delete process.env['XDG_STATE_HOME']
    else process.env['XDG_STATE_HOME'] = home
  })
  const as = (user: string) => ({ servers: server.url, user, password: 'pw', inbox: `_INBOX_${user}` })

  /** A run that asks, its host, and a server elsewhere that shows it. */
  async function watched({ control = true, shipped = true } = {}) {
    const { audit: runs, cwd } = workspace()
    mkdirSync(runs)
    const words = [
      join(wires, 'stand-in.mjs'),
      join(wires, 'gemini-acp.allow-once.jsonl'),
      join(cwd, 'notes'),
    ]
    const options = { engine: 'acp', cwd, runs, talk: true, control, prompt: 'Go.', fsDiff: false } as const
    const agent = run(process.execPath, words, options)
    const events: AgentEvent[] = []
    const reading = (async () => {
      for await (const event of agent) events.push(event)
    })()
    const stop = new AbortController()
    const startHost = (signal: AbortSignal) =>
      ship(runs, { ...as('host-a'), tenant: 'host-a', follow: true, control: shipped, signal })
    const shipping = startHost(stop.signal)
    const copy = join(workspace().cwd, 'copy')
    const { servers: from, ...page } = as('page')
    const source = await mirrorInBackground(from, copy, undefined, page)
    const { url, close } = await serveWith({ dir: copy, port: 0, control: true }, source.door)
    ends.push(async () => {
      agent.kill()
      stop.abort()
      await shipping
      await close()
      await source.close()
    })
    const path = `runs/host-a%2F${agent.runId}`
    const info = async () => (await (await fetch(new URL(path, url))).json()) as Record<string, unknown>
    const post = async (order: object) => {
      const head = { origin: new URL(url).origin, 'content-type': 'application/json' }
      const body = JSON.stringify(order)
      const told = await fetch(new URL(`${path}/control`, url), { method: 'POST', headers: head, body })
      return { status: told.status, text: await told.text() }
    }
    const waits = async () => (await fetch(new URL(path, url))).ok && (await info())['waits_for'] !== null
    const orders = () =>
      events.flatMap(({ type, data }) => (type === 'lifecycle.run.status' && 'result' in data ? [data] : []))
    return { agent, info, post, waits, orders, reading, stop, startHost, shipping, copy }
  }

  test('an order reaches the run of another host, once, and is told everywhere', async () => {
    const { agent, info, post, waits, orders, reading } = await watched()
    await until(waits)
    await until(async () => (await info())['control'] === true)
    const order = { id: 'mine', do: 'answer', request: '1:0', option: 'proceed_once' }
    const both = await Promise.all([post(order), post(order)])
    expect(both.map(({ status }) => status).sort()).toEqual([202, 409])
    await reading
    expect(orders()).toMatchObject([{ id: 'mine', by: 'page', result: 'done' }])
    expect((await agent.end).ok).toBe(true)
    await until(async () => (await info())['state'] !== 'running')
    expect(await info()).not.toHaveProperty('control')
    expect(await post({ do: 'stop' })).toMatchObject({ status: 409, text: 'this run has ended\n' })
  }, 60_000)

  test.each([
    ['its host passes no orders on', { shipped: false }],
    ['it was started without control', { control: false }],
  ])(
    'nothing is offered or done if %s',
    async (_, sides) => {
      const { info, post, waits, orders } = await watched(sides)
      await until(waits)
      expect(await info()).not.toHaveProperty('control')
      expect(await post({ do: 'stop' })).toMatchObject({ status: 409 })
      expect(orders()).toEqual([])
    },
    60_000,
  )

  test('an order is told as not delivered while its host is away, and arrives when it is back', async () => {
    const { info, post, waits, orders, reading, stop, startHost, shipping } = await watched()
    await until(waits)
    await until(async () => (await info())['control'] === true)
    stop.abort()
    await shipping
    expect(await post({ do: 'interrupt' })).toMatchObject({
      status: 503,
      // The broker may learn later than we that its host has gone.
      text: expect.stringMatching(/not delivered|did not answer/),
    })
    expect(orders()).toEqual([])
    const again = new AbortController()
    const posted = post({ do: 'answer', request: '1:0', option: 'proceed_once' })
    await delay(500)
    const host = startHost(again.signal)
    expect(await posted).toMatchObject({ status: 202 })
    await reading
    expect(orders()).toMatchObject([{ result: 'done' }])
    again.abort()
    await host
  }, 60_000)

  test('another host can give it no order, and read none', async () => {
    const { agent, info, post, waits, orders, reading, copy } = await watched()
    await until(waits)
    await until(async () => (await info())['control'] === true)
    const { servers, user, password: pass, inbox: inboxPrefix } = as('host-b')
    const hostile: NatsConnection = await connect({ servers, user, pass, inboxPrefix })
    ends.push(() => hostile.close())
    const read: string[] = []
    const refused: string[] = []
    for (const subject of [
      'sluice-control.host-a.*',
      'sluice-control.>',
      '_INBOX_page.>',
      '_INBOX.>',
      'sluice.>',
      '>',
    ])
      hostile.subscribe(subject, {
        callback: (error, message) => void (error ? refused.push(subject) : read.push(message.subject)),
      })
    const subject = `sluice-control.host-a.${agent.runId}`
    const order = JSON.stringify({ id: 'evil', at: '', by: 'page', do: 'stop', now: true })
    // By itself, and with the help of what may send to any subject: JetStream answers where it is told to.
    hostile.publish(subject, order)
    hostile.publish(subject, order, { reply: '_INBOX_host-b.x' })
    hostile.publish('sluice.host-b.evil', order)
    hostile.publish('$JS.API.DIRECT.GET.sluice.sluice.host-b.evil', undefined, { reply: subject })
    hostile.publish('$JS.API.STREAM.INFO.sluice', undefined, { reply: subject })
    const block = headers()
    block.set('Sluice-Last', '1.1')
    hostile.publish('sluice.host-b.forged', lineAt('forged', 1, 1), { headers: block })
    hostile.publish('$JS.API.DIRECT.GET.sluice.sluice.host-b.forged', undefined, {
      reply: 'sluice.host-a.forged',
    })
    await hostile.flush()
    await until(() => refused.length === 6)
    await delay(1000)
    expect(orders()).toEqual([])
    expect(await post({ do: 'answer', request: '1:0', option: 'proceed_once' })).toMatchObject({
      status: 202,
    })
    await reading
    expect(orders()).toMatchObject([{ do: 'answer', result: 'done' }])
    expect(read).toEqual([])
    // Nor can it forge a run of another host.
    await until(() => existsSync(join(copy, 'host-b', 'forged')))
    expect(existsSync(join(copy, 'host-a', 'forged'))).toBe(false)
  }, 60_000)
})
