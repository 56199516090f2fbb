// Ships, mirrors and serves many small runs, and compares every file: the figures of docs/hosts.md.
// npx tsx scripts/many-runs.ts [--runs 10000] [--events 3]
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, exit } from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { type Lock, takeLock } from '../src/disk/lock.ts'
import { bundled } from '../test/nats/bundled.ts'
import { natsServer, until } from '../test/nats/nats-server.ts'
import { eventAt, journalsIn, lineAt, writeRun } from '../test/nats/runs.ts'

const { values } = parseArgs({
  args: argv.slice(2),
  options: { runs: { type: 'string', default: '10000' }, events: { type: 'string', default: '3' } },
})
const runs = Number(values.runs)
const events = Number(values.events)
/** How long an idle process is watched. */
const IDLE_MS = 10_000
/** Events that are written one by one while all runs are being written. */
const LIVE = 20

/** A command that runs, and the most that it took so far. */
interface Watched {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  /** Seconds of processor time. */
  cpu(): number
  stop(): Promise<void>
  /** Seconds since its start and of the processor, MB at most, open files at most. */
  taken(): string
}

const dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sluice-many-')))
const program = await bundled('../../src/cli/main.ts', join(dir, 'sluice.mjs'))
const server = await natsServer()
const host = join(dir, 'host')
const copy = join(dir, 'copy')
const started: Watched[] = []
let wrong = 0
try {
  for (let n = 0; n < runs; n++) writeRun(join(host, nameOf(n)), nameOf(n), events, { pad: 100 })
  console.log(`load ${loadavg()[0]!.toFixed(1)} at the start`)
  console.log(
    `| ${runs} runs of ${events} events | s | s of the processor | MB at most | files open at most |`,
  )
  console.log('| --- | --: | --: | --: | --: |')
  await oneShot('ship', 'ship', host, '--to', server.url)
  await oneShot('ship again, nothing new', 'ship', host, '--to', server.url)
  await oneShot('mirror', 'mirror', copy, '--from', server.url, '--until-idle', '1s')
  compare()
  await oneShot('mirror again, nothing new', 'mirror', copy, '--from', server.url, '--until-idle', '1s')
  fs.rmSync(join(copy, 'mirror.json'))
  await oneShot('mirror without its cursor', 'mirror', copy, '--from', server.url, '--until-idle', '1s')
  compare()
  const served = start('serve', '--from', server.url, '--port', '0')
  const url = await urlOf(served.child)
  await until(async () => (await listed(url)).length === runs, 300_000)
  row('serve --from, until its list has all of them', served)
  const listedAt = performance.now()
  await listed(url)
  console.log(`the list once more: ${Math.round(performance.now() - listedAt)} ms`)
  await idle('serve --from', served)
  const follower = start('ship', host, '--to', server.url, '--follow')
  await quiet(follower)
  await idle('ship --follow', follower)
  await fresh(url)
  await follower.stop()
  const locks: Lock[] = []
  for (let n = 0; n < runs; n++) locks.push(takeLock(join(host, nameOf(n), 'journal.lock')))
  for (let n = 0; n < runs; n++)
    fs.appendFileSync(join(host, nameOf(n), 'events.jsonl'), lineAt(nameOf(n), 1, events + 1))
  const live = start('ship', host, '--to', server.url, '--follow')
  await until(async () => (await state()).messages >= 2 * runs + 1, 300_000)
  row('ship --follow, all of them being written: one more event each', live)
  await idle('ship --follow with all of them being written', live)
  await appended()
  row('ship --follow', live)
  row('serve --from', served)
  for (const lock of locks) lock.release()
  await until(async () => (await state()).messages >= 3 * runs + 1 + LIVE, 300_000)
  row('ship --follow, until the broker knows that all are over', live)
  await live.stop()
  await served.stop()
  await oneShot('mirror', 'mirror', copy, '--from', server.url, '--until-idle', '1s')
  compare()
  console.log(`broker: ${JSON.stringify(await state())}`)
} finally {
  for (const each of started) await each.stop()
  await server.close()
  fs.rmSync(dir, { recursive: true, force: true })
}
exit(wrong > 0 ? 1 : 0)

function nameOf(n: number): string {
  return `run-${String(n).padStart(5, '0')}`
}

function start(...words: string[]): Watched {
  const began = performance.now()
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr!.on('data', (text) => {
    errors = (errors + text).slice(-2000)
  })
  let [memory, files, ticks] = [0, 0, 0]
  const look = () => {
    try {
      const status = fs.readFileSync(`/proc/${child.pid}/status`, 'utf8')
      memory = Math.max(memory, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0))
      files = Math.max(files, fs.readdirSync(`/proc/${child.pid}/fd`).length)
      const stat = fs.readFileSync(`/proc/${child.pid}/stat`, 'utf8')
      ticks = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 13)
        .reduce((sum, each) => sum + Number(each), 0)
    } catch {}
  }
  const timer = setInterval(look, 50)
  const ended = once(child, 'exit').then(([code]) => {
    clearInterval(timer)
    if (code !== 0 && code !== null) {
      wrong++
      console.log(`${words[0]} left with ${code}: ${errors}`)
    }
    return code as number | null
  })
  const watched: Watched = {
    child,
    ended,
    cpu() {
      look()
      return ticks / 100
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
    taken() {
      look()
      return `${((performance.now() - began) / 1000).toFixed(1)} | ${(ticks / 100).toFixed(1)} | ${Math.round(memory / 1024)} | ${files}`
    },
  }
  started.push(watched)
  return watched
}

async function oneShot(label: string, ...words: string[]): Promise<void> {
  const watched = start(...words)
  await watched.ended
  row(label, watched)
}

function row(label: string, watched: Watched): void {
  console.log(`| ${label} | ${watched.taken()} |`)
}

/** Waits until a process has done what there was to do. */
async function quiet(watched: Watched): Promise<void> {
  let before = 0
  let quietly = 0
  await until(async () => {
    await delay(2000)
    const now = watched.cpu()
    // On a busy machine it gets little of the processor while it has much to do.
    quietly = now - before < 0.2 ? quietly + 1 : 0
    before = now
    return quietly === 3
  }, 300_000)
}

async function idle(label: string, watched: Watched): Promise<void> {
  const before = watched.cpu()
  await delay(IDLE_MS)
  const share = (watched.cpu() - before) / (IDLE_MS / 1000)
  console.log(`${label}, idle: ${Math.round(share * 100)} % of a core`)
}

/** How long a new run takes to the list of the page. */
async function fresh(url: string): Promise<void> {
  const began = performance.now()
  writeRun(join(host, 'new', 'run-new'), 'run-new', 1)
  await until(async () => (await state()).messages > runs, 60_000)
  console.log(`a new run: ${Math.round(performance.now() - began)} ms to the broker`)
  await until(async () => (await listed(url)).length > runs, 60_000)
  console.log(`a new run: ${Math.round(performance.now() - began)} ms to the list of the page`)
}

/** How long an event of one of the runs that are being written takes to the broker. */
async function appended(): Promise<void> {
  const lags: number[] = []
  for (let n = 0; n < LIVE; n++) {
    const before = (await state()).messages
    const run = nameOf((n * 499) % runs)
    const began = performance.now()
    fs.appendFileSync(join(host, run, 'events.jsonl'), `${JSON.stringify(eventAt(run, 1, events + 2))}\n`)
    await until(async () => (await state()).messages > before, 60_000)
    lags.push(performance.now() - began)
  }
  lags.sort((a, b) => a - b)
  console.log(
    `an event more: ${Math.round(lags[LIVE / 2]!)} ms to the broker at the median, ${Math.round(lags[LIVE - 1]!)} at most`,
  )
}

async function listed(url: string): Promise<readonly unknown[]> {
  return (await (await fetch(new URL('runs', url))).json()) as unknown[]
}

async function urlOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stderr! })) {
    const [url] = /http:\/\/\S+/.exec(line) ?? []
    if (url !== undefined) return url
  }
  throw new Error('serve did not say where the page is')
}

/** What the broker has of them. */
async function state() {
  const connection = await connect({ servers: server.url })
  try {
    const { state } = await (await jetstreamManager(connection)).streams.info('sluice')
    const memory = /VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]
    const { messages, num_subjects: subjects, consumer_count: consumers, bytes } = state
    return {
      messages,
      subjects,
      consumers,
      MB: Math.round(bytes / 1e6),
      memory: Math.round(Number(memory) / 1024),
    }
  } finally {
    await connection.close()
  }
}

function compare(): void {
  const [mine, theirs] = [journalsIn(host), journalsIn(join(copy, 'default'))]
  let differing = Object.keys(mine).length === Object.keys(theirs).length ? 0 : 1
  for (const [path, text] of Object.entries(mine)) if (theirs[path.replace('new/', '')] !== text) differing++
  wrong += differing
  console.log(`${Object.keys(mine).length} files compared byte for byte, ${differing} differ`)
}
