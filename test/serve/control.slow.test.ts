import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { run } from '../../src/run/run.ts'
import type { Run, RunOptions } from '../../src/run/run-options.ts'
import type { RunInfo } from '../../src/serve/run-info.ts'
import type { GivenOrder } from '../../src/serve/serve-options.ts'
import { workspace } from '../run/agent.ts'
import { serving, shutAll } from './serving.ts'

const wires = new URL('../run/wires/', import.meta.url).pathname
const home = process.env['XDG_STATE_HOME']

beforeEach(() => {
  process.env['XDG_STATE_HOME'] = workspace().cwd
})

afterEach(async () => {
  await shutAll()
  if (home === undefined) delete process.env['XDG_STATE_HOME']
  else process.env['XDG_STATE_HOME'] = home
})

/** An agent that says what was recorded. */
function standIn(recorded: string, runs: string, more: Partial<RunOptions> = {}) {
  const { cwd } = workspace()
  const words = [join(wires, 'stand-in.mjs'), join(wires, `${recorded}.jsonl`), join(cwd, 'notes.jsonl')]
  const options = {
    engine: 'acp',
    cwd,
    runs,
    talk: true,
    control: true,
    prompt: 'Go.',
    fsDiff: false,
    ...more,
  }
  return run(process.execPath, words, options as RunOptions)
}

interface Told {
  readonly status: number
  readonly text: string
}

async function post(url: string, path: string, body: unknown, headers: object = {}): Promise<Told> {
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    headers: { origin: new URL(url).origin, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

/** Reads a run until it asks. */
async function asked(agent: Run): Promise<{ request: string; rest: Promise<AgentEvent[]> }> {
  const events = agent[Symbol.asyncIterator]()
  const seen: AgentEvent[] = []
  for (;;) {
    const { value, done } = await events.next()
    if (done) throw new Error('it has ended')
    seen.push(value)
    const request = value.type === 'lifecycle.run.status' ? value.data.request?.id : undefined
    if (request === undefined) continue
    const rest = (async () => {
      for (let next = await events.next(); !next.done; next = await events.next()) seen.push(next.value)
      return seen
    })()
    return { request, rest }
  }
}

const orders = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'lifecycle.run.status' && event.data.result ? [event.data] : []))

test('answers a request over HTTP, and says which runs take orders', async () => {
  const { audit: runs } = workspace()
  const agent = standIn('gemini-acp.allow-once', runs)
  const log: GivenOrder[] = []
  const { url } = await serving(join(runs, '..'), { control: { onOrder: (given) => log.push(given) } })
  const { request, rest } = await asked(agent)
  const list = async () => (await (await fetch(new URL('runs', url))).json()) as RunInfo[]
  const [info] = await list()
  expect(info).toMatchObject({ control: true, run_id: agent.runId })
  const path = `runs/${agent.runId}/control`
  const told = await post(url, path, { do: 'answer', request, option: 'proceed_once' })
  expect(told.status).toBe(202)
  const { id } = JSON.parse(told.text)
  expect(orders(await rest)).toMatchObject([
    { status: 'control', id, do: 'answer', by: 'page', result: 'done' },
  ])
  expect((await agent.end).ok).toBe(true)
  expect(log).toMatchObject([{ address: '127.0.0.1', id, do: 'answer', request, option: 'proceed_once' }])
  expect(await list()).not.toMatchObject([{ control: true }])
  expect(await post(url, path, { do: 'stop' })).toMatchObject({ status: 409 })
})
