import { describe, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { wireOf } from '../../src/engines/programs.ts'
import type { Engine } from '../../src/events/engine.ts'
import { type AgentEvent, isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { Talk } from '../../src/run/talk.ts'

interface Sent {
  readonly id?: unknown
  readonly method?: string
  readonly type?: string
  readonly result?: unknown
  readonly response?: unknown
  readonly error?: unknown
}

const MAX_FRAME = 2000

/** A conversation with an agent that says what it likes, and what was sent to it. */
function talking(engine: Engine, argv: readonly string[], silence = { opening: 30_000, turn: 30_000 }) {
  const sent: Sent[] = []
  /** What was sent, which the run reads back before anything else. */
  const unread: Buffer[] = []
  const stopped: string[] = []
  let closed = 0
  const talk = new Talk({
    ...{ wire: wireOf(engine)!, cwd: '/w', argv, session: undefined, prompt: 'Go.', silence },
    ...{ answerIn: 60_000, killGrace: 60_000, endAfter: 60_000, unread: () => 0 },
    process: () => ({
      send: (bytes) => {
        unread.push(bytes)
        return sent.push(JSON.parse(bytes.toString())) > 0
      },
      closeInput: () => void closed++,
      stop: (_reason, _signal, note) => void stopped.push(note?.message ?? ''),
      note() {},
    }),
  })
  const events: AgentEvent[] = []
  const stage = eventStage(talk.listen(engine), { wire: true, maxFrame: MAX_FRAME })({
    write(event) {
      talk.event(event)
      events.push(event)
    },
    end() {},
  })
  talk.begin()
  return {
    talk,
    sent,
    stopped,
    hear: (...records: object[]) => {
      for (const record of records) {
        for (const bytes of unread.splice(0)) stage.write({ channel: 'stdin', bytes })
        stage.write({ channel: 'stdout', bytes: Buffer.from(`${JSON.stringify(record)}\n`) })
      }
    },
    requests: () =>
      events.flatMap((event) => (isEvent(event, 'lifecycle.run.status') ? (event.data.request ?? []) : [])),
    /** How the run ends if the agent exits now. */
    end: () => {
      stage.write({ channel: 'exit', code: 0, signal: null })
      stage.end()
      const last = events.findLast((event) => isEvent(event, 'lifecycle.completion.state'))
      return last && isEvent(last, 'lifecycle.completion.state') ? last.data : undefined
    },
    /** Whether our own side has ended the conversation: the turn was believed to be over. */
    async isOver() {
      await new Promise((resolve) => setTimeout(resolve, 30))
      return closed > 0
    },
  }
}

type Talking = ReturnType<typeof talking>

interface WireUnderTest {
  readonly start: (silence?: { opening: number; turn: number }) => Talking
  /** Opens the session, so that the prompt is sent. */
  readonly open: (agent: Talking) => void
  /** A permission that is asked for, with a command. */
  readonly ask: (id: number | string, command: string) => object
  /** Takes the permission that was asked for back. */
  readonly withdraw: (id: number | string) => object
  /** Answers and ends under ids that nobody sent. */
  readonly lies: readonly object[]
  /** The true end of the turn. */
  readonly ends: (agent: Talking) => object
}

const rpc = (record: object) => ({ jsonrpc: '2.0', ...record })
const options = [
  { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
  { optionId: 'no', kind: 'reject_once', name: 'No' },
]
const promptId = ({ sent }: Talking) =>
  sent.findLast(({ method }) => /prompt|turn\/start/.test(method ?? ''))?.id
const session = '0199a213-81c0-7800-8aa1-bbab2a035a53'
const other = '0199a213-81c0-7800-8aa1-000000000000'

const wires: Record<string, WireUnderTest> = {
  ACP: {
    start: (silence) => talking(acp, ['agent', '--acp'], silence),
    open: ({ hear }) =>
      hear(
        rpc({ id: 1, result: { protocolVersion: 1, agentCapabilities: {} } }),
        rpc({ id: 2, result: { sessionId: 's' } }),
      ),
    ask: (id, command) =>
      rpc({
        id,
        method: 'session/request_permission',
        params: {
          sessionId: 's',
          toolCall: { toolCallId: `c-${command}`, title: command, kind: 'execute', rawInput: { command } },
          options,
        },
      }),
    withdraw: (requestId) => rpc({ method: '$/cancel_request', params: { requestId } }),
    lies: [
      rpc({ id: 77, result: { stopReason: 'end_turn' } }),
      rpc({ id: '3', result: { stopReason: 'end_turn' } }),
      rpc({ id: null, result: { stopReason: 'end_turn' } }),
      rpc({ result: { stopReason: 'end_turn' } }),
      rpc({ id: 3.5, result: { stopReason: 'end_turn' } }),
      rpc({ id: 77, error: { code: -1, message: 'no' } }),
      rpc({ id: [3], result: { stopReason: 'end_turn' } }),
    ],
    ends: (agent) => rpc({ id: promptId(agent), result: { stopReason: 'end_turn' } }),
  },
  'codex app-server': {
    start: (silence) => talking(codex, ['codex', 'app-server'], silence),
    open: ({ hear }) =>
      hear(
        { id: 1, result: { userAgent: 'codex' } },
        { id: 2, result: { thread: { id: session, modelProvider: 'openai', turns: [] }, model: 'm' } },
        { method: 'thread/started', params: { thread: { id: session, modelProvider: 'openai' } } },
        {
          method: 'turn/started',
          params: { threadId: session, turn: { id: 't1', status: 'inProgress', items: [] } },
        },
      ),
    ask: (id, command) => ({
      id,
      method: 'item/commandExecution/requestApproval',
      params: { threadId: session, turnId: 't1', itemId: `c-${command}`, command, cwd: '/w' },
    }),
    withdraw: (requestId) => ({
      method: 'serverRequest/resolved',
      params: { threadId: session, requestId },
    }),
    lies: [
      { id: 77, result: { turn: { id: 't9', status: 'completed', items: [] } } },
      { id: '3', result: { turn: { id: 't9', status: 'completed', items: [] } } },
      { id: null, result: {} },
      {
        method: 'turn/completed',
        params: { threadId: other, turn: { id: 't1', status: 'completed', items: [] } },
      },
      {
        method: 'turn/completed',
        params: { threadId: session, turn: { id: 't9', status: 'completed', items: [] } },
      },
      { id: 77, error: { code: -1, message: 'no' } },
    ],
    ends: () => ({
      method: 'turn/completed',
      params: { threadId: session, turn: { id: 't1', status: 'completed', items: [], error: null } },
    }),
  },
  'stream-json': {
    start: (silence) =>
      talking(
        claude,
        ['claude', '-p', '--input-format', 'stream-json', '--output-format', 'stream-json'],
        silence,
      ),
    open: ({ hear, sent }) => {
      const { request_id } = (sent[0] ?? {}) as { request_id?: string }
      hear(
        { type: 'control_response', response: { subtype: 'success', request_id, response: {} } },
        { type: 'system', subtype: 'init', session_id: session, uuid: 'u', cwd: '/w', model: 'm', tools: [] },
      )
    },
    ask: (id, command) => ({
      type: 'control_request',
      request_id: String(id),
      request: {
        subtype: 'can_use_tool',
        tool_name: 'Bash',
        input: { command },
        tool_use_id: `c-${command}`,
      },
    }),
    withdraw: (id) => ({ type: 'control_cancel_request', request_id: String(id) }),
    lies: [
      { type: 'control_response', response: { subtype: 'success', request_id: 'nobody', response: {} } },
      { type: 'control_response', response: { subtype: 'error', request_id: 'nobody', error: 'no' } },
      { type: 'control_response', response: {} },
      { type: 'control_response' },
      {
        ...{ type: 'result', subtype: 'success', is_error: false, result: 'x', session_id: other },
        ...{ uuid: 'u2', duration_ms: 1, num_turns: 1 },
      },
    ],
    ends: () => ({
      ...{ type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: session },
      ...{ uuid: 'u3', duration_ms: 1, num_turns: 1 },
    }),
  },
}

/** The answers that were sent, as text: what an agent would take for a consent is in them. */
const allows = (sent: readonly Sent[]) =>
  sent.filter((one) => /"optionId":"yes"|"decision":"accept|"behavior":"allow"/.test(JSON.stringify(one)))

describe.each(Object.entries(wires))('over %s', (_, wire) => {
  test.each(wire.lies.map((lie) => [JSON.stringify(lie).slice(0, 90), lie] as const))(
    'no end is believed without its question: %s',
    async (_, lie) => {
      const agent = wire.start()
      agent.hear(lie)
      expect(agent.sent.length).toBeGreaterThan(0)
      wire.open(agent)
      const before = agent.sent.length
      agent.hear(lie, lie)
      expect(agent.stopped).toEqual([])
      expect(await agent.isOver()).toBe(false)
      expect(agent.sent.slice(before).filter(({ error }) => error === undefined)).toEqual([])
      agent.hear(wire.ends(agent))
      expect(await agent.isOver()).toBe(true)
    },
  )

  test('a lie alone is no good end', () => {
    for (const lie of wire.lies) {
      const agent = wire.start()
      wire.open(agent)
      agent.hear(lie)
      expect(agent.end()?.state, JSON.stringify(lie)).not.toBe('completed')
    }
  })

  test('a second request under the id of an open one gets no consent that was meant for the first', () => {
    const agent = wire.start()
    wire.open(agent)
    agent.hear(wire.ask(5, 'ls'), wire.ask(5, 'rm -rf /'))
    const [first] = agent.requests()
    expect(JSON.stringify(first)).toContain('ls')
    const sent = agent.sent.length
    agent.talk.answer(first!.id, 'allow_once')
    // At most one consent, and none if it cannot be said for which of the two.
    const consents = allows(agent.sent)
    expect(consents.length).toBeLessThanOrEqual(1)
    expect(JSON.stringify(consents)).not.toContain('rm -rf')
    expect(agent.sent.length).toBeGreaterThanOrEqual(sent)
    expect(
      agent
        .requests()
        .map((one) => JSON.stringify(one))
        .filter((one) => one.includes('rm -rf')),
    ).toEqual([])
  })

  test('a request after its answer under the same id is a new one, and an old answer does not reach it', () => {
    const agent = wire.start()
    wire.open(agent)
    agent.hear(wire.ask(5, 'ls'))
    const [first] = agent.requests()
    expect(agent.talk.answer(first!.id, 'allow_once')).toBe(true)
    expect(agent.talk.answer(first!.id, 'allow_once')).toBe(false)
    expect(allows(agent.sent)).toHaveLength(1)
    agent.hear(wire.ask(5, 'rm -rf /'))
    expect(allows(agent.sent)).toHaveLength(1)
  })

  test('a request that is taken back and made again under its id is another one, and what is taken back under the id of none closes nothing', () => {
    const agent = wire.start()
    wire.open(agent)
    agent.hear(wire.ask(5, 'ls'), wire.withdraw(6), wire.withdraw('x'))
    const [first] = agent.requests()
    agent.hear(wire.withdraw(5))
    expect(agent.talk.answer(first!.id, 'allow_once')).toBe(false)
    agent.hear(wire.ask(5, 'rm -rf /'))
    expect(agent.talk.answer(first!.id, 'allow_once')).toBe(false)
    expect(allows(agent.sent)).toEqual([])
    agent.hear(wire.ask(8, 'pwd'), wire.withdraw(9))
    const last = agent.requests().at(-1)
    expect(JSON.stringify(last)).toContain('pwd')
    expect(agent.talk.answer(last!.id, 'allow_once')).toBe(true)
    expect(allows(agent.sent)).toHaveLength(1)
  })

  test('a request that is longer than a frame is not waited for', () => {
    const agent = wire.start()
    wire.open(agent)
    agent.hear(wire.ask(5, 'x'.repeat(3 * MAX_FRAME)))
    expect(agent.stopped).toEqual([expect.stringContaining('longer than maxFrame')])
    expect(allows(agent.sent)).toEqual([])
  })

  test('a request before the session, and one after the end, is allowed by nobody', async () => {
    const agent = wire.start()
    agent.hear(wire.ask(5, 'ls'))
    wire.open(agent)
    agent.hear(wire.ends(agent))
    await agent.isOver()
    agent.hear(wire.ask(6, 'rm'))
    expect(allows(agent.sent)).toEqual([])
  })

  test('an agent that never answers is ended', async () => {
    for (const opened of [false, true]) {
      const agent = wire.start({ opening: 20, turn: 20 })
      if (opened) wire.open(agent)
      while (agent.stopped.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      expect(agent.stopped).toEqual([expect.stringContaining('it said nothing')])
    }
  })
})
