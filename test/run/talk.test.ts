import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { acp } from '../../src/engines/acp/acp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { wireOf } from '../../src/engines/programs.ts'
import type { Engine } from '../../src/events/engine.ts'
import { type AgentEvent, isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { Talk } from '../../src/run/talk.ts'
import { watchTurns } from '../../src/run/watch-turns.ts'
import type { Chunk } from '../../src/text/chunk.ts'

/** A conversation over ACP whose agent asks with these options, and what is sent to it. */
function asked(options: readonly object[], answerIn = 60_000, title = 'rm') {
  const sent: { id?: unknown; method?: string; result?: unknown; by?: string }[] = []
  const notes: string[] = []
  const talk = new Talk({
    wire: wireOf(acp)!,
    cwd: '/w',
    argv: ['agent'],
    session: undefined,
    prompt: 'Go.',
    answerIn,
    killGrace: 60_000,
    endAfter: 60_000,
    process: () => ({
      send: (bytes, by) => sent.push({ ...JSON.parse(bytes.toString()), ...(by && { by }) }) > 0,
      closeInput() {},
      stop: (reason) => void notes.push(reason),
      note: ({ code }) => void notes.push(code),
    }),
    unread: () => 0,
  })
  const seen: AgentEvent[] = []
  const stage = eventStage(talk.listen(acp), { wire: true })({
    write(event) {
      talk.event(event)
      seen.push(event)
    },
    end() {},
  })
  const hear = (record: object) =>
    stage.write({
      channel: 'stdout',
      bytes: Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...record })}\n`),
    })
  talk.begin()
  hear({ id: 1, result: { protocolVersion: 1, agentCapabilities: {} } })
  hear({ id: 2, result: { sessionId: 's' } })
  const toolCall = { toolCallId: 'c', title, kind: 'execute' }
  hear({ id: 0, method: 'session/request_permission', params: { sessionId: 's', toolCall, options } })
  sent.length = 0
  const requests = () =>
    seen.flatMap((event) => (isEvent(event, 'lifecycle.run.status') ? (event.data.request ?? []) : []))
  return { talk, sent, notes, hear, requests }
}

const outcome = (sent: readonly { result?: unknown }[]) =>
  sent.map(({ result }) => (result as { outcome: { optionId?: string; outcome: string } }).outcome)

/** A conversation over ACP with an agent that is heard through `hear`, and why it was stopped. */
function talking(more: Partial<ConstructorParameters<typeof Talk>[0]> = {}, maxFrame = 1 << 20) {
  const stopped: string[] = []
  const talk = new Talk({
    wire: wireOf(acp)!,
    cwd: '/w',
    argv: ['agent'],
    session: undefined,
    prompt: 'Go.',
    answerIn: 60_000,
    killGrace: 60_000,
    endAfter: 60_000,
    process: () => ({
      send: () => true,
      closeInput() {},
      stop: (_reason, _signal, note) => void stopped.push(note?.message ?? ''),
      note() {},
    }),
    unread: () => 0,
    ...more,
  })
  const stage = eventStage(talk.listen(acp), { wire: true, maxFrame })({
    write: (event) => talk.event(event),
    end() {},
  })
  const hear = (record: object) =>
    stage.write({
      channel: 'stdout',
      bytes: Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...record })}\n`),
    })
  talk.begin()
  return { talk, hear, stopped }
}

const hello = { id: 1, result: { protocolVersion: 1, agentCapabilities: {} } }
const made = { id: 2, result: { sessionId: 's' } }
const asking = (id: number, title: string) => ({
  id,
  method: 'session/request_permission',
  params: { sessionId: 's', toolCall: { toolCallId: 'c', title }, options: [] },
})

test('a session was not continued because the agent announces a resume that it does not know', async () => {
  const sent: string[] = []
  const send = (bytes: Buffer) => sent.push(JSON.parse(bytes.toString()).method) > 0
  const stopped: string[] = []
  const stop = (_reason: string, _signal: unknown, note?: { message: string }) =>
    void stopped.push(note?.message ?? '')
  const process = () => ({ send, stop, closeInput() {}, note() {} })
  const resumes = {
    ...hello,
    result: {
      protocolVersion: 1,
      agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } },
    },
  }
  const unknown = { id: 2, error: { code: -32601, message: '"Method not found": session/resume' } }
  const { hear } = talking({ session: 's', process })
  for (const record of [resumes, unknown, { id: 3, result: {} }]) hear(record)
  await expect.poll(() => sent).toEqual(['initialize', 'session/resume', 'session/load', 'session/prompt'])
  expect(stopped).toEqual([])
  // Without the other way, and for any other error, it fails.
  const { hear: other } = talking({ session: 's', process })
  for (const record of [resumes, { ...unknown, error: { code: -32603, message: 'no' } }]) other(record)
  expect(stopped).toEqual(['the session could not be opened: no'])
})

test.each([
  ['in its first answer', []],
  ['when its session is opened', [hello]],
  ['in its turn', [hello, made]],
])('an agent that says nothing more waited for ever: %s', async (_, records) => {
  const { talk, hear, stopped } = talking({ silence: { opening: 20, turn: 20 } })
  for (const record of records) hear(record)
  while (stopped.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(stopped).toEqual(['the agent no longer answers: it said nothing for 0.02 s'])
  expect(talk.say('more')).toBe(false)
})

test('an agent that waits for an answer may be silent, and so may one with a limit of its own', async () => {
  const asks = talking({ silence: { opening: 20, turn: 20 } })
  for (const record of [hello, made, asking(0, 'rm')]) asks.hear(record)
  const limited = talking({ silence: { opening: 20, turn: 20 }, idleTimeout: 1 })
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect([...asks.stopped, ...limited.stopped]).toEqual([])
  asks.talk.answer('1:0', 'cancel')
  while (asks.stopped.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  for (const { talk } of [asks, limited]) talk.end()
})

test('a request that is longer than maxFrame waited for ever', () => {
  const { hear, stopped } = talking({}, 1000)
  hear(hello)
  hear(made)
  const content = { type: 'text', text: 'x'.repeat(3000) }
  hear({ method: 'session/update', params: { sessionId: 's', update: { content } } })
  expect(stopped).toEqual([])
  hear(asking(0, 'x'.repeat(3000)))
  expect(stopped).toEqual([
    'the wire failed: a record that must be answered, or is an answer, is longer than maxFrame',
  ])
})

test('two options with one id are not chosen by it, nor by their kinds', () => {
  const options = [
    { optionId: 'x', name: 'Yes', kind: 'allow_once' },
    { optionId: 'x', name: 'No', kind: 'reject_once' },
  ]
  const { talk, sent } = asked(options)
  for (const word of ['x', 'allow_once', 'reject_once'])
    expect(() => talk.answer('1:0', word)).toThrow(/several options/)
  talk.unheard()
  expect(outcome(sent)).toEqual([{ outcome: 'cancelled' }])
  talk.end()
})

test('answers to an agent that takes none are refused for that reason', () => {
  const { talk } = asked([{ optionId: 'x', name: 'Yes', kind: 'allow_once' }])
  expect(() => talk.answer('1:0', { answers: { colour: 'Blue' } })).toThrow(
    'answer: this agent takes an option, and no answers; there are: "x" (allow_once), and "cancel"',
  )
  talk.end()
})

test('an option of an unknown kind is chosen by nobody but a user who names it', () => {
  const options = [{ optionId: 'y', name: 'Sure', kind: 'allow_forever' }]
  const first = asked(options)
  first.talk.unheard()
  expect(outcome(first.sent)).toEqual([{ outcome: 'cancelled' }])
  const second = asked(options)
  expect(second.talk.answer('1:0', 'cancel')).toBe(true)
  expect(outcome(second.sent)).toEqual([{ outcome: 'cancelled' }])
  const third = asked(options)
  expect(third.talk.answer('1:0', 'y')).toBe(true)
  expect(outcome(third.sent)).toEqual([{ outcome: 'selected', optionId: 'y' }])
  for (const { talk } of [first, second, third]) talk.end()
})

test('a refusal is never a permission, whatever the agent calls its options', () => {
  const options = [
    { optionId: 'reject_once', name: 'Yes', kind: 'allow_always' },
    { optionId: 'cancel', name: 'Yes, too', kind: 'allow_once' },
  ]
  const { talk, sent } = asked(options)
  expect(() => talk.answer('1:0', 'reject_once')).toThrow()
  expect(talk.answer('1:0', 'cancel')).toBe(true)
  expect(outcome(sent)).toEqual([{ outcome: 'cancelled' }])
  talk.end()
})

test('a request that repeats the id of an open one is refused', () => {
  const { talk, sent, hear, requests } = asked([{ optionId: 'o', name: 'Yes', kind: 'allow_once' }])
  hear({ id: 0, method: 'session/request_permission', params: { sessionId: 's', toolCall: {}, options: [] } })
  hear({ id: 5, method: 'terminal/create', params: {} })
  expect(sent).toMatchObject([
    { id: 0, error: { code: -32601 } },
    { id: 5, error: { code: -32601 } },
  ])
  expect(requests()).toHaveLength(1)
  talk.end()
})

test('the time during which a request is open is counted, and answers are noted by whom', async () => {
  const { talk, sent, notes } = asked([{ optionId: 'n', name: 'No', kind: 'reject_once' }], 20)
  while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(sent).toMatchObject([{ id: 0, by: 'limit' }])
  expect(notes).toEqual(['REQUEST_EXPIRED'])
  const { ms, until } = talk.waited()
  expect(ms).toBeGreaterThan(10)
  expect(talk.waited()).toEqual({ ms, until })
  expect(talk.answer('1:0', 'n')).toBe(false)
  talk.end()
})

test('a prompt that is refused, and not failed, ends the run', () => {
  const { talk, notes, hear } = asked([])
  hear({ id: 3, error: { code: -32601, message: 'Method not found' } })
  expect(notes).toEqual(['talk_failed'])
  talk.end()
})

test('a command that only the title shows is in the request to its end', () => {
  const command = `echo ${'x'.repeat(5000)}; rm -rf /`
  const { talk, requests } = asked([], 60_000, command)
  expect(requests()[0]!.input).toEqual({ title: command })
  talk.end()
})

test('an agent that cannot be initialized is ended, and so is one that cannot load its session', () => {
  const failed = (session: string | undefined, ...records: object[]) => {
    const notes: unknown[] = []
    const process = {
      send: () => true,
      closeInput() {},
      stop: (...why: unknown[]) => void notes.push(why),
      note() {},
    }
    const times = { answerIn: 1000, killGrace: 1000, endAfter: 1000 }
    const start = { wire: wireOf(acp)!, cwd: '/w', argv: ['agent'], session, prompt: 'Go.', unread: () => 0 }
    const talk = new Talk({ ...start, ...times, process: () => process })
    const stage = eventStage(talk.listen(acp), { wire: true })({
      write: (event) => talk.event(event),
      end() {},
    })
    talk.begin()
    for (const record of records) {
      const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...record })}\n`)
      stage.write({ channel: 'stdout', bytes })
    }
    expect(talk.say('more')).toBe(notes.length === 0)
    talk.end()
    return notes
  }
  const error = { code: -32000, message: 'Authentication required' }
  const hello = { id: 1, result: { protocolVersion: 1, agentCapabilities: {} } }
  expect(failed(undefined, { id: 1, error })).toMatchObject([
    [
      'talk_failed',
      'SIGTERM',
      { code: 'TALK_FAILED', message: expect.stringMatching(/Authentication required/) },
    ],
  ])
  expect(failed(undefined, hello, { id: 2, result: {} })).toMatchObject([
    ['talk_failed', 'SIGTERM', { message: expect.stringMatching(/named no session/) }],
  ])
  expect(failed('s', hello)).toMatchObject([
    ['talk_failed', 'SIGTERM', { message: expect.stringMatching(/cannot load/) }],
  ])
  expect(failed(undefined, hello, { id: 2, result: { sessionId: 's' } })).toEqual([])
})

test('no reply is taken after the exit, and those that wait are counted', () => {
  const { talk } = asked([])
  expect(talk.say('more')).toBe(true)
  expect(talk.exited()).toMatchObject([{ code: 'TALK_FAILED', message: expect.stringMatching(/^1 reply /) }])
  expect(talk.say('and more')).toBe(false)
  talk.end()
})

test('what an agent asks after it was interrupted is dismissed', () => {
  const { talk, sent, hear } = asked([{ optionId: 'o', name: 'Yes', kind: 'allow_once' }])
  talk.interrupt()
  const options = [{ optionId: 'o', name: 'Yes', kind: 'allow_once' }]
  const toolCall = { toolCallId: 'd', title: 'rm', kind: 'execute' }
  hear({ id: 1, method: 'session/request_permission', params: { sessionId: 's', toolCall, options } })
  expect(sent).toMatchObject([
    { method: 'session/cancel' },
    { id: 0, result: { outcome: { outcome: 'cancelled' } } },
    { id: 1, result: { outcome: { outcome: 'cancelled' } } },
  ])
  expect(talk.answer('1:1', 'o')).toBe(false)
  talk.end()
})

test('an engine whose turns are watched tells the same answers to a question', () => {
  const questions = [{ question: 'Which?', options: [{ label: 'Blue' }] }]
  const request = { subtype: 'can_use_tool', tool_name: 'AskUserQuestion', input: { questions } }
  const response = { behavior: 'allow', updatedInput: { answers: { 'Which?': 'Blue' } } }
  const lineOf = (record: object) => Buffer.from(`${JSON.stringify(record)}\n`)
  const chunks: Chunk[] = [
    { channel: 'stdout', bytes: lineOf({ type: 'control_request', request_id: 'r', request }) },
    {
      channel: 'stdin',
      bytes: lineOf({ type: 'control_response', response: { request_id: 'r', response } }),
    },
  ]
  const settled = (engine: Engine) =>
    drive(eventStage(engine, { wire: true }), chunks).flatMap((event) =>
      isEvent(event, 'lifecycle.run.status') ? (event.data.answers ?? []) : [],
    )
  expect(settled(claude)).toEqual(['Blue'])
  expect(settled(watchTurns(claude, () => {}))).toEqual(['Blue'])
})
