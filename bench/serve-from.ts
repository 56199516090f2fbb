// How long an event takes from the journal of one process to a client of `sluice serve --from` in another:
//   npx tsx bench/serve-from.ts [events=500]
// A writer, `sluice ship --follow`, a nats-server, `sluice serve --from` and an HTTP client, all on this
// machine.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { takeLock } from '../src/disk/lock.ts'
import { hasNats, natsServer } from '../test/nats/nats-server.ts'
import { eventAt } from '../test/nats/runs.ts'

const count = Number(process.argv[2] ?? 500)
const EVERY_MS = 20

if (!hasNats) {
  console.error('There is no nats-server: apt-get install nats-server')
  process.exit(2)
}
const load = loadavg()[0]!
const broker = await natsServer()
const dir = fs.mkdtempSync(join(tmpdir(), 'sluice-bench-from-'))
const started: ChildProcess[] = []
try {
  fs.mkdirSync(join(dir, 'run-1'))
  const journal = fs.openSync(join(dir, 'run-1', 'events.jsonl'), 'a')
  const lock = takeLock(join(dir, 'run-1', 'journal.lock'))
  const write = (seq: number) =>
    fs.writeSync(
      journal,
      `${JSON.stringify({ ...eventAt('run-1', 1, seq, 200), ts: new Date().toISOString() })}\n`,
    )
  write(1)
  command('ship', dir, '--to', broker.url, '--follow')
  const url = await urlOf(command('serve', '--from', broker.url, '--port', '0'))
  const lags: number[] = []
  const reading = read(url, lags)
  await reading.begun
  for (let seq = 2; seq <= count; seq++) {
    await delay(EVERY_MS)
    write(seq)
  }
  await reading.all
  fs.closeSync(journal)
  lock.release()
  const sorted = lags.slice(1).toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]
  console.log(
    `${count} events, one each ${EVERY_MS} ms, load ${load.toFixed(1)}: median ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`,
  )
} finally {
  for (const child of started) child.kill('SIGTERM')
  await Promise.all(started.map((child) => child.exitCode ?? once(child, 'close')))
  await broker.close()
  fs.rmSync(dir, { recursive: true, force: true })
}

function command(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, ['dist/cli/main.js', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  started.push(child)
  return child
}

/** Where the page is, as the command says it. */
async function urlOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stderr! })) {
    const [url] = /http:\/\/\S+/.exec(line) ?? []
    if (url !== undefined) return url
  }
  throw new Error('serve did not say where the page is')
}

/** Reads the run as a browser does; `lags` gets how old each event is when it comes. */
function read(url: string, lags: number[]) {
  let resolve = () => {}
  const begun = new Promise<void>((settle) => {
    resolve = settle
  })
  const all = (async () => {
    for (;;) {
      const [run] = (await (await fetch(new URL('runs', url))).json()) as { readonly id: string }[]
      const response = await fetch(new URL(`runs/${encodeURIComponent(run?.id ?? '')}/events`, url))
      if (response.ok && response.body) {
        const events = response.body
          .pipeThrough(new TextDecoderStream())
          .pipeThrough(new EventSourceParserStream())
        for await (const { data } of events as unknown as AsyncIterable<{ data: string }>) {
          lags.push(Date.now() - Date.parse(JSON.parse(data).ts))
          resolve()
          if (lags.length === count) return
        }
      }
      // The mirror has not got it yet.
      await response.body?.cancel().catch(() => {})
      await delay(50)
    }
  })()
  return { begun, all }
}
