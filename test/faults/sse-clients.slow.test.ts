import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createParser } from 'eventsource-parser'
import { afterEach, expect, test } from 'vitest'
import { openJournal } from '../../src/disk/journal.ts'
import { takeLock } from '../../src/disk/lock.ts'
import { makeEvent } from '../disk/make-event.ts'
import { ask, parseSse, putRun, root, serving, shutAll } from '../serve/serving.ts'
import { serverProcess } from './server-process.ts'

afterEach(shutAll)

/**
 * Like a browser's EventSource: it remembers the last id, comes back with it after a cut, and counts what it
 * saw.
 */
class Client {
  readonly seen: string[] = []
  last = ''
  resets = 0
  #request: ReturnType<typeof get> | undefined
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** Listens until the server ends the stream, or `hangUp` says that it is enough. */
  listen(hangUp: (seen: number) => boolean = () => false): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = this.last ? { 'last-event-id': this.last } : {}
      this.#request = get(this.#url, { headers, agent: false }, (response: IncomingMessage) => {
        const parser = createParser({
          onEvent: ({ id, event }) => {
            if (event === 'sluice.reset') this.resets++
            if (id !== undefined) this.last = id
            if (id) this.seen.push(id)
          },
        })
        response.setEncoding('utf8').on('data', (text) => {
          parser.feed(text)
          if (hangUp(this.seen.length)) response.destroy()
        })
        response.once('close', () => resolve(response.statusCode ?? 0))
      })
      this.#request.on('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ECONNRESET' ? resolve(0) : reject(error),
      )
    })
  }

  hangUp(): void {
    this.#request?.destroy()
  }
}

// What a message may hold: test/streams/sse.test.ts.

const linux = existsSync('/proc/self/fd')
const LF = '\r\n'
const request = `GET /runs/r/events HTTP/1.1${LF}Host: localhost${LF}${LF}`

test.runIf(linux)(
  'slow clients: each has a bounded queue and is then disconnected, the others are unaffected',
  async () => {
    const dir = root()
    const path = putRun(dir, 'r', 1)
    const text = 'y'.repeat(2000)
    const lines = Array.from(
      { length: 8000 },
      (_, i) => `${JSON.stringify(makeEvent(i + 1, { run: 'r', text }))}\n`,
    )
    writeFileSync(join(path, 'events.jsonl'), lines.join(''))
    const total = lines.length * 2000
    // A busy host needs some seconds to let all of them in: none may be dropped before the last is there.
    const server = await serverProcess(dir, 'r', { maxStall: 12_000 })
    try {
      const before = server.peak()
      const deaf = Array.from({ length: 40 }, () => {
        const socket = connect(server.port, '127.0.0.1').pause()
        socket.on('error', () => {})
        socket.write(request)
        return socket
      })
      await expect.poll(server.clients, { timeout: 20_000 }).toBe(40)
      // While forty clients do not read, another one gets everything.
      const good = new Client(`${server.url}runs/r/events`)
      await good.listen()
      expect(good.seen).toHaveLength(8000)
      // None of them reads now, so only the server can end this.
      await expect.poll(server.clients, { timeout: 40_000 }).toBe(0)
      // What was asked for is 40 times 16 MB; each has a block of it, and what is shared.
      expect(server.peak() - before).toBeLessThan(64e6)
      const sizes = await Promise.all(
        deaf.map(async (socket) => {
          let size = 0
          socket.on('data', (bytes) => {
            size += bytes.length
          })
          const closed = once(socket, 'close')
          socket.resume()
          await closed
          return size
        }),
      )
      // Each was served what the kernel takes on the way, and cut long before it had everything.
      expect(Math.min(...sizes)).toBeGreaterThan(0)
      expect(Math.max(...sizes)).toBeLessThan(total * 0.9)
    } finally {
      await server.stop()
    }
  },
  120_000,
)

test('a reconnect with a Last-Event-ID: exactly what comes after it, or a clear reset, or a refusal', async () => {
  const dir = root()
  const path = putRun(dir, 'r', 200)
  putRun(dir, 'other', 50)
  // The first ten are gone: an id among them is too old.
  const lines = readFileSync(join(path, 'events.jsonl'), 'utf8').split('\n')
  writeFileSync(join(path, 'events.jsonl'), lines.slice(10).join('\n'))
  const { url } = await serving(dir)
  const from = (id: string) => ask(`${url}runs/r/events`, { 'last-event-id': id })
  const ids = (text: string) => parseSse(text).map((message) => message.id)
  const expected = (first: number) => Array.from({ length: 201 - first }, (_, i) => `r:${first + i}`)

  for (const valid of [11, 50, 199]) expect(ids((await from(`r:${valid}`)).text)).toEqual(expected(valid + 1))
  expect((await from('r:200')).status).toBe(204)
  for (const [id, reason] of [
    ['r:5', 'gone'],
    ['r:201', 'gone'],
    ['r:999999999999999', 'gone'],
    ['r:7.1', 'gone'],
    ['%00', 'foreign'],
    ['other:7', 'foreign'],
    ['r:7x', 'foreign'],
    ['r:-1', 'foreign'],
    ['r:1e3', 'foreign'],
    ['r:__proto__', 'foreign'],
    ['../other:7', 'foreign'],
    ["r:7'; drop", 'foreign'],
  ]) {
    const [reset, ...rest] = parseSse((await from(id!)).text)
    expect([id, reset!.event, JSON.parse(reset!.data).reason]).toEqual([id, 'sluice.reset', reason])
    expect(rest.map((message) => message.id)).toEqual(expected(11))
  }
  expect((await from('r'.repeat(2000))).status).toBe(400)
  // Node itself answers a header that is larger than it takes.
  expect([400, 431]).toContain((await from('9'.repeat(12_000))).status)
  expect([400, 431]).toContain((await from('9'.repeat(200_000)).catch(() => ({ status: 431 }))).status)

  // A client that is cut again and again sees every event once.
  const client = new Client(`${url}runs/r/events`)
  for (let cuts = 0, status = 0; status !== 204 && cuts < 500; cuts++) {
    const goal = client.seen.length + 17
    status = await client.listen((seen) => seen >= goal)
  }
  expect([client.seen, client.resets]).toEqual([expected(11), 0])
})

test.runIf(linux)(
  'a client that is stopped, one that half-closes, one that vanishes: heartbeats go on, the dead ones are let go, no descriptor is left',
  async () => {
    const dir = root()
    const path = putRun(dir, 'r', 0)
    const book = openJournal(path)
    book.append(makeEvent(1, { run: 'r' }))
    const server = await serverProcess(dir, 'r', { heartbeat: 20, maxStall: 2500 })
    const { url, port, clients } = server
    const before = server.descriptors()

    // A whole process that is stopped: its kernel still takes bytes, until its buffer is full.
    const stopped = spawn(process.execPath, [
      '-e',
      `const s = require('net').connect(${port}, '127.0.0.1'); s.write(${JSON.stringify(request)}); s.on('data', () => process.stdout.write('.'))`,
    ])
    try {
      await once(stopped.stdout, 'data')
      stopped.kill('SIGSTOP')
      const vanished = connect(port, '127.0.0.1')
      vanished.write(request)
      await once(vanished, 'data')
      vanished.resetAndDestroy()
      // It will not ask again, so it is taken at its word and let go.
      const halfClosed = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
      halfClosed.end(request)
      await once(halfClosed, 'end')
      const listener = connect(port, '127.0.0.1')
      let heard = ''
      listener.setEncoding('utf8').on('data', (text) => {
        heard += text
      })
      listener.write(request)
      const live = new Client(`${url}runs/r/events`)
      const ended = live.listen()
      await expect.poll(() => heard.split(':\n\n').length, { timeout: 20_000 }).toBeGreaterThan(3)
      await expect.poll(clients, { timeout: 20_000 }).toBe(3)

      // Enough to fill every buffer on the way to the one that is stopped; the others read meanwhile.
      for (let seq = 2; seq <= 6000; seq++) {
        book.append(makeEvent(seq, { run: 'r', text: 'z'.repeat(2000) }))
        if (seq % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      await expect.poll(() => live.seen.length, { timeout: 20_000 }).toBe(6000)
      await expect.poll(clients, { timeout: 20_000 }).toBe(2)
      // The others still hear that there is nothing new.
      const beats = heard.split(':\n\n').length
      await expect.poll(() => heard.split(':\n\n').length, { timeout: 20_000 }).toBeGreaterThan(beats + 3)
      expect(heard).toContain('id: r:6000\n')
      book.close()
      expect(await ended).toBe(200)
      halfClosed.destroy()
      listener.destroy()
      await expect.poll(clients, { timeout: 20_000 }).toBe(0)
      await expect.poll(server.descriptors, { timeout: 10_000 }).toBeLessThanOrEqual(before)
    } finally {
      stopped.kill('SIGKILL')
      await server.stop()
    }
  },
  60_000,
)

test.runIf(linux)(
  '1,000 clients at once, then a storm of reconnects: every event once for each, bounded, no descriptor left',
  async () => {
    const dir = root()
    const path = putRun(dir, 'r', 0)
    const book = openJournal(path)
    for (let seq = 1; seq <= 20; seq++) book.append(makeEvent(seq, { run: 'r' }))
    const server = await serverProcess(dir, 'r')
    const before = server.descriptors()
    const memory = server.peak()
    const crowd = Array.from({ length: 1000 }, () => new Client(`${server.url}runs/r/events`))
    const first = crowd.map((client) => client.listen((seen) => seen >= 30))
    await expect.poll(server.clients, { timeout: 30_000 }).toBe(1000)
    // Not `before + 1000`: a file may have been open for a moment when `before` was counted.
    expect(server.descriptors()).toBeGreaterThan(1000)
    for (let seq = 21; seq <= 30; seq++) book.append(makeEvent(seq, { run: 'r' }))
    await Promise.all(first)
    // All hang up at the same event and come back at once, with more to come meanwhile; twice.
    let again: Promise<number>[] = []
    for (const goal of [40, 50]) {
      again = crowd.map((client) => client.listen((seen) => goal < 50 && seen >= goal))
      for (let seq = goal - 9; seq <= goal; seq++) book.append(makeEvent(seq, { run: 'r' }))
      if (goal < 50) await Promise.all(again)
    }
    await expect
      .poll(() => crowd.filter((client) => client.seen.length === 50).length, { timeout: 30_000 })
      .toBe(1000)
    book.close()
    await Promise.all(again)
    const expected = Array.from({ length: 50 }, (_, i) => `r:${i + 1}`)
    for (const client of crowd) expect([client.seen, client.resets]).toEqual([expected, 0])
    await expect.poll(server.clients, { timeout: 10_000 }).toBe(0)
    await expect.poll(server.descriptors, { timeout: 10_000 }).toBeLessThanOrEqual(before)
    expect(server.peak() - memory).toBeLessThan(150e6)
    await server.stop()
  },
  120_000,
)

test('one client more than allowed is told to come back, and may when another has left', async () => {
  const dir = root()
  const path = putRun(dir, 'r', 3)
  const lock = takeLock(join(path, 'journal.lock'))
  const few = await serving(dir, { maxClients: 2 })
  const [one, two, three] = [1, 2, 3].map(() => new Client(`${few.url}runs/r/events`))
  const holding = [one!.listen(), two!.listen()]
  await expect.poll(few.clients).toBe(2)
  expect(await three!.listen()).toBe(503)
  one!.hangUp()
  await expect.poll(few.clients).toBe(1)
  expect(await three!.listen((seen) => seen === 3)).toBe(200)
  two!.hangUp()
  await Promise.all(holding)
  lock.release()
})
