import { describe, expect, test } from 'vitest'
import { claude } from '../../src/engines/claude/claude.ts'
import { cline } from '../../src/engines/cline.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { copilot } from '../../src/engines/copilot.ts'
import { cursor } from '../../src/engines/cursor.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { grok } from '../../src/engines/grok.ts'
import { pi } from '../../src/engines/pi.ts'
import type { Engine } from '../../src/events/engine.ts'
import { type AgentEvent, isEvent, type RequestOption } from '../../src/events/event.ts'
import { endOf, lines, run } from './run.ts'

// Records that hardly any recorded run has, with what is reported about each of them.

/** One line for each event that is about the conversation. */
function told(event: AgentEvent): string[] {
  if (isEvent(event, 'lifecycle.run.status')) {
    const { status, model, request } = event.data
    if (request) return [`asks ${request.kind} ${request.tool}: ${request.title}`]
    return status === 'started' ? [] : [[status, model].filter(Boolean).join(' ')]
  }
  if (isEvent(event, 'diagnostic.engine.error')) return [`${event.data.severity}: ${event.data.message}`]
  if (isEvent(event, 'diagnostic.parser.warning')) return [`${event.data.code} ${event.data.name ?? ''}`]
  if (isEvent(event, 'agent.message.final')) return [`says ${event.data.text}`]
  if (isEvent(event, 'agent.reasoning.summary')) return [`thinks ${event.data.text}`]
  if (isEvent(event, 'user.message')) return [`user ${event.data.text}`]
  if (isEvent(event, 'tool.call.started', 'tool.call.completed', 'tool.call.failed')) {
    const { call_id, name, exit_code, error } = event.data
    const how = [event.type.slice('tool.call.'.length), call_id, name, exit_code, error]
    return [how.filter((one) => one !== undefined).join(' ')]
  }
  if (isEvent(event, 'artifact.created', 'artifact.modified', 'artifact.deleted'))
    return [`${event.type.slice('artifact.'.length)} ${event.data.path}`]
  return []
}

interface Row {
  readonly records: readonly object[]
  readonly told: readonly string[]
  /** @default 'unknown' */
  readonly outcome?: string
}

/** Reads each row after the same first records, of which nothing is shown. */
function table(engine: Engine, first: readonly object[], rows: Readonly<Record<string, Row>>): void {
  test.each(Object.entries(rows))('%s', (_, { records, told: expected, outcome = 'unknown' }) => {
    const before = run(engine, { stdout: lines(...first) }).flatMap(told).length
    const events = run(engine, { stdout: lines(...first, ...records) })
    expect(events.flatMap(told).slice(before)).toEqual(expected)
    expect(endOf(events).outcome).toBe(outcome)
  })
}

describe('a rollout of Codex', () => {
  const line = (type: string, payload: object) => ({ timestamp: 't', type, payload })
  const event = (type: string, more: object = {}) => line('event_msg', { type, ...more })
  const response = (type: string, more: object = {}) => line('response_item', { type, ...more })
  const item = (type: string, more: object) => event('item_completed', { item: { type, id: 'i', ...more } })
  const output = (call_id: string, words: unknown) =>
    response('function_call_output', { call_id, output: words })
  const shell = response('function_call', { name: 'shell', arguments: '{"command":["ls"]}', call_id: 'c' })

  table(engines['codex-session'], [line('session_meta', { id: 's', cwd: '/' }), event('task_started')], {
    'a turn that failed': {
      records: [event('task_complete', { last_agent_message: null, error: { message: 'No model.' } })],
      told: ['turn_failed', 'fatal: No model.'],
      outcome: 'failed',
    },
    'a plan, and what is about no call of the conversation': {
      records: [
        item('Plan', { text: '1. Look' }),
        item('Extension', { kind: 'search' }),
        ...['guardian_assessment', 'sub_agent_activity', 'entered_review_mode'].map((type) => event(type)),
        response('agent_message', {
          author: 'a',
          recipient: 'b',
          content: [{ type: 'input_text', text: 'x' }],
        }),
      ],
      told: ['started i plan', 'completed i plan'],
    },
    'errors, which may be retried': {
      records: [event('error', { message: 'One.' }), event('stream_error', { message: 'Two.' })],
      told: ['warning: One.', 'warning: Two.'],
    },
    'a conversation that was shortened': {
      records: [event('context_compacted'), line('compacted', { message: 'So far.' })],
      told: ['compacted'],
    },
    'a thought that is there twice': {
      records: [event('agent_reasoning', { text: 'Hm.' }), item('Reasoning', { summary_text: ['Hm.'] })],
      told: ['thinks Hm.'],
    },
    'a message that is there twice': {
      records: [
        item('AgentMessage', { content: [{ type: 'Text', text: 'Done.' }] }),
        event('agent_message', { message: 'Done.' }),
      ],
      told: ['says Done.'],
    },
    'a command of the local shell': {
      records: [
        response('local_shell_call', { call_id: 'c', action: { type: 'exec', command: ['ls'] } }),
        output('c', JSON.stringify({ output: 'a', metadata: { exit_code: 2, duration_seconds: 0.1 } })),
      ],
      told: ['started c command_execution', 'failed c command_execution 2'],
    },
    'a command that runs on': {
      records: [shell, output('c', 'Chunk ID: 1\nProcess running with session ID 7\nOutput:\n')],
      told: ['started c command_execution'],
    },
    'a command that never began': {
      records: [shell, output('c', 'no such sandbox')],
      told: ['started c command_execution', 'failed c command_execution no such sandbox'],
    },
    'the output of another tool': {
      records: [
        response('function_call', { name: 'view_image', arguments: '{}', call_id: 'c' }),
        output('c', 'Exit code: 3'),
      ],
      told: ['started c view_image', 'completed c view_image'],
    },
    'a change of files': {
      records: [
        response('custom_tool_call', { name: 'apply_patch', input: '*** Begin', call_id: 'i' }),
        item('FileChange', { status: 'completed', changes: { 'a.txt': { type: 'add', content: 'a' } } }),
        response('custom_tool_call_output', { call_id: 'i', output: 'Exit code: 0\nOutput:\nDone' }),
      ],
      told: ['started i file_change', 'completed i file_change', 'created a.txt'],
    },
    'a change of files that was declined': {
      records: [item('FileChange', { status: 'declined', changes: { 'a.txt': { type: 'add' } } })],
      told: ['started i file_change', 'failed i file_change'],
    },
    'a call that is not over': {
      records: [item('McpToolCall', { server: 's', tool: 'x', status: 'in_progress' })],
      told: [],
    },
    'a tool of an MCP server, by the name that stdout has': {
      records: [
        response('function_call', { name: 'mcp__docs__find', arguments: '{}', call_id: 'i' }),
        item('McpToolCall', { server: 'docs', tool: 'find', status: 'completed', result: {} }),
      ],
      told: ['started i docs.find', 'completed i docs.find'],
    },
  })
})

describe('the app-server of Codex', () => {
  const note = (method: string, params: object = {}) => ({ method, params: { threadId: 't', ...params } })
  const item = (more: object) => [
    note('item/started', { item: { id: 'i', ...more, status: 'inProgress' } }),
    note('item/completed', { item: { id: 'i', ...more } }),
  ]
  const first = [
    { id: 1, result: { thread: { id: 't', modelProvider: 'p' }, model: 'm' } },
    note('turn/started', { turn: { id: 'u' } }),
  ]
  const states = { t2: { status: 'completed' } }

  table(codex, first, {
    'a subagent that is started': {
      records: item({
        type: 'collabAgentToolCall',
        tool: 'spawnAgent',
        prompt: 'Look.',
        agentsStates: states,
      }),
      told: ['started i spawnAgent', 'completed i spawnAgent'],
    },
    'a search': {
      records: item({ type: 'webSearch', query: 'sluice' }),
      told: ['started i web_search', 'completed i web_search'],
    },
    'an image': {
      records: item({ type: 'imageView', path: '/a.png' }),
      told: ['started i image_view', 'completed i image_view'],
    },
    'the turn of a subagent, which ends nothing': {
      records: [
        note('thread/started', { thread: { id: 't2', modelProvider: 'p', parentThreadId: 't' } }),
        note('turn/started', { threadId: 't2', turn: { id: 'v' } }),
        note('turn/completed', { threadId: 't2', turn: { id: 'v', status: 'completed' } }),
      ],
      told: [],
    },
  })

  test('a turn that is refused is over', () => {
    const sent = {
      id: 2,
      method: 'turn/start',
      params: { threadId: 't', input: [{ type: 'text', text: 'Hi' }] },
    }
    const refused = { id: 2, error: { code: -32600, message: 'no such thread' } }
    const events = run(codex, { stdin: lines(sent), stdout: lines(first[0]!, refused) })
    expect(events.flatMap(told)).toContain('fatal: no such thread')
    expect(endOf(events).outcome).toBe('failed')
  })

  const asked = (method: string, params: object) => {
    const events = run(codex, { stdout: lines(...first, { id: 0, ...note(method, params) }) })
    const [request] = events.flatMap((event) =>
      isEvent(event, 'lifecycle.run.status') ? (event.data.request ?? []) : [],
    )
    const { kind, tool, title, input, options } = request!
    return { kind, tool, title, input, options: options.map(short) }
  }
  const short = ({ id, kind }: RequestOption) => `${id}=${kind}`

  test.each([
    {
      method: 'execCommandApproval',
      params: { callId: 'c', command: ['git', 'push'], cwd: '/' },
      kind: 'permission',
      tool: 'command_execution',
      title: 'git push',
      input: { command: ['git', 'push'], cwd: '/' },
      options: [
        'approved=allow_once',
        'approved_for_session=allow_always',
        'denied=reject_once',
        'abort=cancel',
      ],
    },
    {
      method: 'applyPatchApproval',
      params: {
        callId: 'c',
        fileChanges: { 'a.txt': { add: { content: 'a' } }, 'b.txt': { type: 'delete' } },
      },
      kind: 'permission',
      tool: 'file_change',
      title: 'create a.txt, delete b.txt',
      input: {
        changes: [
          { path: 'a.txt', kind: 'add', diff: 'a' },
          { path: 'b.txt', kind: 'delete' },
        ],
      },
      options: [
        'approved=allow_once',
        'approved_for_session=allow_always',
        'denied=reject_once',
        'abort=cancel',
      ],
    },
    {
      method: 'item/permissions/requestApproval',
      params: { itemId: 'i', permissions: { network: true } },
      kind: 'permission',
      tool: 'permissions',
      title: 'permissions {"network":true}',
      input: { network: true },
      options: [],
    },
    {
      method: 'mcpServer/elicitation/request',
      params: { message: 'Your name?', requestedSchema: { type: 'object' } },
      kind: 'question',
      tool: 'elicitation',
      title: 'Your name?',
      input: { type: 'object' },
      options: ['decline=reject_once', 'cancel=cancel'],
    },
    {
      method: 'item/commandExecution/requestApproval',
      params: {
        ...{ itemId: 'i', command: 'curl a.example' },
        availableDecisions: [
          {
            applyNetworkPolicyAmendment: { network_policy_amendment: { action: 'deny', host: 'a.example' } },
          },
          'later',
          7,
        ],
      },
      kind: 'permission',
      tool: 'command_execution',
      title: 'curl a.example',
      input: { command: 'curl a.example', cwd: undefined },
      options: [
        'applyNetworkPolicyAmendment:deny:a.example=reject_always',
        'later=cancel',
        'acceptForSession=allow_always',
        'decline=reject_once',
      ],
    },
  ])('asks by $method', ({ method, params, ...expected }) => {
    expect(asked(method, params)).toEqual(expected)
  })
})

describe('Copilot', () => {
  const line = (type: string, data: object) => ({ type, data, id: 'e', timestamp: 't', parentId: null })
  const usage = { inputTokens: 5, outputTokens: 2 }

  table(copilot, [line('session.info', {})], {
    'the tokens of a request': { records: [line('assistant.usage', usage)], told: ['usage'] },
  })

  table(engines['copilot-session'], [line('session.start', { sessionId: 's', copilotVersion: '1' })], {
    'a thought in a record of its own, which the message may repeat': {
      records: [
        line('assistant.reasoning', { reasoningId: 'r', content: 'Hm.' }),
        line('assistant.message', { messageId: 'm', content: 'Hi', reasoningText: 'Hm.' }),
        line('assistant.message', { messageId: 'n', content: 'Ho', reasoningText: 'Hm.' }),
      ],
      told: ['thinks Hm.', 'says Hi', 'thinks Hm.', 'says Ho'],
    },
    'what is about no word and no call': {
      records: ['hook.start', 'system.notification', 'session.usage_checkpoint'].map((type) =>
        line(type, {}),
      ),
      told: [],
    },
    'another model': { records: [line('session.model_change', { newModel: 'm' })], told: ['configured m'] },
    'a turn that the user stopped': {
      records: [line('user.message', { content: 'Hi' }), line('abort', { reason: 'user initiated' })],
      told: ['user Hi', 'turn_started', 'fatal: aborted: user initiated'],
      outcome: 'failed',
    },
    'a turn that goes on after an error': {
      records: [
        line('session.error', { message: 'Busy.' }),
        line('assistant.message', { messageId: 'm', content: 'Done.' }),
      ],
      told: ['fatal: Busy.', 'says Done.'],
    },
    'a conversation that was shortened': {
      records: [line('session.compaction_complete', { success: true })],
      told: ['compacted'],
    },
  })
})

describe('pi', () => {
  const entry = (type: string, more: object) => ({ type, id: 'e', parentId: null, timestamp: 't', ...more })
  const answer = (stopReason: string, more: object = {}) =>
    entry('message', { message: { role: 'assistant', content: [], stopReason, ...more } })

  table(pi, [{ type: 'session', version: 3, id: 's', timestamp: 't', cwd: '/' }, { type: 'agent_start' }], {
    'a conversation that is shortened': {
      records: [{ type: 'compaction_start', reason: 'threshold' }, { type: 'compaction_end' }],
      told: ['compaction_start', 'compaction_end'],
    },
  })

  table(engines['pi-session'], [entry('thinking_level_change', { thinkingLevel: 'off' })], {
    'a conversation that was shortened': {
      records: [entry('compaction', { summary: 'So far.' })],
      told: ['compacted'],
    },
    'an answer that was stopped': {
      records: [answer('aborted')],
      told: ['step_finish', 'fatal: the answer was aborted'],
      outcome: 'failed',
    },
    'an answer that reached the limit': {
      records: [answer('length', { content: [{ type: 'text', text: 'Half' }] })],
      told: ['says Half', 'step_finish', 'TRUNCATED '],
      outcome: 'failed',
    },
  })
})

describe('the session file of Qwen Code', () => {
  const line = (type: string, more: object) => ({
    ...{ uuid: 'u', parentUuid: null, sessionId: 's', timestamp: 't' },
    ...{ type, ...more },
  })
  const parts = (...list: object[]) => ({ message: { role: 'model', parts: list } })
  const answered = (response: object) => parts({ functionResponse: { id: 'c', name: 'x', response } })

  table(engines['qwen-session'], [line('user', parts({ text: 'Hi' }))], {
    'an answer with all that it can have': {
      records: [
        line('assistant', {
          ...{ model: 'm' },
          ...parts({ text: 'Hm.', thought: true }, { text: 'I look.' }, { text: '' }, { inlineData: {} }),
        }),
      ],
      told: ['configured m', 'thinks Hm.', 'says I look.', 'UNKNOWN_TYPE part inlineData', 'DRIFT_REPORT '],
    },
    'what a hook adds to a prompt, and a notification, which nobody typed': {
      records: [
        line('user', {
          ...parts(
            { text: 'Go' },
            { text: '<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>' },
          ),
          systemPayload: { displayText: 'Go', hookContext: 'x' },
        }),
        line('user', { ...parts({ text: 'Agent done' }), subtype: 'notification' }),
      ],
      told: ['turn_started', 'user Go', 'turn_started'],
    },
    'calls, with a result that is an error': {
      records: [
        line('assistant', parts({ functionCall: { id: 'c', name: 'x', args: {} } }, { functionCall: {} })),
        line('tool_result', answered({ error: 'No.' })),
      ],
      told: ['started c x', 'started call-1 tool', 'failed c x No.'],
    },
    'a conversation that was shortened': {
      records: [line('system', { subtype: 'chat_compression', systemPayload: {} })],
      told: ['compacted'],
    },
  })
})

describe('Gemini CLI', () => {
  const head = { sessionId: 's', projectHash: 'h', startTime: 't', lastUpdated: 't' }
  const call = (more: object) => ({
    ...{ id: 'm', timestamp: 't', type: 'gemini', content: '' },
    toolCalls: [{ id: 'c', name: 'replace', args: {}, ...more }],
  })
  const response = (of: object) => [{ functionResponse: { response: of } }]

  table(engines['gemini-session'], [head], {
    'an error in the file': {
      records: [{ id: 'e', timestamp: 't', type: 'error', content: 'No quota.' }],
      told: ['error: No quota.'],
    },
    'a call that failed': {
      records: [call({ status: 'error', result: response({ error: 'No file.' }) })],
      told: ['started c replace', 'failed c replace No file.'],
    },
    'a call that was stopped': {
      records: [call({ status: 'cancelled', resultDisplay: 'Stopped.' })],
      told: ['started c replace', 'failed c replace Stopped.'],
    },
    'a call that failed without a word': {
      records: [call({ status: 'cancelled' })],
      told: ['started c replace', 'failed c replace cancelled'],
    },
  })

  const message = { type: 'message', timestamp: 't', content: 'Done.' }

  table(gemini, [{ type: 'init', timestamp: 't', session_id: 's', model: 'm' }], {
    'a message without a role': { records: [message], told: ['RAW_LINE '] },
    'an error in place of an answer': {
      records: [{ type: 'error', timestamp: 't', severity: 'error', message: 'No key.' }],
      told: ['error: No key.'],
      outcome: 'failed',
    },
    'an error before the answer': {
      records: [
        { type: 'error', timestamp: 't', severity: 'error', message: 'No key.' },
        { ...message, role: 'assistant' },
        { type: 'result', timestamp: 't', status: 'success', stats: {} },
      ],
      told: ['error: No key.', 'says Done.', 'result', 'awaiting_user_input'],
      outcome: 'finished',
    },
  })

  test('a document whose answer reached the limit', () => {
    const document = { session_id: 's', response: 'Half', stats: {}, finishReason: 'MAX_TOKENS' }
    const events = run(gemini, { stdout: JSON.stringify(document), exit: 0 })
    expect(endOf(events)).toMatchObject({ outcome: 'failed', reason_code: 'MAX_TOKENS' })
  })

  test('of two short documents on stderr the last one is the answer', () => {
    const events = run(gemini, { stderr: lines({ response: 'One' }, { response: 'Two' }), exit: 0 })
    expect(events.flatMap(told)).toContain('says Two')
    expect(events.flatMap(told)).not.toContain('says One')
  })
})

describe('the session file of Claude Code', () => {
  const line = (type: string, more: object) => ({
    ...{ type, uuid: 'u', parentUuid: null, sessionId: 's', isSidechain: false, ...more },
  })
  const answer = (message: object, more: object = {}) =>
    line('assistant', { message: { role: 'assistant', id: 'm', ...message }, ...more })
  const words = [{ type: 'text', text: 'Half' }]

  table(engines['claude-session'], [line('user', { message: { role: 'user', content: 'Hi' } })], {
    'a conversation that was shortened': {
      records: [line('system', { subtype: 'compact_boundary' })],
      told: ['compacted'],
    },
    'a request that is retried': {
      records: [line('system', { subtype: 'api_error' })],
      told: ['warning: the request to the model failed'],
    },
    'words that Claude Code wrote itself': {
      records: [answer({ model: '<synthetic>', content: [{ type: 'text', text: 'No response.' }] })],
      told: ['warning: No response.'],
    },
    'a request that failed': {
      records: [answer({ model: '<synthetic>', content: words }, { isApiErrorMessage: true })],
      told: ['fatal: Half'],
      outcome: 'failed',
    },
    'an answer that reached the limit': {
      records: [answer({ content: words, stop_reason: 'max_tokens' })],
      told: ['says Half', 'TRUNCATED '],
      outcome: 'failed',
    },
  })
})

test('Claude Code suggests rules for later calls', () => {
  const permission_suggestions = [
    { type: 'addRules', behavior: 'deny', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }, {}] },
    { type: 'addDirectories', directories: ['/a', '/b'], destination: 'userSettings' },
    { type: 'setMode', mode: 'acceptEdits' },
    { type: 'removeRules' },
  ]
  const request = { subtype: 'can_use_tool', tool_name: 'Bash', input: {}, permission_suggestions }
  const asks = { type: 'control_request', request_id: 'r', request }
  const init = { type: 'system', subtype: 'init', session_id: 's', uuid: 'u', tools: [] }
  const [asked] = run(claude, { stdout: lines(init, asks) }).flatMap((event) =>
    isEvent(event, 'lifecycle.run.status') ? (event.data.request ?? []) : [],
  )
  expect(asked?.options).toEqual([
    { id: 'allow', kind: 'allow_once', label: 'Allow' },
    {
      id: 'addRules:Bash(rm:*), tool:session',
      kind: 'reject_always',
      label: 'Always reject Bash(rm:*), tool (session)',
    },
    { id: 'addDirectories:/a, /b:userSettings', kind: 'allow_always', label: 'Allow /a, /b (userSettings)' },
    {
      id: 'setMode:acceptEdits:session',
      kind: 'allow_always',
      label: 'Set the mode to acceptEdits (session)',
    },
    { id: 'deny', kind: 'reject_once', label: 'Reject' },
  ])
})

describe('Cline', () => {
  const content = (type: string, more: object) => ({
    ...{ ts: 't', type: 'agent_event' },
    event: { type, contentType: 'tool', toolCallId: 'c', ...more },
  })
  const hook = { ts: 't', type: 'hook_event', hookEventName: 'agent_start', agentId: 'a', taskId: 'conv_1' }

  table(cline, [hook], {
    'a run that was stopped': {
      records: [{ ts: 't', type: 'run_abort_requested', reason: 'user' }],
      told: ['fatal: aborted: user'],
      outcome: 'failed',
    },
    'the model': {
      records: [{ ts: 't', type: 'run_start', providerId: 'openai', modelId: 'm' }],
      told: ['run_start m'],
    },
    'a call whose end does not repeat its name': {
      records: [
        content('content_start', { toolName: 'run_commands' }),
        content('content_end', { output: [] }),
      ],
      told: ['started c run_commands', 'completed c run_commands'],
    },
  })
})

describe('an end without words does not take back the pieces of its message', () => {
  const piece = { type: 'text_delta', contentIndex: 0, delta: 'Done.' }
  const item = { type: 'agentMessage', id: 'i', text: null }
  const served = (method: string, params: object) => ({ method, params: { threadId: 't', ...params } })
  const content = (type: string, more: object) => ({
    ...{ ts: 't', type: 'agent_event' },
    event: { type, contentType: 'text', ...more },
  })

  table(cline, [{ ts: 't', type: 'hook_event', hookEventName: 'agent_start', agentId: 'a', taskId: 'c' }], {
    Cline: {
      records: [content('content_start', { text: 'Done.' }), content('content_end', {})],
      told: ['says Done.'],
    },
  })
  table(pi, [{ type: 'session', version: 3, id: 's', timestamp: 't', cwd: '/' }, { type: 'agent_start' }], {
    pi: {
      records: [
        { type: 'message_update', assistantMessageEvent: piece },
        { type: 'message_end', message: { role: 'assistant', content: [{ type: 'text', text: null }] } },
      ],
      told: ['says Done.'],
    },
  })
  table(codex, [{ id: 1, result: { thread: { id: 't', modelProvider: 'p' }, model: 'm' } }], {
    'the app-server of Codex': {
      records: [
        served('item/agentMessage/delta', { itemId: 'i', delta: 'Done.' }),
        served('item/completed', { item }),
      ],
      told: ['says Done.'],
    },
  })
})

describe('a content that is a list of texts, without blocks', () => {
  const answer = { role: 'assistant', id: 'm', content: ['Do', 'ne.'] }
  const line = { uuid: 'u', parentUuid: null, sessionId: 's', isSidechain: false }

  table(engines['claude-session'], [{ ...line, type: 'system', subtype: 'local_command' }], {
    'Claude Code': {
      records: [{ ...line, type: 'assistant', message: { ...answer, content: ['Done.'] } }],
      told: ['says Done.'],
    },
  })
  table(cursor, [{ type: 'thinking', subtype: 'completed', session_id: 's' }], {
    Cursor: { records: [{ type: 'assistant', session_id: 's', message: answer }], told: ['says Done.'] },
    'Cursor, without any text in it': {
      records: [{ type: 'assistant', session_id: 's', message: { ...answer, content: [{ text: 5 }] } }],
      told: ['RAW_LINE '],
    },
  })
  table(engines['gemini-session'], [{ sessionId: 's', projectHash: 'h', startTime: 't', lastUpdated: 't' }], {
    'Gemini CLI': {
      records: [{ id: 'p', timestamp: 't', type: 'user', content: ['Please'] }],
      told: ['turn_started', 'user Please'],
    },
    'Gemini CLI, with one block and no list': {
      records: [{ id: 'p', timestamp: 't', type: 'user', content: { text: 'Please' } }],
      told: ['UNKNOWN_FIELD content: record', 'turn_started', 'user Please', 'DRIFT_REPORT '],
    },
  })
})

describe('a verdict that cannot be read is no success', () => {
  const result = { type: 'result', subtype: 'success', session_id: 's', is_error: 'true', result: 'No.' }
  const odd = ['UNKNOWN_FIELD is_error: text', 'result', 'fatal: No.', 'DRIFT_REPORT ']

  table(claude, [{ type: 'system', subtype: 'init', session_id: 's', uuid: 'u', tools: [] }], {
    'Claude Code': {
      records: [{ ...result, uuid: 'v' }],
      told: [...odd, 'COMPLETION_CONFLICT '],
      outcome: 'failed',
    },
  })
  table(cursor, [{ type: 'thinking', subtype: 'completed', session_id: 's' }], {
    Cursor: { records: [{ ...result, request_id: 'r' }], told: odd, outcome: 'failed' },
  })
})

describe('a result that comes twice keeps the name of its call', () => {
  const chat = (role: string, more: object) => ({ role, content: 'a', ...more })
  const asks = chat('assistant', { tool_calls: [{ id: 'c', function: { name: 'bash', arguments: '{}' } }] })
  const result = chat('tool', { tool_call_id: 'c' })

  table(grok, [chat('user', {})], {
    grok: {
      records: [asks, result, result],
      told: ['says a', 'started c bash', 'completed c bash', 'started c bash', 'completed c bash'],
    },
  })
})
