import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  DiscardPolicy,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  type StreamConfig,
} from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Rewound, tokenOf } from '../../src/nats/broker.ts'
import { mirror } from '../../src/nats/mirror.ts'
import { natsBroker } from '../../src/nats/nats-broker.ts'
import type { NatsOptions } from '../../src/nats/nats-connection.ts'
import { natsLedger } from '../../src/nats/nats-ledger.ts'
import { ship } from '../../src/nats/ship.ts'
import { subscribe } from '../../src/nats/subscribe.ts'
import { hasNats, type NatsServer, natsServer, needsNats, until } from './nats-server.ts'
import { journalsIn, lineAt, writeRun } from './runs.ts'

// Brokers with limits, streams of others, users without rights: a Fault that says what to do, and nothing
// lost, nothing twice.

let dir = ''
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-hostile-')))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const host = (...names: string[]) => join(dir, 'host', ...names)
const copy = (...names: string[]) => join(dir, 'copy', ...names)

/** The texts of all journals, whatever their folders are called. */
const textsIn = (path: string) => Object.values(journalsIn(path)).sort()

async function manage<T>(
  servers: string,
  act: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>,
  more = {},
): Promise<T> {
  const connection = await connect({ servers, ...more })
  try {
    return await act(await jetstreamManager(connection))
  } finally {
    await connection.close()
  }
}

describe.skipIf(!hasNats)(`a broker with limits${needsNats}`, () => {
  test('64 KB for a message: an event of 10 MB goes in parts and arrives', async () => {
    const server = await natsServer('max_payload: 65536')
    try {
      writeRun(host('large'), 'large', 1, { pad: 10_000_000 })
      writeRun(host('small'), 'small', 200, { pad: 1000 })
      await ship(host(), { servers: server.url })
      await mirror(copy(), { servers: server.url, untilIdle: 200 })
      expect(journalsIn(copy('default'))).toEqual(journalsIn(host()))
    } finally {
      await server.close()
    }
  }, 60_000)

  test('1 KB for a message is too little, and that is said', async () => {
    const server = await natsServer('max_payload: 1024')
    try {
      writeRun(host('r'), 'r', 1)
      await expect(ship(host(), { servers: server.url })).rejects.toMatchObject({
        code: 'BROKER_FAILED',
        message: expect.stringContaining('raise max_payload of the server to 8192'),
      })
    } finally {
      await server.close()
    }
  })
})

describe.skipIf(!hasNats)(`a stream of others${needsNats}`, () => {
  let server: NatsServer
  beforeAll(async () => {
    server = await natsServer()
  })
  afterAll(() => server.close())
  const names = { count: 0 }
  /** A stream with these settings. */
  async function made(config: Partial<StreamConfig>): Promise<{ servers: string; stream: string }> {
    const stream = `s${++names.count}`
    await manage(server.url, (manager) =>
      manager.streams.add({ name: stream, subjects: [`${stream}.>`], ...config }),
    )
    return { servers: server.url, stream }
  }

  test.each<[string, Partial<StreamConfig>, string]>([
    ['keeps one message of each run', { max_msgs_per_subject: 1 }, '--max-msgs-per-subject=-1'],
    ['removes what was read', { retention: RetentionPolicy.Workqueue }, 'retention'],
    ['acknowledges nothing', { no_ack: true }, 'no_ack'],
    ['has other subjects', { subjects: ['other.>'] }, 'name another stream'],
    ['takes 1 KB', { max_msg_size: 1024 }, 'raise max_msg_size of the stream'],
  ])('that %s is refused at once', async (_, config, words) => {
    writeRun(host('r'), 'r', 3)
    await expect(ship(host(), await made(config))).rejects.toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringContaining(words),
    })
  })

  test.each<[string, Partial<StreamConfig>]>([
    ['takes 20 KB for a message', { max_msg_size: 20_000 }],
    ['allows no direct questions', { allow_direct: false }],
  ])('that %s is good enough', async (_, config) => {
    const options = await made(config)
    writeRun(host('r'), 'r', 300, { pad: 500 })
    writeRun(host('long'), 'long', 1, { pad: 100_000 })
    await ship(host(), options)
    await ship(host(), options)
    await mirror(copy(), { ...options, untilIdle: 200 })
    expect(journalsIn(copy('default'))).toEqual(journalsIn(host()))
  })

  test('that is full is told with what to look at; when there is room again, all arrives once', async () => {
    const options = await made({ max_bytes: 100_000, discard: DiscardPolicy.New })
    for (let n = 0; n < 5; n++) writeRun(host(`r${n}`), `r${n}`, 50, { pad: 500 })
    await expect(ship(host(), { ...options, maxStall: 500 })).rejects.toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringMatching(/maximum bytes exceeded.*limits of the stream/s),
    })
    const stop = new AbortController()
    const told: string[] = []
    const shipped = ship(host(), {
      ...options,
      follow: true,
      maxStall: 500,
      signal: stop.signal,
      onStall: ({ message }) => told.push(message),
    })
    await until(() => told.length > 0)
    await manage(server.url, (manager) => manager.streams.update(options.stream, { max_bytes: -1 }))
    await mirror(copy(), { ...options, untilIdle: 3000 })
    stop.abort()
    await shipped
    expect(told).toHaveLength(1)
    expect(journalsIn(copy('default'))).toEqual(journalsIn(host()))
  }, 60_000)

  test('that has messages of other programs: those are told, the runs are there', async () => {
    const options = await made({})
    writeRun(host('r'), 'r', 3)
    await ship(host(), options)
    const connection = await connect({ servers: server.url })
    const js = jetstream(connection)
    await js.publish(`${options.stream}.a.b`, 'hello')
    await js.publish(`${options.stream}.a/x.b`, lineAt('b', 1, 1))
    await js.publish(`${options.stream}.one`, 'of no run')
    await js.publish(`${options.stream}.a.b.c`, 'of no run')
    await js.publish(`${options.stream}.empty.run`)
    await connection.close()
    writeRun(host('q'), 'q', 3)
    await ship(host(), options)
    const told: string[] = []
    const onRefused = (_: string, { message }: Error) => told.push(message)
    await expect(mirror(copy(), { ...options, untilIdle: 200, onRefused })).rejects.toMatchObject({
      code: 'BROKER_FAILED',
    })
    expect(told).toHaveLength(2)
    // Names of what is no run leave nothing behind.
    const folders = readdirSync(copy(), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.map(({ name }) => name)).toEqual(['default'])
    expect(journalsIn(copy('default'))).toEqual(journalsIn(host()))
    const reading = (async () => {
      for await (const _ of subscribe(options));
    })()
    await expect(reading).rejects.toMatchObject({ code: 'BROKER_FAILED' })
  })

  test('that is removed while it is used is told, and made again by the next one', async () => {
    const options = await made({})
    writeRun(host('r'), 'r', 3)
    await ship(host(), options)
    const stop = new AbortController()
    const told: string[] = []
    let asked = false
    const shipped = ship(host(), {
      ...options,
      follow: true,
      maxStall: 300,
      signal: stop.signal,
      onProgress: ({ over }) => {
        asked = over === 1
      },
      onStall: ({ message }) => told.push(message),
    })
    await until(() => asked)
    await manage(server.url, (manager) => manager.streams.delete(options.stream))
    writeRun(host('q'), 'q', 3)
    await until(() => told.length > 0)
    await ship(host(), options)
    await mirror(copy(), { ...options, untilIdle: 500 })
    stop.abort()
    await shipped
    expect(textsIn(copy())).toEqual(textsIn(host()))
  })

  test('that is made anew while it is read, with more in it than was read, is read from its start', async () => {
    const options = await made({})
    const broker = await natsBroker(options)
    const end = { attempt: 1, seq: 1, hash: 'h' }
    for (const run of ['a', 'b']) await broker.append({ tenant: 't', run }, end, Buffer.from('1\n'), 0)
    const seen: string[] = []
    const reading = (async () => {
      for await (const { name } of broker.read(1, {}, new AbortController().signal)) seen.push(name.run)
    })().catch((error) => error)
    await until(() => seen.length === 2)
    await manage(server.url, async (manager) => {
      await manager.streams.delete(options.stream)
      await manager.streams.add({ name: options.stream, subjects: [`${options.stream}.>`] })
    })
    for (const run of ['c', 'd', 'e']) await broker.append({ tenant: 't', run }, end, Buffer.from('1\n'), 0)
    expect(await reading).toBeInstanceOf(Rewound)
    await broker.close()
  })

  test('three replicas without a cluster are refused', async () => {
    mkdirSync(host(), { recursive: true })
    await expect(ship(host(), { servers: server.url, stream: 'r3', replicas: 3 })).rejects.toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringContaining('could not be created'),
    })
  })

  test('a bucket that forgets is no ledger', async () => {
    const connection = await connect({ servers: server.url })
    await new Kvm(connection).create('forgets', { ttl: 60_000 })
    await connection.close()
    const runs = natsLedger({ servers: server.url, bucket: 'forgets' })
    await expect(runs.read('shop#12')).rejects.toMatchObject({
      code: 'LEDGER_FAILED',
      message: expect.stringContaining('name another bucket'),
    })
    await runs.close()
  })

  test('run ids that are odd, long, or differ only in their case are runs of their own', async () => {
    const options = await made({})
    const ids = ['..', '.', '/etc/passwd', 'Run', 'run', 'é', 'e\u0301', '', ' ', '*', '>', '$JS', 'a\u0000b']
    ids.push('x'.repeat(5000), `${'x'.repeat(5000)}y`, '\u{1f600}'.repeat(100), '\ud800', '__proto__', 'CON')
    for (const [n, id] of ids.entries()) writeRun(host(`r${n}`), id, 3)
    expect(new Set(ids.map(tokenOf)).size).toBe(ids.length)
    expect(await ship(host(), options)).toMatchObject({ over: ids.length, events: 3 * ids.length })
    await mirror(copy(), { ...options, untilIdle: 200 })
    expect(textsIn(copy())).toEqual(textsIn(host()))
  })
})

describe.skipIf(!hasNats)(`users without rights${needsNats}`, () => {
  let server: NatsServer
  beforeAll(async () => {
    server = await natsServer(`authorization { users: [
      { user: admin, password: pw }
      { user: host, password: pw, permissions: {
          publish: ["sluice.host.>", "$JS.API.STREAM.INFO.sluice", "$JS.API.DIRECT.GET.sluice.sluice.host.>"]
          subscribe: ["_INBOX.>"] } }
      { user: blind, password: pw, permissions: {
          publish: ["$JS.API.CONSUMER.>"]
          subscribe: ["_INBOX.>"] } }
      { user: mute, password: pw, permissions: {
          publish: ["$JS.API.STREAM.INFO.sluice"]
          subscribe: ["_INBOX.>"] } }
    ] }`)
    const empty = mkdtempSync(join(tmpdir(), 'sluice-empty-'))
    await ship(empty, { servers: server.url, user: 'admin', password: 'pw' })
    rmSync(empty, { recursive: true })
  })
  afterAll(() => server.close())
  const as = (user: string) => ({ servers: server.url, user, password: 'pw' })

  test.each(['blind', 'mute'])('a mirror that may not ask (%s) fails with what to do, soon', async (user) => {
    await expect(mirror(copy(), { ...as(user), untilIdle: 200 })).rejects.toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringContaining('docs/hosts.md lists the permissions'),
    })
  })

  test('a host waits for a server that has no answer for now: the other way to ask is forbidden to it', async () => {
    const change = (allow: boolean) =>
      manage(server.url, (manager) => manager.streams.update('sluice', { allow_direct: allow }), {
        user: 'admin',
        pass: 'pw',
      })
    const stop = new AbortController()
    let done = 0
    writeRun(host('first'), 'first', 1)
    const onProgress = ({ events }: { readonly events: number }) => {
      done = events
    }
    const shipped = ship(host(), {
      ...as('host'),
      tenant: 'host',
      follow: true,
      signal: stop.signal,
      onProgress,
    })
    // Only now it has read that the stream allows the direct way.
    await until(() => done === 1)
    // The first question about the next run has to wait for its answer in vain.
    await change(false)
    writeRun(host('r'), 'r', 5)
    await delay(1000)
    await change(true)
    await until(() => done === 6)
    stop.abort()
    await shipped
  }, 60_000)

  test('a token can be in the address; a wrong one is told, and not shown', async () => {
    const guarded = await natsServer('authorization { token: "s3cret" }')
    try {
      const at = (token: string) => guarded.url.replace('nats://', `nats://${token}@`)
      mkdirSync(host())
      await ship(host(), { servers: at('s3cret') })
      await ship(host(), { servers: guarded.url, token: 's3cret' })
      const fault = await ship(host(), { servers: at('wr0ng') }).catch((error) => error)
      expect(fault).toMatchObject({
        code: 'BROKER_FAILED',
        message: expect.stringContaining('check user, password, token or creds'),
      })
      expect(fault.message).not.toContain('wr0ng')
    } finally {
      await guarded.close()
    }
  })
})

describe('no broker', () => {
  test.each<[string, (options: NatsOptions) => Promise<unknown>]>([
    ['ship', (options) => ship(dir, options)],
    ['mirror', (options) => mirror(copy(), options)],
    [
      'subscribe',
      async (options) => {
        for await (const _ of subscribe(options));
      },
    ],
  ])('%s says at once that no server answers, and how to start one', async (_, call) => {
    const onConnection = vi.fn()
    await expect(call({ servers: 'nats://127.0.0.1:1', onConnection })).rejects.toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringMatching(/no NATS server answers at nats:\/\/127.0.0.1:1 .*nats-server -js/),
    })
    // It would be told that a server is waited for.
    expect(onConnection).not.toHaveBeenCalled()
  })

  test('it is waited for if a time is given, and that is told', async () => {
    const told: boolean[] = []
    const onConnection = (there: boolean) => told.push(there)
    const options = { servers: 'nats://127.0.0.1:1', connectTimeout: 600, onConnection }
    const began = performance.now()
    await expect(ship(dir, options)).rejects.toMatchObject({ code: 'BROKER_FAILED' })
    expect(performance.now() - began).toBeGreaterThan(600)
    expect(told).toEqual([false])
  })

  test.skipIf(!hasNats)(`it is waited for that long by the clock of this process${needsNats}`, async () => {
    const server = await natsServer()
    await server.kill()
    try {
      let started = Promise.resolve()
      const onConnection = (there: boolean) => {
        if (there) return
        // This process is late, and the server comes a little after that.
        for (const until = performance.now() + 2100; performance.now() < until; );
        started = delay(500).then(() => server.start())
      }
      mkdirSync(host())
      await ship(host(), { servers: server.url, connectTimeout: 2000, onConnection })
      await started
    } finally {
      await server.close()
    }
  })

  test('a server that takes the connection and says nothing is not held on to', async () => {
    const left: Promise<unknown>[] = []
    const server = createServer((socket) => void left.push(once(socket.resume(), 'close')))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port } = server.address() as AddressInfo
      await expect(ship(dir, { servers: `nats://127.0.0.1:${port}` })).rejects.toMatchObject({
        code: 'BROKER_FAILED',
      })
      expect(left).toHaveLength(1)
      await Promise.all(left)
    } finally {
      server.close()
    }
  })
})
