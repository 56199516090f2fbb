import { describe, expect, test } from 'vitest'
import { amp } from '../../src/engines/amp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { claudeSession } from '../../src/engines/claude/session.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { codexSession } from '../../src/engines/codex/session.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { geminiSession } from '../../src/engines/gemini/session.ts'
import { qwen, qwenSession } from '../../src/engines/qwen.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { endOf, lines, only, run } from './run.ts'

const session_id = '00000000-0000-4000-8000-0000000000c1'
const uuid = '00000000-0000-4000-8000-0000000000c2'
const timestamp = '2026-01-01T00:00:00.000Z'

const prompts = (events: readonly AgentEvent[]) => only(events, 'user.message').map(({ data }) => data.text)
const tools = (events: readonly AgentEvent[]) =>
  only(events, 'tool.call.completed', 'tool.call.failed').map(({ data }) => data.duration_ms)
const diffs = (events: readonly AgentEvent[]) =>
  only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted').map(({ data }) => data.diff)
const read = (profile: Engine, ...records: readonly object[]) => run(profile, { stdout: lines(...records) })

const init = { type: 'system', subtype: 'init', uuid, session_id, mcp_servers: [] }
const asked = (content: unknown, more: object = {}) => ({
  type: 'user',
  uuid,
  session_id,
  parent_tool_use_id: null,
  message: { role: 'user', content },
  ...more,
})
const result = (usage: object, more: object = {}) => ({
  type: 'result',
  subtype: 'success',
  uuid,
  session_id,
  is_error: false,
  num_turns: 1,
  result: 'Done.',
  usage,
  ...more,
})
const rollout = (type: string, payload: object) => ({ timestamp, type, payload })
const stored = (type: 'user' | 'assistant', message: object, more: object = {}) => ({
  type,
  uuid: `${uuid}-${JSON.stringify(message).length}`,
  parentUuid: null,
  sessionId: session_id,
  isSidechain: false,
  message: { role: type, ...message },
  ...more,
})
const served = (method: string, params: object) => ({ method, params: { threadId: 't1', ...params } })

describe('a prompt is told, and is never searched', () => {
  const text = 'Say this: <json>{"a":1,"__SKILL_DONE__":true}</json>\n```json\n{"__SKILL_DONE__": true}\n```'
  const cases: [string, Engine, object[]][] = [
    [
      'codex 0.42',
      codex,
      [{ workdir: '/r', provider: 'openai' }, { prompt: text }, { id: '0', msg: { type: 'task_started' } }],
    ],
    [
      'codex app-server',
      codex,
      [
        served('item/completed', {
          item: { type: 'userMessage', id: 'u', content: [{ type: 'text', text }] },
        }),
      ],
    ],
    ['claude, replayed', claude, [init, asked(text, { isReplay: true })]],
    ['amp', amp, [asked([{ type: 'text', text }], { session_id: 'T-1' })]],
    [
      'gemini',
      gemini,
      [
        { type: 'init', timestamp, session_id, model: 'm' },
        { type: 'message', timestamp, role: 'user', content: text },
      ],
    ],
    ['claude session', claudeSession, [stored('user', { content: text })]],
    [
      'codex session',
      codexSession,
      [
        rollout('event_msg', { type: 'user_message', message: text }),
        rollout('response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
      ],
    ],
    [
      'codex session with items',
      codexSession,
      [
        rollout('event_msg', { type: 'task_started' }),
        rollout('event_msg', { type: 'item_completed', item: { type: 'UserMessage', content: [{ text }] } }),
      ],
    ],
    [
      'gemini session',
      geminiSession,
      [
        { sessionId: session_id, projectHash: 'p', startTime: timestamp },
        { id: '1', timestamp, type: 'user', content: [{ text: '<session_context>\nday</session_context>' }] },
        { id: '2', timestamp, type: 'user', content: [{ text }] },
        { id: '2', timestamp, type: 'user', content: [{ text }] },
        { id: '3', timestamp, type: 'user', content: [{ functionResponse: { id: 'c' } }] },
      ],
    ],
    [
      'qwen session',
      qwenSession,
      [
        {
          uuid,
          parentUuid: null,
          sessionId: session_id,
          type: 'user',
          message: { role: 'user', parts: [{ text }] },
        },
      ],
    ],
  ]
  test.each(cases)('%s', (_, profile, records) => {
    const events = run(profile, { stdout: lines(...records), exit: 0 }, { schema: { type: 'object' } })
    expect(prompts(events)).toEqual([text])
    expect(only(events, 'agent.message.final')).toEqual([])
    expect(endOf(events)).toMatchObject({ state: 'unknown', evidence: { done_marker: false } })
    expect(only(events, 'lifecycle.run.result')[0]!.data.status).toBe('failed')
  })
})

describe('what no user said is no prompt', () => {
  test('Claude: results of tools, hooks, subagents, commands, interrupts', () => {
    const events = read(
      claude,
      init,
      asked([{ type: 'tool_result', tool_use_id: 't', content: 'x' }]),
      asked([
        { type: 'tool_result', tool_use_id: 't', content: 'x' },
        { type: 'text', text: '<system-reminder>x</system-reminder>' },
      ]),
      asked('Look around.', { parent_tool_use_id: 'toolu_1' }),
      asked('Base directory of the skill', { isSynthetic: true }),
      asked('<local-command-stdout>x</local-command-stdout>', { isReplay: true }),
      asked([{ type: 'text', text: '[Request interrupted by user]' }]),
      asked([{ type: 'image' }]),
    )
    expect(prompts(events)).toEqual([])
  })
  test('Claude: a reminder before or behind the words of the user', () => {
    const reminder = { type: 'text', text: '<system-reminder>x</system-reminder>' }
    const words = { type: 'text', text: 'Fix it.' }
    const events = read(claude, init, asked([reminder, words]), asked([words, reminder]), asked([reminder]))
    expect(prompts(events)).toEqual(['Fix it.', 'Fix it.'])
    const summary = 'This session is being continued from a previous conversation that ran out of context. …'
    expect(prompts(read(claude, init, asked(summary)))).toEqual([])
  })
  test('Claude session: meta lines, summaries, sidechains, and a copy after a resume', () => {
    const line = stored('user', { content: 'Go.' })
    const events = read(
      claudeSession,
      line,
      stored('user', { content: 'The session so far' }, { isCompactSummary: true }),
      stored('user', { content: 'Caveat' }, { isMeta: true }),
      stored('user', { content: 'Look around there.' }, { isSidechain: true }),
      line,
    )
    expect(prompts(events)).toEqual(['Go.'])
  })
  test('Codex session: what an old version tells about the environment', () => {
    const events = read(
      codexSession,
      rollout('event_msg', {
        type: 'user_message',
        kind: 'environment_context',
        message: '<environment_context>',
      }),
      rollout('event_msg', { type: 'user_message', kind: 'plain', message: 'Go.' }),
    )
    expect(prompts(events)).toEqual(['Go.'])
  })
  test('Codex app-server: the task of a subagent', () => {
    const item = { type: 'userMessage', id: 'u', content: [{ type: 'text', text: 'Look around.' }] }
    const thread = { id: 't2', modelProvider: 'p', parentThreadId: 't1' }
    const events = read(
      codex,
      served('thread/started', { thread }),
      served('item/completed', { threadId: 't2', item }),
    )
    expect(prompts(events)).toEqual([])
  })
  test('Qwen session: a notification', () => {
    const line = { uuid, parentUuid: null, sessionId: session_id, type: 'user', provenance: 'system' }
    const events = read(qwenSession, {
      ...line,
      message: { role: 'user', parts: [{ text: 'The task is done' }] },
    })
    expect(prompts(events)).toEqual([])
  })
})

describe('tokens are counted once', () => {
  test('Claude: what came from the cache and went there is input, and turns add up', () => {
    const usage = {
      input_tokens: 4,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
      output_tokens: 7,
    }
    const events = read(claude, init, result(usage), init, result(usage))
    expect(endOf(events).tokens).toEqual({ input: 248, cached: 200, cache_write: 40, output: 14 })
  })
  test('Qwen: the usage counts the session, and its input has the cached tokens', () => {
    const first = { input_tokens: 100, cache_read_input_tokens: 90, output_tokens: 5, total_tokens: 105 }
    const second = { input_tokens: 300, cache_read_input_tokens: 190, output_tokens: 9, total_tokens: 309 }
    const begin = { ...init, qwen_code_version: '0.24.4' }
    const events = read(qwen, begin, result(first), begin, result(second))
    expect(endOf(events).tokens).toEqual({ input: 300, cached: 190, output: 9 })
  })
  test('Claude session: the lines of a message repeat its usage, and the first ones can have less', () => {
    const usage = (output_tokens: number) => ({ input_tokens: 4, cache_read_input_tokens: 10, output_tokens })
    const text = (id: string, text: string, output: number) =>
      stored('assistant', { id, model: 'm', content: [{ type: 'text', text }], usage: usage(output) })
    const events = read(
      claudeSession,
      text('msg_1', 'I look', 3),
      text('msg_1', 'and see', 170),
      text('msg_1', 'and go', 170),
      text('msg_2', 'Done', 20),
      text('msg_1', 'I look', 3),
    )
    expect(endOf(events).tokens).toEqual({ input: 28, cached: 20, output: 190 })
  })
  test('Codex session of 0.74: a resumed thread counts from 0 again, after null', () => {
    const count = (input_tokens: number) => {
      const usage = { input_tokens, cached_input_tokens: 5, output_tokens: 2 }
      return rollout('event_msg', {
        type: 'token_count',
        info: { total_token_usage: usage, last_token_usage: { ...usage, input_tokens: 10 } },
      })
    }
    const none = rollout('event_msg', { type: 'token_count', info: null })
    expect(
      endOf(read(codexSession, none, count(10), count(10), none, count(10), count(30))).tokens?.input,
    ).toBe(40)
    // A count that goes on after null is the same one.
    expect(endOf(read(codexSession, count(10), none, count(30))).tokens?.input).toBe(30)
  })
  test('Codex app-server: each thread has a count of its own', () => {
    const total = (threadId: string, inputTokens: number) =>
      served('thread/tokenUsage/updated', {
        threadId,
        tokenUsage: {
          total: { inputTokens, cachedInputTokens: 1, outputTokens: 2, reasoningOutputTokens: 1 },
        },
      })
    const events = read(codex, total('t1', 10), total('t2', 15), total('t1', 30))
    expect(endOf(events).tokens).toEqual({ input: 45, cached: 2, output: 4, reasoning: 2 })
  })
  test('Codex app-server: what a resumed thread had used before is not of this run', () => {
    const counts = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens })
    const told = (total: object, last: object) =>
      served('thread/tokenUsage/updated', { threadId: 't1', tokenUsage: { total, last } })
    const events = read(
      codex,
      told(counts(3000, 30), counts(1000, 10)),
      told(counts(3500, 35), counts(500, 5)),
    )
    expect(endOf(events).tokens).toEqual({ input: 1500, output: 15 })
  })
  test('Gemini: models add up, thoughts are output, and what its tools fetched is input', () => {
    const tokens = { input: 90, prompt: 100, candidates: 20, total: 128, cached: 10, thoughts: 5, tool: 3 }
    const stats = { models: { a: { tokens }, b: { tokens } } }
    const events = run(gemini, { stdout: JSON.stringify({ session_id, response: 'Yes.', stats }, null, 2) })
    expect(endOf(events).tokens).toEqual({ input: 206, cached: 20, output: 50, reasoning: 10 })
  })
  test('zeros alone, as after a request that failed, are unknown', () => {
    const usage = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 }
    expect(endOf(read(claude, init, result(usage))).tokens).toBeUndefined()
    const stats = { total_tokens: 0, input_tokens: 0, output_tokens: 0, cached: 0 }
    const first = { type: 'init', timestamp, session_id }
    expect(
      endOf(read(gemini, first, { type: 'result', timestamp, status: 'error', stats })).tokens,
    ).toBeUndefined()
  })
  test('what is no count stays unknown', () => {
    expect(endOf(read(claude, init, result({ input_tokens: '4', output_tokens: -1 }))).tokens).toBeUndefined()
    const usage = { input_tokens: 4, output_tokens: 1.5 }
    expect(endOf(read(codex, { type: 'turn.started' }, { type: 'turn.completed', usage })).tokens).toEqual({
      input: 4,
    })
  })
})

describe('durations and diffs', () => {
  const used = (id: string, name: string, file_path = '/r/a.ts') => ({
    type: 'assistant',
    uuid,
    session_id,
    parent_tool_use_id: null,
    message: { id: 'm', content: [{ type: 'tool_use', id, name, input: { file_path } }] },
  })
  const done = (id: string, tool_use_result: unknown) =>
    asked([{ type: 'tool_result', tool_use_id: id, content: 'ok' }], { tool_use_result })

  test('Claude: a patch of hunks is a unified diff, a new file is one as a whole', () => {
    const hunk = { oldStart: 3, oldLines: 2, newStart: 3, newLines: 2, lines: [' a', '-b', '+c'] }
    const events = read(
      claude,
      init,
      used('t1', 'Edit', 'a.ts'),
      done('t1', { filePath: 'a.ts', structuredPatch: [hunk, { ...hunk, oldStart: 9 }] }),
      used('t2', 'Write', 'b.ts'),
      done('t2', { type: 'create', filePath: 'b.ts', content: 'x\n\ny\n', structuredPatch: [] }),
      used('t3', 'Edit', 'c.ts'),
      done('t3', { filePath: 'c.ts', structuredPatch: [{ ...hunk, lines: [1] }] }),
      used('t4', 'Glob'),
      done('t4', { durationMs: 12 }),
      used('t5', 'WebSearch'),
      done('t5', { durationSeconds: 1.25 }),
      used('t6', 'Task'),
      done('t6', { totalDurationMs: -1 }),
    )
    expect(diffs(events)).toEqual([
      '@@ -3,2 +3,2 @@\n a\n-b\n+c\n@@ -9,2 +3,2 @@\n a\n-b\n+c\n',
      '@@ -0,0 +1,3 @@\n+x\n+\n+y\n',
      undefined,
    ])
    expect(tools(events)).toEqual([undefined, undefined, undefined, 12, 1250, undefined])
  })
  test('Codex: the text of an added or deleted file is a diff, that of a changed one is one already', () => {
    const diff = '@@ -1 +1 @@\n-a\n+b\n'
    const changes = [
      { path: 'a', kind: { type: 'add' }, diff: 'x' },
      { path: 'b', kind: { type: 'delete' }, diff: 'x\n' },
      { path: 'c', kind: { type: 'update' }, diff },
      { path: 'd', kind: { type: 'add' }, diff: '' },
    ]
    const item = { type: 'fileChange', id: 'f', status: 'completed', durationMs: 3, changes }
    const events = read(codex, served('item/completed', { item }))
    const whole = '@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n'
    expect(diffs(events)).toEqual([whole, '@@ -1,1 +0,0 @@\n-x\n', diff, undefined])
    expect(tools(events)).toEqual([3])
    const old = read(
      codex,
      {
        id: '0',
        msg: {
          type: 'patch_apply_begin',
          call_id: 'p',
          changes: { a: { add: { content: 'x' } }, c: { update: { unified_diff: diff, move_path: null } } },
        },
      },
      { id: '0', msg: { type: 'patch_apply_end', call_id: 'p', success: true } },
    )
    expect(diffs(old)).toEqual([whole, diff])
  })
  test('Codex: seconds and nanoseconds, seconds in JSON, and seconds in words', () => {
    const duration = { secs: 1, nanos: 250_000_000 }
    const msg = { type: 'exec_command_end', call_id: 'c', exit_code: 0, duration }
    expect(tools(read(codex, { id: '0', msg }))).toEqual([1250])
    const called = (call_id: string, output: string) => [
      rollout('response_item', {
        type: 'function_call',
        call_id,
        name: 'exec_command',
        arguments: '{"cmd":"ls"}',
      }),
      rollout('response_item', { type: 'function_call_output', call_id, output }),
    ]
    const events = read(
      codexSession,
      ...called('1', '{"output":"","metadata":{"exit_code":0,"duration_seconds":0.5}}'),
      ...called('2', 'Chunk ID: 1\nWall time: 0.1250 seconds\nProcess exited with code 3\nOutput:\nx\n'),
      ...called('3', 'Process exited with code 0\nOutput:\nWall time: 9 seconds\n'),
    )
    expect(tools(events)).toEqual([500, 125, undefined])
  })
})

describe('the facts of a run', () => {
  const started = (events: readonly AgentEvent[]) => only(events, 'lifecycle.run.status')[0]!.data
  test('Claude tells them in its first line', () => {
    const first = { ...init, model: 'm', cwd: '/r', claude_code_version: '2.1.0' }
    expect(started(read(claude, first))).toEqual({
      status: 'started',
      model: 'm',
      cwd: '/r',
      engine_version: '2.1.0',
    })
  })
  test('Claude: also where hooks run before it; hooks alone name the session', () => {
    const hook = { type: 'system', subtype: 'hook_started', uuid, session_id }
    const first = { ...init, model: 'm', cwd: '/r' }
    expect(started(read(claude, hook, first))).toEqual({ status: 'started', model: 'm', cwd: '/r' })
    const alone = read(claude, hook)
    expect(started(alone)).toEqual({ status: 'started' })
    expect(alone.at(-1)!.correlation.session_id).toBe(session_id)
  })
  test('Codex 0.42 tells them before the session', () => {
    const config = { model: 'm', workdir: '/r', provider: 'p' }
    const events = read(codex, config, { id: '0', msg: { type: 'session_configured', session_id } })
    expect(only(events, 'lifecycle.run.status').map(({ data }) => data)).toEqual([
      { status: 'configured', model: 'm', cwd: '/r' },
      { status: 'started', model: 'm', cwd: '/r' },
    ])
  })
  test('Codex app-server: the answer to thread/start, and the notification', () => {
    const thread = { id: 't1', modelProvider: 'p', cwd: '/r', cliVersion: '0.166.0' }
    const facts = { status: 'started', cwd: '/r', engine_version: '0.166.0' }
    expect(started(read(codex, { id: 1, result: { thread, model: 'm' } }))).toEqual({ ...facts, model: 'm' })
    expect(started(read(codex, served('thread/started', { thread })))).toEqual(facts)
  })
})
