import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { takeLock } from '../../src/disk/lock.ts'
import { bundled } from './bundled.ts'
import { type NatsServer, natsCluster, natsServer } from './nats-server.ts'
import { journalsIn, lineAt } from './runs.ts'

export interface ChaosOptions {
  /** Journals grow and processes are killed for so long. */
  readonly seconds: number
  /** At least so many are killed, a server among them, however long that takes. */
  readonly minKills: number
  /** One server, or a cluster of three with three replicas of which one is killed at a time. */
  readonly servers: 1 | 3
  readonly hosts: number
  readonly runs: number
  /** Milliseconds between two kills, at most. */
  readonly pause: number
  readonly say?: ((words: string) => void) | undefined
}

export interface ChaosResult {
  readonly kills: {
    readonly server: number
    readonly ship: number
    readonly mirror: number
    readonly reader: number
  }
  readonly events: number
  readonly lost: number
  readonly twice: number
  readonly outOfOrder: number
  /** Journals whose mirror differs in any byte. */
  readonly differing: readonly string[]
  /** What a process said that was not killed. */
  readonly trouble: readonly string[]
}

/**
 * Hosts whose journals grow, in torn writes too; a shipper for each, a mirror and a reader as processes of
 * their own; servers, shippers, mirror and reader are killed with SIGKILL at random. Then every file is
 * compared byte for byte.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seconds, minKills, hosts, runs, pause, say = () => {} } = options
  const dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sluice-chaos-')))
  const program = await bundled('../../src/cli/main.ts', join(dir, 'sluice.mjs'))
  const readerProgram = await bundled('./chaos-reader.ts', join(dir, 'reader.mjs'))
  const servers = options.servers === 1 ? [await natsServer()] : await natsCluster()
  const urls = servers.map(({ url }) => url).join(',')
  const kills = { server: 0, ship: 0, mirror: 0, reader: 0 }
  const trouble: string[] = []
  const tell = (words: string) => {
    trouble.push(words)
    say(words)
  }
  const names = Array.from({ length: hosts }, (_, n) => `host-${n + 1}`)

  const shipWords = (name: string) => [
    ...[program, 'ship', join(dir, name), '--to', urls, '--tenant', name],
    ...['--replicas', String(options.servers)],
  ]
  const processes = [
    ...names.map((name) => kept('ship', [...shipWords(name), '--follow'])),
    kept('mirror', [
      program,
      'mirror',
      join(dir, 'mirror'),
      '--from',
      urls,
      '--replicas',
      String(options.servers),
    ]),
    kept('reader', [readerProgram, urls]),
  ]

  /** A process that is started again when it was killed. */
  function kept(kind: 'ship' | 'mirror' | 'reader', words: string[]) {
    let child: ChildProcess
    let errors = ''
    const start = () => {
      errors = ''
      child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] })
      child.stderr!.on('data', (text) => {
        errors = (errors + text).slice(-2000)
      })
      const mine = child
      mine.once('exit', (code) => {
        if (code !== null && code !== 0) tell(`${kind} left with ${code}: ${errors}`)
      })
    }
    return {
      start,
      kind,
      isUp: () => child.exitCode === null && child.signalCode === null,
      async kill() {
        if (child.exitCode !== null || child.signalCode !== null) return
        child.kill('SIGKILL')
        await once(child, 'exit')
      },
    }
  }

  const writing = new AbortController()
  const books = names.flatMap((name) =>
    Array.from({ length: runs }, (_, n) => writer(join(dir, name, `run-${n}`), `${name}.run ${n}`)),
  )
  try {
    for (const each of processes) each.start()
    const written = Promise.all(books.map((book) => book.write(writing.signal)))
    const until = Date.now() + seconds * 1000
    const total = () => kills.server + kills.ship + kills.mirror + kills.reader
    /** A server that comes back: in a cluster no other is killed before it is there. */
    let coming: Promise<unknown> | undefined
    while (Date.now() < until || total() < minKills || kills.server === 0) {
      await delay(Math.random() * pause)
      const pick = Math.floor(Math.random() * (processes.length + 1))
      const chosen = processes[pick]
      if (chosen) {
        if (!chosen.isUp()) {
          tell(`${chosen.kind} is not there`)
          break
        }
        await chosen.kill()
        kills[chosen.kind]++
        chosen.start()
      } else if (!coming) {
        const server = servers[Math.floor(Math.random() * servers.length)]!
        await server.kill()
        kills.server++
        coming = back(server, options.servers).finally(() => {
          coming = undefined
        })
      }
      if (total() % 20 === 0)
        say(`${total()} kills, ${books.reduce((sum, { count }) => sum + count(), 0)} events`)
    }
    await coming
    writing.abort()
    await written
    say(`killed ${JSON.stringify(kills)}; now everything may arrive`)
    for (const each of processes.slice(0, -1)) await each.kill()
    for (const name of names) await ended(shipWords(name))
    await ended([program, 'mirror', join(dir, 'mirror'), '--from', urls, '--until-idle', '1s'])
    await processes.at(-1)!.kill()
    const events = books.reduce((sum, { count }) => sum + count(), 0)
    if (trouble.length === 0) await ended([readerProgram, urls, String(events)])
    return { kills, events, ...compared(dir, names), trouble }
  } finally {
    writing.abort()
    for (const each of processes) await each.kill()
    await Promise.all(servers.map((server) => server.close()))
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
  }

  /** Runs a command to its good end. */
  async function ended(words: string[]): Promise<void> {
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    child.stderr.on('data', (text) => {
      errors = (errors + text).slice(-2000)
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) tell(`${words.slice(1, 3).join(' ')} left with ${code}: ${errors}`)
  }
}

/** Starts a server again, and waits until a cluster would bear the loss of another. */
async function back(server: NatsServer, servers: 1 | 3): Promise<void> {
  await delay(Math.random() * 300)
  await server.start()
  if (servers === 3) await delay(2500)
}

/** A run that grows: a few events at a time, with its lock, and some lines in two writes. */
function writer(dir: string, run: string) {
  fs.mkdirSync(dir, { recursive: true })
  let seq = 0
  return {
    count: () => seq,
    async write(signal: AbortSignal) {
      const lock = takeLock(join(dir, 'journal.lock'))
      const fd = fs.openSync(join(dir, 'events.jsonl'), 'a')
      while (!signal.aborted) {
        for (let n = Math.floor(Math.random() * 12); n >= 0; n--) {
          // One in 400 is too long for a block.
          const pad = Math.random() < 0.0025 ? 700_000 : Math.floor(Math.random() * 2000)
          const line = lineAt(run, 1, ++seq, pad)
          const cut = Math.random() < 0.1 ? Math.floor(Math.random() * line.length) : 0
          fs.writeSync(fd, line.slice(0, cut))
          if (cut > 0) await delay(1)
          fs.writeSync(fd, line.slice(cut))
        }
        await delay(10 + Math.random() * 20)
      }
      fs.closeSync(fd)
      lock.release()
    },
  }
}

function compared(dir: string, names: readonly string[]) {
  const copies = journalsIn(join(dir, 'mirror'))
  const differing: string[] = []
  let [lost, twice, outOfOrder] = [0, 0, 0]
  for (const name of names) {
    for (const [path, text] of Object.entries(journalsIn(join(dir, name)))) {
      const number = /run-(\d+)/.exec(path)![1]
      const copy = copies[`${name}/${name}%2Erun%20${number}/events.jsonl`] ?? ''
      if (copy !== text) differing.push(`${name}/${path}`)
      const [mine, theirs] = [text, copy].map((lines) => lines.match(/"seq":\d+/g) ?? [])
      const seen = new Set(theirs)
      lost += mine!.filter((seq) => !seen.has(seq)).length
      twice += theirs!.length - seen.size
      const numbers = theirs!.map((seq) => Number(seq.slice(6)))
      outOfOrder += numbers.filter((seq, n) => n > 0 && seq < numbers[n - 1]!).length
    }
  }
  return { lost, twice, outOfOrder, differing }
}
