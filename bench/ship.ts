// Journals to a reader over NATS: ship and subscribe beside one message per event with Nats-Msg-Id, the naive
// way.
//   npx tsx bench/ship.ts [events=50000]
// Both have the same events on the same server. Each answer is checked: what came, how often, in which order;
// then once more with a server that is killed and started again in the middle.
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { takeLock } from '../src/disk/lock.ts'
import type { AgentEvent } from '../src/events/event.ts'
import { ship } from '../src/nats/ship.ts'
import { subscribe } from '../src/nats/subscribe.ts'
import { hasNats, type NatsServer, natsServer } from '../test/nats/nats-server.ts'
import { eventAt, lineAt } from '../test/nats/runs.ts'

const events = Number(process.argv[2] ?? 50_000)
const RUNS = 20
const PAD = 500
const IN_FLIGHT = 256
const LIVE = 2500

/** What a reader saw. */
interface Seen {
  readonly count: number
  readonly twice: number
  readonly outOfOrder: number
  readonly lags: readonly number[]
}

/** One way from events to a reader: `write` is called with each line, `done` when there are no more. */
interface Way {
  readonly write: (run: string, seq: number, line: string) => void
  readonly done: () => Promise<void>
  /** The events, until all distinct ones have come. */
  readonly read: (wanted: number) => AsyncIterable<{ run_id: string; seq: number; ts: string }>
  readonly close: () => Promise<void>
}

const ways: Record<string, (server: NatsServer) => Promise<Way>> = {
  'ship → subscribe': shipped,
  'one message per event': naive,
}

if (!hasNats) {
  console.error('There is no nats-server: apt-get install nats-server')
  process.exit(2)
}
console.log(
  `| ${events} events of ${lineAt('run-1', 1, 1, PAD).length} bytes, ${RUNS} runs | events/s | live, ms: p50 | p95 | p99 | with a kill -9: lost | twice | out of order |`,
)
console.log('| --- | --: | --: | --: | --: | --: | --: | --: |')
for (const [name, way] of Object.entries(ways)) {
  const fast = await measured(way, events, 0, false)
  const live = await measured(way, LIVE, 2, false)
  const killed = await measured(way, Math.min(events, 20_000), 0, true)
  if (fast.seen.count !== events || fast.seen.twice + fast.seen.outOfOrder > 0)
    throw new Error(`${name}: a wrong answer`)
  const lags = live.seen.lags.toSorted((a, b) => a - b)
  const at = (share: number) => lags[Math.floor(lags.length * share)]!.toFixed(0)
  const { count, twice, outOfOrder } = killed.seen
  console.log(
    `| ${name} | ${Math.round(events / fast.seconds)} | ${at(0.5)} | ${at(0.95)} | ${at(0.99)} | ${Math.min(events, 20_000) - count} | ${twice} | ${outOfOrder} |`,
  )
}

/** Writes so many events, all at once or one each `every` milliseconds, and reads them. */
async function measured(
  make: (server: NatsServer) => Promise<Way>,
  wanted: number,
  every: number,
  kill: boolean,
) {
  const server = await natsServer()
  const way = await make(server)
  const began = performance.now()
  const reading = seenBy(
    way.read(wanted),
    kill && (() => void server.kill().then(() => server.start())),
    wanted,
  )
  for (let n = 0; n < wanted; n++) {
    const run = `run-${n % RUNS}`
    const seq = Math.floor(n / RUNS) + 1
    const event = { ...eventAt(run, 1, seq, PAD), ts: new Date().toISOString() } as AgentEvent
    way.write(run, seq, `${JSON.stringify(event)}\n`)
    if (every > 0) await delay(every)
    else if (n % 500 === 0) await delay(0)
  }
  const [seen] = await Promise.all([reading, way.done()])
  const seconds = (performance.now() - began) / 1000
  await way.close()
  await server.close()
  return { seen, seconds }
}

async function seenBy(
  events: AsyncIterable<{ run_id: string; seq: number; ts: string }>,
  halfway: false | (() => void),
  wanted: number,
): Promise<Seen> {
  const last = new Map<string, number>()
  const all = new Set<string>()
  const lags: number[] = []
  let [twice, outOfOrder] = [0, 0]
  for await (const { run_id, seq, ts } of events) {
    lags.push(Date.now() - Date.parse(ts))
    const key = `${run_id}.${seq}`
    if (all.has(key)) twice++
    else if (seq < (last.get(run_id) ?? 0)) outOfOrder++
    all.add(key)
    last.set(run_id, Math.max(seq, last.get(run_id) ?? 0))
    if (halfway && all.size === Math.floor(wanted / 2)) {
      halfway()
      halfway = false
    }
    if (all.size === wanted) break
  }
  return { count: all.size, twice, outOfOrder, lags }
}

/** Journals that a shipper sends. */
async function shipped(server: NatsServer): Promise<Way> {
  const dir = fs.mkdtempSync(join(tmpdir(), 'sluice-bench-ship-'))
  const files = new Map<string, { fd: number; lock: ReturnType<typeof takeLock> }>(
    Array.from({ length: RUNS }, (_, n) => {
      const folder = join(dir, `run-${n}`)
      fs.mkdirSync(folder)
      const fd = fs.openSync(join(folder, 'events.jsonl'), 'a')
      return [`run-${n}`, { fd, lock: takeLock(join(folder, 'journal.lock')) }] as const
    }),
  )
  const shipping = ship(dir, { servers: server.url })
  return {
    write: (run, _, line) => void fs.writeSync(files.get(run)!.fd, line),
    async done() {
      for (const { fd, lock } of files.values()) {
        fs.closeSync(fd)
        lock.release()
      }
    },
    read: () => subscribe({ servers: server.url }),
    async close() {
      await shipping
      fs.rmSync(dir, { recursive: true })
    },
  }
}

/** Each event is a message with an id; so many are on their way, and one that fails is published again. */
async function naive(server: NatsServer): Promise<Way> {
  const connection = await connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'naive', subjects: ['naive.>'] })
  const js = jetstream(connection)
  const queue: { run: string; seq: number; line: string }[] = []
  let flying = 0
  let settle = () => {}
  const pump = () => {
    while (flying < IN_FLIGHT && queue.length > 0) {
      const { run, seq, line } = queue.shift()!
      flying++
      const publish = (): Promise<unknown> =>
        js.publish(`naive.${run}`, line, { msgID: `${run}.${seq}`, timeout: 2000 }).catch(async () => {
          await delay(50)
          return publish()
        })
      void publish().finally(() => {
        flying--
        pump()
        if (flying === 0 && queue.length === 0) settle()
      })
    }
  }
  return {
    write(run, seq, line) {
      queue.push({ run, seq, line })
      pump()
    },
    done: () =>
      new Promise((resolve) => {
        settle = resolve
        if (flying === 0 && queue.length === 0) resolve()
      }),
    async *read() {
      const consumer = await js.consumers.get('naive')
      for await (const message of await consumer.consume({ max_messages: 1000, expires: 5000 }))
        yield message.json<AgentEvent>()
    },
    close: () => connection.close(),
  }
}
