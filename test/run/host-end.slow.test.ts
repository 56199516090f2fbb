import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { resume } from '../../src/index.ts'
import { processesWith } from '../../src/process/tree.ts'
import { built } from '../built.ts'
import { workspace } from './agent.ts'

/** What it starts: a child, one in a group of its own, one in a session of its own; then it prints. */
const family = `sleep 3005 & setsid sleep 3006 & sh -c 'set -m; sleep 3007 & wait' & sleep 0.2; echo ready;`
const agents = {
  quiet: `${family} sleep 3008`,
  chatty: `${family} while :; do echo a line of words; done`,
  stubborn: `trap '' INT TERM HUP; ${family} while :; do sleep 3008; done`,
}

interface Host {
  readonly agent?: keyof typeof agents
  readonly source?: 'run' | 'tap'
  readonly ends: NodeJS.Signals | 'exit' | 'error' | 'rejection'
  readonly handles?: 'on' | 'once' | 'signal-exit'
  readonly options?: object
}

/** Starts the program, and ends it when its agent is ready. What all of its processes have is a variable. */
async function hosted({ agent = 'quiet', source = 'run', ends, handles, options = {} }: Host) {
  const { cwd } = workspace()
  const mark = `HOST_TEST=${cwd}`
  const isSignal = ends.startsWith('SIG')
  const told = { agent: ['sh', '-c', agents[agent]], source, handles, options }
  const host = spawn(
    process.execPath,
    [
      resolve('test/run/host-program.js'),
      built('src/index.ts'),
      JSON.stringify({ ...told, ends: isSignal ? 'signal' : ends }),
    ],
    { cwd, env: { ...process.env, HOST_TEST: cwd }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const over = once(host, 'close')
  let stderr = ''
  host.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const lines: string[] = []
  for await (const line of createInterface({ input: host.stdout })) {
    lines.push(line)
    if (line !== 'ready') continue
    // Else it is about to end by itself.
    if (!isSignal) continue
    // The agent, its four children, and a shell of one of them.
    expect(processesWith(mark).length).toBeGreaterThanOrEqual(6)
    host.kill(ends as NodeJS.Signals)
  }
  const [code, signal] = await over
  return { cwd, code, signal, stderr, lines, left: () => processesWith(mark).map(({ pid }) => pid) }
}

const none = (left: () => readonly number[]) => expect.poll(left, { timeout: 5000 }).toEqual([])

test.each<Host & { readonly name: string; readonly dies: readonly [number | null, string | null] }>([
  { name: 'SIGINT', ends: 'SIGINT', dies: [null, 'SIGINT'] },
  { name: 'SIGTERM', ends: 'SIGTERM', agent: 'chatty', dies: [null, 'SIGTERM'] },
  { name: 'SIGHUP', ends: 'SIGHUP', agent: 'stubborn', dies: [null, 'SIGHUP'] },
  { name: 'process.exit', ends: 'exit', dies: [3, null] },
  { name: 'an uncaught error', ends: 'error', agent: 'chatty', dies: [1, null] },
  { name: 'an unhandled rejection', ends: 'rejection', agent: 'stubborn', dies: [1, null] },
])('$name ends the agent with all it has started, and the program as without us', async (host) => {
  const { code, signal, left, stderr } = await hosted(host)
  expect([code, signal]).toEqual(host.dies)
  if (host.ends === 'error') expect(stderr).toContain('Error: uncaught')
  if (host.ends === 'rejection') expect(stderr).toContain('Error: unhandled')
  await none(left)
})

test.each<Host & { readonly name: string }>([
  { name: 'on pipes', ends: 'SIGTERM' },
  { name: 'that ignores the signal', ends: 'SIGTERM', agent: 'stubborn' },
  { name: 'that prints for ever', ends: 'SIGTERM', agent: 'chatty' },
  { name: 'on a terminal', ends: 'SIGTERM', options: { pty: true } },
  { name: 'on a terminal and pipes', ends: 'SIGINT', options: { pty: { pipes: true } } },
  { name: 'on pipes, by process.exit', ends: 'exit' },
  { name: 'on a terminal, by an uncaught error', ends: 'error', options: { pty: true } },
])('the end of a recorded agent $name is recorded as cancelled', async ({ options, ...host }) => {
  const { cwd, left } = await hosted({ ...host, options: { runs: 'runs', ...options } })
  await none(left)
  const audit = join(cwd, 'runs', readdirSync(join(cwd, 'runs')).find((name) => /^\d/.test(name))!)
  const meta = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
  expect(meta).toMatchObject({ outcome: 'cancelled', ok: false, reason: 'host_ended' })
  // What such an agent prints in a second takes many to read.
  if (host.agent === 'chatty') return
  await resume(audit)
  const events = readFileSync(join(audit, 'events.jsonl'), 'utf8').trim().split('\n')
  expect(JSON.parse(events.at(-1)!).data).toMatchObject({ outcome: 'cancelled', ok: false })
})

test.each([
  { name: 'in its own group', options: { group: true }, ends: 'SIGINT' },
  { name: 'in our group', options: {}, ends: 'SIGTERM' },
  { name: 'in its own group, by process.exit', options: { group: true }, ends: 'exit' },
] as const)('a child of tap(child, { kill }) $name ends with the program', async ({ options, ends }) => {
  const { code, signal, left } = await hosted({ source: 'tap', agent: 'stubborn', ends, options })
  expect([code, signal]).toEqual(ends === 'exit' ? [3, null] : [null, ends])
  await none(left)
})

test.each([
  ['a handler', 'on', 0],
  ['a handler that is called once', 'once', 9],
] as const)('%s of the program keeps its say; the agent is ended all the same', async (_, handles, exit) => {
  const { code, signal, lines, left } = await hosted({ ends: 'SIGTERM', handles })
  expect([code, signal]).toEqual([exit, null])
  const { end, listeners } = JSON.parse(lines.at(-1)!)
  expect(end).toMatchObject({ outcome: 'cancelled', ok: false, reason: 'host_ended' })
  // The one that was called once is gone, too.
  expect(listeners).toBe(handles === 'once' ? -1 : 0)
  await none(left)
})

test('a program that uses signal-exit dies of its signal, too', async () => {
  const { signal, left } = await hosted({ ends: 'SIGTERM', handles: 'signal-exit' })
  expect(signal).toBe('SIGTERM')
  await none(left)
})

test('a detached agent is left alone', async () => {
  const { left } = await hosted({ ends: 'exit', options: { detached: true, runs: 'runs' } })
  expect(left().length).toBeGreaterThanOrEqual(6)
  for (const pid of left()) process.kill(pid, 'SIGKILL')
})
