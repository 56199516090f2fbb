import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { EndState, Evidence } from '../../src/events/event.ts'
import type { EventOptions } from '../../src/events/event-stage.ts'
import { completionOf } from '../../src/events/evidence.ts'
import { endPhrase, failureKind, outcomeOf, outcomeWords, readOutcome } from '../../src/events/run-outcome.ts'
import { events } from '../../src/streams/events.ts'
import { tap } from '../../src/streams/tap.ts'
import { jsonSchema } from '../../src/values/schema/json-schema.ts'
import { chatStage } from '../../src/views/chat.ts'
import { validEvents } from '../engines/valid.ts'
import { type Row, rows } from './ends.ts'

test.each(rows)('$name is $outcome', ({ evidence, state, outcome }) => {
  const { data } = completionOf(evidence)
  expect([data.state, outcomeOf(data)]).toEqual([state, outcome])
})

test('a run failed because of a cut only if nothing else was wrong', () => {
  const isCut = ({ evidence }: Row) => failureKind(completionOf(evidence).data) === 'cut'
  expect(rows.filter(isCut).map(({ name }) => name)).toEqual([
    'done marker, a cut record',
    'end signal, a cut record',
    'a cut record, exit 0',
  ])
})

const nothing: Evidence = {
  done_marker: false,
  end_signal: null,
  failure: null,
  exit_code: 0,
  signal: null,
  truncated: false,
}
const turn = { end_signal: 'turn.completed' }
const asks = { end_signal: 'session/request_permission', request: 'session/request_permission' }
const done = { done_marker: true, end_signal: 'turn.completed' }

// The words of a run that a request, a missing marker or a schema decides.
test.each<[string, Partial<Evidence>, 'success' | 'failed' | undefined, string, string]>([
  ['an open request', asks, undefined, 'needs_input', 'REQUEST_OPEN'],
  [
    'an open question, no end signal',
    { request: 'AskUserQuestion' },
    undefined,
    'needs_input',
    'REQUEST_OPEN',
  ],
  ['an open question, exit 1', { request: 'question', exit_code: 1 }, undefined, 'failed', 'EXIT_CODE'],
  ['an open request, stopped', { ...asks, stopped: 'aborted' }, undefined, 'cancelled', 'REQUEST_OPEN'],
  ['an open request, a result', asks, 'success', 'needs_input', 'REQUEST_OPEN'],
  ['an open request, no result', asks, 'failed', 'failed', 'REQUEST_OPEN'],
  ['a missing marker', { ...turn, marker: 'missing' }, undefined, 'needs_input', 'END_SIGNAL'],
  ['a missing marker, a result', { ...turn, marker: 'missing' }, 'success', 'needs_input', 'END_SIGNAL'],
  ['a missing marker, no end', { marker: 'missing' }, undefined, 'needs_input', 'NO_END_SIGNAL'],
  ['a missing marker, exit 1', { marker: 'missing', exit_code: 1 }, undefined, 'failed', 'EXIT_CODE'],
  ['a result', turn, 'success', 'succeeded', 'END_SIGNAL'],
  ['a result, no end', {}, 'success', 'succeeded', 'NO_END_SIGNAL'],
  ['a result, cut output', { truncated: true }, 'success', 'failed', 'TRUNCATED'],
  ['a result, exit 1', { ...turn, exit_code: 1 }, 'success', 'failed', 'END_SIGNAL'],
  ['no result', turn, 'failed', 'failed', 'END_SIGNAL'],
  ['no result, no end', {}, 'failed', 'failed', 'NO_END_SIGNAL'],
  ['the marker, no result', done, 'failed', 'failed', 'DONE_MARKER'],
])('%s', (_name, evidence, result, outcome, reason_code) => {
  const ok = outcome === 'succeeded'
  expect(completionOf({ ...nothing, ...evidence }, result).data).toMatchObject({ outcome, ok, reason_code })
})

test('a recording of 0.2 has no outcome: its good end is finished, unless it asked for something', () => {
  const old = (end_signal: string) =>
    outcomeOf({ state: 'awaiting_user_input', evidence: { ...nothing, end_signal } })
  expect(['turn.completed', 'result success', '</Execution Info>', 'end_turn'].map(old)).toEqual(
    new Array(4).fill('finished'),
  )
  const requests = [
    ...['session/request_permission', 'can_use_tool Bash', 'execCommandApproval', 'applyPatchApproval'],
    ...[
      'item/commandExecution/requestApproval',
      'item/tool/requestUserInput',
      'mcpServer/elicitation/request',
    ],
  ]
  expect(requests.map(old)).toEqual(new Array(requests.length).fill('needs_input'))
})

test('a completion keeps the outcome that it carries', () => {
  const data = completionOf({ ...nothing, ...turn }, 'failed').data
  expect([data.outcome, outcomeOf(data)]).toEqual(['failed', 'failed'])
  // Another program may write any word.
  expect(outcomeOf({ ...data, outcome: 'great' as 'failed' })).toBe('finished')
})

test('evidence that another journal lacks counts as not known', () => {
  const of = (state: EndState, evidence: object) => outcomeOf({ state, evidence: evidence as Evidence })
  expect(of('completed', {})).toBe('succeeded')
  expect(of('awaiting_user_input', { exit_code: null })).toBe('finished')
  expect(of('unknown', { stopped: null })).toBe('unknown')
})

test('the program that starts the process says with the exit that it was stopped on request', async () => {
  const exit = { code: null, signal: 'SIGTERM', stopped: 'aborted' }
  const sources = { stdout: Readable.from([Buffer.from('{"type":"turn.started"}\n')]), exit }
  const last = validEvents(await tap(sources).pipe(events(codex)).toArray()).at(-1)
  expect(last?.data).toMatchObject({ state: 'interrupted', evidence: { stopped: 'aborted' } })
  expect(last?.type === 'lifecycle.completion.state' && outcomeOf(last.data)).toBe('cancelled')
})

test('only a known word is read as an outcome', () => {
  expect(Object.keys(outcomeWords).map(readOutcome)).toEqual(Object.keys(outcomeWords))
  expect(['done', 'toString', '__proto__', 5, null, undefined].map(readOutcome)).toEqual(
    new Array(6).fill(undefined),
  )
})

const codexRun = (...lines: string[]) =>
  Readable.from([Buffer.from(lines.map((line) => `${line}\n`).join(''))])
const started = '{"type":"turn.started"}'
const completed = '{"type":"turn.completed","usage":{}}'
const endOf = async (options: EventOptions, ...lines: string[]) => {
  const all = validEvents(
    await tap({ stdout: codexRun(...lines), exit: 0 })
      .pipe(events(codex, options))
      .toArray(),
  )
  const last = all.at(-1)
  return last?.type === 'lifecycle.completion.state' ? last.data : undefined
}
const says = (text: string) =>
  JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } })

test('a done marker that was named must be there', async () => {
  expect(await endOf({}, started, completed)).toMatchObject({ outcome: 'finished', ok: true })
  const missing = { outcome: 'needs_input', ok: false, evidence: { marker: 'missing' } }
  expect(await endOf({ doneMarker: '__SKILL_DONE__' }, started, completed)).toMatchObject(missing)
  expect(
    await endOf({ doneMarker: 'ALL' }, started, says('{"__SKILL_DONE__": true}'), completed),
  ).toMatchObject(missing)
  const seen = await endOf({ doneMarker: 'ALL' }, started, says('{"ALL": true}'), completed)
  expect(seen).toMatchObject({ outcome: 'succeeded', ok: true })
  expect(seen?.evidence.marker).toBe(undefined)
})

test('a question in prose is not recognised', async () => {
  expect(await endOf({}, started, says('Which file do you mean?'), completed)).toMatchObject({
    outcome: 'finished',
  })
})

test('with a schema the result decides', async () => {
  const schema = jsonSchema({ type: 'object', required: ['a'] })
  expect(await endOf({ schema }, started, says('{"a":1}'), completed)).toMatchObject({ outcome: 'succeeded' })
  expect(await endOf({ schema }, started, says('{"b":1}'), completed)).toMatchObject({ outcome: 'failed' })
  expect(await endOf({ schema }, started, says('none'), completed)).toMatchObject({
    outcome: 'failed',
    ok: false,
  })
})

/** A run of Claude Code whose last call asks the user. */
const asked = (...results: object[]) => {
  const call = { type: 'tool_use', id: 'q', name: 'AskUserQuestion', input: { questions: [] } }
  return [
    { type: 'system', subtype: 'init', session_id: 's' },
    { type: 'assistant', session_id: 's', message: { id: 'm', role: 'assistant', content: [call] } },
    ...results,
    { type: 'result', subtype: 'success', session_id: 's', is_error: false, result: 'Which one?' },
  ]
}
const answer = (is_error: boolean, tool_use_id = 'q') => ({
  type: 'user',
  session_id: 's',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id, is_error, content: 'x' }] },
})
const works = {
  type: 'assistant',
  session_id: 's',
  message: { id: 'n', role: 'assistant', content: [{ type: 'tool_use', id: 'b', name: 'Bash', input: {} }] },
}

test.each([
  ['was refused', asked(answer(true)), 'needs_input'],
  ['has no answer', asked(), 'needs_input'],
  ['was answered', asked(answer(false)), 'finished'],
  [
    'was refused, and the agent went on without an answer',
    asked(answer(true), works, answer(false, 'b')),
    'finished',
  ],
])('a question tool that %s', async (_what, lines, outcome) => {
  const stdout = codexRun(...lines.map((line) => JSON.stringify(line)))
  const all = validEvents(await tap({ stdout, exit: 0 }).pipe(events(claude)).toArray())
  expect(all.at(-1)?.data).toMatchObject({ state: 'awaiting_user_input', outcome })
})

test('the engine that auto picks is a step of the run, not a warning', async () => {
  const stdout = codexRun('{"type":"thread.started","thread_id":"t"}', started, completed)
  const all = validEvents(await tap({ stdout, exit: 0 }).pipe(events(auto)).toArray())
  expect(all[0]).toMatchObject({
    type: 'lifecycle.run.status',
    data: { status: 'engine_picked', reason: 'auto picked codex' },
  })
  expect(all.filter(({ type }) => type.startsWith('diagnostic.'))).toEqual([])
  expect(drive(chatStage(), all).filter(({ type }) => type === 'diagnostic.warning')).toEqual([])
})

test('the words of a failed run say why, if that is known', () => {
  expect(endPhrase('failed', 'auth')).toBe('auth, the login or the key was refused')
  for (const [outcome, failure] of [
    ['failed', undefined],
    ['failed', 'other'],
    ['failed', 'toString'],
    ['finished', 'auth'],
  ] as const)
    expect(endPhrase(outcome, failure as 'other')).toBe(outcomeWords[outcome])
})
