import { spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines.ts'
import { type AgentEvent as Event, events, replay, run, type SpawnLike, tap } from '../../src/index.ts'
import { agent, codexLines, workspace } from './agent.ts'

/** What tests of other projects put in the place of a child process. */
function standIn() {
  const child = Object.assign(new EventEmitter(), {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    signals: [] as (string | undefined)[],
    kill(signal?: NodeJS.Signals) {
      child.signals.push(signal)
      child.emit('exit', null, signal)
      child.emit('close', null, signal)
      return true
    },
  })
  return child
}

const missing = 'no-such-docker'
const output = `${codexLines.join('\n')}\n`

async function eventsOf(source: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = []
  for await (const event of source) all.push(event)
  return all
}

/** The ways in which stand-ins end: with or without the ends of their streams, and with one event or both. */
const endings: Record<string, (child: ReturnType<typeof standIn>) => void> = {
  'streams that end, exit and close': (child) => {
    child.stdout.end(output)
    child.stderr.end()
    child.emit('exit', 0, null)
    child.emit('close', 0, null)
  },
  'close alone': (child) => {
    child.stdout.write(output)
    child.emit('close', 0)
  },
  'exit and close, and streams that never end': (child) => {
    child.stdout.write(output)
    child.emit('exit', 0, null)
    setImmediate(() => child.emit('close', 0, null))
  },
  'text, and a close in a later turn': (child) => {
    child.stdout.setEncoding('utf8').write(output)
    setTimeout(() => child.emit('close', 0, null), 5)
  },
  'exit alone, and streams that end': (child) => {
    child.emit('exit', 0, null)
    child.stdout.end(output)
    child.stderr.end()
  },
}

describe.each(Object.entries(endings))('a stand-in for a child with %s', (_, ending) => {
  test('tap() tells its output and its exit', async () => {
    const child = standIn()
    setImmediate(() => ending(child))
    const told = await eventsOf(tap(child).pipe(events(codex)))
    expect(told.at(-1)).toMatchObject({ data: { outcome: 'finished', evidence: { exit_code: 0 } } })
    expect(told.filter(({ type }) => type === 'agent.message.final')).toHaveLength(1)
  })

  test.each([false, true])('run({ spawn }) tells the same; recorded: %s', async (recorded) => {
    const { cwd, audit } = workspace()
    let sent = ''
    const starts: SpawnLike = (command, args, { stdio }) => {
      expect([command, args, stdio]).toEqual(['codex', ['exec', '--json'], ['pipe', 'pipe', 'pipe']])
      const child = standIn()
      child.stdin.setEncoding('utf8').on('data', (text: string) => {
        sent += text
      })
      child.stdin.on('end', () => ending(child))
      return child
    }
    const place = recorded ? { audit, fsDiff: false } : {}
    const task = { engine: codex, cwd, spawn: starts, prompt: 'Say hi.' }
    const end = await run('codex', ['exec', '--json'], { ...task, ...place }).end
    expect(end).toMatchObject({ outcome: 'finished', ok: true, session: 't-1', exitCode: 0 })
    expect(sent).toBe('Say hi.')
    if (recorded) expect(readFileSync(join(audit, 'stdout.1.log'), 'utf8')).toBe(output)
  })
})

test('leaving a stand-in calls its own kill', async () => {
  const child = standIn()
  child.stdout.write(output)
  for await (const _ of tap(child, { kill: true }).pipe(events(codex))) break
  await expect.poll(() => child.signals).toEqual(['SIGTERM'])
  const other = standIn()
  other.stdout.write(output)
  const live = run('codex', [], { engine: codex, spawn: () => other })
  for await (const _ of live) break
  expect(await live.end).toMatchObject({ outcome: 'cancelled', signal: 'SIGTERM', session: 't-1' })
  expect(other.signals).toEqual(['SIGTERM'])
})

// An agent may end its turn when it is asked to end, and a stand-in need not tell how it ended.
test.each([
  ['limit', { limit: { toolCalls: 1 } }],
  ['timeout', { timeout: 50 }],
  ['idle_timeout', { idleTimeout: 50 }],
])(
  'what was ended by its %s has failed, also if it then ends its turn and tells no exit',
  async (reason, how) => {
    const child = standIn()
    const line = (record: object) => child.stdout.write(`${JSON.stringify(record)}\n`)
    const call = { type: 'command_execution', command: 'ls', status: 'in_progress' }
    child.kill = () => {
      line({ type: 'item.completed', item: { id: 'm', type: 'agent_message', text: 'Done.' } })
      line({ type: 'turn.completed', usage: {} })
      child.emit('exit', undefined, undefined)
      child.emit('close', undefined, undefined)
      return true
    }
    const { audit } = workspace()
    const agent = run('codex', [], { engine: 'codex', ...how, audit, fsDiff: false, spawn: () => child })
    line({ type: 'thread.started', thread_id: 't' })
    line({ type: 'turn.started' })
    for (const id of ['a', 'b']) line({ type: 'item.started', item: { id, ...call } })
    expect(await agent.end).toMatchObject({ outcome: 'failed', ok: false, reason })
    const stored = readFileSync(join(audit, 'events.jsonl'), 'utf8').trimEnd().split('\n')
    expect((await replay(audit).toArray()).map((event) => JSON.stringify(event))).toEqual(stored)
  },
)

test('a stand-in that does not obey is given up', async () => {
  const child = Object.assign(standIn(), { kill: () => false })
  child.stdout.write(output)
  const live = run('codex', [], { engine: codex, spawn: () => child, killGrace: 50, pipeGrace: 50 })
  for await (const _ of live) break
  expect(await live.end).toMatchObject({ outcome: 'cancelled', ok: false })
})

test('a spawn that throws, and a child that fails, are SPAWN_FAILED', async () => {
  const throws: SpawnLike = () => {
    throw Object.assign(new Error('no container'), { code: 'ENOENT' })
  }
  await expect(run('codex', [], { spawn: throws }).end).rejects.toMatchObject({ code: 'SPAWN_FAILED' })
  const fails: SpawnLike = (_, args, options) => spawn(missing, args, options)
  await expect(run('codex', [], { spawn: fails }).end).rejects.toMatchObject({ code: 'SPAWN_FAILED' })
})

test('a real process behind a spawn of your own: everything it starts ends with it', async () => {
  const { cwd, audit } = workspace()
  const program = agent(cwd, 'say(lines[0]); say(lines[1]); await sleep(60000)')
  const starts: SpawnLike = (command, args, options) => spawn('env', [command, ...args], options)
  const live = run({ ...program, engine: codex, cwd, audit, fsDiff: false, spawn: starts })
  for await (const event of live)
    if (event.type === 'lifecycle.run.status' && event.data.status === 'turn_started') break
  expect(await live.end).toMatchObject({ outcome: 'cancelled', signal: 'SIGTERM', session: 't-1' })
  expect(readFileSync(join(audit, 'stdout.1.log'), 'utf8')).toBe(`${codexLines.slice(0, 2).join('\n')}\n`)
})

test('spawn must be a function, and starts no terminal', async () => {
  await expect(run('codex', [], { spawn: 'docker' as never }).end).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
  const both = { spawn: () => standIn(), pty: true, audit: workspace().audit }
  await expect(run('codex', [], both).end).rejects.toThrow('leave out `pty`, or `spawn`')
})

test('the pid of a stand-in is nobody to signal', async () => {
  const bystander = spawn('sleep', ['60'])
  const child = Object.assign(standIn(), { pid: bystander.pid })
  child.stdout.write(output)
  for await (const _ of tap(child, { kill: true }).pipe(events(codex))) break
  await expect.poll(() => child.signals).toEqual(['SIGTERM'])
  expect(bystander.signalCode).toBe(null)
  bystander.kill('SIGKILL')
})

test('streams that ended before they were taken, and a kill that throws, hang nothing', async () => {
  const child = Object.assign(standIn(), {
    kill: () => {
      throw new Error('cannot')
    },
  })
  child.stdout.end(output)
  child.stderr.destroy()
  const short = { killGrace: 50, pipeGrace: 50 }
  const live = run('codex', [], { engine: codex, spawn: () => child, ...short })
  for await (const event of live) if (event.type === 'agent.message.final') break
  expect((await live.end).outcome).toBe('cancelled')
})

test('an aborted child that ignores its signal is killed, and not taken for gone', async () => {
  const abort = new AbortController()
  const child = spawn('sh', ['-c', `trap '' TERM; echo up; while :; do sleep 1; done`], {
    signal: abort.signal,
    detached: true,
  })
  const reading = async () => {
    for await (const chunk of tap(child, { kill: true, killGrace: 100 }))
      if ('bytes' in chunk && chunk.bytes.length > 0) abort.abort()
  }
  await expect(reading()).rejects.toMatchObject({ name: 'AbortError' })
  await expect.poll(() => child.signalCode).toBe('SIGKILL')
})
