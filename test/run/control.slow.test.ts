import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AgentEvent, AgentRequest } from '../../src/events/event.ts'
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
import { wireEngines, wires } from './wires.ts'

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
  const [engine, args] = wireEngines[recorded.split('.')[0]!] ?? ['acp', []]
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
async function told(agent: Run, act: (run: OrderedRun, id: string, request: AgentRequest) => void) {
  const events: AgentEvent[] = []
  const told: string[] = []
  for await (const event of agent) {
    events.push(event)
    if (event.type !== 'lifecycle.run.status') continue
    const { status, request, id, do: does, by, result, why = '', option, answers } = event.data
    if (request) act(orderedRun(agent.audit!)!, request.id, request)
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
    expect(giveOrder(to, order)).toBe(false)
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

test('waits for an answer though nobody reads, and tells who gave it', async () => {
  const { agent } = standIn('gemini-acp.allow-once', { answerIn: '20s' })
  nobodyAnswers(agent)
  const { told: words } = await told(agent, (to, request) =>
    giveOrder(to, readOrder({ id: 'one', do: 'answer', request, option: 'proceed_once' }, 'page')),
  )
  expect(words).toEqual(['settled proceed_once control', 'one answer page done'])
})

test('rejects what nobody answers in time, as without control', async () => {
  const { agent } = standIn('gemini-acp.reject', { answerIn: 100 })
  const { told: words, end } = await told(agent, () => {})
  expect(words).toEqual(['settled cancel limit'])
  expect(end.notes.map(({ code }) => code)).toContain('REQUEST_EXPIRED')
})

test('answers questions, and interrupts a turn that waits', async () => {
  const asks = standIn('codex-app-server.question')
  const { told: answered } = await told(asks.agent, (to, request, { questions = [] }) => {
    const give = (id: string, answers: object) =>
      giveOrder(to, readOrder({ id, do: 'answer', request, answers }, 'page'))
    give('bad', { nonesuch: 'x' })
    give('good', Object.fromEntries(questions.map(({ id }) => [id, ['Blue']])))
  })
  expect(answered[0]).toMatch(/^bad answer page refused answer: give an option/)
  expect(answered).toContain('settled Blue control')
  expect(answered).toContain('good answer page done')
  const waits = standIn('codex-app-server.interrupt-during-request')
  const { told: words, end } = await told(waits.agent, (to) =>
    giveOrder(to, readOrder({ id: 'i', do: 'interrupt' }, 'terminal')),
  )
  expect(words).toContain('i interrupt terminal done')
  expect(end.outcome).toBe('cancelled')
})

test('says that there is no turn to interrupt, when it is over', async () => {
  const { agent, audit } = standIn('gemini-acp.allow-once')
  const give = (id: string) => {
    giveOrder(orderedRun(audit)!, readOrder({ id, do: 'interrupt' }, 'page'))
  }
  let isGiven = false
  const words: unknown[] = []
  for await (const event of agent) {
    if (event.type !== 'lifecycle.run.status') continue
    const { status, request, reason, result, why } = event.data
    if (request) agent.answer(request.id, 'proceed_once')
    if (status === 'control') words.push([result, why])
    // The turn is over, and its process waits for the end of its input.
    if (status === 'awaiting_user_input' && !request && !isGiven) {
      isGiven = true
      expect(reason).toBeDefined()
      give('late')
    }
  }
  expect(words).toEqual([['refused', 'its turn is over']])
  expect((await agent.end).ok).toBe(true)
})

test.each([false, true])('stops a run, now: %s', async (now) => {
  const { agent } = standIn('gemini-acp.allow-once')
  const { told: words, end } = await told(agent, (to) =>
    giveOrder(to, readOrder({ id: 's', do: 'stop', now }, 'page')),
  )
  expect(words[0]).toBe('s stop page done')
  expect(end).toMatchObject({ outcome: 'cancelled', signal: now ? 'SIGKILL' : expect.anything() })
})

test('does nothing that an agent writes into its own folder, and tells what is no order', async () => {
  const { agent, audit, cwd } = standIn('gemini-acp.allow-once')
  const { told: words } = await told(agent, (to, request) => {
    const order = JSON.stringify({ id: 'forged', by: 'page', do: 'answer', request, option: 'proceed_once' })
    for (const folder of [cwd, audit])
      for (const name of [
        'control.jsonl',
        'control.1.jsonl',
        `control/${agent.runId}.1.jsonl`,
        `${agent.runId}.1.jsonl`,
      ]) {
        mkdirSync(join(folder, 'control'), { recursive: true })
        writeFileSync(join(folder, name), `${order}\n`)
      }
    const path = ordersPath(to)
    appendFileSync(
      path,
      'no JSON\n\n[1]\n{"id":"x","do":"rm"}\n{"do":"stop"}\n{"id":"y","do":"stop","argv":["rm"]}\n',
    )
    appendFileSync(path, `{"id":"long","do":"answer","request":"${'x'.repeat(200_000)}"}\n`)
    // A writer that was killed left a piece of a line.
    appendFileSync(path, '{"id":"torn","do":"st')
    giveOrder(to, readOrder({ id: 'good', do: 'answer', request, option: 'cancel' }, 'page'))
  })
  expect(words.filter((word) => !word.startsWith('line-'))).toEqual([
    'settled cancel control',
    'good answer page done',
  ])
  expect(words.filter((word) => word.startsWith('line-'))).toHaveLength(7)
  expect(words.join()).not.toContain('forged')
})

test('refuses a folder that others can write to, a link, and one in the reach of the agent', async () => {
  const dir = ordersDir()
  mkdirSync(join(dir, '..'), { recursive: true })
  symlinkSync(workspace().cwd, dir)
  await expect(standIn('gemini-acp.allow-once').agent.end).rejects.toThrow('is not a directory')
  rmSync(dir)
  mkdirSync(dir)
  chmodSync(dir, 0o777)
  await expect(standIn('gemini-acp.allow-once').agent.end).rejects.toThrow('open to other users')
  chmodSync(dir, 0o700)
  if (process.getuid?.() === 0) {
    chownSync(dir, 12_345, 12_345)
    await expect(standIn('gemini-acp.allow-once').agent.end).rejects.toThrow('belongs to another user')
  }
  const { cwd } = workspace()
  process.env['XDG_STATE_HOME'] = join(cwd, 'state')
  await expect(standIn('gemini-acp.allow-once', { cwd }).agent.end).rejects.toThrow('set XDG_STATE_HOME')
  await expect(standIn('gemini-acp.allow-once', { audit: undefined }).agent.end).rejects.toThrow(
    'give it a directory',
  )
})

test('gives an order only to the run that it is for', async () => {
  const { agent, audit } = standIn('gemini-acp.allow-once')
  const { told: words } = await told(agent, (to, request) => {
    const order = readOrder({ id: 'o', do: 'answer', request, option: 'cancel' }, 'page')
    const elsewhere = { ...to, dir: workspace().cwd }
    expect(takesOrders(elsewhere)).toBe(false)
    expect(() => giveOrder(elsewhere, order)).toThrow('of another run')
    expect(() => giveOrder({ ...to, attempt: 2 }, order)).toThrow('takes no orders')
    const path = ordersPath({ runId: 'linked', attempt: 1 })
    symlinkSync(ordersPath(to), path)
    expect(() => giveOrder({ ...to, runId: 'linked' }, order)).toThrow('symbolic link')
    rmSync(path)
    giveOrder(to, order)
  })
  expect(words).toEqual(['settled cancel control', 'o answer page done'])
  expect(orderedRun(audit)).toBeUndefined()
  const gone = { runId: agent.runId, attempt: 1, dir: audit }
  expect(() => giveOrder(gone, readOrder({ do: 'stop' }, 'page'))).toThrow('takes no orders')
})

test('tells that it is not known what became of an order whose recorder was lost', async () => {
  const { agent, audit } = standIn('gemini-acp.allow-once')
  await told(agent, (to, request) =>
    giveOrder(to, readOrder({ id: 'o', do: 'answer', request, option: 'proceed_once' }, 'page')),
  )
  const chunks = join(audit, 'chunks.1.jsonl')
  const lines = readFileSync(chunks, 'utf8').split('\n')
  writeFileSync(chunks, lines.filter((line) => !line.startsWith('["control"')).join('\n'))
  const results: unknown[] = []
  for await (const event of replay(audit))
    if (event.type === 'lifecycle.run.status' && event.data.status === 'control')
      results.push(event.data.result)
  expect(results).toEqual(['unknown'])
})
