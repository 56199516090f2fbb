import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { openJournal } from '../../src/disk/journal.ts'
import { makeEvent } from '../../test/disk/make-event.ts'
import { putLargeRun } from '../../test/serve/large-run.ts'
import { answerTo, type Candidate, type Scene, type Visit, type Workload } from '../measure.ts'

const PAGE = 100
const READERS = 100
const EVENTS = 1000
/** Every round has a server of its own, which is started in half a second. */
const ROUNDS = 3

export const w10: Workload = {
  id: 'W10',
  title: 'serve, as its clients wait for it',
  input: 'copies of a recorded run, a run of a million events; a server in a process of its own',
  async *scenes(quick) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    try {
      const runs = quick ? 1000 : 10_000
      const many = join(folder, 'many')
      const ids = putRuns(many, runs)
      const listed = `${runs.toLocaleString('en')} runs`
      yield await sceneOf(listed, firstPage(many), ids.slice(0, PAGE), 300)
      yield await sceneOf(listed, longestWait(many), [runs], 50)
      yield await sceneOf(listed, unchanged(many), [304])
      const events = quick ? 50_000 : 1_000_000
      const large = join(folder, 'large')
      putLargeRun(large, 'run', events)
      const opened = `a run of ${events.toLocaleString('en')} events`
      yield await sceneOf(opened, firstEvents(large), [1], 300)
      yield await sceneOf(opened, lastEvents(large, events), [events], 300)
      const all = Array.from({ length: READERS }, () => EVENTS)
      yield await sceneOf('a run that grows', hundredReaders(join(folder, 'live')), all)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function sceneOf(
  name: string,
  candidate: Candidate,
  answer: readonly unknown[],
  atMostMs?: number,
): Promise<Scene> {
  const goals = atMostMs === undefined ? [] : [{ ours: candidate.name, atMostMs }]
  const expected = await answerTo(answer)
  return { name, bytes: 0, expected, candidates: [candidate], goals, clock: 'wait', maxRounds: ROUNDS }
}

/** Copies of a real run, one each minute, in folders whose names do not tell that; the newest first. */
function putRuns(dir: string, count: number): string[] {
  const from = 'fixtures/codex/0.42-07a-file-write.pipe'
  const files = readdirSync(from).map((name) => [name, readFileSync(join(from, name), 'utf8')] as const)
  const meta = JSON.parse(files.find(([name]) => name === 'meta.json')![1])
  const begin = Date.UTC(2026, 0)
  const ids = Array.from({ length: count }, (_, n) => `run-${(n * 7919) % count}`)
  for (const [n, id] of ids.entries()) {
    const path = join(dir, id)
    const started = new Date(begin + n * 60_000)
    mkdirSync(path, { recursive: true })
    for (const [name, text] of files) writeFileSync(join(path, name), text)
    writeFileSync(join(path, 'meta.json'), JSON.stringify({ ...meta, started_at: started.toISOString() }))
    utimesSync(path, started, started)
  }
  return ids.reverse()
}

/** From the request to the whole answer, of a server that was just started. */
function firstPage(dir: string): Candidate {
  const read = () =>
    served(dir, async (server) => {
      const began = performance.now()
      const { text } = await server.ask(`/runs?limit=${PAGE}`)
      return { waited: performance.now() - began, text }
    })
  return ours(`first page of the list, ${PAGE} runs`, read, ({ text }, visit) => {
    for (const { id } of JSON.parse(text)) visit(id)
  })
}

/** The longest that /healthz takes while the list is read for the first time. */
function longestWait(dir: string): Candidate {
  const read = () =>
    served(dir, async (server) => {
      let waited = 0
      let text: string | undefined
      const list = server.ask('/runs').then((answer) => {
        text = answer.text
      })
      while (text === undefined) {
        const began = performance.now()
        await server.ask('/healthz')
        waited = Math.max(waited, performance.now() - began)
      }
      await list
      return { waited, text }
    })
  return ours('longest wait of another request meanwhile', read, ({ text }, visit) =>
    visit(JSON.parse(text).length),
  )
}

function unchanged(dir: string): Candidate {
  const read = () =>
    served(dir, async (server) => {
      const { headers } = await server.ask('/runs')
      const tag = String(headers.etag)
      // Until then the list is not looked at again.
      await delay(2000)
      const began = performance.now()
      const { status } = await server.ask(`/runs?since=${tag.slice(1, -1)}`, { 'if-none-match': tag })
      return { waited: performance.now() - began, status }
    })
  return ours('304, after looking whether something changed', read, ({ status }, visit) => visit(status))
}

function firstEvents(dir: string): Candidate {
  return ours(
    'the first events',
    () => untilEvent(dir, ''),
    ({ seq }, visit) => visit(seq),
  )
}

function lastEvents(dir: string, count: number): Candidate {
  const read = () => untilEvent(dir, `?after=${count - 1}`)
  return ours('the last event, after all others', read, ({ seq }, visit) => visit(seq))
}

/** From the request to the first event that comes. */
function untilEvent(dir: string, query: string): Promise<{ waited: number; seq: number }> {
  return served(dir, async (server) => {
    const began = performance.now()
    const response = await server.open(`/runs/run/events${query}`)
    for await (const text of response) {
      const seq = /^id: run:(\d+)$/m.exec(text)?.[1]
      if (seq !== undefined) return { waited: performance.now() - began, seq: Number(seq) }
    }
    throw new Error('no event came')
  })
}

/** From the last event in the journal to the last of the readers. */
function hundredReaders(dir: string): Candidate {
  const read = () =>
    served(dir, async (server) => {
      rmSync(join(dir, 'run'), { recursive: true, force: true })
      const journal = openJournal(join(dir, 'run'))
      journal.append(makeEvent(1, { run: 'run' }))
      const readers = Array.from({ length: READERS }, () => follow(server))
      for (let seq = 2; seq <= EVENTS; seq++) {
        journal.append(makeEvent(seq, { run: 'run', text: 'x'.repeat(300) }))
        if (seq % 10 === 0) await delay(5)
      }
      const began = performance.now()
      journal.sync()
      const ends = await Promise.all(readers)
      journal.close()
      return { waited: Math.max(...ends.map(({ at }) => at)) - began, counts: ends.map(({ count }) => count) }
    })
  return ours(`${READERS} readers, until each has all ${EVENTS} events`, read, ({ counts }, visit) => {
    for (const count of counts) visit(count)
  })
}

/** Reads to the last event, and counts those that come in order. */
async function follow(server: Server): Promise<{ count: number; at: number }> {
  const response = await server.open('/runs/run/events')
  let count = 0
  const parser = createParser({
    onEvent: ({ id }) => {
      if (id === `run:${count + 1}`) count++
    },
  })
  for await (const text of response) {
    parser.feed(text)
    if (count === EVENTS) break
  }
  return { count, at: performance.now() }
}

/** What is checked is what is timed. */
function ours<T extends { readonly waited: number }>(
  name: string,
  read: () => Promise<T>,
  show: (answer: T, visit: Visit) => void,
): Candidate {
  return {
    name,
    role: 'ours',
    run: async (visit) => show(await read(), visit),
    waited: async () => (await read()).waited,
  }
}

interface Server {
  open(path: string, headers?: Record<string, string>): Promise<IncomingMessage>
  ask(
    path: string,
    headers?: Record<string, string>,
  ): Promise<{ text: string; status: number | undefined; headers: IncomingMessage['headers'] }>
}

/** A server that was just started, for one use. */
async function served<T>(dir: string, use: (server: Server) => Promise<T>): Promise<T> {
  mkdirSync(dir, { recursive: true })
  const child: ChildProcess = spawn(process.execPath, ['dist/cli/main.js', 'serve', dir, '--port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  try {
    const [said] = await once(child.stderr!, 'data')
    const port = Number(/:(\d+)\//.exec(String(said))?.[1])
    const open = (path: string, headers = {}) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get({ port, host: '127.0.0.1', path, headers }, (response) =>
          resolve(response.setEncoding('utf8')),
        ).on('error', reject)
      })
    const ask: Server['ask'] = async (path, headers) => {
      const response = await open(path, headers)
      let text = ''
      for await (const part of response) text += part
      return { text, status: response.statusCode, headers: response.headers }
    }
    await ask('/healthz')
    return await use({ open, ask })
  } finally {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}
