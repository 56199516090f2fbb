import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codex } from '../../src/engines.ts'
import { chat, type AgentEvent as Event, events, run, sse, tap } from '../../src/index.ts'
import { isSameProcess } from '../../src/process/tree.ts'
import { built } from '../built.ts'
import { workspace } from './agent.ts'

const GRACE = 300
const missing = 'no-such-command'

const stubborn = { command: process.execPath, args: [resolve('test/run/stubborn-agent.js'), '2'] }

/** The processes that the agent has named in its message. */
const pidsIn = (event: Event) =>
  event.type === 'agent.message.final' ? event.data.text.split(' ').map(Number) : undefined

async function gone(pids: readonly number[], within: number): Promise<void> {
  const until = performance.now() + within
  while (pids.some((pid) => isSameProcess(pid, null)) && performance.now() < until) await delay(20)
  expect(pids.filter((pid) => isSameProcess(pid, null))).toEqual([])
  expect(pids).toHaveLength(3)
}

/** The three ways to have an agent whose reader may leave. */
const sources: Record<string, Start> = {
  'run()': () => {
    const { cwd, audit } = workspace()
    return run({ ...stubborn, engine: codex, cwd, audit, fsDiff: false, killGrace: GRACE })
  },
  'tap(child, { kill })': () => tapped(false),
  'tap(detached child, { kill })': () => tapped(true),
}

function tapped(detached: boolean) {
  const { cwd } = workspace()
  const { command, args } = stubborn
  const child = spawn(command, args, { cwd, detached, stdio: ['ignore', 'pipe', 'pipe'] })
  return tap(child, { kill: true, killGrace: GRACE }).pipe(events(codex))
}

/** A machine under load is slow to start and to end processes; the grace itself is short. */
const SOON = GRACE + 10_000

const unhandled: unknown[] = []
const keep = (error: unknown) => void unhandled.push(error)
beforeAll(() => {
  process.on('unhandledRejection', keep)
  process.on('uncaughtException', keep)
})
afterAll(() => {
  process.off('unhandledRejection', keep)
  process.off('uncaughtException', keep)
  expect(unhandled).toEqual([])
})

type Start = () => Readable & AsyncIterable<Event>

/** The ways to leave; each gives the processes that the agent had named by then. */
const leavings: Record<string, (start: Start) => Promise<readonly number[]>> = {
  async 'its reader breaks out of the loop'(start) {
    for await (const event of start()) {
      const pids = pidsIn(event)
      if (pids) return pids
    }
    return []
  },

  async 'its reader throws'(start) {
    let pids: number[] = []
    const reading = async () => {
      for await (const event of start()) {
        pids = pidsIn(event) ?? []
        if (pids.length > 0) throw new Error('enough')
      }
    }
    await expect(reading()).rejects.toThrow('enough')
    return pids
  },

  async 'a pipeline behind it fails'(start) {
    const { failing, pids } = full()
    await expect(pipeline(start(), failing)).rejects.toThrow('disk full')
    return pids()
  },

  async 'it is destroyed'(start) {
    const agent = start()
    const first = await new Promise<number[]>((resolve) => {
      agent.on('data', (event: Event) => {
        const pids = pidsIn(event)
        if (pids) resolve(pids)
      })
    })
    agent.destroy()
    return first
  },

  async 'the HTTP client that reads it goes away'(start) {
    let pids: number[] = []
    let settle: (why: unknown) => void = () => {}
    const over = new Promise<unknown>((resolve) => {
      settle = resolve
    })
    const server = http.createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const seen = new PassThrough({
        objectMode: true,
        transform(event, _encoding, done) {
          pids = pidsIn(event) ?? pids
          done(null, event)
        },
      })
      pipeline(start(), seen, chat(), sse(), response).then(settle, settle)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = http.get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
    const [response] = (await once(client, 'response')) as [http.IncomingMessage]
    let text = ''
    for await (const chunk of response) {
      text += chunk
      if (text.includes('assistant.message.final')) break
    }
    client.destroy()
    await expect(over).resolves.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' })
    server.close()
    return pids
  },
}

/** A disk that is full when the agent has named its processes. */
function full() {
  let pids: number[] = []
  const failing = new Writable({
    objectMode: true,
    write(event, _encoding, done) {
      pids = pidsIn(event) ?? []
      done(pids.length > 0 ? new Error('disk full') : null)
    },
  })
  return { failing, pids: () => pids }
}

// Every way to leave, and every source with those that differ for it: in the end all destroy the stream.
test.each([
  ['run()', 'its reader breaks out of the loop'],
  ['run()', 'it is destroyed'],
  ['run()', 'the HTTP client that reads it goes away'],
  ['tap(child, { kill })', 'its reader throws'],
  ['tap(child, { kill })', 'a pipeline behind it fails'],
  ['tap(child, { kill })', 'the HTTP client that reads it goes away'],
  ['tap(detached child, { kill })', 'its reader breaks out of the loop'],
  ['tap(detached child, { kill })', 'it is destroyed'],
])('%s ends the agent and all it has started when %s', async (source, how) => {
  await gone(await leavings[how]!(sources[source]!), SOON)
})

test('the end of a run settles after a failed pipeline when all of it is gone', async () => {
  const { cwd, audit } = workspace()
  const agent = run({ ...stubborn, engine: codex, cwd, audit, fsDiff: false, killGrace: GRACE })
  const { failing, pids } = full()
  await expect(pipeline(agent, failing)).rejects.toThrow('disk full')
  expect(await agent.end).toMatchObject({ outcome: 'cancelled', ok: false, reason: 'abandoned' })
  // The agent itself is reaped by us; its children by init, which may take a moment.
  expect(isSameProcess(pids()[0]!, null)).toBe(false)
  await gone(pids(), SOON)
})

describe('an abort', () => {
  test('of run() ends the agent, and the flow still tells how', async () => {
    const { cwd, audit } = workspace()
    const abort = new AbortController()
    const options = {
      engine: codex,
      cwd,
      audit,
      fsDiff: false,
      killGrace: GRACE,
      signal: abort.signal,
    } as const
    let pids: number[] = []
    let last: string | undefined
    const agent = run({ ...stubborn, ...options })
    for await (const event of agent) {
      last = event.type
      if (!pidsIn(event)) continue
      pids = pidsIn(event)!
      abort.abort()
    }
    expect(last).toBe('lifecycle.completion.state')
    expect(await agent.end).toMatchObject({ outcome: 'cancelled', reason: 'aborted', signal: 'SIGKILL' })
    await gone(pids, SOON)
  })

  test('of tap() ends the child and rejects when it is gone', async () => {
    const { cwd } = workspace()
    const { command, args } = stubborn
    const abort = new AbortController()
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let pids: number[] = []
    const reading = async () => {
      const chunks = tap(child, { kill: true, killGrace: GRACE, signal: abort.signal })
      for await (const event of chunks.pipe(events(codex))) {
        pids = pidsIn(event) ?? pids
        if (pids.length > 0) abort.abort()
      }
    }
    await expect(reading()).rejects.toMatchObject({ name: 'AbortError' })
    expect(child.signalCode).toBe('SIGKILL')
    await gone(pids, SOON)
  })
})

describe('tap(child, { kill })', () => {
  const node = (script: string): ChildProcess =>
    spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })

  test('lets a child that obeys end in its own way', async () => {
    const child = node(
      `process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up')`,
    )
    const exit = once(child, 'exit')
    for await (const chunk of tap(child, { kill: true }))
      if ('bytes' in chunk && chunk.bytes.length > 0) break
    expect(await exit).toEqual([7, null])
  })

  test('leaves a child alone that ended by itself', async () => {
    const child = node(`console.log('done')`)
    for await (const _ of tap(child, { kill: true }));
    expect([child.exitCode, child.signalCode]).toEqual([0, null])
  })

  test('rejects with SPAWN_FAILED if there is no child to end', async () => {
    const reading = async () => {
      for await (const _ of tap(spawn(missing), { kill: true }).pipe(events(codex)));
    }
    await expect(reading()).rejects.toMatchObject({ code: 'SPAWN_FAILED' })
  })

  test('wants a child', () => {
    expect(() => tap({ stdout: new PassThrough() }, { kill: true })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    )
  })
})

describe('what an agent has started', () => {
  const pidOf = (event: Event) => Number('text' in event.data ? event.data.text : Number.NaN)
  const isGone = (pid: number) => expect.poll(() => isSameProcess(pid, null)).toBe(false)

  test('ends with it, in a session of its own, too', async () => {
    const live = run('sh', ['-c', 'setsid sleep 3005 & echo $!; sleep 60'], { engine: 'text' })
    let pid = Number.NaN
    for await (const event of live) {
      pid = pidOf(event)
      if (pid > 0) break
    }
    expect(await live.end).toMatchObject({ outcome: 'cancelled', signal: 'SIGTERM' })
    await isGone(pid)
  })

  test('gets its time to end, though what wraps it ends at once', async () => {
    const { cwd } = workspace()
    const agent = `process.on('SIGTERM', () => setTimeout(() => {
      fs.writeFileSync('saved', '')
      process.exit()
    }, 300))
    setInterval(() => {}, 1000)
    console.log('up')`
    writeFileSync(join(cwd, 'agent.cjs'), `const fs = require('node:fs')\n${agent}`)
    const wrapped = `${process.execPath} agent.cjs; true`
    const live = run('sh', ['-c', wrapped], { engine: 'text', cwd })
    for await (const event of live) if ('text' in event.data) break
    expect(await live.end).toMatchObject({ outcome: 'cancelled', notes: [{ code: 'RUN_INTERRUPTED' }] })
    expect(existsSync(join(cwd, 'saved'))).toBe(true)
  })

  test('is told if it had lost its parent, and is not hunted', async () => {
    // It names itself when its parent is gone.
    const orphan = join(workspace().cwd, 'orphan.sh')
    const waits = 'while kill -0 $1 2> /dev/null; do sleep 0.02; done'
    writeFileSync(orphan, `${waits}\necho $$\nexec sleep 3005 > /dev/null 2>&1\n`)
    const script = `sh -c 'setsid sh ${orphan} $$ &'; sleep 60`
    const live = run('sh', ['-c', script], { engine: 'text' })
    let pid = Number.NaN
    for await (const event of live) {
      pid = pidOf(event)
      if (pid > 0) break
    }
    const { notes } = await live.end
    expect(notes.find(({ code }) => code === 'LEFT_RUNNING')?.message).toContain(`process ${pid}`)
    process.kill(pid, 'SIGKILL')
  })

  test('is left alone after a good end', async () => {
    const script = 'setsid sleep 3005 > /dev/null 2>&1 & echo $!'
    let pid = Number.NaN
    const live = run('sh', ['-c', script], { engine: 'text' })
    for await (const event of live) pid = pidOf(event) || pid
    const { notes } = await live.end
    expect(isSameProcess(pid, null)).toBe(true)
    expect(notes).toEqual([])
    process.kill(pid, 'SIGKILL')
  })
})

test('an agent that prints faster than it is read leaves turns for everything else', async () => {
  const { cwd, audit } = workspace()
  const live = run('sh', ['-c', 'yes words'], { engine: 'text', cwd, audit, fsDiff: false, killGrace: GRACE })
  let isTurn = false
  setTimeout(() => {
    isTurn = true
  }, 50)
  for await (const _ of live) if (isTurn) break
  expect((await live.end).outcome).toBe('cancelled')
})

test('a program that leaves its run ends by itself', async () => {
  const { cwd } = workspace()
  const program = `
    import { run } from ${JSON.stringify(built('src/index.ts'))}
    for (const options of [{}, { runs: 'runs' }])
      for await (const _ of run('yes', [], { engine: 'text', ...options })) break`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd, stdio: 'inherit' })
  expect(await once(child, 'close')).toEqual([0, null])
})
