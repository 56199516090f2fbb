import { describe, expect, test } from 'vitest'
import { acp } from '../../src/engines/acp/acp.ts'
import { errorAnswer, loggedError } from '../../src/engines/api-errors.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { continueCli } from '../../src/engines/continue.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { iflow } from '../../src/engines/iflow.ts'
import { qwen } from '../../src/engines/qwen.ts'
import { text } from '../../src/engines/text.ts'
import type { Engine } from '../../src/events/engine.ts'
import { endOf, type Input, lines, only, run, texts } from './run.ts'

/** What CLIs print in place of an answer. */
const errors = [
  ['[API Error: 401 Incorrect API key provided]', 'auth'],
  [
    '[API Error: {"error":{"code":429,"message":"Resource exhausted"}}]\nPlease wait and try again later.',
    'rate',
  ],
  ['[API Error: Model stream ended with empty response text.]', 'network'],
  ['429 Too Many Requests', 'rate'],
  ['429 Too Many Requests: {"error":"slow down"}', 'rate'],
  ['ApiError: {"error":{"code":429,"message":"Quota exceeded for requests"}}', 'quota'],
  ['HTTP 503 Service Unavailable', 'network'],
  ['HTTP 503', 'network'],
  ['HTTP 503 upstream connect error', 'network'],
  ['HTTP 503: upstream connect error', 'network'],
  ['HTTP/1.1 502 Bad Gateway', 'network'],
  ['Error: 500 Internal Server Error', 'network'],
  ['Error: API request failed with status 429', 'rate'],
  ['API Error: 401 {"type":"error","error":{"type":"authentication_error"}}', 'auth'],
  ['API Error: Connection error.', 'network'],
  ['Error: 429 {"error":{"message":"slow down"}}', 'rate'],
  ['TypeError: fetch failed', 'network'],
  ['Error: connect ECONNREFUSED 127.0.0.1:443', 'network'],
  ['Error: Incorrect API key provided: sk-x', 'auth'],
] as const

/** What a model says about them. */
const answers = [
  '[API Error: 401] means that the key is wrong.',
  'The log says: [API Error: 401 Incorrect API key]',
  '429 Too Many Requests means that you sent too many.',
  '429 Too Many Requests is what the server said.',
  '429 files were changed.',
  '503 Service Unavailable\n429 Too Many Requests',
  'HTTP 503 is a status of the server.',
  'HTTP 503 errors come from the server.',
  'HTTP 503: this means that the service is down.',
  'I got 429 Too Many Requests, so I waited.',
  'API Error: 401 means that you need a key.',
  'Error: the file was not found.',
  '404 Not Found\n\nThe page is gone. I mended the link.',
] as const

const sdk = (type: string, more: object) => ({ type, uuid: 'u', session_id: 's-1', ...more })
const none = { input_tokens: 0, output_tokens: 0 }
const sdkRun = (words: string, usage: object = none) =>
  lines(
    sdk('system', { subtype: 'init', model: 'm' }),
    sdk('assistant', { message: { id: 'm', content: [{ type: 'text', text: words }], usage } }),
    sdk('result', { subtype: 'success', is_error: false, result: words, num_turns: 1, usage }),
  )
const geminiLine = (type: string, more: object) => ({ type, timestamp: '2026-01-01T00:00:00Z', ...more })
const geminiStream = (words: string, stats: object = {}) =>
  lines(
    geminiLine('init', { session_id: 's', model: 'm' }),
    geminiLine('message', { role: 'assistant', content: words.slice(0, 5), delta: true }),
    geminiLine('message', { role: 'assistant', content: words.slice(5), delta: true }),
    geminiLine('result', { status: 'success', stats }),
  )
const geminiDocument = (words: string, stats: object = {}) =>
  JSON.stringify({ session_id: 's', response: words, stats }, null, 2)
const spent = { total_tokens: 30, input_tokens: 10, output_tokens: 20 }
const acpRun = (words: string) =>
  lines(
    { jsonrpc: '2.0', id: 0, result: { protocolVersion: 1, agentInfo: { name: 'other', version: '1' } } },
    {
      ...{ jsonrpc: '2.0', method: 'session/update' },
      params: {
        sessionId: 's',
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } },
      },
    },
    { jsonrpc: '2.0', id: 1, result: { stopReason: 'end_turn' } },
  )
const info = `\n<Execution Info>\n{"session-id": "session-00000001"}\n</Execution Info>\n`

const ways: Readonly<Record<string, readonly [Engine, (words: string) => Input]>> = {
  'a document of Gemini CLI': [gemini, (words) => ({ stdout: geminiDocument(words) })],
  'a document of Gemini CLI on stderr': [gemini, (words) => ({ stderr: geminiDocument(words) })],
  'a stream of Gemini CLI': [gemini, (words) => ({ stdout: geminiStream(words) })],
  'text of Gemini CLI': [gemini, (words) => ({ stdout: `${words}\n` })],
  'Qwen Code': [qwen, (words) => ({ stdout: sdkRun(words) })],
  'text of Qwen Code': [qwen, (words) => ({ stdout: `${words}\n` })],
  'Claude Code': [claude, (words) => ({ stdout: sdkRun(words) })],
  iFlow: [iflow, (words) => ({ stdout: `${words}\n`, stderr: info })],
  'any program': [text, (words) => ({ stdout: words })],
  Continue: [
    continueCli,
    (words) => ({ stdout: `${JSON.stringify({ response: words, status: 'success', note: 'n' })}\n` }),
  ],
}

describe.each(Object.entries(ways))('in place of the answer of %s', (_, [engine, input]) => {
  test('an error is no answer, and the run failed', () => {
    for (const [words, failure_class] of errors) {
      const events = run(engine, { ...input(words), exit: 0 })
      expect([words, texts(events)]).toEqual([words, []])
      expect(only(events, 'diagnostic.engine.error').length, words).toBeGreaterThan(0)
      const failed = { state: 'interrupted', reason_code: 'ENGINE_FAILED', failure_class }
      expect(endOf(events), words).toMatchObject(failed)
      expect(endOf(events).failure_ref, words).toBeDefined()
      const statuses = only(events, 'lifecycle.run.status').map(({ data }) => data.status)
      expect(statuses, words).not.toContain('awaiting_user_input')
    }
  })

  test('an answer about an error is one', () => {
    for (const words of answers) {
      const events = run(engine, { ...input(words), exit: 0 })
      expect(texts(events)).toEqual([words])
      expect(endOf(events).state, words).not.toBe('interrupted')
    }
  })
})

test('words that the model was paid for are its answer', () => {
  const [error] = errors[0]
  const usage = { input_tokens: 10, output_tokens: 20 }
  for (const [engine, stdout] of [
    [gemini, geminiDocument(error, { models: { m: { tokens: { prompt: 10, candidates: 20, total: 30 } } } })],
    [gemini, geminiStream(error, spent)],
    [qwen, sdkRun(error, usage)],
    [claude, sdkRun(error, usage)],
  ] as const) {
    const events = run(engine, { stdout, exit: 0 })
    expect(texts(events)).toEqual([error])
    expect(endOf(events).state).toBe('awaiting_user_input')
  }
})

test('an agent of ACP that ends its turn with an error has failed', () => {
  const failed = run(acp, { stdout: acpRun('429 Too Many Requests'), exit: 0 })
  expect(endOf(failed)).toMatchObject({ state: 'interrupted', failure_class: 'rate' })
  const good = run(acp, { stdout: acpRun('429 Too Many Requests means: wait.'), exit: 0 })
  expect(endOf(good).state).toBe('awaiting_user_input')
})

describe('next to the document of Gemini CLI', () => {
  test.each([...errors.map(([words]) => words.split('\n')[0]!), 'HTTP 503'])('on stdout: %s', (line) => {
    for (const input of [
      { stdout: `${line}\n`, stderr: geminiDocument('Hello') },
      { stdout: `${line}\n${geminiDocument('Hello')}` },
      { stdout: geminiStream('Hello'), stderr: `${line}\n` },
    ]) {
      const events = run(gemini, { ...input, exit: 0 })
      expect(texts(events)).toEqual(['Hello'])
      expect(only(events, 'diagnostic.engine.error')).toHaveLength(1)
      expect(endOf(events).state).toBe('awaiting_user_input')
    }
  })
})

test('on stderr of iFlow an error fails a run without an answer, and no other', () => {
  for (const line of ['API Error: 401', 'Error: API request failed with status 429', 'HTTP 503']) {
    const alone = run(iflow, { stderr: `${line}\n${info}`, exit: 0 })
    expect(texts(alone)).toEqual([])
    expect(only(alone, 'diagnostic.engine.error')).toHaveLength(1)
    expect(endOf(alone)).toMatchObject({ state: 'interrupted', reason_code: 'ENGINE_FAILED' })
    const answered = run(iflow, { stdout: 'Done.\n', stderr: `${line}\n${info}`, exit: 0 })
    expect(texts(answered)).toEqual(['Done.'])
    expect(endOf(answered).state).toBe('awaiting_user_input')
  }
})

test('a line is an error in a text, or only where no text is', () => {
  expect(loggedError('[API Error: quota]', false)).toBeDefined()
  expect(loggedError('429 Too Many Requests', false)).toBeUndefined()
  expect(loggedError('429 Too Many Requests', true)).toBeDefined()
  expect(errorAnswer(`[API Error: ${'x'.repeat(5000)}]`)).toBeUndefined()
})
