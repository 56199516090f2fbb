// Readers of many live runs through `handler()` in an Express app that has other routes, too:
//   npx tsx bench/readers.ts [events|chat|ag-ui|ai-sdk] [readers=1000] [runs=100] [events=100] [seconds=20]
// Every reader must get every message of its run once. The app, the readers, and the writer, which also asks
// for /ping, are three processes. Express is installed the first time.
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { argv, execPath, exit } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createParser } from 'eventsource-parser'
import { openJournal } from '../src/disk/journal.ts'
import type { AgentEvent } from '../src/events/event.ts'
import { makeEvent } from '../test/disk/make-event.ts'
import { bundled } from '../test/nats/bundled.ts'

const PING_MS = 20

const [format = 'events', ...numbers] = argv.slice(2)
const [readers = 1000, runs = 100, events = 100, seconds = 20, port = 0] = numbers.map(Number)
if (port) await read()
else await measure()

/** Reads all runs from the server at `port`; tells when all are connected, and what each has got. */
async function read(): Promise<void> {
  let connected = 0
  const counts = await Promise.all(
    Array.from({ length: readers }, async (_, n) => {
      const got = stream(port, n % runs, () => {
        if (++connected === readers) process.send?.('connected')
      })
      return await got
    }),
  )
  process.send?.(counts, () => process.disconnect())
}

interface Got {
  readonly run: number
  count: number
  /** Messages that were not the next one. */
  wrong: number
}

/** The messages of a run, to the end of the stream. */
function stream(port: number, run: number, onFirst: () => void = () => {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const got: Got = { run, count: 0, wrong: 0 }
    const path = `/agents/runs/run-${run}/${format}`
    get({ port, host: '127.0.0.1', path, agent: false }, (response) => {
      let last: readonly [number, number?] = [0]
      const parser = createParser({
        onEvent({ id }) {
          if (id === undefined) return
          if (got.count === 0) onFirst()
          got.count++
          const next = id.slice(`run-${run}:`.length).split('/').map(Number) as [number, number?]
          if (!id.startsWith(`run-${run}:`) || !follows(next, last)) got.wrong++
          last = next
        },
      })
      response.setEncoding('utf8').on('data', (text) => parser.feed(text))
      response.on('end', () => resolve(got)).on('error', reject)
    }).on('error', reject)
  })
}

/** Whether a place comes right behind another: `3` behind `2`; `3/2` behind `3/1`, which is behind `2/5`. */
function follows(
  [seq, part]: readonly [number, number?],
  [lastSeq, lastPart]: readonly [number, number?],
): boolean {
  if (part === undefined || part === 1) return seq === lastSeq + 1
  return seq === lastSeq && part === (lastPart ?? 0) + 1
}

async function measure(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-readers-'))
  const children: ChildProcess[] = []
  try {
    const program = await bundled('../../bench/readers-app.ts', join(dir, 'app.mjs'))
    execFileSync(execPath, ['scripts/packages-of.js', 'examples/servers'], { stdio: 'inherit' })
    const packages = fileURLToPath(new URL('../examples/servers', import.meta.url))
    const app = spawn(execPath, [program, join(dir, 'runs'), packages], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(app)
    const at = Number((await once(app.stdout, 'data'))[0])
    const journals = Array.from({ length: runs }, (_, n) => openJournal(join(dir, 'runs', `run-${n}`)))
    const write = (n: number, seq: number) =>
      journals[n]!.append({
        ...makeEvent(seq, { run: `run-${n}`, text: 'x'.repeat(300) }),
        ts: new Date().toISOString(),
      } as AgentEvent)
    for (let n = 0; n < runs; n++) write(n, 1)
    await ping(at)
    const alone = memory(app.pid!, 'VmRSS')

    const pings = pinging(at)
    const used = cpu(app.pid!)
    const client = fork(
      fileURLToPath(import.meta.url),
      [format, readers, runs, events, seconds, at].map(String),
      { execArgv: ['--import', 'tsx'] },
    )
    children.push(client)
    await once(client, 'message')
    const all = once(client, 'message') as Promise<[Got[]]>
    const connecting = cpu(app.pid!) - used
    const connected = memory(app.pid!, 'VmRSS')
    const toConnect = await said(at)
    const waitConnecting = pings.longest()

    const begun = cpu(app.pid!)
    const began = performance.now()
    for (let seq = 2; seq <= events; seq++)
      for (let n = 0; n < runs; n++) {
        write(n, seq)
        const due = (((seq - 2) * runs + n) / ((events - 1) * runs)) * seconds * 1000
        const ahead = due - (performance.now() - began)
        if (ahead > 1) await delay(ahead)
      }
    for (const journal of journals) journal.close()
    const [got] = await all
    const took = (performance.now() - began) / 1000
    const streaming = cpu(app.pid!) - begun
    const delays = await said(at)
    const waitStreaming = pings.longest()
    await pings.end()

    // What a run has in the end, which every reader of it must have got.
    const whole = await Promise.all(Array.from({ length: runs }, (_, n) => stream(at, n)))
    const wrong = [...got, ...whole].filter(
      ({ run, count, wrong }) =>
        wrong > 0 || count !== whole[run]!.count || (format === 'events' && count !== events),
    ).length
    if (got.length !== readers || wrong > 0) {
      console.log(`${got.length} readers, ${wrong} of them or of the runs are WRONG`)
      process.exitCode = 1
      return
    }
    const messages = got.reduce((sum, { count }) => sum + count, 0)
    console.log(
      `${readers} readers of ${runs} runs at /${format}, ${messages.toLocaleString('en')} messages in ${took.toFixed(1)} s, each once`,
    )
    console.log(
      `memory: ${alone} MB alone, ${connected} MB with all connected, ${memory(app.pid!, 'VmHWM')} MB at most`,
    )
    console.log(
      `CPU: ${((1e6 * streaming) / messages).toFixed(0)} µs an event and reader (${streaming.toFixed(1)} s), ${((1e3 * connecting) / readers).toFixed(1)} ms to connect a reader`,
    )
    console.log(
      `/ping waits at most ${waitStreaming} while they read, ${waitConnecting} while they connect; the event loop of the app ${delays} and ${toConnect}`,
    )
  } finally {
    for (const child of children) child.kill()
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
  }
  exit()
}

async function ping(port: number): Promise<number> {
  const began = performance.now()
  await (await fetch(`http://127.0.0.1:${port}/ping`)).text()
  return performance.now() - began
}

/** Asks for /ping all the time. */
function pinging(port: number) {
  const mine = monitorEventLoopDelay({ resolution: 10 })
  mine.enable()
  let [longest, going] = [0, true]
  const over = (async () => {
    while (going) {
      longest = Math.max(longest, await ping(port))
      await delay(PING_MS)
    }
  })()
  return {
    /** The longest wait since the last call, and how long this process was late itself meanwhile. */
    longest() {
      const text = `${longest.toFixed(0)} ms (${(mine.max / 1e6).toFixed(0)} ms late itself)`
      longest = 0
      mine.reset()
      return text
    },
    async end() {
      going = false
      await over
    },
  }
}

/** How late the event loop of the app was since the last call. */
async function said(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/delays`)
  const { p99, max } = (await response.json()) as { p99: number; max: number }
  return `${max.toFixed(0)} ms (99 of 100: ${p99.toFixed(0)} ms)`
}

/** MB. */
function memory(pid: number, what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
}

/** Seconds. */
function cpu(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
