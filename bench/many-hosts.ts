// Many runs and many hosts: the tables of docs/hosts.md and bench/README.md. Every journal is compared.
// npx tsx bench/many-hosts.ts table 1000 10000 100000   one host, one server: ship, mirror, serve, prune
// npx tsx bench/many-hosts.ts list 100000               the list of serve alone
// npx tsx bench/many-hosts.ts hosts 1000 100            1,000 hosts of 100 runs, a cluster, kills
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, execPath, exit } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { bundled } from '../test/nats/bundled.ts'
import { type NatsServer, natsCluster, natsServer, until } from '../test/nats/nats-server.ts'
import { writeRun } from '../test/nats/runs.ts'

const EVENTS = 3
const POLLS = 20
/** Processes that ship, each with its part of the hosts and a connection for each of them. */
const SHIPPERS = 4
/** Each kill of a shipper costs it 250 connections; with more kills, little else would be measured. */
const KILLS = 9
const KILL_MS = 5000

const dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sluice-hosts-')))
const program = await bundled('../../src/cli/main.ts', join(dir, 'sluice.mjs'))
const hostsProgram = await bundled('../../bench/ship-hosts.ts', join(dir, 'ship-hosts.mjs'))
const started = new Set<Measured>()
let wrong = 0
const [what, ...numbers] = argv.slice(2)
try {
  if (what === 'hosts') await hosts(Number(numbers[0] ?? 1000), Number(numbers[1] ?? 100))
  else if (what === 'list') await listAlone(Number(numbers[0] ?? 100_000))
  else for (const count of numbers.length > 0 ? numbers.map(Number) : [1000, 10_000]) await table(count)
} finally {
  for (const each of started) await each.kill()
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}
exit(wrong > 0 ? 1 : 0)

/** The list alone, which is the part that every reader of many runs has. */
async function listAlone(count: number): Promise<void> {
  for (let n = 0; n < count; n++) putRun(join(dir, 'runs'), n)
  await list(count, join(dir, 'runs'))
}

/** One host with so many runs, and one server. */
async function table(count: number): Promise<void> {
  const [runs, copy] = [join(dir, `runs-${count}`), join(dir, `copy-${count}`)]
  for (let n = 0; n < count; n++) putRun(runs, n)
  const server = await natsServer()
  try {
    const shipped = await done('ship', runs, '--to', server.url)
    row(count, 'ship', `${perRun(shipped, count)}`, shipped)
    const mirrored = await done('mirror', copy, '--from', server.url, '--until-idle', '1s')
    row(count, 'mirror', `${perRun(mirrored, count)}`, mirrored)
    compare(runs, join(copy, 'default'))
  } finally {
    await server.close()
  }
  await list(count, runs)
  const pruned = await done('prune', runs, '--older', '1d')
  row(count, 'prune', perRun(pruned, count), pruned)
  if (fs.readdirSync(runs).length > 0) wrong++
  fs.rmSync(copy, { recursive: true })
}

/** A page of the list, all of it, and polls without a change. */
async function list(count: number, runs: string, ...more: string[]): Promise<void> {
  const served = start([program, 'serve', runs, '--port', '0', ...more])
  const url = await urlOf(served.child)
  const began = performance.now()
  await (await fetch(`${url}runs?limit=100`)).json()
  const page = performance.now() - began
  const all = await fetch(`${url}runs`)
  const listed = ((await all.json()) as unknown[]).length
  const cpu = served.cpu()
  row(
    count,
    `serve: ${listed} listed`,
    `first page ${page.toFixed(0)} ms, ${all.headers.get('x-older-runs')?.split(' ')[0] ?? 0} older`,
    served,
  )
  const tag = all.headers.get('etag')!
  for (let n = 0; n < POLLS; n++) {
    await delay(600)
    await fetch(`${url}runs?since=${tag.slice(1, -1)}`, { headers: { 'if-none-match': tag } })
  }
  row(count, 'serve: a poll', `${((1000 * (served.cpu() - cpu)) / POLLS).toFixed(0)} ms of CPU`, served)
  await served.kill('SIGTERM')
}

/** Hosts that ship at the same time to a cluster, while servers, shippers and the mirror are killed. */
async function hosts(count: number, each: number): Promise<void> {
  for (let host = 0; host < count; host++)
    for (let n = 0; n < each; n++) putRun(join(dir, 'hosts', `host-${host}`), n)
  const servers = await natsCluster()
  const copy = join(dir, 'copy')
  const kills = { server: 0, shipper: 0, mirror: 0 }
  try {
    const urls = servers.map(({ url }) => url).join()
    const began = performance.now()
    const shippers = Array.from({ length: SHIPPERS }, (_, n) =>
      kept(() => {
        const part = [Math.floor((n * count) / SHIPPERS), Math.floor(((n + 1) * count) / SHIPPERS)]
        return start([hostsProgram, join(dir, 'hosts'), urls, ...part.map(String)])
      }),
    )
    const mirror = kept(() => start([program, 'mirror', copy, '--from', urls, '--replicas', '3']))
    const shipping = Promise.all(shippers.map(({ over }) => over))
    let busy = true
    const killing = (async () => {
      for (let turn = 0; busy && turn < KILLS; turn++) {
        await delay(KILL_MS)
        if (!busy) break
        const victim = (['server', 'shipper', 'mirror'] as const)[turn % 3]!
        kills[victim]++
        if (victim === 'server') await restart(servers[turn % servers.length]!)
        else await (victim === 'mirror' ? mirror : shippers[turn % SHIPPERS]!).kill()
      }
    })()
    await shipping
    busy = false
    await killing
    const took = (performance.now() - began) / 1000
    await until(() => journals(copy) === count * each, 600_000)
    const lag = (performance.now() - began) / 1000 - took
    const all = count * each
    console.log(`${count} hosts, ${all} runs, killed: ${JSON.stringify(kills)}`)
    console.log(
      `shipped in ${took.toFixed(0)} s (${(all / took).toFixed(0)} runs/s), the mirror was done ${lag.toFixed(1)} s later`,
    )
    total(
      'ship',
      shippers.flatMap(({ all }) => all),
      all,
    )
    total('mirror', mirror.all, all)
    for (const { pid } of servers)
      console.log(`server: ${memoryOf(pid!)} MB, ${cpuOf(pid!).toFixed(0)} s of CPU since its last start`)
    await mirror.end()
    const checked = await done('mirror', copy, '--from', urls, '--replicas', '3', '--until-idle', '3s')
    console.log(`mirror again, nothing new: ${checked.cpu().toFixed(1)} s of CPU, ${checked.memory()} MB`)
    for (let host = 0; host < count; host++)
      compare(join(dir, 'hosts', `host-${host}`), join(copy, `host-${host}`))
    await list(all, '', '--from', urls, '--dir', copy)
  } finally {
    await Promise.all(servers.map((server) => server.close()))
  }
}

function total(name: string, processes: readonly Measured[], runs: number): void {
  const cpu = processes.reduce((sum, each) => sum + each.cpu(), 0)
  const most = Math.max(...processes.map((each) => each.memory()))
  console.log(
    `${name}: ${processes.length} processes, ${cpu.toFixed(0)} s of CPU, ${((1000 * cpu) / runs).toFixed(2)} ms a run, ${most} MB at most in one`,
  )
}

async function restart(server: NatsServer): Promise<void> {
  await server.kill()
  await delay(1000)
  await server.start()
}

/** A process that is started again when it is killed, until it ends by itself. */
function kept(begin: () => Measured) {
  const all: Measured[] = []
  let ending = false
  const over = (async () => {
    for (;;) {
      const now = begin()
      all.push(now)
      const code = await now.ended
      if (code !== null || ending) return
    }
  })()
  const last = () => all.at(-1)!
  return {
    all,
    over,
    kill: () => last().kill(),
    async end() {
      ending = true
      await last().kill('SIGTERM')
      await over
    },
  }
}

interface Measured {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  cpu(): number
  memory(): number
  kill(signal?: NodeJS.Signals): Promise<void>
}

function start(words: readonly string[]): Measured {
  const child = spawn(
    execPath,
    words.filter((word) => word !== ''),
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let [cpu, memory, errors] = [0, 0, '']
  child.stderr!.on('data', (text) => {
    errors = (errors + text).slice(-2000)
  })
  const look = () => {
    cpu = cpuOf(child.pid!) || cpu
    memory = memoryOf(child.pid!) || memory
  }
  const timer = setInterval(look, 100)
  const ended = once(child, 'exit').then(([code]) => {
    clearInterval(timer)
    started.delete(measured)
    if (code) {
      wrong++
      console.log(`${words[1]} left with ${code}: ${errors}`)
    }
    return code as number | null
  })
  const measured: Measured = {
    child,
    ended,
    cpu() {
      look()
      return cpu
    },
    memory: () => memory,
    async kill(signal = 'SIGKILL') {
      child.kill(signal)
      await ended
    },
  }
  started.add(measured)
  return measured
}

async function done(...words: string[]): Promise<Measured> {
  const measured = start([program, ...words])
  await measured.ended
  return measured
}

async function urlOf(child: ChildProcess): Promise<string> {
  for await (const text of child.stderr!.setEncoding('utf8')) {
    const [url] = /http:\/\/\S+/.exec(text) ?? []
    if (url !== undefined) return url
  }
  throw new Error('serve did not say where the page is')
}

/** Seconds of processor time. */
function cpuOf(pid: number): number {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return (Number(user) + Number(system)) / 100
  } catch {
    return 0
  }
}

/** MB at most. */
function memoryOf(pid: number): number {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
  } catch {
    return 0
  }
}

/** A run of long ago, under the name that `run` would have given it. */
function putRun(runs: string, n: number): void {
  const at = new Date(Date.UTC(2026, 0) + n * 1000)
  const name = `${at.toISOString().replaceAll(':', '-')}-${(n + 1).toString(16).padStart(8, '0')}`
  const path = join(runs, name)
  writeRun(path, name, EVENTS, { pad: 100 })
  const ended_at = new Date(at.getTime() + 5000).toISOString()
  const meta = {
    run_id: name,
    attempt_number: 1,
    engine: 'codex',
    started_at: at.toISOString(),
    ended_at,
    exit_code: 0,
  }
  fs.writeFileSync(join(path, 'meta.1.json'), JSON.stringify(meta))
  fs.writeFileSync(join(path, 'stdout.1.log'), 'x\n')
  fs.utimesSync(path, at, at)
}

function journals(copy: string): number {
  if (!fs.existsSync(copy)) return 0
  const tenants = fs.readdirSync(copy, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return tenants.reduce((sum, { name }) => sum + fs.readdirSync(join(copy, name)).length, 0)
}

/** Compares every journal byte for byte, one at a time. */
function compare(mine: string, theirs: string): void {
  const names = fs.readdirSync(mine)
  const other = fs.existsSync(theirs) ? fs.readdirSync(theirs).length : 0
  let differing = names.length === other ? 0 : 1
  for (const name of names) {
    const copy = join(theirs, name.replaceAll('.', '%2E'), 'events.jsonl')
    const same =
      fs.existsSync(copy) && fs.readFileSync(join(mine, name, 'events.jsonl')).equals(fs.readFileSync(copy))
    if (!same) differing++
  }
  if (differing > 0) console.log(`${differing} of ${names.length} journals differ in ${theirs}`)
  wrong += differing
}

function perRun(measured: Measured, count: number): string {
  return `${((1000 * measured.cpu()) / count).toFixed(2)} ms of CPU a run`
}

function row(count: number, label: string, result: string, measured: Measured): void {
  console.log(
    `| ${count} | ${label} | ${result} | ${measured.cpu().toFixed(1)} s | ${measured.memory()} MB |`,
  )
}
