import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AgentRequest } from '../../src/events/event.ts'
import { run } from '../../src/run/run.ts'
import type { RunOptions } from '../../src/run/run-options.ts'
import { workspace } from './agent.ts'

const liar = new URL('wires/liar.cjs', import.meta.url).pathname

interface Plan {
  /** Lines before anything was asked, in the turn, and after its end; `"$ID"` is the id of the prompt. */
  readonly early?: readonly string[]
  readonly lines: readonly string[]
  readonly after?: readonly string[]
  readonly then: 'end' | 'exit' | 'close' | 'stay'
}

const wires = {
  acp: { engine: 'acp', argv: ['--acp'] },
  codex: { engine: 'codex', argv: ['app-server'] },
  claude: {
    engine: 'claude',
    argv: ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json'],
  },
} as const

type Wire = keyof typeof wires

/** A run of the liar without any limit of time, what it was sent, and what it asked. */
async function lied(wire: Wire, plan: Plan, answer?: string, more: Partial<RunOptions> = {}) {
  const { cwd } = workspace()
  const [planFile, notesFile] = [join(cwd, 'plan.json'), join(cwd, 'notes.jsonl')]
  writeFileSync(planFile, JSON.stringify(plan))
  writeFileSync(notesFile, '')
  const { engine, argv } = wires[wire]
  const agent = run(process.execPath, [liar, wire, planFile, notesFile, ...argv], {
    ...{ engine, cwd, talk: true, prompt: 'Go.', fsDiff: false, killGrace: 300 },
    ...more,
  })
  const requests: AgentRequest[] = []
  for await (const event of agent) {
    if (event.type !== 'lifecycle.run.status' || !event.data.request) continue
    requests.push(event.data.request)
    if (answer) agent.answer(event.data.request.id, answer)
  }
  const notes = readFileSync(notesFile, 'utf8').trim().split('\n').filter(Boolean)
  const allowed = notes.filter((line) => /"optionId":"yes"|"decision":"accept|"behavior":"allow"/.test(line))
  return { end: await agent.end, requests, notes, allowed }
}

const session = '0199a213-81c0-7800-8aa1-bbab2a035a53'
const ids: readonly unknown[] = [77, -1, 0, 1e308, '3', '', 'x', null, 3.5, true, [3], ['$ID'], { id: 3 }]
const rows = (record: (id: unknown) => object) => ids.map((id) => JSON.stringify(record(id)))

/** Lines that are no end of the turn, whoever says them. */
const lies: Record<Wire, readonly string[]> = {
  acp: [
    ...rows((id) => ({ jsonrpc: '2.0', id, result: { stopReason: 'end_turn' } })),
    '{"jsonrpc":"2.0","result":{"stopReason":"end_turn"}}',
    '{"jsonrpc":"2.0","id":77,"error":{"message":"no code"}}',
    '{"jsonrpc":"2.0","id":77,"error":null}',
    '{"jsonrpc":"2.0","id":77,"error":"text"}',
    '{"jsonrpc":"2.0","id":77}',
    '[{"jsonrpc":"2.0","id":"$ID","result":{"stopReason":"end_turn"}}]',
    '{"jsonrpc":"2.0","id":"$ID","method":"session/update","result":{"stopReason":"end_turn"}}',
    '"end_turn"',
    'null',
  ],
  codex: [
    ...rows((id) => ({ id, result: { turn: { id: 't1', status: 'completed', items: [] } } })),
    ...rows((id) => ({
      method: 'turn/completed',
      params: { threadId: session, turn: { id, status: 'completed', items: [] } },
    })),
    '{"id":77,"error":{"message":"no code"}}',
    '{"id":77,"error":null}',
    `[{"method":"turn/completed","params":{"threadId":"${session}","turn":{"id":"t1","status":"completed","items":[]}}}]`,
    '{"method":"turn/completed"}',
    '{"method":"turn/completed","params":null}',
    '{"method":"turn/completed","params":{"threadId":"other","turn":{"id":"t1","status":"completed","items":[]}}}',
  ],
  claude: [
    ...rows((id) => ({
      type: 'control_response',
      response: { subtype: 'success', request_id: id, response: {} },
    })),
    '{"type":"control_response","response":{"subtype":"error","request_id":"nobody","error":"no"}}',
    '{"type":"control_response","response":null}',
    '{"type":"control_response"}',
    '{"type":"result"}',
    '{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"0199a213-81c0-7800-8aa1-000000000000","uuid":"u","duration_ms":1,"num_turns":1}',
  ],
}

/** A permission that is asked for under this id. */
const asks: Record<Wire, (id: unknown, command: string) => string> = {
  acp: (id, command) =>
    JSON.stringify({
      ...{ jsonrpc: '2.0', id, method: 'session/request_permission' },
      params: {
        sessionId: 's',
        toolCall: { toolCallId: `c-${command}`, title: command, kind: 'execute', rawInput: { command } },
        options: [
          { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
          { optionId: 'no', kind: 'reject_once', name: 'No' },
        ],
      },
    }),
  codex: (id, command) =>
    JSON.stringify({
      ...{ id, method: 'item/commandExecution/requestApproval' },
      params: { threadId: session, turnId: 't1', itemId: `c-${command}`, command, cwd: '/' },
    }),
  claude: (id, command) =>
    JSON.stringify({
      ...{ type: 'control_request', request_id: id },
      request: {
        subtype: 'can_use_tool',
        tool_name: 'Bash',
        input: { command },
        tool_use_id: `c-${command}`,
      },
    }),
}

describe.each(Object.keys(wires) as Wire[])('an agent that lies over %s', (wire) => {
  test('is not done until its turn is', { timeout: 60_000 }, async () => {
    const { end, notes, allowed } = await lied(wire, { lines: lies[wire], then: 'end' })
    expect(end).toMatchObject({ outcome: 'finished', ok: true })
    expect(allowed).toEqual([])
    const [ending, closed] = [notes.indexOf('{"ending":true}'), notes.indexOf('{"closed":true}')]
    expect(ending).toBeGreaterThan(0)
    expect(closed).toBeGreaterThan(ending)
  })

  test('and exits with 0 has not ended well', { timeout: 120_000 }, async () => {
    const believed: string[] = []
    for (let at = 0; at < lies[wire].length; at += 6) {
      const some = lies[wire].slice(at, at + 6)
      const ends = await Promise.all(some.map((lie) => lied(wire, { lines: [lie], then: 'exit' })))
      for (const [i, { end }] of ends.entries()) if (end.ok) believed.push(some[i]!)
    }
    expect(believed).toEqual([])
  })

  test('and has answered before it was asked is not believed', { timeout: 60_000 }, async () => {
    const early = lies[wire].map((lie) => lie.replaceAll('"$ID"', '3'))
    const { end, notes } = await lied(wire, { early, lines: [], then: 'end' })
    expect(end.ok).toBe(true)
    expect(notes.indexOf('{"closed":true}')).toBeGreaterThan(notes.indexOf('{"ending":true}'))
    expect((await lied(wire, { early, lines: [], then: 'exit' })).end.ok).toBe(false)
  })

  test('gets one consent for two requests under one id, and none under an id that is none', {
    timeout: 60_000,
  }, async () => {
    const two = await lied(
      wire,
      { lines: [asks[wire]('a', 'ls'), asks[wire]('a', 'rm -rf /')], then: 'end' },
      'allow_once',
    )
    expect(two.requests.length).toBeGreaterThan(0)
    expect(two.allowed.length).toBeLessThanOrEqual(1 + two.requests.slice(1).length)
    for (const request of two.requests.slice(0, 1)) expect(JSON.stringify(request)).toContain('ls')
    // The consent was for what was shown.
    expect(two.allowed.length).toBeLessThanOrEqual(two.requests.length)
    const odd = [null, [1], { a: 1 }, true].map((id) => asks[wire](id, 'rm'))
    const none = await lied(wire, { lines: odd, then: 'end' }, 'allow_once')
    expect(none.allowed.length).toBeLessThanOrEqual(none.requests.length)
    expect(none.end.outcome).not.toBe('unknown')
  })

  test('and asks after its end is allowed nothing', { timeout: 60_000 }, async () => {
    const after = [asks[wire](9, 'rm -rf /')]
    const { end, allowed } = await lied(wire, { lines: [], after, then: 'end' })
    expect(allowed).toEqual([])
    expect(end.outcome).not.toBe('unknown')
  })

  test('and asks longer than a frame, or closes its output, does not hang', { timeout: 60_000 }, async () => {
    const long = await lied(
      wire,
      { lines: [asks[wire](5, 'x'.repeat(40_000))], then: 'stay' },
      'allow_once',
      { maxFrame: 4000 },
    )
    expect(long.allowed).toEqual([])
    expect(long.end).toMatchObject({ ok: false, outcome: 'failed' })
    const mute = await lied(wire, { lines: [], then: 'close' })
    expect(mute.end.ok).toBe(false)
  })

  test('and never answers is ended by the limit', { timeout: 60_000 }, async () => {
    const silent = await lied(wire, { lines: [], then: 'stay' }, undefined, { timeout: 2000 })
    expect(silent.end).toMatchObject({ ok: false, outcome: 'failed', reason: 'timeout' })
    // It does not even say that it is there.
    const { cwd } = workspace()
    const { engine, argv } = wires[wire]
    const end = await run(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '--', ...argv], {
      ...{ engine, cwd, talk: true, prompt: 'Go.', fsDiff: false, killGrace: 300, timeout: 2000 },
    }).end
    expect(end).toMatchObject({ ok: false, outcome: 'failed', reason: 'timeout' })
  })
})

test('a prompt that is answered with nothing has failed', async () => {
  for (const result of ['{}', 'null', '"end_turn"', '{"stopReason":null}', '{"stopReason":7}', '[]']) {
    const { end } = await lied('acp', {
      lines: [`{"jsonrpc":"2.0","id":"$ID","result":${result}}`],
      then: 'stay',
    })
    expect([result, end.ok]).toEqual([result, false])
  }
  for (const error of ['{"message":"no code"}', '{}', '"text"', '7', '{"code":"x","message":null}']) {
    const { end } = await lied('acp', {
      lines: [`{"jsonrpc":"2.0","id":"$ID","error":${error}}`],
      then: 'stay',
    })
    expect([error, end.ok]).toEqual([error, false])
  }
})
