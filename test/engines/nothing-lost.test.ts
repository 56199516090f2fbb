import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { errorWords } from '../../src/engines/error-text.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { endOf, lines, only, run, texts } from './run.ts'

const started = { type: 'thread.started', thread_id: 't' }
const said = (item: object) => ({ type: 'item.completed', item: { id: 'i', type: 'agent_message', ...item } })
const ended = { type: 'turn.completed', usage: {} }

describe('an error tells its words, whatever they are called', () => {
  test.each([
    ['quota', { detail: 'quota' }],
    ['quota', 'quota'],
    ['quota', { data: { message: 'quota' } }],
    ['quota', { errors: [{ reason: 'quota' }] }],
    ['quota', { message: '', error_description: 'quota' }],
    ['{"code":7}', { code: 7 }],
    [undefined, {}],
    [undefined, null],
  ])('%s', (words, error) => {
    expect(errorWords(error)).toBe(words)
    const failed = run(codex, { stdout: lines(started, { type: 'turn.failed', error }), exit: 1 })
    expect(endOf(failed).evidence.failure).toBe(words ?? 'an error without a message')
  })

  test('in the document of Gemini and a line of OpenCode', () => {
    const document = JSON.stringify({ session_id: 's', error: { detail: 'quota' } }, null, 2)
    expect(endOf(run(gemini, { stderr: document, exit: 1 })).evidence.failure).toBe('quota')
    const error = { name: 'APIError', data: { detail: 'quota' } }
    const line = lines({ type: 'error', timestamp: 1, sessionID: 's', error })
    expect(endOf(run(opencode, { stdout: line, exit: 1 })).evidence.failure).toBe('APIError: quota')
  })
})

describe('what cannot be told is raw', () => {
  test.each([{ text: null }, {}, { text: 7 }])('a message of Codex with %j', (item) => {
    const events = run(codex, { stdout: lines(started, said(item), ended), exit: 0 })
    expect(texts(events)).toEqual([])
    expect(only(events, 'raw.stdout').map(({ data }) => data.line)).toEqual([JSON.stringify(said(item))])
  })

  test('an id of another kind', () => {
    for (const session_id of [7, { id: 's' }, ['s']]) {
      const document = JSON.stringify({ session_id, response: 'Hi', stats: {} })
      const events = run(gemini, { stdout: document, exit: 0 })
      expect(texts(events)).toEqual(['Hi'])
      expect(only(events, 'raw.stdout').map(({ data }) => data.line)).toEqual([document])
    }
  })
})

test('the line end behind a document is no record', () => {
  for (const channel of ['stdout', 'stderr'] as const)
    for (const space of [0, 2])
      for (const end of ['\n', '\r\n']) {
        const document = JSON.stringify({ session_id: 's', response: 'Hi', stats: {} }, null, space)
        const events = run(gemini, { [channel]: document + end, exit: 0 })
        expect(texts(events)).toEqual(['Hi'])
        expect(only(events, 'raw.stdout', 'raw.stderr')).toEqual([])
      }
})

describe('a document of Gemini without a session', () => {
  test.each([
    'Loaded cached credentials.',
    '[mcp] connected',
    '2026-01-01 INFO ok',
    'Retrying in 3 s...',
    'mcp: connected',
    'Attempt 1 failed with status 429',
  ])('is the answer beside %s', (log) => {
    const document = '{"response":"Which file?"}\n'
    for (const input of [
      { stdout: `${log}\n`, stderr: document },
      { stdout: document, stderr: `${log}\n` },
      { stdout: `${log}\n${document}` },
      { stdout: `${document}${log}\n` },
    ]) {
      const events = run(gemini, { ...input, exit: 0 })
      expect(texts(events)).toEqual(['Which file?'])
      expect(endOf(events).state).toBe('awaiting_user_input')
    }
  })

  test('may have more', () => {
    expect(texts(run(gemini, { stdout: '{"response":"Hi","foo":1}', exit: 0 }))).toEqual(['Hi'])
    expect(texts(run(gemini, { stdout: '{"foo":[],"response":"Hi"}\n', exit: 0 }))).toEqual(['Hi'])
  })

  test('is none beside an answer', () => {
    for (const stderr of ['{"response":"ok"}\n', '{"response":"200","url":"/x"}\n']) {
      const events = run(gemini, { stdout: 'I fixed the test.\n', stderr, exit: 0 })
      expect(texts(events)).toEqual(['I fixed the test.'])
    }
    const quoted = 'It answers:\n{"response":"ok"}\nas you asked.\n'
    expect(texts(run(gemini, { stdout: quoted, exit: 0 }))).toEqual([quoted.trimEnd()])
  })
})
