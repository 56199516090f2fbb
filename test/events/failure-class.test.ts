import { expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { copilot } from '../../src/engines/copilot.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { text } from '../../src/engines/text.ts'
import { failureClassOf } from '../../src/events/failure-class.ts'
import { endOf, lines, only, run } from '../engines/run.ts'

test.each([
  ['auth', 'unexpected status 401 Unauthorized: Missing bearer authentication'],
  ['auth', 'Incorrect API key provided: sk-x'],
  ['auth', 'invalid_api_key'],
  ['auth', 'You are not logged in. Please run /login'],
  ['auth', 'OAuth token has expired'],
  ['auth', '403 Forbidden'],
  ['auth', 'status: 407'],
  ['auth', 'authentication_error: no'],
  ['auth', 'Failed to authenticate'],
  ['auth', 'Please authenticate first'],
  ['auth', 'Authorization header is missing'],
  ['auth', 'Bearer authentication needed'],
  ['quota', '429 You exceeded your current quota, please check your plan and billing details.'],
  ['quota', 'insufficient_quota'],
  ['quota', "You've hit your usage limit. Try again in 3 days."],
  ['quota', 'HTTP 402 Payment Required'],
  ['quota', 'Your credit balance is too low'],
  ['quota', 'HTTP 402'],
  ['rate', '429 Too Many Requests'],
  ['rate', 'rate_limit_error: slow down'],
  [
    'rate',
    'Rate limit reached for gpt-x. Visit https://example.org/account/billing to add a payment method.',
  ],
  ['rate', 'overloaded_error'],
  ['rate', '529 {"type":"error"}'],
  ['rate', 'RESOURCE_EXHAUSTED'],
  ['context', 'context_length_exceeded'],
  ['context', '413'],
  ['context', "400 This model's maximum context length is 8192 tokens"],
  ['context', 'prompt is too long: 205000 tokens > 200000 maximum'],
  ['context', 'The input token count (1200000) exceeds the maximum number of tokens allowed'],
  ['network', 'connect ECONNREFUSED 127.0.0.1:443'],
  ['network', 'stream disconnected before completion'],
  ['network', 'API Error (503 upstream)'],
  ['network', 'request failed with status code 500'],
  ['network', 'fetch failed'],
  ['network', 'unable to verify the first certificate'],
  ['network', 'self-signed certificate in certificate chain'],
  ['denied', 'The tool call was rejected by the user'],
  ['denied', 'denied by policy'],
  ['denied', 'User declined the command'],
  [undefined, 'boom'],
  [undefined, 'phase: authenticate duration: 335'],
  [undefined, 'the certificate store was read'],
  [undefined, 'line 429 of the file is wrong'],
  [undefined, '400 Request contains an invalid argument.'],
] as const)('%s: %s', (expected, message) => {
  expect(failureClassOf(message)).toBe(expected)
})

test('a status or a word of the engine says it, too', () => {
  expect(failureClassOf('no', 401)).toBe('auth')
  expect(failureClassOf('no', 'quota', [['quota', /^quota/]])).toBe('quota')
  expect(failureClassOf('max_output_tokens, stream disconnected', undefined, codex.failures)).toBe('other')
  expect(failureClassOf('x'.repeat(1_000_000))).toBeUndefined()
})

test('the end has the class, and the bytes that say so', () => {
  const first = { type: 'thread.started', thread_id: 't' }
  const failed = { type: 'turn.failed', error: { message: '429 Too Many Requests' } }
  const end = endOf(run(codex, { stdout: lines(first, failed), exit: 1 }))
  const from = lines(first).length
  expect(end).toMatchObject({
    failure_class: 'rate',
    failure_ref: { stream: 'stdout', byte_from: from, byte_to: from + lines(failed).length },
  })
  const error = { name: 'ProviderAuthError', data: { message: 'no' } }
  const other = run(opencode, { stdout: lines({ type: 'error', sessionID: 's', error }), exit: 1 })
  expect(endOf(other).failure_class).toBe('auth')
  expect(only(other, 'diagnostic.engine.error')[0]!.data.failure_class).toBe('auth')
  const data = { errorType: 'quota', message: 'no more' }
  const quota = { type: 'session.error', id: 'e', timestamp: 't', parentId: null, data }
  expect(endOf(run(copilot, { stdout: lines(quota), exit: 1 })).failure_class).toBe('quota')
})

test('stderr says it if nothing else does, and a run that did not fail has none', () => {
  const stderr = 'starting\nError: 401 Unauthorized\nbye\n'
  expect(endOf(run(codex, { stderr, exit: 1 }))).toMatchObject({
    failure_class: 'auth',
    failure_ref: { stream: 'stderr', byte_from: 9 },
  })
  expect(endOf(run(text, { stdout: 'Hi.\n', stderr, exit: 1 })).failure_class).toBe('auth')
  expect(endOf(run(codex, { stderr, exit: 0 })).failure_class).toBeUndefined()
  const end = endOf(run(codex, { exit: 'SIGKILL' }))
  expect(end.failure_class).toBe('other')
  expect(end.failure_ref).toBeUndefined()
})
