import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createParser } from 'eventsource-parser'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openJournal } from '../../src/disk/journal.ts'
import { ship } from '../../src/nats/ship.ts'
import { built } from '../built.ts'
import { inside } from '../cli/inside.ts'
import { hasNats, type NatsServer, natsServer, needsNats, until } from './nats-server.ts'
import { eventAt, journalsIn, writeRun } from './runs.ts'

const start = (...words: string[]) => spawn(process.execPath, [built('src/cli/main.ts'), ...words])

const run = async (...words: string[]) => {
  const { code, err } = await inside(words)
  return { code, err }
}

let dir = ''
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-nats-cli-')))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe.skipIf(!hasNats)(`the commands, with a real nats-server${needsNats}`, () => {
  let server: NatsServer
  beforeAll(async () => {
    server = await natsServer()
  })
  afterAll(() => server.close())

  test('ship sends, mirror writes, and a refused run is exit code 1', async () => {
    writeRun(join(dir, 'a', 'r1'), 'r1', 20)
    const stream = ['--stream', 'one']
    expect(await run('ship', join(dir, 'a'), '--to', server.url, ...stream)).toEqual({
      code: 0,
      err: 'sluice: sent 20 events of 1 runs\n',
    })
    const mirrored = await run(
      'mirror',
      join(dir, 'm'),
      '--from',
      server.url,
      '--until-idle',
      '200ms',
      ...stream,
    )
    expect(mirrored).toEqual({ code: 0, err: 'sluice: wrote 20 events of 1 runs\n' })
    expect(journalsIn(join(dir, 'm', 'default'))).toEqual(journalsIn(join(dir, 'a')))
    writeRun(join(dir, 'b', 'r1'), 'r1', 20, { pad: 1 })
    const refused = await run('ship', join(dir, 'b'), '--to', server.url, ...stream)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('is not shipped: the broker has the run "default/r1" up to event 1.20')
  })

  test('an event stream of serve --from that is cut six times has every event once', async () => {
    const child = start('serve', '--from', server.url, '--stream', 'two', '--port', '0')
    const book = openJournal(join(dir, 'run-7'))
    book.append(eventAt('run-7', 1, 1))
    const shipped = ship(dir, { servers: server.url, stream: 'two', tenant: 'host-a' })
    try {
      let told = ''
      child.stderr.on('data', (more) => {
        told += more
      })
      await until(() => /at (http:\S+)/.test(told))
      const url = `${/at (http:\S+)/.exec(told)![1]}runs/host-a%2Frun-7/events`
      await until(async () => (await answered(url.replace('/events', ''))).status === 200)
      const seqs: number[] = []
      let id = ''
      let cuts = 0
      // Each read ends after 130 events, until the run is over.
      for (;;) {
        const { status, seen } = await answered(url, id, cuts < 6 ? 130 : Number.POSITIVE_INFINITY, (seq) => {
          if (seq % 20 === 1)
            for (let n = 0; n < 20 && (book.last?.seq ?? 0) < 800; n++)
              book.append(eventAt('run-7', 1, (book.last?.seq ?? 0) + 1))
          if (seq === 800) book.close()
        })
        if (status === 204) break
        seqs.push(...seen.map((message) => JSON.parse(message.data).seq))
        id = seen.at(-1)?.id ?? id
        cuts++
      }
      expect(cuts).toBeGreaterThanOrEqual(6)
      expect(seqs).toEqual(Array.from({ length: 800 }, (_, n) => n + 1))
      expect(await shipped).toMatchObject({ over: 1, events: 800 })
    } finally {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    }
    expect(child.exitCode).toBe(0)
  })
})

test.each<[string, string[], string]>([
  ['ship without an address', ['ship', '.'], '--to is missing; give it as --to <addresses>'],
  ['mirror without an address', ['mirror', 'x'], '--from is missing; give it as --from <addresses>'],
  ['--dir without --from', ['serve', '--dir', 'x'], '--dir is for --from'],
  ['--stream without --from', ['serve', '--stream', 'x'], '--stream is for --from; add that'],
  ['--tls without --from', ['serve', '--tls', '--port', '0'], '--tls is for --from'],
  ['--nats-token without --from', ['serve', '--nats-token', 'x'], '--nats-token is for --from'],
  ['--tenant without --from', ['serve', '--tenant', 'x'], '--tenant is for --from'],
  ['--from and a directory', ['serve', 'x', '--from', 'nats://x'], '--dir names the one for its mirror'],
  ['two replicas', ['ship', '.', '--to', 'nats://x', '--replicas', '2'], '1, 3 or 5'],
])('%s is bad usage', async (_, words, message) => {
  const { code, err } = await run(...words)
  expect([code, err]).toEqual([2, expect.stringContaining(message)])
})

/** Reads an event stream up to its end or so many events. */
function answered(
  url: string,
  id = '',
  most = 0,
  each: (seq: number) => void = () => {},
): Promise<{ status: number; seen: { id?: string | undefined; data: string }[] }> {
  return new Promise((resolve, reject) => {
    const seen: { id?: string | undefined; data: string }[] = []
    const request = get(
      url,
      { agent: false, headers: id === '' ? {} : { 'last-event-id': id } },
      (response) => {
        const done = () => resolve({ status: response.statusCode!, seen })
        const parser = createParser({
          onEvent(message) {
            if (seen.length >= most) return
            seen.push(message)
            each(JSON.parse(message.data).seq)
            if (seen.length < most) return
            request.destroy()
            done()
          },
        })
        response.setEncoding('utf8')
        response.on('data', (part) => most > 0 && parser.feed(part))
        response.on('end', done)
        response.on('error', () => {})
      },
    )
    request.on('error', (error) => (seen.length > 0 ? undefined : reject(error)))
  })
}
