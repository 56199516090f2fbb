// Every way to leave a real agent, from the installed package: it must be gone, with its children, and
// nothing may be unhandled. Usage: leaving.js NODE AGENT, where `NODE AGENT 2` is the agent; prints one line
// of JSON.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { chat, type AgentEvent as Event, events, run, sse, tap } from 'agent-sluice'
import { codex } from 'agent-sluice/engines'

const [, , command = '', agent = ''] = process.argv
const args = [agent, '2']
const killGrace = 300
const SOON = 15_000

type Start = (signal?: AbortSignal) => Readable & AsyncIterable<Event>

const sources: Record<string, Start> = {
  run: (signal) => {
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-leaving-'))
    return run(command, args, { engine: codex, cwd, audit: cwd, fsDiff: false, killGrace, signal })
  },
  tap: (signal) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    return tap(child, { kill: true, killGrace, signal }).pipe(events(codex))
  },
}

/** Each gives the numbers of the agent's processes. */
const ways: Record<string, (start: Start) => Promise<number[]>> = {
  async client(start) {
    let pids: number[] = []
    let over: Promise<unknown> = Promise.resolve()
    const server = http.createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const seen = new PassThrough({
        objectMode: true,
        transform(event, _encoding, done) {
          pids = pidsIn(event) ?? pids
          done(null, event)
        },
      })
      over = pipeline(start(), seen, chat(), sse(), response).catch((error) => error)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = http.get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
    client.on('error', () => {})
    const [response] = (await once(client, 'response')) as [http.IncomingMessage]
    let text = ''
    for await (const chunk of response) {
      text += chunk
      if (text.includes('assistant.message.final')) break
    }
    client.destroy()
    const why = await over
    if (!(why instanceof Error)) throw new Error(`the pipeline did not fail: ${why}`)
    server.close()
    return pids
  },
  async break(start) {
    for await (const event of start()) {
      const pids = pidsIn(event)
      if (pids) return pids
    }
    return []
  },
  async abort(start) {
    const abort = new AbortController()
    let pids: number[] = []
    try {
      for await (const event of start(abort.signal)) {
        pids = pidsIn(event) ?? pids
        if (pids.length > 0) abort.abort()
      }
    } catch (error) {
      // A run tells how it ended; a tap rejects.
      if ((error as Error).name !== 'AbortError') throw error
    }
    return pids
  },
  async pipeline(start) {
    let pids: number[] = []
    const failing = new Writable({
      objectMode: true,
      write(event, _encoding, done) {
        pids = pidsIn(event) ?? []
        done(pids.length > 0 ? new Error('disk full') : null)
      },
    })
    const why = await pipeline(start(), failing).catch((error: Error) => error.message)
    if (why !== 'disk full') throw new Error(`the pipeline ended with ${why}`)
    return pids
  },
}

const unhandled: string[] = []
process.on('unhandledRejection', (error) => unhandled.push(`unhandled: ${error}`))
process.on('uncaughtException', (error) => unhandled.push(`uncaught: ${error}`))

const results: Record<string, string> = {}
for (const [source, start] of Object.entries(sources)) {
  for (const [way, leave] of Object.entries(ways)) {
    try {
      results[`${source} ${way}`] = await gone(await leave(start))
    } catch (error) {
      results[`${source} ${way}`] = `failed: ${error}`
    }
  }
}
// What is left unhandled may only be told in a later turn.
await delay(50)
console.log(JSON.stringify({ results, unhandled }))

function pidsIn(event: Event): number[] | undefined {
  return event.type === 'agent.message.final' ? event.data.text.split(' ').map(Number) : undefined
}

async function gone(pids: readonly number[]): Promise<string> {
  if (pids.length !== 3) return `failed: the agent named ${pids.length} processes`
  const until = performance.now() + SOON
  while (pids.some(lives) && performance.now() < until) await delay(20)
  const left = pids.filter(lives)
  for (const pid of left) process.kill(pid, 'SIGKILL')
  return left.length === 0 ? 'gone' : `failed: ${left.length} of 3 processes are left`
}

/** A process that has ended and was not fetched by its parent (Z) does not count. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const stat = `/proc/${pid}/stat`
  return !existsSync(stat) || readFileSync(stat, 'utf8').split(') ').at(-1)?.[0] !== 'Z'
}
