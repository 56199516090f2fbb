import { once } from 'node:events'
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { run } from '../../src/run/run.ts'
import { makeEvent } from '../disk/make-event.ts'
import { agent, codexLines, workspace } from '../run/agent.ts'
import { ask, parseSse, putRun, root, serving, shutAll } from './serving.ts'

afterEach(async () => {
  vi.unstubAllEnvs()
  await shutAll()
})

// biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is looked at field by field.
const json = async (url: string): Promise<any> => (await fetch(url)).json()

test('lists the runs, those that run first, then the newest', async () => {
  const dir = root()
  putRun(dir, 'old', 3)
  writeFileSync(
    join(dir, 'old', 'meta.1.json'),
    JSON.stringify({
      started_at: '2026-01-01T00:00:00Z',
      exit_code: 0,
      engine: 'codex',
      argv: ['codex', 'exec'],
    }),
  )
  putRun(dir, 'deep/er/new', 3)
  writeFileSync(
    join(dir, 'deep/er/new', 'meta.1.json'),
    JSON.stringify({ started_at: '2026-02-01T00:00:00Z' }),
  )
  const live = putRun(dir, 'live', 1)
  const lock = takeLock(join(live, 'journal.lock'))
  const { url } = await serving(dir)
  const runs = await json(`${url}runs`)
  expect(runs.map((found: { id: string; state: string }) => [found.id, found.state])).toEqual([
    ['live', 'running'],
    ['deep/er/new', 'unknown'],
    ['old', 'unknown'],
  ])
  expect(runs[2]).toMatchObject({
    engine: 'codex',
    attempts: 1,
    started_at: '2026-01-01T00:00:00.000Z',
    exit_code: 0,
    argv: ['codex', 'exec'],
    run_id: 'old',
  })
  lock.release()
  expect(await json(`${url}healthz`)).toEqual({ ok: true, clients: 0 })
})

test('sends a list that takes several pieces as one', async () => {
  const dir = root()
  const ids = Array.from({ length: 401 }, (_, n) => `run-${n}`)
  for (const id of ids) putRun(dir, id, 1)
  const { url } = await serving(dir)
  const runs = await json(`${url}runs`)
  expect(runs.map(({ id }: { id: string }) => id).toSorted()).toEqual(ids.toSorted())
})

test('gives all events of a run that is over, then ends; the data is the line of the journal', async () => {
  const dir = root()
  const path = putRun(dir, 'a/b', 500)
  const { url } = await serving(dir)
  const { status, headers, text } = await ask(`${url}runs/a%2Fb/events`)
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
  const messages = parseSse(text)
  expect(messages.map((message) => `${message.data}\n`).join('')).toBe(
    readFileSync(join(path, 'events.jsonl'), 'utf8'),
  )
  expect(messages[7]).toMatchObject({ id: 'a/b:8', event: 'agent.message.final' })
})

test('resumes exactly after the id in the header or in the query', async () => {
  const dir = root()
  putRun(dir, 'r', 1000, { attempts: 2 })
  const { url } = await serving(dir)
  const all = parseSse((await ask(`${url}runs/r/events`)).text).map((message) => message.id)
  expect(all).toHaveLength(2000)
  for (const from of [
    (id: string) => ask(`${url}runs/r/events`, { 'last-event-id': id }),
    (id: string) => ask(`${url}runs/r/events?after=${encodeURIComponent(id)}`),
  ]) {
    for (const at of [0, 1, 700, 999, 1000, 1500, 1998])
      expect(parseSse((await from(all[at]!)).text).map((message) => message.id)).toEqual(all.slice(at + 1))
    // A client that has everything of a run that is over is told that there is nothing more.
    expect((await from(all.at(-1)!)).status).toBe(204)
  }
})

test('the header wins over the query; nothing, 0 and a bare number count in the first attempt', async () => {
  const dir = root()
  putRun(dir, 'r', 3)
  const { url } = await serving(dir)
  const ids = async (after: string, headers = {}) =>
    parseSse((await ask(`${url}runs/r/events?after=${after}`, headers)).text).map(({ id }) => id)
  expect(await ids('1', { 'last-event-id': 'r:2' })).toEqual(['r:3'])
  expect(await ids('1')).toEqual(['r:2', 'r:3'])
  expect(await ids('')).toEqual(['r:1', 'r:2', 'r:3'])
  expect(await ids('r:0')).toEqual(['r:1', 'r:2', 'r:3'])
})

test('a live run is followed as it is written, to its end', async () => {
  const { cwd, audit } = workspace()
  mkdirSync(audit)
  const { url } = await serving(cwd)
  const live = run({
    ...agent(cwd, 'for (let i = 0; i < 40; i++) { say(lines[i % 4]); await sleep(4) }'),
    engine: codex,
    cwd,
    audit,
    fsDiff: false,
  })
  const first = await new Promise((resolve) => live.once('data', resolve))
  const streamed = ask(`${url}runs/.audit/events`)
  live.resume()
  await live.end
  const messages = parseSse((await streamed).text)
  expect(JSON.parse(messages[0]!.data)).toEqual(first)
  expect(messages.map((message) => `${message.data}\n`).join('')).toBe(
    readFileSync(join(audit, 'events.jsonl'), 'utf8'),
  )
})

/** A client that hears events as they come: `until` waits for a text, `rest` for the end of the answer. */
async function listen(url: string) {
  const response = await fetch(url)
  const parts = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let heard = ''
  const until = async (text?: string) => {
    while (text === undefined || !heard.includes(text)) {
      const { value, done } = await parts.next()
      if (done) break
      heard += value
    }
    return heard
  }
  return { until, rest: () => until() }
}

test('a journal that is replaced under a client resets it', async () => {
  const dir = root()
  const path = putRun(dir, 'r', 3)
  const lock = takeLock(join(path, 'journal.lock'))
  const { url } = await serving(dir)
  const { until, rest } = await listen(`${url}runs/r/events`)
  await until('id: r:3\n')
  rmSync(join(path, 'events.jsonl'))
  writeFileSync(
    join(path, 'events.jsonl'),
    [1, 2].map((seq) => `${JSON.stringify(makeEvent(seq, { run: 'second' }))}\n`).join(''),
  )
  await until('id: second:2\n')
  lock.release()
  expect(parseSse(await rest()).map((message) => message.id || message.event)).toEqual([
    'r:1',
    'r:2',
    'r:3',
    'sluice.reset',
    'second:1',
    'second:2',
  ])
})

test('a torn last line is not sent until it is whole', async () => {
  const dir = root()
  const path = putRun(dir, 'r', 1)
  const lock = takeLock(join(path, 'journal.lock'))
  const line = `${JSON.stringify(makeEvent(2, { run: 'r' }))}\n`
  appendFileSync(join(path, 'events.jsonl'), line.slice(0, 40))
  const { url } = await serving(dir)
  const { until, rest } = await listen(`${url}runs/r/events`)
  await until('id: r:1\n')
  appendFileSync(join(path, 'events.jsonl'), line.slice(40))
  await until('id: r:2\n')
  lock.release()
  expect(parseSse(await rest()).map((message) => message.id)).toEqual(['r:1', 'r:2'])
})

test('behind a line inside the journal that is no event of its run nothing is sent but why', async () => {
  const dir = root()
  const forged = JSON.stringify({ ...makeEvent(2), run_id: 'r\n\ndata: forged' })
  const lines = { 'not-json': 'not json', 'no-event': '{"a":1}', nothing: 'null', forged }
  for (const [id, line] of Object.entries(lines)) {
    const path = putRun(dir, id, 1)
    appendFileSync(join(path, 'events.jsonl'), `${line}\n${JSON.stringify(makeEvent(2, { run: id }))}\n`)
  }
  const { url } = await serving(dir)
  for (const id of Object.keys(lines)) {
    const [first, fault, ...more] = parseSse((await ask(`${url}runs/${id}/events`)).text)
    expect([first?.id, fault?.event, fault?.id, more]).toEqual([`${id}:1`, 'sluice.fault', undefined, []])
    expect(JSON.parse(fault?.data ?? '')).toEqual({
      code: 'JOURNAL_MISMATCH',
      message: expect.stringMatching(/events\.jsonl" is damaged at byte \d+: .*move this file away/),
    })
    // A browser that comes back is told to stop, not sent the same again.
    expect((await ask(`${url}runs/${id}/events`, { 'last-event-id': `${id}:1` })).status).toBe(204)
  }
})

test('a journal whose first line is broken is asked for once', async () => {
  const dir = root()
  const path = putRun(dir, 'r', 3)
  const text = readFileSync(join(path, 'events.jsonl'), 'utf8')
  writeFileSync(join(path, 'events.jsonl'), text.slice(20))
  const { url } = await serving(dir)
  const [fault, ...more] = parseSse((await ask(`${url}runs/r/events`)).text)
  expect([fault?.event, fault?.id, more]).toEqual(['sluice.fault', '0', []])
  expect((await ask(`${url}runs/r/events`, { 'last-event-id': '0' })).status).toBe(204)
})

test('raw bytes come as they are, in ranges', async () => {
  const dir = root()
  const path = putRun(dir, 'r', 1)
  const bytes = Buffer.from([0, 255, 10, 13, 27, 60, 98, 62, 200])
  writeFileSync(join(path, 'stdout.1.log'), bytes)
  writeFileSync(join(path, 'stdout.2.log'), 'second')
  const { url } = await serving(dir)
  const raw = async (query: string) => {
    const response = await fetch(`${url}runs/r/raw/stdout${query}`)
    return {
      status: response.status,
      bytes: Buffer.from(await response.arrayBuffer()),
      headers: response.headers,
    }
  }
  const whole = await raw('?attempt=1')
  expect(whole.bytes.equals(bytes)).toBe(true)
  expect([
    whole.headers.get('content-type'),
    whole.headers.get('x-content-type-options'),
    whole.headers.get('x-total-bytes'),
  ]).toEqual(['application/octet-stream', 'nosniff', '9'])
  expect((await raw('?attempt=1&from=2&to=5')).bytes.equals(bytes.subarray(2, 5))).toBe(true)
  expect((await raw('?attempt=1&from=4&to=99')).bytes.equals(bytes.subarray(4))).toBe(true)
  expect((await raw('?attempt=1&from=9')).bytes.length).toBe(0)
  expect((await raw('')).bytes.toString()).toBe('second')
  expect((await raw('?attempt=1&from=10')).status).toBe(416)
  for (const bad of ['?from=-1', '?from=x', '?to=1e9', '?attempt=x'])
    expect((await raw(bad)).status).toBeGreaterThanOrEqual(400)
  expect((await fetch(`${url}runs/r/raw/pty`)).status).toBe(404)
  expect((await fetch(`${url}runs/r/raw/events.jsonl`)).status).toBe(404)
})

test('no path leaves the directory, by dots, encodings or links', async () => {
  const dir = root()
  const outside = root()
  putRun(outside, 'secret', 1)
  putRun(dir, 'r', 1)
  symlinkSync(join(outside, 'secret'), join(dir, 'link'))
  mkdirSync(join(dir, 'half'))
  symlinkSync(join(outside, 'secret', 'stdout.1.log'), join(dir, 'half', 'stdout.1.log'))
  symlinkSync(join(outside, 'secret', 'events.jsonl'), join(dir, 'half', 'events.jsonl'))
  const { url } = await serving(dir)
  expect((await json(`${url}runs`)).map((found: { id: string }) => found.id)).toEqual(['r'])
  const name = outside.split('/').pop()
  for (const id of [
    'link',
    'half',
    '..',
    '..%2F',
    `..%2F${name}%2Fsecret`,
    `r%2F..%2F..%2F${name}%2Fsecret`,
    `%2e%2e%2f${name}%2fsecret`,
    encodeURIComponent(join(outside, 'secret')),
    '%00',
    '%',
    'r%00',
    'x'.repeat(9000),
  ]) {
    for (const what of ['events', 'raw/stdout'])
      expect((await ask(`${url}runs/${id}/${what}`)).status).toBe(404)
  }
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `GET /runs/../../${name}/secret/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  )
  let said = ''
  socket.on('data', (bytes) => {
    said += bytes
  })
  await once(socket, 'close')
  expect(said).toMatch(/^HTTP\/1.1 404/)
})

test('a file that has another name outside of the directory is not served', async () => {
  const dir = root()
  const outside = putRun(root(), 'outsider', 1)
  const inside = putRun(dir, 'kept', 1)
  const names = ['stdout.1.log', 'events.jsonl']
  // A copy by hard links in the same directory has no name elsewhere.
  for (const [id, from] of [
    ['linked', outside],
    ['copy', inside],
  ] as const) {
    mkdirSync(join(dir, id))
    for (const name of names) linkSync(join(from, name), join(dir, id, name))
  }
  const { url } = await serving(dir)
  const asked = (id: string) =>
    Promise.all(['events', 'chat', 'raw/stdout', 'export.md'].map((what) => ask(`${url}runs/${id}/${what}`)))
  for (const { text } of await asked('linked')) expect(text).not.toMatch(/outsider|x{20}|data:/)
  const { status, text } = await ask(`${url}runs/linked/export.md`)
  expect([status, text]).toEqual([403, expect.stringContaining('hard link')])
  for (const id of ['kept', 'copy'])
    for (const { status, text } of await asked(id)) {
      expect([id, status]).toEqual([id, 200])
      expect(text).toMatch(/kept|x{20}/)
    }
})

test('answers to its own names only', async () => {
  const { url, port } = await serving(root())
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'localhost', '[::1]:80', '192.168.1.5'])
    expect((await ask(url, { host })).status).toBe(200)
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '[::1].evil',
  ])
    expect((await ask(url, { host })).status).toBe(403)
})

test('answers GET only, with a policy that lets nothing else in', async () => {
  const { url } = await serving(root())
  for (const method of ['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'])
    expect((await fetch(`${url}runs`, { method })).status).toBe(405)
  const page = await fetch(url)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.headers.get('content-security-policy')).not.toContain('unsafe')
  const text = await page.text()
  // Nothing of it comes from elsewhere, and nothing of it is inline.
  expect(text).not.toMatch(/https?:|<script>|<style|\son\w+=/)
  for (const path of ['page.js', 'page.css', 'icon.svg']) expect((await fetch(url + path)).status).toBe(200)
  expect((await fetch(`${url}nothing`)).status).toBe(404)
})

test('says what is wrong with a directory or a port', async () => {
  await expect(serving(join(root(), 'nowhere'))).rejects.toMatchObject({ code: 'BAD_OPTION' })
  const { port } = await serving(root())
  await expect(serving(root(), { port })).rejects.toThrow('is taken')
  await expect(serving(root(), { host: '192.0.2.1', insecure: true })).rejects.toThrow('EADDRNOTAVAIL')
  const file = join(root(), 'file')
  writeFileSync(file, '')
  await expect(serving(file)).rejects.toThrow('is not a directory')
})

test('an address that is none is refused, not an accident', async () => {
  const { port } = await serving(root())
  const socket = connect(port, '127.0.0.1')
  socket.end('GET // HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  let text = ''
  for await (const bytes of socket) text += bytes
  expect(text).toMatch(/^HTTP\/1\.1 404 /)
})

test('a run that is gone, or has a file in its place, is not there', async () => {
  const dir = root()
  const path = putRun(dir, 'a', 1)
  const { url } = await serving(dir)
  expect((await fetch(`${url}runs/a`)).status).toBe(200)
  rmSync(path, { recursive: true })
  writeFileSync(path, 'a file in its place')
  expect((await ask(`${url}runs/a/raw/stdout`)).status).toBe(404)
  rmSync(path)
  expect((await ask(`${url}runs/a/raw/stdout`)).status).toBe(404)
})

test('is over when it says so: nothing listens any more', async () => {
  const { url, close, port } = await serving(root())
  expect((await fetch(`${url}healthz`)).status).toBe(200)
  const idle = connect(port, '127.0.0.1')
  await once(idle, 'connect')
  await close()
  await expect(ask(`${url}healthz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  idle.destroy()
  await close()
})

test('logs that were just written are a run that goes on, others are over', async () => {
  const dir = root()
  for (const name of ['fresh', 'old']) {
    mkdirSync(join(dir, name))
    writeFileSync(join(dir, name, 'stdout.log'), codexLines.join('\n'))
  }
  utimesSync(join(dir, 'old', 'stdout.log'), 1000, 1000)
  const { url } = await serving(dir)
  const states = (await json(`${url}runs`)).map((found: { id: string; state: string }) => [
    found.id,
    found.state,
  ])
  expect(states).toEqual([
    ['fresh', 'running'],
    ['old', 'awaiting_user_input'],
  ])
})

test('an end is reckoned from the start and the time it took, where none was noted', async () => {
  const dir = root()
  const path = putRun(dir, 'a', 1)
  writeFileSync(
    join(path, 'meta.1.json'),
    JSON.stringify({ started_at: '2026-01-01T00:00:00Z', duration_s: 2 }),
  )
  const { url } = await serving(dir)
  expect(await json(`${url}runs/a`)).toMatchObject({ ended_at: '2026-01-01T00:00:02.000Z' })
})

test('a run is not looked for without end below', async () => {
  const dir = root()
  putRun(dir, `${'d/'.repeat(30)}deep`, 1)
  putRun(dir, 'near', 1)
  const { url } = await serving(dir)
  expect((await json(`${url}runs`)).map(({ id }: { id: string }) => id)).toEqual(['near'])
})

test.runIf(hasIPv6())('goes by an address of version 6, too', async () => {
  const { url } = await serving(root(), { host: '::1' })
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+\/$/)
  expect((await fetch(`${url}healthz`)).status).toBe(200)
})

function hasIPv6(): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
}

test('neither an odd meta nor an odd last event hides a run', async () => {
  const dir = root()
  const metas = {
    'a time that no calendar has': { started_at: '2026-01-01T00:00:00Z', duration_ms: 1e300 },
    'an end that no calendar has': { started_at: '+275760-09-13T00:00:00Z', duration_s: 1 },
    'arguments that are no text': { argv: ['sh', { toString: 1 }, 7] },
    'pid 0, which means every process of the group': { pid: 0 },
  }
  const events = {
    'a time that is a number': { ts: 5 },
    'a time that is nothing': { ts: { toString: 1 } },
    'an id that is a number': { run_id: 7 },
    'an engine that is a list': { source: { engine: ['x'] } },
    'an end that is nothing': { event: { type: 'lifecycle.completion.state' }, data: { state: 5 } },
  }
  for (const [id, meta] of Object.entries(metas))
    writeFileSync(join(putRun(dir, id, 1), 'meta.1.json'), JSON.stringify(meta))
  for (const [id, more] of Object.entries(events)) {
    const last = JSON.stringify({ ...makeEvent(2), ...more })
    appendFileSync(join(putRun(dir, id, 1), 'events.jsonl'), `${last}\n`)
  }
  const { url } = await serving(dir)
  const listed = (await json(`${url}runs`)).map((found: { id: string }) => found.id)
  expect(listed.sort()).toEqual([...Object.keys(metas), ...Object.keys(events)].sort())
  for (const [id, meta] of Object.entries(metas)) {
    const argv = 'argv' in meta ? ['sh'] : []
    expect(await json(`${url}runs/${id}`), id).toMatchObject({ state: 'unknown', ended_at: null, argv })
  }
  for (const id of Object.keys(events)) {
    const bad = await json(`${url}runs/${id}`)
    for (const key of ['run_id', 'engine', 'started_at', 'state'])
      expect([null, 'string'], `${id}: ${key}`).toContain(bad[key] === null ? null : typeof bad[key])
  }
})

test('a client that could not be served gives its place back', async () => {
  const dir = root()
  mkdirSync(join(dir, 'logs'))
  writeFileSync(join(dir, 'logs', 'stdout.1.log'), `${codexLines.join('\n')}\n`)
  const { url, clients } = await serving(dir, { maxClients: 1 })
  vi.stubEnv('TMPDIR', join(dir, 'nowhere'))
  const events = `${url}runs/logs/events`
  expect([(await ask(events)).status, (await ask(events)).status, clients()]).toEqual([500, 500, 0])
  vi.unstubAllEnvs()
  utimesSync(join(dir, 'logs', 'stdout.1.log'), 1, 1)
  expect((await ask(events)).status).toBe(200)
})

test('resumes after an id that is not ASCII, and refuses one that is not UTF-8', async () => {
  const dir = root()
  putRun(dir, 'r', 3, { run: '运行-é' })
  const { url } = await serving(dir)
  // A browser sends the bytes of the id; Node's client takes them as Latin-1 only.
  const after = (id: string, encoding: BufferEncoding = 'utf8') =>
    ask(`${url}runs/r/events`, { 'last-event-id': Buffer.from(id, encoding).toString('latin1') })
  expect(parseSse((await after('运行-é:1')).text).map((message) => message.id)).toEqual([
    '运行-é:2',
    '运行-é:3',
  ])
  expect((await after('运行-é:3')).status).toBe(204)
  const [reset] = parseSse((await after('\xff\xfe\xe9:3', 'latin1')).text)
  expect([reset?.event, JSON.parse(reset?.data ?? '').reason]).toEqual(['sluice.reset', 'foreign'])
  expect((await after('é'.repeat(1100))).status).toBe(400)
})

test('a client that has everything but lines that are no events is told so', async () => {
  const dir = root()
  const path = putRun(dir, 'r', 2)
  appendFileSync(join(path, 'events.jsonl'), 'nonsense\n')
  const { url } = await serving(dir)
  expect((await ask(`${url}runs/r/events`, { 'last-event-id': 'r:2' })).status).toBe(204)
})
