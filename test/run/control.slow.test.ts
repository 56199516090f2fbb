import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import {
  giveOrder,
  type OrderedRun,
  orderedRun,
  ordersDir,
  ordersPath,
  readOrder,
  takesOrders,
} from '../../src/run/orders.ts'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import type { Run, RunOptions } from '../../src/run/run-options.ts'
import { nobodyAnswers } from '../../src/run/talk.ts'
import { workspace } from './agent.ts'

const wires = new URL('wires/', import.meta.url).pathname
const engines: Readonly<
  Record<string, readonly [engine: 'acp' | 'codex' | 'qwen', args: readonly string[]]>
> = {
  'codex-app-server': ['codex', ['app-server']],
  'qwen-stdio': ['qwen', ['--input-format', 'stream-json']],
}
const home = process.env['XDG_STATE_HOME']

beforeEach(() => {
  process.env['XDG_STATE_HOME'] = workspace().cwd
})

afterEach(() => {
  if (home === undefined) delete process.env['XDG_STATE_HOME']
  else process.env['XDG_STATE_HOME'] = home
})

function standIn(recorded: string, more: Partial<RunOptions> = {}) {
  const { cwd, audit } = workspace()
  const notes = join(cwd, 'notes.jsonl')
  const [engine, args] = engines[recorded.split('.')[0]!] ?? ['acp', []]
  const words = [join(wires, 'stand-in.mjs'), join(wires, `${recorded}.jsonl`), notes, ...args]
  const given = {
    engine,
    cwd,
    audit,
    talk: true,
    control: true,
    prompt: 'Go.',
    fsDiff: false,
    killGrace: 300,
  }
  return { agent: run(process.execPath, words, { ...given, ...more }), audit, cwd }
}

/** Gives orders to a run when it asks, and returns what was told of them. */
async function told(agent: Run, act: (run: OrderedRun, request: string) => void) {
  const events: AgentEvent[] = []
  const told: string[] = []
  for await (const event of agent) {
    events.push(event)
    if (event.type !== 'lifecycle.run.status') continue
    const { status, request, id, do: does, by, result, why = '', option, answers } = event.data
    if (request) act(orderedRun(agent.audit!)!, request.id)
    if (status === 'control') told.push(`${id} ${does} ${by} ${result} ${why}`.trim())
    if (status === 'request_settled') told.push(`settled ${option ?? answers} ${by}`)
  }
  const again: AgentEvent[] = []
  for await (const event of replay(agent.audit!)) again.push(event)
  expect(again).toEqual(events)
  return { told, end: await agent.end }
}

test('answers a request by an order, once, and tells who did', async () => {
  const { agent, audit } = standIn('gemini-acp.allow-once')
  const { told: words, end } = await told(agent, (to, request) => {
    const order = readOrder({ id: 'one', do: 'answer', request, option: 'proceed_once' }, 'page')
    giveOrder(to, order)
    expect(() => giveOrder(to, order)).toThrow('given before')
    giveOrder(to, readOrder({ id: 'two', do: 'answer', request, option: 'cancel' }, 'terminal'))
    giveOrder(to, readOrder({ id: 'three', do: 'answer', request: '1:99', option: 'cancel' }, 'page'))
  })
  expect(words).toEqual([
    'settled proceed_once control',
    'one answer page done',
    'two answer terminal refused the request "1:0" is settled already',
    'three answer page refused there is no request "1:99"',
  ])
  expect(end.ok).toBe(true)
  expect(JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))).toMatchObject({ control: true })
  expect(existsSync(ordersPath({ runId: agent.runId, attempt: 1 }))).toBe(false)
})
