import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { wireOf } from '../../src/engines/programs.ts'
import type { AgentEvent, AgentRequest } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { reply, run } from '../../src/run/run.ts'
import type { Run, RunEnd, RunOptions } from '../../src/run/run-options.ts'
import { workspace } from './agent.ts'
import { wireEngines, wires } from './wires.ts'

type Act = (request: AgentRequest, agent: Run, nth: number) => void

/** An agent that says what was recorded, and notes what it is sent. */
function standIn(recorded: string, more: Partial<RunOptions> & { flags?: readonly string[] } = {}) {
  const { flags = [], ...options } = more
  const { cwd, audit } = workspace()
  const notes = join(cwd, 'notes.jsonl')
  const [engine, args] = wireEngines[recorded.split('.')[0]!] ?? ['acp', []]
  const words = [join(wires, 'stand-in.mjs'), join(wires, `${recorded}.jsonl`), notes, ...args, ...flags]
  const agent = run(process.execPath, words, {
    engine,
    cwd,
    audit,
    talk: true,
    prompt: 'Go.',
    fsDiff: false,
    killGrace: 300,
    ...options,
  })
  const sent = () => {
    const lines = readFileSync(notes, 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line)).filter((line) => line.again || Object.keys(line).length > 0)
  }
  return { agent, sent, cwd, audit }
}

interface Seen {
  readonly events: readonly AgentEvent[]
  readonly end: RunEnd
  /** `option by` of every request, in the order in which they ended. */
  readonly settled: readonly string[]
}

/** Reads a run to its end; `act` is called with each request, `see` with every event. */
async function watch(agent: Run, act?: Act, see?: (event: AgentEvent) => void): Promise<Seen> {
  const events: AgentEvent[] = []
  const settled: string[] = []
  let nth = 0
  for await (const event of agent) {
    events.push(event)
    see?.(event)
    if (event.type !== 'lifecycle.run.status') continue
    const { request, status, option, by } = event.data
    if (request) act?.(request, agent, nth++)
    if (status === 'request_settled') settled.push(`${option} ${by}`)
  }
  return { events, end: await agent.end, settled }
}

/** A replay gives the same events; what was sent is what the agent got. */
async function checkRecord(
  audit: string,
  events: readonly AgentEvent[],
  sent: readonly object[],
): Promise<void> {
  const again: AgentEvent[] = []
  for await (const event of replay(audit)) again.push(event)
  expect(again).toEqual(events)
  const lines = readFileSync(join(audit, 'stdin.1.log'), 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual(sent)
}

/** What was sent after the first prompt, in short. */
// biome-ignore lint/suspicious/noExplicitAny: records of three wires
function answersIn(sent: readonly any[]): unknown[] {
  const said = sent.findIndex(({ method, type }) => /prompt|turn.start/.test(method) || type === 'user')
  return sent.slice(said + 1).map(({ id, method, result, error, type, request, response }) => {
    if (type === 'user') return 'user'
    if (request) return request.subtype
    if (response) return response.response?.behavior ?? response.subtype
    if (error) return `${id} ${error.code}`
    const words = result?.outcome?.optionId ?? result?.outcome?.outcome ?? result?.decision ?? result?.answers
    return method ?? `${id} ${typeof words === 'string' ? words : JSON.stringify(words)}`
  })
}

const choose =
  (option: string): Act =>
  ({ id }, agent) =>
    expect(agent.answer(id, option)).toBe(true)

const interrupt: Act = (_, agent) => agent.interrupt()

interface Row {
  readonly wire: string
  readonly act: Act
  /** What is sent after the prompt. */
  readonly sends: readonly unknown[]
  readonly settled: readonly string[]
  readonly outcome?: RunEnd['outcome']
  readonly options?: Partial<RunOptions>
  readonly then?: string
}

const RULE = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['touch', 'note.txt'] } }

const rows: Readonly<Record<string, Row>> = {
  'gemini allows once': {
    wire: 'gemini-acp.allow-once',
    act: choose('allow_once'),
    sends: ['0 proceed_once'],
    settled: ['proceed_once user'],
  },
  'gemini allows for the session, and is asked once in two turns': {
    wire: 'gemini-acp.allow-always',
    act(request, agent) {
      expect(agent.answer(request.id, 'allow_always')).toBe(true)
      expect(agent.reply('And again.')).toBe(agent)
    },
    sends: ['0 proceed_always', 'session/prompt'],
    settled: ['proceed_always user'],
  },
  'gemini rejects': {
    wire: 'gemini-acp.reject',
    act: choose('reject_once'),
    sends: ['0 cancel'],
    settled: ['cancel user'],
  },
  'gemini is interrupted while it asks: the request is answered, or it would hang': {
    wire: 'gemini-acp.cancel-during-request',
    act: interrupt,
    sends: ['session/cancel', '0 cancelled'],
    settled: ['undefined interrupt'],
    outcome: 'cancelled',
  },
  'gemini is interrupted and goes on with a reply that waits': {
    wire: 'gemini-acp.cancel-during-request',
    act(_, agent) {
      agent.interrupt()
      expect(agent.reply('And then?')).toBe(agent)
    },
    sends: ['session/cancel', '0 cancelled', 'session/prompt'],
    settled: ['undefined interrupt'],
  },
  'gemini asks twice, one after the other': {
    wire: 'gemini-acp.two-requests',
    act: choose('proceed_once'),
    sends: ['0 proceed_once', '1 proceed_once'],
    settled: ['proceed_once user', 'proceed_once user'],
  },
  'copilot asks twice at once, and is answered in reverse': {
    wire: 'copilot-acp.two-requests',
    act(request, agent, nth) {
      if (nth === 0) return
      expect(agent.answer(request.id, 'allow_once')).toBe(true)
      expect(agent.answer('1:0', 'reject_once')).toBe(true)
    },
    sends: ['1 allow_once', '0 reject_once'],
    settled: ['allow_once user', 'reject_once user'],
  },
  'copilot gets no answer in time': {
    wire: 'copilot-acp.reject',
    act() {},
    options: { answerIn: 50 },
    sends: ['0 reject_once'],
    settled: ['reject_once limit'],
  },
  'qwen has two options that always allow, and asks its client for more': {
    wire: 'qwen-acp.allow-once',
    act({ id }, agent) {
      expect(() => agent.answer(id, 'allow_always')).toThrow(/several options/)
      expect(agent.answer(id, 'proceed_once')).toBe(true)
    },
    sends: ['0 proceed_once', '1 -32601'],
    settled: ['proceed_once user'],
  },
  'codex-acp ends the turn that we rejected something in, and that is no failure': {
    wire: 'codex-acp.reject',
    act: choose('reject_once'),
    sends: ['0 cancel'],
    settled: ['cancel user'],
  },
  'codex-acp is interrupted while it asks': {
    wire: 'codex-acp.cancel-during-request',
    act: interrupt,
    sends: ['session/cancel', '0 cancelled'],
    settled: ['undefined interrupt'],
    outcome: 'cancelled',
  },
  'app-server allows once': {
    wire: 'codex-app-server.allow-once',
    act: choose('allow_once'),
    sends: ['0 accept'],
    settled: ['accept user'],
  },
  'app-server allows for the session': {
    wire: 'codex-app-server.allow-session',
    act(request, agent) {
      expect(agent.answer(request.id, 'acceptForSession')).toBe(true)
      agent.reply('And again.')
    },
    sends: ['0 acceptForSession', 'turn/start'],
    settled: ['acceptForSession user'],
  },
  'app-server rejects': {
    wire: 'codex-app-server.decline',
    act: choose('reject_once'),
    sends: ['0 decline'],
    settled: ['decline user'],
  },
  'app-server gets no answer in time': {
    wire: 'codex-app-server.decline',
    act() {},
    options: { answerIn: 50 },
    sends: ['0 decline'],
    settled: ['decline limit'],
  },
  'app-server gets a rule as it was offered': {
    wire: 'codex-app-server.allow-once',
    act: choose('acceptWithExecpolicyAmendment'),
    sends: [`0 ${JSON.stringify(RULE)}`],
    settled: ['acceptWithExecpolicyAmendment user'],
  },
  'app-server may change files': {
    wire: 'codex-app-server.patch-accept',
    act({ id, input }, agent) {
      expect(input).toMatchObject({ changes: [{ path: expect.any(String) }] })
      expect(agent.answer(id, 'accept')).toBe(true)
    },
    sends: ['0 accept'],
    settled: ['accept user'],
  },
  'app-server asks twice at once, in reverse order of the calls': {
    wire: 'codex-app-server.two-requests',
    act(request, agent, nth) {
      if (nth === 0) return
      expect(agent.answer(request.id, 'accept')).toBe(true)
      expect(agent.answer('1:0', 'accept')).toBe(true)
    },
    sends: ['1 accept', '0 accept'],
    settled: ['accept user', 'accept user'],
  },
  'app-server asks a question': {
    wire: 'codex-app-server.question',
    act({ id }, agent) {
      expect(() => agent.answer(id, { answers: { shape: 'Round' } })).toThrow(/colour/)
      expect(agent.answer(id, { answers: { colour: 'Blue' } })).toBe(true)
    },
    sends: ['0 {"colour":{"answers":["Blue"]}}'],
    settled: ['undefined user'],
  },
  'app-server asks for a secret, which is refused at once': {
    wire: 'codex-app-server.secret',
    act: ({ id }, agent) => expect(agent.answer(id, { answers: { colour: 'x' } })).toBe(false),
    sends: ['0 -32601'],
    settled: ['undefined limit'],
  },
  'app-server is interrupted while it asks: it resolves the request itself': {
    wire: 'codex-app-server.interrupt-during-request',
    act(request, agent) {
      agent.interrupt()
      expect(agent.answer(request.id, 'accept')).toBe(false)
    },
    sends: ['turn/interrupt'],
    settled: ['undefined interrupt'],
    outcome: 'cancelled',
  },
  'qwen denies over the control protocol': {
    wire: 'qwen-stdio.deny',
    act: choose('deny'),
    sends: ['deny'],
    settled: ['deny user'],
  },
  'qwen gets no answer in time over the control protocol': {
    wire: 'qwen-stdio.deny',
    act() {},
    options: { answerIn: 50 },
    sends: ['deny'],
    settled: ['deny limit'],
  },
  'qwen denies by itself': {
    wire: 'qwen-stdio.no-answer',
    act() {},
    sends: [],
    settled: ['undefined agent'],
  },
  'qwen asks a question over the control protocol': {
    wire: 'qwen-stdio.question',
    act: ({ id, questions }, agent) =>
      expect(agent.answer(id, { answers: { [questions![0]!.id]: 'Blue' } })).toBe(true),
    sends: ['allow'],
    settled: ['undefined user'],
  },
  'qwen is interrupted while it asks over the control protocol': {
    wire: 'qwen-stdio.interrupt-during-request',
    act(request, agent) {
      agent.interrupt()
      expect(agent.answer(request.id, 'allow')).toBe(false)
      agent.reply('And then?')
    },
    sends: ['interrupt', 'deny', 'user'],
    settled: ['undefined interrupt'],
  },
}

test.for(Object.entries(rows))('%s', async ([, row]) => {
  const { wire, act, sends, settled, outcome = 'finished', options } = row
  const { agent, sent, audit } = standIn(wire, options)
  const seen = await watch(agent, act)
  expect({ ...seen, sent: answersIn(sent()) }).toMatchObject({ settled, end: { outcome }, sent: sends })
  if (outcome === 'cancelled') expect(seen.end.completion.evidence.stopped).toBe('interrupted')
  const limited = settled.some((how) => how.endsWith('limit'))
  expect(seen.end.notes.map(({ code }) => code)).toEqual(limited ? ['REQUEST_EXPIRED'] : [])
  await checkRecord(audit, seen.events, sent())
})

test.for([
  ['gemini-acp.cancel-mid-turn', 'session/cancel'],
  ['codex-app-server.interrupt-mid-turn', 'turn/interrupt'],
  ['qwen-stdio.interrupt-mid-turn', 'interrupt'],
] as const)('%s: a turn is interrupted in its middle, and the process ends well', async ([wire, sends]) => {
  const { agent, sent, audit } = standIn(wire)
  // Qwen Code prints nothing of an answer before it is whole.
  const isTurn = ({ type, data }: AgentEvent) =>
    type === 'agent.message.delta' ||
    (wire.startsWith('qwen') && 'status' in data && data.status === 'started')
  const seen = await watch(agent, undefined, (event) => void (isTurn(event) && agent.interrupt()))
  expect(seen.end).toMatchObject({ outcome: 'cancelled', exitCode: 0, reason: null })
  expect(seen.end.completion.evidence.stopped).toBe('interrupted')
  expect(answersIn(sent())).toEqual([sends])
  await checkRecord(audit, seen.events, sent())
})

test('answers to nothing, to another id, of another choice, and twice, send nothing', async () => {
  const { agent, sent, audit } = standIn('gemini-acp.wrong-and-late-answers')
  const seen = await watch(agent, ({ id, options }) => {
    expect(id).toBe('1:0')
    for (const wrong of ['1:99999', '1:"0"', '2:0', '0', ''])
      expect(agent.answer(wrong, 'cancel')).toBe(false)
    for (const odd of ['allow', 'reject_always', '', 'proceed_always '])
      expect(() => agent.answer(id, odd)).toThrow(/BAD_OPTION|there is no option/)
    // biome-ignore lint/suspicious/noExplicitAny: misuse
    for (const odd of [undefined, 1, {}, { answers: {} }] as any[])
      expect(() => agent.answer(id, odd)).toThrow()
    expect(options).toHaveLength(3)
    expect(agent.answer(id, 'cancel')).toBe(true)
    expect(agent.answer(id, 'proceed_once')).toBe(false)
    agent.reply('And then?')
  })
  expect(agent.answer('1:0', 'proceed_once')).toBe(false)
  agent.interrupt()
  expect(seen).toMatchObject({ end: { outcome: 'finished' }, settled: ['cancel user'] })
  expect(answersIn(sent())).toEqual(['0 cancel', 'session/prompt'])
  await checkRecord(audit, seen.events, sent())
})

const asText = (events: readonly AgentEvent[]) =>
  events.flatMap(({ type, data }) => (type === 'user.message' ? [data.text] : []))

test.for([
  ['opencode-acp.three-turns', 'session/resume'],
  ['gemini-acp.load-a-minute-later', 'session/load'],
  ['codex-app-server.three-turns', 'thread/resume'],
] as const)('%s is continued in another process, which loads its session', async ([wire, method]) => {
  const { agent, sent, audit } = standIn(wire)
  const first = await agent.end
  expect(first).toMatchObject({ outcome: 'finished', attempt: 1 })
  const next = agent.reply('Next. [[PLAIN 2]]')
  const seen = await watch(next)
  expect(seen.end).toMatchObject({
    outcome: 'finished',
    attempt: 2,
    session: first.session,
    task: 'Next. [[PLAIN 2]]',
  })
  expect(asText(seen.events)).toEqual(['Next. [[PLAIN 2]]'])
  expect(seen.end.text).toMatch(/seen 2 message/)
  const again = sent().slice(sent().findIndex((line) => line.again))
  const opened = again.find((line) => line.method === method)
  expect(opened.params.sessionId ?? opened.params.threadId).toBe(first.session)
  const all: AgentEvent[] = []
  for await (const event of replay(audit)) all.push(event)
  expect(all.filter((event) => event.attempt_number === 2)).toEqual(seen.events)
})

test('a directory is continued as it was begun, and a session that is not there is a failure', async () => {
  const next = join(wires, 'codex-app-server.wrong-id.jsonl')
  const { agent, sent, audit } = standIn('codex-app-server.three-turns', { flags: ['--next', next] })
  await agent.end
  const end = await reply(audit, 'Next.', { fsDiff: false }).end
  expect(end).toMatchObject({ outcome: 'failed', ok: false, attempt: 2, reason: 'talk_failed' })
  expect(end.notes).toMatchObject([
    { code: 'TALK_FAILED', message: expect.stringMatching(/no rollout found/) },
  ])
  const again = sent().slice(sent().findIndex((line) => line.again))
  expect(again.map(({ method }) => method)).toEqual([undefined, 'initialize', 'initialized', 'thread/resume'])
})

test('an agent that hangs in a question to nobody is ended after the grace period', async () => {
  const { agent, sent } = standIn('kilo-acp.question')
  const seen = await watch(
    agent,
    undefined,
    ({ type }) => void (type === 'tool.call.started' && agent.interrupt()),
  )
  expect(seen.end).toMatchObject({ outcome: 'cancelled', reason: 'interrupted' })
  expect(answersIn(sent())).toEqual(['session/cancel'])
})

test('an agent that does not exit when its stdin is closed is ended, and that is no failure', async () => {
  const { agent } = standIn('gemini-acp.reject', { flags: ['--linger'], endAfter: 50 })
  const { end } = await watch(agent, choose('reject_once'))
  expect(end).toMatchObject({ outcome: 'finished', reason: 'end_signal', notes: [{ code: 'RUN_LINGERED' }] })
})

/** Speaks ACP, does `first` in its turn, asks, and does `last` when it is answered. */
function asking(first: string, last = ''): Run {
  const options = [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }]
  const params = { sessionId: 's', toolCall: { toolCallId: 'c', title: 'ls' }, options }
  const body = `
    const say = (record) => console.log(JSON.stringify({ jsonrpc: '2.0', ...record }))
    require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentInfo: { name: 'a' } } })
      if (method === 'session/new') say({ id, result: { sessionId: 's' } })
      if (method === undefined) { ${last} }
      if (method !== 'session/prompt') return
      ${first}
      say({ id: 0, method: 'session/request_permission', params: ${JSON.stringify(params)} })
    })`
  return run(process.execPath, ['-e', body], { engine: 'acp', talk: true, prompt: 'Go.', killGrace: 300 })
}

test.for([
  ['stays', '', { outcome: 'failed', reason: 'talk_failed' }],
  ['exits', 'process.exit(3)', { outcome: 'failed', reason: null, exitCode: 3 }],
] as const)(
  'an agent that closes its stdin, asks, and %s does not wait for ever',
  async ([, then, ended]) => {
    const { cwd } = workspace()
    const closes = "process.stdin.destroy(); require('fs').closeSync(0)"
    const agent = asking(`${closes}; require('fs').watch(${JSON.stringify(cwd)}, () => { ${then} })`)
    const seen = await watch(agent, (request, run, nth) => {
      choose('allow_once')(request, run, nth)
      writeFileSync(join(cwd, 'answered'), '')
    })
    expect(seen.end).toMatchObject({ ...ended, notes: [{ code: 'TALK_FAILED' }] })
  },
)

test('a reply that waits when the agent exits is told', async () => {
  const agent = asking('', 'process.exit(0)')
  const seen = await watch(agent, ({ id }) => {
    expect(agent.reply('And then?')).toBe(agent)
    expect(agent.answer(id, 'allow_once')).toBe(true)
  })
  const message = expect.stringMatching(/1 reply was not sent/)
  expect(seen.end).toMatchObject({ outcome: 'unknown', notes: [{ code: 'TALK_FAILED', message }] })
  expect(asText(seen.events)).toEqual(['Go.'])
})

test.for(['say', 'result', 'refuse', 'answer'] as const)(
  'a wire of your own that throws in `%s` ends the run, and nothing else',
  async (name) => {
    const broken = {
      [name]() {
        throw new Error('boom')
      },
    }
    const engine = { ...acp, name: 'own', wire: { ...wireOf(acp)!, ...broken } }
    const { agent } = standIn('gemini-acp.reject', { engine, answerIn: 50 })
    const { end } = await watch(agent)
    expect(end).toMatchObject({ outcome: 'failed', reason: 'talk_failed' })
    expect(end.notes.at(-1)).toMatchObject({ code: 'TALK_FAILED', message: expect.stringContaining('boom') })
  },
)

test('nothing is written into a directory that was put in place of the recorded one', async () => {
  const { agent, audit } = standIn('gemini-acp.allow-once')
  const moved = `${audit}-moved`
  const seen = watch(agent, ({ id }) => {
    renameSync(audit, moved)
    mkdirSync(audit)
    expect(agent.answer(id, 'allow_once')).toBe(true)
  })
  await expect(seen).rejects.toThrow(/moved or replaced/)
  expect(readdirSync(audit)).toEqual([])
  expect(readFileSync(join(moved, 'stdin.1.log'), 'utf8')).toContain('proceed_once')
})

test('with nobody who reads the events, a request is rejected at once', async () => {
  const { agent, sent } = standIn('gemini-acp.reject', { rounds: 0 })
  const end = await agent.end
  expect(end).toMatchObject({ outcome: 'finished', notes: [{ code: 'REQUEST_EXPIRED' }] })
  expect(answersIn(sent())).toEqual(['0 cancel'])
})

test('time limits stand still while a request is open', async () => {
  const limits = { timeout: 1500, idleTimeout: 1000 }
  const { agent } = standIn('gemini-acp.allow-once', limits)
  const { end } = await watch(agent, ({ id }) => void setTimeout(() => agent.answer(id, 'allow_once'), 2000))
  expect(end).toMatchObject({ outcome: 'finished', reason: null, notes: [] })
})

test('without a wire an interrupt is a signal', async () => {
  const body = `console.log('{"type":"thread.started","thread_id":"t-1"}'); setInterval(() => {}, 1000)`
  const agent = run(process.execPath, ['-e', body], { engine: 'codex' })
  const { end } = await watch(agent, undefined, () => agent.interrupt())
  expect(end).toMatchObject({ outcome: 'cancelled', reason: 'interrupted', signal: 'SIGINT' })
})

test('talk is refused where it cannot be', async () => {
  const acp = { engine: 'acp', talk: true, prompt: 'Go.' } as const
  const refused: [RunOptions, RegExp][] = [
    [{ ...acp, prompt: undefined }, /`talk` needs a `prompt`/],
    [{ ...acp, engine: 'auto' }, /start it with --acp.* or name its `engine`/],
    [{ ...acp, engine: 'opencode' }, /"opencode" has no wire/],
    [{ ...acp, engine: 'codex' }, /app-server/],
    [{ ...acp, engine: 'claude' }, /stream-json/],
    [{ ...acp, input: 'inherit' }, /not both/],
    [{ ...acp, pty: true }, /pipe/],
    [{ prompt: 'Go.', answerIn: 5 }, /needs `talk`/],
  ]
  for (const [options, message] of refused)
    await expect(run('none', [], options).end).rejects.toThrow(message)
})

test('who replies to the end of a turn gets the same process, and who comes later does not', async () => {
  const { agent, sent } = standIn('gemini-acp.wrong-and-late-answers')
  let ends = 0
  const seen = await watch(agent, choose('cancel'), ({ type, data }) => {
    const isEnd = type === 'lifecycle.run.status' && data.status === 'awaiting_user_input' && !data.request
    if (isEnd && ends++ === 0) expect(agent.reply('And then?')).toBe(agent)
  })
  expect(seen.end).toMatchObject({ outcome: 'finished', attempt: 1 })
  expect(asText(seen.events)).toEqual(['Go.', 'And then?'])
  expect(answersIn(sent())).toEqual(['0 cancel', 'session/prompt'])
  await expect(agent.reply(' ').end).rejects.toThrow(/the reply is empty/)
})

test('a result that fails its schema is asked for again, in a process that loads the session', async () => {
  const schema = { type: 'object', required: ['issues'] }
  const { agent } = standIn('opencode-acp.three-turns', { schema, rounds: 1 })
  const attempts = new Set<number>()
  const { events, end } = await watch(agent)
  for (const { attempt_number } of events) attempts.add(attempt_number)
  expect([...attempts]).toEqual([1, 2])
  expect(end).toMatchObject({
    outcome: 'failed',
    rounds: [{ status: 'failed' }],
    result: { status: 'failed' },
  })
})

test.each([
  ['copilot-acp.title', 'rm -f seed.txt', 'touch up the files', { command: 'rm -f seed.txt' }],
  [
    'codex-app-server.title',
    'rm -f seed.txt',
    'touch up the files',
    { command: "/bin/bash -lc 'rm -f seed.txt'" },
  ],
  [
    'codex-acp.write',
    'create /w/one/made.txt',
    'Edit files',
    { changes: [{ path: '/w/one/made.txt', newText: 'hello\n' }] },
  ],
])(
  'a request is called by what it would do, not by what the model says: %s',
  async (wire, title, reason, input) => {
    const { agent } = standIn(wire)
    const requests: AgentRequest[] = []
    await watch(agent, (request) => {
      requests.push(request)
      agent.answer(request.id, 'reject_once')
    })
    expect(requests).toMatchObject([{ title, reason, input }])
  },
)

test('what nobody answers is named by what it would have done', async () => {
  const { agent } = standIn('copilot-acp.title', { answerIn: 50 })
  const { end } = await watch(agent)
  expect(end.notes).toMatchObject([
    { code: 'REQUEST_EXPIRED', message: expect.stringMatching(/: "rm -f seed\.txt"$/) },
  ])
})

test('a subagent over codex app-server closed the stdin of its parent, which never answered', async () => {
  const { agent, sent } = standIn('codex-app-server.subagent')
  const { end, events } = await watch(agent)
  expect(end).toMatchObject({ outcome: 'finished', text: expect.stringMatching(/SUBAGENT alpha/) })
  expect(answersIn(sent())).toEqual([])
  const inner = events.find(({ type, data }) => type === 'agent.message.final' && 'parent_call_id' in data)
  expect(inner!.correlation.session_id).toBe(end.session)
})
