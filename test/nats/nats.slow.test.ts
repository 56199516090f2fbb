import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openJournal } from '../../src/disk/journal.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { mirror } from '../../src/nats/mirror.ts'
import { ship } from '../../src/nats/ship.ts'
import { subscribe } from '../../src/nats/subscribe.ts'
import { hasNats, type NatsServer, natsServer, needsNats, until } from './nats-server.ts'
import { eventAt, journalsIn, writeRun } from './runs.ts'

let dir = ''
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-nats-test-')))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe.skipIf(!hasNats)(`with a real nats-server${needsNats}`, () => {
  let server: NatsServer
  beforeEach(async () => {
    server = await natsServer()
  })
  afterEach(() => server.close())

  test('ship, mirror and subscribe: all is there, once and in order', async () => {
    const { url: servers } = server
    writeRun(join(dir, 'a', 'r1'), 'r1', 1000, { pad: 300 })
    writeRun(join(dir, 'a', 'odd'), 'r s.t*>é', 3)
    writeRun(join(dir, 'a', 'long'), 'long', 2, { pad: 1_500_000 })
    expect(await ship(join(dir, 'a'), { servers, tenant: 'host-a' })).toMatchObject({ over: 3, events: 1005 })
    await mirror(join(dir, 'm'), { servers, untilIdle: 200 })
    const [host, copy] = [journalsIn(join(dir, 'a')), journalsIn(join(dir, 'm', 'host-a'))]
    expect(copy['r1/events.jsonl'] === host['r1/events.jsonl']).toBe(true)
    expect(copy['long/events.jsonl'] === host['long/events.jsonl']).toBe(true)
    expect(copy['r%20s%2Et%2A%3E%C3%A9/events.jsonl']).toBe(host['odd/events.jsonl'])
    const seqs: number[] = []
    for await (const event of subscribe({ servers, run: 'r1', after: { attempt: 1, seq: 17 } }))
      seqs.push(event.seq)
    expect(seqs).toEqual(Array.from({ length: 983 }, (_, n) => n + 18))
    let all = 0
    for await (const _ of subscribe({ servers })) if (++all === 1005) break
  })

  test('a subscriber gets events as they are written, and ends with the run', async () => {
    const { url: servers } = server
    const book = openJournal(join(dir, 'r1'))
    book.append(eventAt('r1', 1, 1))
    const shipped = ship(dir, { servers })
    const seqs: number[] = []
    for await (const event of subscribe({ servers, run: 'r1' })) {
      seqs.push(event.seq)
      if (event.seq < 50) book.append(eventAt('r1', 1, event.seq + 1))
      else book.close()
    }
    expect(seqs).toEqual(Array.from({ length: 50 }, (_, n) => n + 1))
    await shipped
  })

  test('everything waits while the server is away, and goes on', async () => {
    const { url: servers } = server
    const stop = new AbortController()
    const { signal } = stop
    const told: boolean[] = []
    const shipped = ship(dir, { servers, follow: true, signal, onConnection: (there) => told.push(there) })
    const seen: AgentEvent[] = []
    const reading = (async () => {
      for await (const event of subscribe({ servers, signal })) seen.push(event)
    })().catch((error) => error.name)
    const copy = join(dir, '..', `${dir.split('/').at(-1)}-m`)
    const mirrored = mirror(copy, { servers, signal })
    const size = (of: string) => Object.values(journalsIn(of)).join('').length
    writeRun(join(dir, 'r1'), 'r1', 10)
    await until(() => seen.length === 10)
    await server.kill()
    writeRun(join(dir, 'r2'), 'r2', 1500, { pad: 200 })
    await until(() => told.length > 0)
    await server.start()
    await until(() => seen.length === 1510)
    // The mirror reads by itself, and may be behind the subscriber.
    await until(() => size(copy) === size(dir))
    stop.abort()
    expect(await reading).toBe('AbortError')
    await Promise.all([shipped, mirrored])
    expect(told[0]).toBe(false)
    expect(told.at(-1)).toBe(true)
    expect(Object.values(journalsIn(copy)).sort()).toEqual(Object.values(journalsIn(dir)).sort())
    rmSync(copy, { recursive: true })
  })
})

describe.skipIf(!hasNats)(`with users, permissions and TLS${needsNats}`, () => {
  let server: NatsServer
  let certs = ''
  beforeAll(async () => {
    certs = mkdtempSync(join(tmpdir(), 'sluice-certs-'))
    const openssl = (words: string) =>
      execFileSync('openssl', words.split(' '), { cwd: certs, stdio: 'ignore' })
    openssl('req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2')
    openssl('req -newkey rsa:2048 -nodes -keyout key.pem -out csr.pem -subj /CN=localhost')
    writeFileSync(join(certs, 'ext'), 'subjectAltName=IP:127.0.0.1')
    openssl(
      'x509 -req -in csr.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile ext',
    )
    // As in docs/hosts.md.
    server = await natsServer(`
      tls { cert_file: "${join(certs, 'cert.pem')}", key_file: "${join(certs, 'key.pem')}" }
      authorization {
        users: [
          { user: admin, password: pw }
          { user: host-a, password: pw, permissions: {
              publish: ["sluice.host-a.>", "$JS.API.STREAM.INFO.sluice", "$JS.API.DIRECT.GET.sluice.sluice.host-a.>"]
              subscribe: ["_INBOX.>"] } }
          { user: page, password: pw, permissions: {
              publish: ["$JS.API.STREAM.INFO.sluice", "$JS.API.CONSUMER.*.sluice.>", "$JS.API.CONSUMER.MSG.NEXT.sluice.>", "$JS.API.DIRECT.GET.sluice.>"]
              subscribe: ["_INBOX.>"] } }
        ]
      }`)
  }, 60_000)
  afterAll(async () => {
    await server?.close()
    rmSync(certs, { recursive: true, force: true })
  })

  const as = (user: string, password = 'pw') => ({
    servers: server.url.replace('nats:', 'tls:'),
    user,
    password,
    tls: { ca: join(certs, 'ca.pem') },
  })

  test('a host writes only its own tenant, the page only reads', async () => {
    mkdirSync(join(dir, 'empty'))
    await ship(join(dir, 'empty'), as('admin'))
    writeRun(join(dir, 'h', 'r'), 'r', 20)
    expect(await ship(join(dir, 'h'), { ...as('host-a'), tenant: 'host-a' })).toMatchObject({ events: 20 })
    await expect(ship(join(dir, 'h'), { ...as('host-a'), tenant: 'host-b' })).rejects.toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringContaining('does not allow this'),
    })
    await expect(ship(join(dir, 'h'), { ...as('page'), tenant: 'host-b' })).rejects.toMatchObject({
      code: 'BROKER_FAILED',
    })
    await mirror(join(dir, 'm'), { ...as('page'), untilIdle: 200 })
    expect(journalsIn(join(dir, 'm', 'host-a'))).toEqual(journalsIn(join(dir, 'h')))
    let seen = 0
    for await (const _ of subscribe({ ...as('page'), run: 'r', tenant: 'host-a' })) seen++
    expect(seen).toBe(20)
  })

  test('a user and a password can be in the address, and no message shows them', async () => {
    const servers = server.url.replace('nats://', 'tls://page:pw@')
    await mirror(join(dir, 'm'), { servers, tls: { ca: join(certs, 'ca.pem') }, untilIdle: 100 })
    const wrong = servers.replace('pw@', 'secret@')
    const fault = await mirror(join(dir, 'n'), { servers: wrong, tls: { ca: join(certs, 'ca.pem') } }).catch(
      (error) => error,
    )
    expect(fault).toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringContaining('refuses this user'),
    })
    expect(fault.message).not.toContain('secret')
  })

  test('a certificate of no known authority is refused, and so is a server without TLS', async () => {
    await expect(
      mirror(join(dir, 'm'), { servers: server.url, user: 'page', password: 'pw' }),
    ).rejects.toMatchObject({
      code: 'BROKER_FAILED',
      message: expect.stringMatching(/is not trusted .*--tls-ca/),
    })
    const plain = await natsServer()
    try {
      await expect(
        mirror(join(dir, 'm'), { servers: plain.url.replace('nats:', 'tls:') }),
      ).rejects.toMatchObject({
        code: 'BROKER_FAILED',
        message: expect.stringContaining('tls'),
      })
    } finally {
      await plain.close()
    }
  })
})
