import { describe, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { cline } from '../../src/engines/cline.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { copilot } from '../../src/engines/copilot.ts'
import { cursor } from '../../src/engines/cursor.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { kilo, opencode } from '../../src/engines/opencode.ts'
import { pi } from '../../src/engines/pi.ts'
import { qwen } from '../../src/engines/qwen.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { EventOptions } from '../../src/events/event-stage.ts'
import { jsonSchema } from '../../src/json-schema.ts'
import { endOf, lines, only, run } from './run.ts'

const uuid = 'u'
const session_id = 's-1'
const timestamp = '2026-01-01T00:00:00.000Z'
const init = { type: 'system', subtype: 'init', uuid, session_id, model: 'm' }
const answer = (...content: object[]) => ({
  ...{ type: 'assistant', uuid, session_id, parent_tool_use_id: null },
  message: { id: `m${content.length}`, role: 'assistant', content },
})
const toolUse = (id: string, name = 'Bash', input: object = { command: 'ls' }) =>
  answer({ type: 'tool_use', id, name, input })
const toolResult = (tool_use_id: string, content: string, more: object = {}) => ({
  ...{ type: 'user', uuid, session_id, parent_tool_use_id: null },
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id, is_error: true, content }] },
  ...more,
})
const result = (more: object = {}) => ({
  ...{ type: 'result', subtype: 'success', uuid, session_id, is_error: false, num_turns: 1, result: 'Done.' },
  ...more,
})
const usd = (amount: number) => ({ amount, currency: 'USD' })

const acpLine = (update: object) => ({
  ...{ jsonrpc: '2.0', method: 'session/update' },
  params: { sessionId: session_id, update },
})
const acpOpened = [
  { jsonrpc: '2.0', id: 0, result: { protocolVersion: 1, agentCapabilities: {} } },
  { jsonrpc: '2.0', id: 1, result: { sessionId: session_id } },
]
const acpCost = (amount: number, currency = 'USD') =>
  acpLine({ sessionUpdate: 'usage_update', used: 1, size: 9, cost: { amount, currency } })
const step = (cost: unknown, reason = 'stop') => ({
  ...{ type: 'step_finish', timestamp: 1, sessionID: session_id },
  part: { id: 'p', type: 'step-finish', reason, cost, tokens: { input: 1, output: 1 } },
})
const piAnswer = (total: number) => ({
  type: 'message_end',
  message: {
    ...{ role: 'assistant', timestamp: 1, content: [], stopReason: 'stop' },
    usage: { input: 5, output: 1, cacheRead: 0, cacheWrite: 2, totalTokens: 8, cost: { total } },
  },
})
const clineUsage = (totalCost: number) => ({
  ...{ ts: 't', type: 'agent_event' },
  event: { type: 'usage', inputTokens: 7, outputTokens: 1, totalCost },
})
const clineStart = { ts: 't', type: 'hook_event', hookEventName: 'agent_start', agentId: 'a', taskId: 'c' }

describe('the cost of a run', () => {
  const cases: [string, Engine, object[], unknown][] = [
    [
      'Claude reports the sum of its process',
      claude,
      [init, result({ total_cost_usd: 0.0123 })],
      usd(0.0123),
    ],
    [
      'Claude repeats it with each turn',
      claude,
      [init, result({ total_cost_usd: 0.1 }), init, result({ total_cost_usd: 0.3 })],
      usd(0.3),
    ],
    ['an amount that is none is not a cost', claude, [init, result({ total_cost_usd: '1' })], undefined],
    ['OpenCode reports each step', opencode, [step(0.1, 'tool-calls'), step(0.2)], usd(0.3)],
    ['so does Kilo', kilo, [step(0.5)], usd(0.5)],
    [
      'so does pi',
      pi,
      [{ type: 'session', version: 3, id: 's', cwd: '/' }, piAnswer(0.1), piAnswer(0.2)],
      usd(0.3),
    ],
    ['Cline reports the sum', cline, [clineStart, clineUsage(0.1), clineUsage(0.4)], usd(0.4)],
    ['ACP: the sum of a new session', acp, [...acpOpened, acpCost(0.1), acpCost(0.4)], usd(0.4)],
    ['ACP: with its currency', acp, [...acpOpened, acpCost(1, 'EUR')], { amount: 1, currency: 'EUR' }],
    [
      'ACP: an old session may have cost something before',
      acp,
      [acpCost(2), acpCost(2.5)],
      { ...usd(2.5), cumulative: true },
    ],
    ['Codex reports none', codex, [{ type: 'thread.started', thread_id: 't' }], undefined],
  ]
  test.each(cases)('%s', (_, engine, records, cost) => {
    const events = run(engine, { stdout: lines(...records), exit: 0 })
    expect(endOf(events).cost).toEqual(cost)
    const steps = only(events, 'lifecycle.run.status').flatMap(({ data }) => data.cost?.amount ?? [])
    const sum = steps.reduce((a, b) => a + b, 0)
    expect(sum).toBeCloseTo((cost as { amount: number } | undefined)?.amount ?? 0)
  })

  test('is that of the run alone if it is known what the session had cost before', () => {
    const sessionTokens = { [session_id]: { cost: usd(2) } }
    const events = run(acp, { stdout: lines(acpCost(2.5)), exit: 0 }, { sessionTokens })
    expect(endOf(events).cost).toEqual(usd(0.5))
  })
})

describe('the answer that Claude has in a field of its own', () => {
  const schema = jsonSchema<{ n: number }>({
    ...{ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  })
  const text = (words: string) => answer({ type: 'text', text: words })
  const ends = (records: object[], options: EventOptions = {}) => {
    const events = run(claude, { stdout: lines(init, ...records), exit: 0 }, options)
    const [found] = only(events, 'lifecycle.run.result')
    return { events, result: found?.data, end: endOf(events) }
  }

  test('is the result of the run', () => {
    const { result: found, end } = ends([text('Done.'), result({ structured_output: { n: 7 } })], { schema })
    expect(found).toMatchObject({ status: 'success', value: { n: 7 }, repair_level: 'none', cacheable: true })
    expect(end.outcome).toBe('succeeded')
  })

  test('comes before a payload in the text, which is told as a second one', () => {
    const records = [text('<json>{"n": 1}</json>'), result({ structured_output: { n: 7 } })]
    const { result: found } = ends(records, { schema })
    expect(found).toMatchObject({ status: 'success', value: { n: 7 }, warnings: ['AMBIGUOUS'] })
  })

  test('fails the schema even if the text passes it', () => {
    const records = [text('{"n": 1}'), result({ structured_output: { m: 7 } })]
    expect(ends(records, { schema }).result).toMatchObject({ status: 'failed' })
  })

  test('is told without a schema, with the bytes of its record', () => {
    const { events, result: found } = ends([result({ structured_output: [1, 2] })])
    const told = only(events, 'lifecycle.run.status').find(({ data }) => data.structured_payload)
    expect(found).toBeUndefined()
    expect(told?.data).toMatchObject({ status: 'result', structured_payload: [1, 2] })
    expect(told?.raw_ref?.stream).toBe('stdout')
  })

  test('may say that the work is done', () => {
    const { end } = ends([result({ structured_output: { __SKILL_DONE__: true } })])
    expect(end.reason_code).toBe('DONE_MARKER')
  })

  test('counts only in a result that is good, and null is none', () => {
    const failed = result({ subtype: 'error_during_execution', is_error: true, structured_output: { n: 7 } })
    for (const record of [failed, result({ is_error: true, structured_output: { n: 7 } })]) {
      const { events, result: found } = ends([record], { schema })
      expect(found?.status).toBe('failed')
      expect(JSON.stringify(events)).not.toContain('structured_payload')
    }
    expect(ends([text('{"n": 1}'), result({ structured_output: null })], { schema }).result?.value).toEqual({
      n: 1,
    })
  })
})

/** The ends of the calls that failed: name, and whether they were denied. */
function failures(engine: Engine, records: readonly object[]) {
  const events = run(engine, { stdout: lines(...records), exit: 0 })
  return only(events, 'tool.call.failed').map(({ data }) => [data.name, data.denied ?? false])
}

describe('a call that was not allowed', () => {
  const claudeCall = (words: string, more = {}) => [
    init,
    toolUse('t1'),
    toolResult('t1', words, more),
    result(),
  ]
  const opencodeCall = (error: string) => ({
    ...{ type: 'tool_use', timestamp: 1, sessionID: session_id },
    part: { id: 'p', type: 'tool', tool: 'bash', callID: 'c', state: { status: 'error', input: {}, error } },
  })
  const geminiCall = (error: object) => [
    { type: 'init', timestamp, session_id, model: 'm' },
    { type: 'tool_use', timestamp, tool_name: 'run_shell_command', tool_id: 'c', parameters: {} },
    { type: 'tool_result', timestamp, tool_id: 'c', status: 'error', error },
  ]
  const item = (status: string) => [
    { type: 'thread.started', thread_id: 't' },
    { type: 'item.completed', item: { id: 'i', type: 'command_execution', command: 'rm', status } },
  ]
  const copilotCall = (error: object) => [
    {
      type: 'tool.execution_complete',
      id: 'i',
      timestamp,
      parentId: null,
      data: { toolCallId: 'c', success: false, error },
    },
  ]
  const cursorCall = (ended: object) => [
    {
      type: 'tool_call',
      subtype: 'completed',
      call_id: 'c',
      session_id,
      tool_call: { shellToolCall: { args: {}, result: ended } },
    },
  ]
  const acpCall = (more: object) => [
    ...acpOpened,
    acpLine({ sessionUpdate: 'tool_call', toolCallId: 'c', kind: 'execute', title: 'rm', status: 'pending' }),
    acpLine({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'failed', ...more }),
  ]
  const said = (text: string) => ({ content: [{ type: 'content', content: { type: 'text', text } }] })

  test.each<[string, Engine, object[], boolean]>([
    [
      'claude: not granted',
      claude,
      claudeCall("Claude requested permissions to use Bash, but you haven't granted it yet."),
      true,
    ],
    [
      'claude: by a rule',
      claude,
      claudeCall('Permission to use Bash with command rm has been denied.'),
      true,
    ],
    [
      'claude: by the user',
      claude,
      claudeCall("The user doesn't want to proceed with this tool use. The tool use was rejected"),
      true,
    ],
    [
      'claude: a file that may not be read',
      claude,
      claudeCall('Exit code 1\ncat: secret: Permission denied'),
      false,
    ],
    ['claude: words of a tool', claude, claudeCall('Error: said "Permission to use Bash"'), false],
    [
      'claude: told beside the result',
      claude,
      claudeCall('No!', { tool_result_meta: [{ id: 't1', non_execution_kind: 'permission-rule' }] }),
      true,
    ],
    [
      'claude: cancelled',
      claude,
      claudeCall('No!', { tool_result_meta: [{ id: 't1', non_execution_kind: 'cancelled' }] }),
      false,
    ],
    [
      'opencode: by the user',
      opencode,
      [opencodeCall('The user rejected permission to use this specific tool call.')],
      true,
    ],
    [
      'opencode: by a rule',
      opencode,
      [opencodeCall('The user has specified a rule which prevents you from using this specific tool call.')],
      true,
    ],
    ['opencode: an error', opencode, [opencodeCall('EACCES: permission denied')], false],
    ['gemini: by policy', gemini, geminiCall({ type: 'policy_violation', message: 'No.' }), true],
    [
      'gemini: by policy, in words',
      gemini,
      geminiCall({ type: 'x', message: 'Tool execution denied by policy.' }),
      true,
    ],
    [
      'gemini: a command that could not be checked',
      gemini,
      geminiCall({
        type: 'invalid_tool_params',
        message: 'Command rejected because it could not be parsed safely',
      }),
      true,
    ],
    ['gemini: an error', gemini, geminiCall({ type: 'x', message: 'Permission denied' }), false],
    ['codex: declined', codex, item('declined'), true],
    ['codex: failed', codex, item('failed'), false],
    [
      'copilot: denied',
      copilot,
      copilotCall({ message: 'Permission denied because nobody answered.', code: 'denied' }),
      true,
    ],
    ['copilot: an error', copilot, copilotCall({ message: 'Permission denied', code: 'failure' }), false],
    ['cursor: rejected', cursor, cursorCall({ rejected: { reason: '' } }), true],
    ['cursor: not permitted by the system', cursor, cursorCall({ permissionDenied: { path: '/x' } }), false],
    ['acp: copilot', acp, acpCall({ rawOutput: { message: 'No.', code: 'rejected' } }), true],
    ['acp: qwen', acp, acpCall(said('[Operation Cancelled] Reason: User did not allow tool call')), true],
    [
      'acp: opencode',
      acp,
      acpCall({ rawOutput: { error: 'The user rejected permission to use this specific tool call.' } }),
      true,
    ],
    [
      'acp: a terminal that never ran, without a request',
      acp,
      acpCall({ _meta: { terminal_exit: { exit_code: null } } }),
      false,
    ],
  ])('%s', (_, engine, records, denied) => {
    expect(failures(engine, records).map(([, told]) => told)).toEqual([denied])
  })

  test.each([
    ['The user said no.', true],
    ['Error: Input closed', true],
    ['User cancelled tool execution.', false],
    ['Error: Request aborted', false],
  ])('qwen: %s', (reason, denied) => {
    const records = [{ ...init, qwen_code_version: '0.24.4' }, toolUse('t1', 'run_shell_command')]
    const ended = toolResult('t1', `[Operation Cancelled] Reason: ${reason}`)
    expect(failures(qwen, [...records, ended])).toEqual([['run_shell_command', denied]])
  })

  test('acp: in the words of an agent that was not observed', () => {
    const error = 'User rejected the call'
    const update = { sessionUpdate: 'tool_call', toolCallId: 'c', kind: 'execute', status: 'failed' }
    expect(failures(acp, [...acpOpened, acpLine({ ...update, rawOutput: { error } })])).toEqual([
      ['execute', true],
    ])
  })

  test('acp: Codex asked for it, and its terminal never ran', () => {
    const call = { toolCallId: 'c', kind: 'execute', title: 'rm' }
    const records = [
      ...acpOpened,
      acpLine({ sessionUpdate: 'tool_call', ...call, status: 'pending' }),
      {
        ...{ jsonrpc: '2.0', id: 0, method: 'session/request_permission' },
        params: { sessionId: session_id, options: [], toolCall: call },
      },
      acpLine({
        ...{ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'failed' },
        _meta: { terminal_exit: { exit_code: null, signal: null } },
      }),
    ]
    expect(failures(acp, records)).toEqual([['execute', true]])
  })

  describe('in the list of Claude’s result', () => {
    const denial = (tool_use_id: string) => ({ tool_name: 'Write', tool_use_id, tool_input: {} })
    const list = (...ids: string[]) => result({ permission_denials: ids.map(denial) })
    const announced = { type: 'system', subtype: 'permission_denied', uuid, session_id, tool_use_id: 't1' }

    test.each<[string, object[], [string, boolean][]]>([
      ['was never told', [list('t1')], [['Write', true]]],
      ['was started', [toolUse('t1', 'Edit'), list('t1')], [['Edit', true]]],
      [
        'is told once, over two turns',
        [list('t1'), init, list('t1', 't2')],
        [
          ['Write', true],
          ['Write', true],
        ],
      ],
      [
        'was announced before its result',
        [toolUse('t1'), announced, toolResult('t1', 'No!'), list('t1')],
        [['Bash', true]],
      ],
      [
        'failed with words of a hook',
        [toolUse('t1'), toolResult('t1', 'No!'), list('t1')],
        [['Bash', false]],
      ],
    ])('%s', (_, records, told) => {
      expect(failures(claude, [init, ...records])).toEqual(told)
    })

    test('has its input, if the call was never told', () => {
      const permission_denials = [{ ...denial('t1'), tool_input: { path: 'a' } }]
      const events = run(claude, { stdout: lines(init, result({ permission_denials })), exit: 0 })
      expect(only(events, 'tool.call.started').map(({ data }) => data.input)).toEqual([{ path: 'a' }])
    })

    test('is a step of the run if its result was told before', () => {
      const records = [init, toolUse('t1'), toolResult('t1', 'No!'), list('t1')]
      const events = run(claude, { stdout: lines(...records), exit: 0 })
      const denied = only(events, 'lifecycle.run.status').filter(
        ({ data }) => data.status === 'permission_denied',
      )
      expect(denied.map(({ data }) => data.reason)).toEqual(['Write t1'])
    })
  })

  test('is why a run failed, if nothing was said after it', () => {
    const failed = result({ subtype: 'error_max_turns', is_error: true, result: undefined })
    const words = 'Permission to use Bash has been denied.'
    const records = [init, toolUse('t1'), toolResult('t1', words)]
    const ended = (...more: object[]) => endOf(run(claude, { stdout: lines(...records, ...more), exit: 1 }))
    expect(ended(failed)).toMatchObject({ outcome: 'failed', failure_class: 'denied' })
    const text = answer({ type: 'text', text: 'I go on without it.' })
    expect(ended(text, failed)).toMatchObject({ outcome: 'failed', failure_class: 'other' })
  })
})
