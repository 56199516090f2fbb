import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { cline } from '../../src/engines/cline.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { iflow } from '../../src/engines/iflow.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { pi } from '../../src/engines/pi.ts'
import { qwen } from '../../src/engines/qwen.ts'
import { text } from '../../src/engines/text.ts'
import type { Engine } from '../../src/events/engine.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { chat, codesOf, endOf, type Input, lines, run, texts } from './run.ts'

const done = 'Done.\n```json\n{"ok": 1, "__SKILL_DONE__": true}\n```'
const session = '00000000-0000-4000-8000-000000000001'

/** How each engine says an answer, its end, and its failure. */
interface Dialect {
  readonly profile: Engine
  readonly answer: (text: string) => Input
  readonly failed?: Input
  /** A record that is larger than a pipe holds. */
  readonly huge: Input
}

const codexTurn = (...records: object[]) =>
  lines({ type: 'thread.started', thread_id: session }, { type: 'turn.started' }, ...records)
const codexSays = (text: string) => ({
  type: 'item.completed',
  item: { id: 'item_0', type: 'agent_message', text },
})
const part = (type: string, more: object) => ({
  type,
  timestamp: 1,
  sessionID: session,
  part: { id: 'p', messageID: 'm', sessionID: session, type, ...more },
})
const geminiLine = (type: string, more: object) => ({ type, timestamp: '2026-01-01T00:00:00Z', ...more })
const geminiInit = geminiLine('init', { session_id: session, model: 'm' })
const sdk = (type: string, more: object) => ({ type, uuid: 'u', session_id: session, ...more })
const sdkInit = sdk('system', { subtype: 'init', model: 'm' })
const sdkSays = (text: string) =>
  sdk('assistant', { parent_tool_use_id: null, message: { id: 'm', content: [{ type: 'text', text }] } })
const sdkDialect = (profile: Engine): Dialect => ({
  profile,
  answer: (words) => ({
    stdout: lines(
      sdkInit,
      sdkSays(words),
      sdk('result', { subtype: 'success', is_error: false, result: words }),
    ),
  }),
  failed: {
    stdout: lines(
      sdkInit,
      sdk('result', { subtype: 'error_during_execution', is_error: true, errors: ['boom'] }),
    ),
  },
  huge: { stdout: JSON.stringify([sdkInit, sdkSays('x'.repeat(200_000))]) },
})
const info = `\n<Execution Info>\n${JSON.stringify({ 'session-id': session }, null, 2)}\n</Execution Info>\n`

const dialects: Record<string, Dialect> = {
  codex: {
    profile: codex,
    answer: (words) => ({ stdout: codexTurn(codexSays(words), { type: 'turn.completed', usage: {} }) }),
    failed: { stdout: codexTurn({ type: 'turn.failed', error: { message: 'boom' } }) },
    huge: { stdout: codexTurn(codexSays('x'.repeat(200_000))) },
  },
  opencode: {
    profile: opencode,
    answer: (words) => ({
      stdout: lines(part('text', { text: words }), part('step_finish', { reason: 'stop' })),
    }),
    failed: {
      stdout: lines({
        type: 'error',
        timestamp: 1,
        sessionID: session,
        error: { name: 'APIError', data: { message: 'boom' } },
      }),
    },
    huge: { stdout: lines(part('text', { text: 'x'.repeat(200_000) })) },
  },
  'gemini stream-json': {
    profile: gemini,
    answer: (words) => ({
      stdout: lines(
        geminiInit,
        geminiLine('message', { role: 'assistant', content: words.slice(0, 12), delta: true }),
        geminiLine('message', { role: 'assistant', content: words.slice(12), delta: true }),
        geminiLine('result', { status: 'success', stats: {} }),
      ),
    }),
    failed: {
      stdout: lines(
        geminiInit,
        geminiLine('result', { status: 'error', error: { message: 'boom' }, stats: {} }),
      ),
    },
    huge: {
      stdout: lines(
        geminiInit,
        geminiLine('message', { role: 'assistant', content: 'x'.repeat(200_000), delta: true }),
      ),
    },
  },
  'gemini json': {
    profile: gemini,
    answer: (response) => ({ stdout: JSON.stringify({ session_id: session, response, stats: {} }, null, 2) }),
    failed: {
      stderr: `noise\n${JSON.stringify({ session_id: session, error: { type: 'E', message: 'boom', code: 1 } }, null, 2)}\n`,
    },
    huge: { stdout: JSON.stringify({ session_id: session, response: 'x'.repeat(200_000) }, null, 2) },
  },
  qwen: sdkDialect(qwen),
  claude: sdkDialect(claude),
  iflow: {
    profile: iflow,
    answer: (words) => ({ stdout: `${words}\n`, stderr: info }),
    huge: { stdout: 'x'.repeat(200_000) },
  },
  text: {
    profile: text,
    answer: (words) => ({ stdout: `${words}\n` }),
    huge: { stdout: 'x'.repeat(200_000) },
  },
}

/** Plain text has no end signal of its own. */
const signals = (name: string) => name !== 'text'
/** Whether the engine writes records, of which one may be cut. */
const framed = (name: string) => name !== 'text' && name !== 'iflow'

describe('the end of a run, of every dialect,', () => {
  const all = Object.entries(dialects)

  test('is completed with the done marker, also of another name', () => {
    for (const [name, { profile, answer }] of all) {
      const events = run(profile, { ...answer(done), exit: 0 })
      expect(endOf(events), name).toMatchObject({ state: 'completed', reason_code: 'DONE_MARKER' })
      expect(chat(events).at(-2)!.type, name).toBe('conversation.completed')
      const other = run(profile, { ...answer('{"finished": true}'), exit: 0 }, { doneMarker: 'finished' })
      expect(endOf(other).state, name).toBe('completed')
    }
  })

  test('awaits the user after the engine said that its turn is over', () => {
    for (const [name, { profile, answer }] of all) {
      const events = run(profile, { ...answer('Which file?'), exit: 0 })
      expect(endOf(events).state, name).toBe(signals(name) ? 'awaiting_user_input' : 'unknown')
      const types = chat(events).map(({ type }) => type)
      expect(types.at(-2), name).toBe(signals(name) ? 'user.input.required' : 'diagnostic.warning')
      const asked = types.filter((type) => type === 'user.input.required')
      expect(asked, name).toHaveLength(signals(name) ? 1 : 0)
    }
  })

  test('is failed when the engine says so, the exit code, or a signal', () => {
    for (const [name, { profile, answer, failed }] of all) {
      const events = run(profile, { ...(failed ?? { stderr: 'Error: boom\n' }), exit: 1 })
      expect(endOf(events).state, name).toBe('interrupted')
      expect(endOf(events).evidence.failure === null, name).toBe(!failed)
      expect(chat(events).at(-2)!.type, name).toBe('conversation.failed')
      const half = (answer('Half a').stdout ?? '').slice(0, 90)
      expect(endOf(run(profile, { stdout: half, exit: 'SIGKILL' })), name).toMatchObject({
        state: 'interrupted',
        evidence: { signal: 'SIGKILL' },
      })
    }
  })

  test('is cut when the input ends inside a character, as anywhere else', () => {
    for (const [name, { profile, answer }] of all.filter(([name]) => framed(name))) {
      const { stdout = '' } = answer('Grüße, 世界 🙂 😀')
      const bytes = Buffer.from(stdout)
      const inside = bytes.indexOf(Buffer.from('界'))
      for (const at of [inside, inside + 1, inside + 2, inside + 3, inside + 6]) {
        for (const channel of ['stdout', 'pty'] as const) {
          for (const size of [1, 1 << 20]) {
            const chunks: Chunk[] = []
            for (let from = 0; from < at; from += size)
              chunks.push({ channel, bytes: bytes.subarray(from, Math.min(at, from + size)) })
            chunks.push({ channel: 'exit', code: 0, signal: null })
            const events = drive(eventStage(profile, { clock: () => 0 }), chunks)
            const which = `${name}, ${channel} to ${at}, in pieces of ${size}`
            expect(codesOf(events), which).toContain('TRUNCATED')
            expect(endOf(events), which).toMatchObject({ state: 'interrupted', reason_code: 'TRUNCATED' })
          }
        }
      }
    }
  })

  test('is never good when the output was cut at 65,536 bytes, though the exit code is 0', () => {
    for (const [name, { profile, huge }] of all) {
      const events = run(profile, { stdout: (huge.stdout ?? '').slice(0, 65_536), exit: 0 })
      expect(codesOf(events).includes('TRUNCATED'), name).toBe(framed(name))
      expect(endOf(events), name).toMatchObject(
        framed(name) ? { state: 'interrupted', reason_code: 'TRUNCATED' } : { state: 'unknown' },
      )
    }
  })

  test('is unknown when there was nothing, though the exit code is 0', () => {
    for (const [name, { profile }] of all) {
      const events = run(profile, { exit: 0 })
      expect(endOf(events), name).toMatchObject({ state: 'unknown', reason_code: 'NO_END_SIGNAL' })
      expect(chat(events), name).toMatchObject([
        { type: 'diagnostic.warning', data: { code: 'END_UNKNOWN', state: 'unknown' } },
        { type: 'conversation.ended', data: { outcome: 'unknown', ok: false } },
      ])
    }
  })

  test('tells of evidence that disagrees', () => {
    for (const [name, { profile, answer }] of all) {
      const marked = run(profile, { ...answer(done), exit: 1 })
      expect(endOf(marked).state, name).toBe('completed')
      expect(codesOf(marked), name).toContain('COMPLETION_CONFLICT')
      const ended = run(profile, { ...answer('Hello.'), exit: 1 })
      expect(endOf(ended).state, name).toBe(signals(name) ? 'awaiting_user_input' : 'interrupted')
      expect(codesOf(ended).includes('COMPLETION_CONFLICT'), name).toBe(signals(name))
    }
  })
})

test.each([qwen, claude])('success with is_error is a failure, and a conflict ($name)', (profile) => {
  const result = sdk('result', { subtype: 'success', is_error: true, result: 'API Error' })
  const events = run(profile, { stdout: lines(sdkInit, sdkSays('API Error'), result), exit: 0 })
  expect(endOf(events)).toMatchObject({ state: 'interrupted', reason_code: 'ENGINE_FAILED' })
  expect(codesOf(events)).toContain('COMPLETION_CONFLICT')
})

test('an answer that OpenCode cut for its length is truncated', () => {
  const events = run(opencode, {
    stdout: lines(part('text', { text: 'Once' }), part('step_finish', { reason: 'length' })),
    exit: 0,
  })
  expect(endOf(events)).toMatchObject({ state: 'interrupted', reason_code: 'MAX_TOKENS' })
})

test('a step that begins after the end of OpenCode takes it back', () => {
  const good = [part('text', { text: 'Once' }), part('step_finish', { reason: 'stop' })]
  const state = (...more: object[]) =>
    endOf(run(opencode, { stdout: lines(...good, ...more), exit: 0 })).state
  expect(state()).toBe('awaiting_user_input')
  expect(state(part('step_start', {}), part('text', { text: 'More' }))).toBe('unknown')
  expect(state(part('step_start', {}))).toBe('unknown')
  expect(state(part('text', { text: 'More' }))).toBe('unknown')
  expect(state(part('step_start', {}), ...good)).toBe('awaiting_user_input')
})

describe('an answer that reached a limit of tokens', () => {
  const piMessage = (stopReason: string) => ({
    type: 'message_end',
    message: { role: 'assistant', timestamp: 1, content: [{ type: 'text', text: 'Once' }], stopReason },
  })
  const sdkCut = (where: 'assistant' | 'result' | 'piece') => {
    const stop_reason = 'max_tokens'
    const message = { id: 'm', content: [{ type: 'text', text: 'Once' }] }
    return lines(
      sdkInit,
      sdk('assistant', { message: where === 'assistant' ? { ...message, stop_reason } : message }),
      ...(where === 'piece'
        ? [sdk('stream_event', { event: { type: 'message_delta', delta: { stop_reason } } })]
        : []),
      sdk('result', {
        ...{ subtype: 'success', is_error: false, result: 'Once' },
        ...(where === 'result' && { stop_reason }),
      }),
    )
  }
  const failed = (message: string) =>
    codexTurn(codexSays('Once'), { type: 'turn.failed', error: { message } })
  const rows: readonly (readonly [string, Engine, string])[] = [
    ['pi', pi, lines({ type: 'agent_start' }, piMessage('length'), { type: 'agent_end', willRetry: false })],
    ['opencode', opencode, lines(part('text', { text: 'Once' }), part('step_finish', { reason: 'length' }))],
    ['claude, in a message', claude, sdkCut('assistant')],
    ['claude, in a result', claude, sdkCut('result')],
    ['claude, in a piece', claude, sdkCut('piece')],
    ['qwen', qwen, sdkCut('assistant')],
    ['codex', codex, failed('stream disconnected: Incomplete response returned, reason: max_output_tokens')],
    [
      'gemini',
      gemini,
      lines(
        geminiInit,
        geminiLine('message', { role: 'assistant', content: 'Once', delta: true }),
        geminiLine('error', { severity: 'warning', message: 'Response truncated due to token limits.' }),
        geminiLine('result', { status: 'success', stats: {} }),
      ),
    ],
    [
      'cline',
      cline,
      lines({ ts: 't', type: 'run_result', finishReason: 'max_tokens', iterations: 1, text: 'Once' }),
    ],
  ]

  test.each(rows)('is no good end: %s', (_, engine, stdout) => {
    const events = run(engine, { stdout, exit: 0 })
    expect(texts(events)).toEqual(['Once'])
    expect(endOf(events)).toMatchObject({ state: 'interrupted', reason_code: 'MAX_TOKENS' })
    expect(chat(events).map(({ type }) => type)).not.toContain('user.input.required')
    expect(chat(events).at(-2)!.type).toBe('conversation.failed')
  })

  test('is one, if the engine asked again and got a whole one', () => {
    const stdout = lines({ type: 'agent_start' }, piMessage('length'), piMessage('stop'), {
      type: 'agent_end',
      willRetry: false,
    })
    expect(endOf(run(pi, { stdout, exit: 0 })).state).toBe('awaiting_user_input')
  })

  test('is not one whose request asked for too many', () => {
    const end = endOf(run(codex, { stdout: failed('max_tokens is too large: 99999'), exit: 1 }))
    expect(end.reason_code).toBe('ENGINE_FAILED')
  })
})

test('a turn that failed does not count against the turn that follows', () => {
  const stdout = codexTurn(
    { type: 'turn.failed', error: { message: 'boom' } },
    { type: 'turn.started' },
    codexSays('ok'),
    {
      type: 'turn.completed',
      usage: {},
    },
  )
  expect(endOf(run(codex, { stdout, exit: 0 })).state).toBe('awaiting_user_input')
})
