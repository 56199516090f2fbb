import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { acp } from '../../src/engines/acp/acp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { endOf, lines, only } from '../engines/run.ts'
import { validEvents } from '../engines/valid.ts'

type Line = readonly ['<' | '>', object]

const rpc = (record: object) => ({ jsonrpc: '2.0', ...record })
const hello: Line = ['<', rpc({ id: 1, result: { protocolVersion: 1, agentInfo: { name: 'a' } } })]
const options = [
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
]
const asks = (id: unknown, toolCallId: string): Line => [
  '<',
  rpc({
    id,
    method: 'session/request_permission',
    params: { sessionId: 's', toolCall: { toolCallId, title: 't' }, options },
  }),
]
const picks = (id: unknown, optionId: string): Line => [
  '>',
  rpc({ id, result: { outcome: { outcome: 'selected', optionId } } }),
]
const update = (sessionUpdate: string, more: object): Line => [
  '<',
  rpc({ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate, ...more } } }),
]
const prompt = (id: number): Line => [
  '>',
  rpc({ id, method: 'session/prompt', params: { prompt: [{ type: 'text', text: `p${id}` }] } }),
]
const stops = (id: number, stopReason: string): Line => ['<', rpc({ id, result: { stopReason } })]
const cancel: Line = ['>', rpc({ method: 'session/cancel', params: { sessionId: 's' } })]
const withdraws = (requestId: unknown): Line => [
  '<',
  rpc({ method: '$/cancel_request', params: { requestId } }),
]
const words = update('agent_message_chunk', { content: { type: 'text', text: 'a' } })
const works = update('tool_call_update', { toolCallId: 'c', status: 'in_progress' })

const server: Line = ['<', { id: 1, result: { userAgent: 'x' } }]
const begins: Line = ['<', { method: 'turn/started', params: { threadId: 't', turn: { id: 'u' } } }]
const approve = (id: unknown, itemId = 'c'): Line => [
  '<',
  { id, method: 'item/fileChange/requestApproval', params: { threadId: 't', itemId, reason: null } },
]
const decides = (id: unknown, decision: unknown): Line => ['>', { id, result: { decision } }]
const resolved = (requestId: unknown): Line => [
  '<',
  { method: 'serverRequest/resolved', params: { threadId: 't', requestId } },
]
const over = (status: string): Line => [
  '<',
  { method: 'turn/completed', params: { threadId: 't', turn: { status } } },
]
const interrupts: Line = ['>', { id: 9, method: 'turn/interrupt', params: {} }]

const init: Line = ['<', { type: 'system', subtype: 'init', session_id: 's', uuid: 'u' }]
const suggested = {
  type: 'addRules',
  rules: [{ toolName: 'Bash', ruleContent: 'ls' }],
  behavior: 'allow',
  destination: 'session',
}
const uses = (request_id: string): Line => [
  '<',
  {
    type: 'control_request',
    request_id,
    request: {
      subtype: 'can_use_tool',
      tool_name: 'Bash',
      input: { command: 'ls' },
      tool_use_id: 'c',
      permission_suggestions: [suggested],
    },
  },
]
const responds = (request_id: string, response: object): Line => [
  '>',
  { type: 'control_response', response: { subtype: 'success', request_id, response } },
]
const withdrawn = (request_id: string): Line => ['<', { type: 'control_cancel_request', request_id }]
const stop: Line = ['>', { type: 'control_request', request_id: 'i', request: { subtype: 'interrupt' } }]
const result = (subtype: string): Line => [
  '<',
  { type: 'result', subtype, session_id: 's', uuid: 'u', num_turns: 1, is_error: subtype !== 'success' },
]

/** What is said, how each request is settled, and the outcome. A `|` is between requests. */
const rows: readonly (readonly [string, Engine, readonly Line[], string, string])[] = [
  [
    'an answer',
    acp,
    [hello, prompt(2), asks(0, 'c'), picks(0, 'yes'), words, stops(2, 'end_turn')],
    '1:0 user yes',
    'finished',
  ],
  ['of another type of id', acp, [hello, asks(0, 'c'), picks('0', 'yes')], '1:0 end', 'needs_input'],
  ['to a string', acp, [hello, asks('0', 'c'), picks('0', 'yes'), words], '1:"0" user yes', 'unknown'],
  ['two answers', acp, [hello, asks(0, 'c'), picks(0, 'no'), picks(0, 'yes')], '1:0 user no', 'unknown'],
  [
    'two open at once',
    acp,
    [hello, asks(0, 'c'), asks(1, 'd'), picks(1, 'no'), picks(0, 'yes')],
    '1:0 user yes|1:1 user no',
    'unknown',
  ],
  [
    'one of two',
    acp,
    [hello, asks(0, 'c'), asks(1, 'd'), picks(1, 'yes')],
    '1:0 end|1:1 user yes',
    'needs_input',
  ],
  [
    'an id that is used again',
    acp,
    [hello, asks(0, 'c'), picks(0, 'yes'), asks(0, 'c'), asks(0, 'd')],
    '1:0 user yes|1:0:2 end',
    'needs_input',
  ],
  ['no such option', acp, [hello, asks(0, 'c'), picks(0, 'maybe')], '1:0 user', 'unknown'],
  ['an error', acp, [hello, asks(0, 'c'), ['>', rpc({ id: 0, error: { code: 1 } })]], '1:0 user', 'unknown'],
  ['withdrawn', acp, [hello, asks(0, 'c'), withdraws(0)], '1:0 agent', 'unknown'],
  [
    'went on without an answer',
    acp,
    [hello, prompt(2), asks(0, 'c'), works, stops(2, 'end_turn')],
    '1:0 agent',
    'finished',
  ],
  ['words, and no stdin', acp, [hello, asks(0, 'c'), words], '1:0 agent', 'unknown'],
  ['words, though stdin was read', acp, [hello, prompt(2), asks(0, 'c'), words], '1:0 end', 'needs_input'],
  [
    'cancelled',
    acp,
    [hello, prompt(2), asks(0, 'c'), cancel, stops(2, 'cancelled'), picks(0, 'yes')],
    '1:0 interrupt',
    'cancelled',
  ],
  [
    'cancelled, and another turn',
    acp,
    [
      hello,
      prompt(2),
      asks(0, 'c'),
      cancel,
      stops(2, 'cancelled'),
      prompt(3),
      asks(1, 'd'),
      picks(1, 'yes'),
      words,
      stops(3, 'end_turn'),
    ],
    '1:0 interrupt|1:1 user yes',
    'finished',
  ],
  [
    'rejected, so cancelled',
    acp,
    [hello, prompt(2), asks(0, 'c'), picks(0, 'no'), stops(2, 'cancelled')],
    '1:0 user no',
    'finished',
  ],
  [
    'answered with cancelled, so cancelled',
    acp,
    [
      hello,
      prompt(2),
      asks(0, 'c'),
      ['>', rpc({ id: 0, result: { outcome: { outcome: 'cancelled' } } })],
      stops(2, 'cancelled'),
    ],
    '1:0 user',
    'finished',
  ],
  [
    'a change',
    codex,
    [server, begins, approve(0), decides(0, 'acceptForSession'), resolved(0), over('completed')],
    '1:0 user acceptForSession',
    'finished',
  ],
  [
    'resolved by the server',
    codex,
    [server, begins, approve(0), resolved(0), over('completed')],
    '1:0 agent',
    'finished',
  ],
  [
    'the end before its withdrawal',
    codex,
    [server, begins, approve(0), interrupts, over('interrupted'), resolved(0)],
    '1:0 interrupt',
    'cancelled',
  ],
  [
    'the turn is stopped by an answer',
    codex,
    [server, begins, approve(0), decides(0, 'cancel'), resolved(0), over('interrupted')],
    '1:0 user cancel',
    'cancelled',
  ],
  [
    'declined',
    codex,
    [
      server,
      begins,
      approve(0),
      approve(1, 'd'),
      decides(1, 'decline'),
      decides(0, 'accept'),
      over('completed'),
    ],
    '1:0 user accept|1:1 user decline',
    'finished',
  ],
  [
    'a tool',
    claude,
    [init, uses('r'), responds('r', { behavior: 'allow' }), result('success')],
    '1:"r" user allow',
    'finished',
  ],
  [
    'and a rule',
    claude,
    [
      init,
      uses('r'),
      responds('r', { behavior: 'allow', updatedPermissions: [suggested] }),
      result('success'),
    ],
    '1:"r" user addRules:Bash(ls):session',
    'finished',
  ],
  ['denied', claude, [init, uses('r'), responds('r', { behavior: 'deny' })], '1:"r" user deny', 'unknown'],
  ['withdrawn by Claude', claude, [init, uses('r'), withdrawn('r')], '1:"r" agent', 'unknown'],
  [
    'interrupted',
    claude,
    [init, uses('r'), stop, result('error_during_execution'), responds('r', { behavior: 'allow' })],
    '1:"r" interrupt',
    'cancelled',
  ],
]

const requestsOf = (events: readonly AgentEvent[]) =>
  only(events, 'lifecycle.run.status').flatMap(({ data }) => data.request ?? [])
const settledOf = (events: readonly AgentEvent[]) =>
  only(events, 'lifecycle.run.status')
    .filter(({ data }) => data.status === 'request_settled')
    .map(({ data: { request_id, by, option } }) => [request_id, by, option].filter(Boolean).join(' '))
    .sort()
    .join('|')
const read = (engine: Engine, said: readonly Line[]) =>
  validEvents(
    drive(
      eventStage(engine, { clock: () => 0 }),
      said.map(([way, record]) => ({
        channel: way === '<' ? 'stdout' : 'stdin',
        bytes: Buffer.from(lines(record)),
      })),
    ),
  )

test('each request is asked once and settled once, with and without a clock', () => {
  for (const [name, engine, said, settled, outcome] of rows) {
    const live = read(engine, said)
    // Logs have no clock: all that was sent is read first.
    const logs = read(engine, [
      ...said.filter(([way]) => way === '>'),
      ...said.filter(([way]) => way === '<'),
    ])
    for (const events of [live, logs]) {
      expect([name, settledOf(events), endOf(events).outcome]).toEqual([name, settled, outcome])
      expect(
        requestsOf(events)
          .map(({ id }) => id)
          .sort(),
      ).toEqual(settled.split('|').map((one) => one.split(' ')[0]))
      // What the user stopped or did not allow is no failure.
      const fatal = only(events, 'diagnostic.engine.error').filter(({ data }) => data.severity === 'fatal')
      expect([name, fatal]).toEqual([name, []])
    }
  }
})

test('an id that is used again for the same call is another request in another turn', () => {
  const turn = (id: number, option: string) => [prompt(id), asks(0, 'c'), picks(0, option), words]
  const said = [hello, ...turn(2, 'yes'), stops(2, 'end_turn'), ...turn(3, 'no'), stops(3, 'end_turn')]
  expect(settledOf(read(acp, said))).toBe('1:0 user yes|1:0:2 user no')
})

test('a question that the user turned down is settled, and one that got no answer is open', () => {
  const questions = [{ question: 'Which?', options: [{ label: 'Red' }] }]
  const toolCall = {
    toolCallId: 'c',
    title: 'Ask',
    _meta: { toolName: 'ask_user_question' },
    rawInput: { questions },
  }
  const params = { sessionId: 's', toolCall, options }
  const asked: Line = ['<', rpc({ id: 0, method: 'session/request_permission', params })]
  const dismissed: Line = ['>', rpc({ id: 0, result: { outcome: { outcome: 'cancelled' } } })]
  const failed = update('tool_call_update', { toolCallId: 'c', status: 'failed' })
  const overAcp = (...said: Line[]) => endOf(read(acp, [hello, prompt(2), asked, ...said])).outcome
  for (const answer of [picks(0, 'no'), dismissed]) {
    expect(overAcp(answer, failed, stops(2, 'end_turn'))).toBe('finished')
    expect(overAcp(answer, words, stops(2, 'end_turn'))).toBe('finished')
    expect(overAcp(answer, stops(2, 'cancelled'))).toBe('finished')
    expect(overAcp(answer)).toBe('unknown')
  }
  expect(overAcp(failed, stops(2, 'end_turn'))).toBe('needs_input')

  const use = {
    subtype: 'can_use_tool',
    tool_name: 'AskUserQuestion',
    tool_use_id: 'c',
    input: { questions },
  }
  const tool = { type: 'tool_use', id: 'c', name: 'AskUserQuestion', input: { questions } }
  const refused = [{ type: 'tool_result', tool_use_id: 'c', content: 'No.', is_error: true }]
  const line = (role: string, content: object): Line => [
    '<',
    { type: role, session_id: 's', uuid: role, message: { id: 'm', role, content } },
  ]
  const overStdio = (...said: Line[]) =>
    endOf(
      read(claude, [
        init,
        line('assistant', [tool]),
        ['<', { type: 'control_request', request_id: 'r', request: use }],
        ...said,
        line('user', refused),
        result('success'),
      ]),
    ).outcome
  expect(overStdio(responds('r', { behavior: 'deny' }))).toBe('finished')
  expect(overStdio(withdrawn('r'))).toBe('needs_input')
})

test('a prompt that was sent during a turn is told when that is over', () => {
  const said = [hello, prompt(2), words, prompt(3), stops(2, 'end_turn'), words, stops(3, 'end_turn')]
  const told = read(acp, said).filter(({ type }) => type === 'user.message' || type === 'agent.message.final')
  expect(told.map(({ data }) => 'text' in data && data.text)).toEqual(['p2', 'a', 'p3', 'a'])
})

test('a prompt after the end of a turn must be answered, too, before the run has ended well', () => {
  const done = [hello, prompt(2), words, stops(2, 'end_turn')]
  const outcome = (...said: Line[]) => endOf(read(acp, [...done, ...said])).outcome
  expect([outcome(), outcome(prompt(3)), outcome(prompt(3), words)]).toEqual([
    'finished',
    'unknown',
    'unknown',
  ])
  expect(outcome(prompt(3), stops(3, 'end_turn'))).toBe('finished')
  // Codex takes a prompt in the middle of a turn for a part of it.
  const starts: Line = [
    '>',
    { id: 3, method: 'turn/start', params: { input: [{ type: 'text', text: 'p' }] } },
  ]
  expect(endOf(read(codex, [server, starts, begins, starts, over('completed')])).outcome).toBe('finished')
})

test('a call that was not allowed, and of which no more is said, has failed at the end of the turn', () => {
  const calls = (...said: Line[]) =>
    only(read(acp, [hello, prompt(2), asks(0, 'c'), ...said]), 'tool.call.failed').map(
      ({ data }) => data.denied === true,
    )
  expect(calls(picks(0, 'no'), words, stops(2, 'end_turn'))).toEqual([true])
  expect(calls(picks(0, 'yes'), words, stops(2, 'end_turn'))).toEqual([])
  expect(calls(cancel, stops(2, 'cancelled'))).toEqual([false])
  expect(
    calls(
      picks(0, 'no'),
      update('tool_call_update', { toolCallId: 'c', status: 'failed' }),
      stops(2, 'end_turn'),
    ),
  ).toEqual([true])
})

test('a call that Claude Code was told not to make is denied, whatever it was told', () => {
  const content = [{ type: 'tool_result', tool_use_id: 'c', content: 'Not now.', is_error: true }]
  const failed: Line = ['<', { type: 'user', session_id: 's', uuid: 'v', message: { role: 'user', content } }]
  for (const [behavior, denied] of [
    ['deny', true],
    ['allow', undefined],
  ] as const) {
    const events = read(claude, [init, uses('r'), responds('r', { behavior }), failed])
    expect(only(events, 'tool.call.failed').map(({ data }) => data.denied)).toEqual([denied])
  }
})

test('the options and questions of each wire are told in one form', () => {
  const changes = [{ path: 'a.txt', kind: { type: 'add' }, diff: 'a' }]
  const started: Line = [
    '<',
    { method: 'item/started', params: { threadId: 't', item: { type: 'fileChange', id: 'c', changes } } },
  ]
  const [change] = requestsOf(read(codex, [server, begins, started, approve(0)]))
  expect(change).toMatchObject({
    kind: 'permission',
    tool: 'file_change',
    title: 'create a.txt',
    input: { changes },
    call_id: 'c',
  })
  expect(change?.options.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
    ...['accept allow_once', 'acceptForSession allow_always', 'decline reject_once', 'cancel cancel'],
  ])
  const rule = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['touch', 'a'] } }
  const params = {
    threadId: 't',
    itemId: 'c',
    command: 'touch a',
    cwd: '/w',
    availableDecisions: ['accept', rule, 'cancel'],
  }
  const [command] = requestsOf(
    read(codex, [server, begins, ['<', { id: 0, method: 'item/commandExecution/requestApproval', params }]]),
  )
  expect(command?.options.map(({ kind, label }) => `${kind} ${label}`)).toEqual([
    ...['allow_once Allow', 'allow_always Always allow touch a', 'cancel Reject, and stop the turn'],
    ...['allow_always Allow for this session', 'reject_once Reject'],
  ])
  const questions = [
    { question: 'Which?', header: 'H', options: [{ label: 'Red', description: 'r' }], multiSelect: true },
  ]
  const asked = {
    id: '0',
    question: 'Which?',
    header: 'H',
    options: [{ label: 'Red', description: 'r' }],
    multiple: true,
  }
  const toolCall = { toolCallId: 'c', title: 'Ask', kind: 'think', rawInput: { questions } }
  const [overAcp] = requestsOf(
    read(acp, [
      hello,
      [
        '<',
        rpc({ id: 0, method: 'session/request_permission', params: { sessionId: 's', toolCall, options } }),
      ],
    ]),
  )
  expect(overAcp).toMatchObject({
    kind: 'question',
    questions: [asked],
    options: [{ id: 'no', kind: 'reject_once' }],
  })
  const use = { subtype: 'can_use_tool', tool_name: 'AskUserQuestion', input: { questions } }
  const [overStdio] = requestsOf(
    read(claude, [init, ['<', { type: 'control_request', request_id: 'r', request: use }]]),
  )
  expect(overStdio).toMatchObject({
    kind: 'question',
    title: 'Which?',
    questions: [asked],
    options: [{ id: 'deny' }],
  })
})

test('the answers to questions are told, unless one of them is a secret', () => {
  const asked = (secret: boolean): Line => [
    '<',
    {
      ...{ id: 7, method: 'item/tool/requestUserInput' },
      params: {
        ...{ threadId: 't', itemId: 'c' },
        questions: [
          { id: 'a', question: 'Which?', options: [{ label: 'Red' }, { label: 'Blue' }] },
          { id: 'b', question: 'And?', isSecret: secret },
        ],
      },
    },
  ]
  // No agent nests them deeper.
  const deep = { answers: [['z']] }
  const given: Line = [
    '>',
    { id: 7, result: { answers: { a: { answers: ['Blue'] }, b: { answers: ['x', 'y'] }, deep } } },
  ]
  const answersOf = (secret: boolean) =>
    only(read(codex, [server, begins, asked(secret), given]), 'lifecycle.run.status').flatMap(
      ({ data }) => data.answers ?? [],
    )
  expect(answersOf(false)).toEqual(['Blue', 'x', 'y'])
  expect(answersOf(true)).toEqual([])
  const questions = [{ question: 'Which?', options: [{ label: 'Red' }] }]
  const tells: Line = [
    '<',
    {
      ...{ type: 'control_request', request_id: 'q' },
      request: { subtype: 'can_use_tool', tool_name: 'AskUserQuestion', input: { questions } },
    },
  ]
  const told = responds('q', { behavior: 'allow', updatedInput: { answers: { 0: 'Red', 'Which?': 'Red' } } })
  const claudes = only(read(claude, [init, tells, told]), 'lifecycle.run.status')
  expect(claudes.flatMap(({ data }) => data.answers ?? [])).toEqual(['Red'])
})

test('the refusal of a second request with one id took the first one away', () => {
  const refusal: Line = ['>', rpc({ id: 0, error: { code: -32601 } })]
  const said = [hello, prompt(2), asks(0, 'c'), asks(0, 'd'), refusal, picks(0, 'yes')]
  const chunks = said.map(([way, record]) => ({
    channel: way === '<' ? ('stdout' as const) : ('stdin' as const),
    bytes: Buffer.from(lines(record)),
  }))
  const events = validEvents(drive(eventStage(acp, { clock: () => 0 }), chunks))
  const settled = only(events, 'lifecycle.run.status').filter(({ data }) => data.status === 'request_settled')
  expect(settled.map(({ data }) => [data.request_id, data.option, data.by])).toEqual([['1:0', 'yes', 'user']])
})
