import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { droid } from '../../src/engines/droid.ts'
import { eventsOf, fixtures, inPieces } from './fixture.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'
import { type Summary, summaryOf, takers } from './summary.ts'

const own = fixtures().filter(({ engine }) => engine === 'droid')
const state = 'awaiting_user_input'

/** What each of the hand-made runs was written to say. */
const told: Record<string, Summary> = {
  'plain.pipe': { state, messages: ['Hello from the droid.'] },
  'plain.tee80': { state, messages: ['Hello from the droid.'] },
  'tool-ok.pipe': { state, messages: ['I look.', 'One file.'], completed: ['Execute'] },
  'tool-fail.pipe': { state, messages: ['It is not there.'], failed: ['Read'] },
  'results-without-id.pipe': {
    state,
    messages: ['Done looking.'],
    completed: ['Execute'],
    failed: ['Read'],
  },
  'files.pipe': {
    state,
    messages: ['Two of three.'],
    completed: ['Create', 'Edit'],
    failed: ['Create'],
    files: ['created new.txt', 'modified a.txt'],
  },
  'done.pipe': {
    state: 'completed',
    messages: ['Done.\n```json\n{"__SKILL_DONE__": true, "files": 1}\n```'],
  },
  'error.pipe': { state: 'interrupted', messages: [] },
  'sigterm.pipe': { state: 'interrupted', messages: ['I look.'] },
  'cut.pipe': { state: 'interrupted', messages: ['Hello from the droid.'] },
}

test.each(own)('reads $name as it was written', (fixture) => {
  expect(summaryOf(fixture)).toEqual(told[fixture.name])
  const events = eventsOf(fixture, inPieces(fixture))
  expect(events.at(-1)!.correlation.session_id).toBe('3d9a7c10-5e42-4f1b-b0c6-92a4d1e8f733')
  expect(codesOf(events)).not.toContain('DRIFT_REPORT')
})

test('its first record is its own, and it takes none of the others’', () => {
  for (const fixture of own) expect(takers(fixture)[0]).toEqual(['droid'])
  for (const fixture of fixtures())
    if (fixture.engine !== 'droid') expect(takers(fixture).flat(), fixture.path).not.toContain('droid')
})

const line = (type: string, more: object) => ({ type, sessionId: 's', ...more })
const init = line('system', { subtype: 'init', tools: [], model: 'm' })
const read = (...records: object[]) => run(droid, { stdout: lines(init, ...records), exit: 0 })

test('an error that a completion follows is no failure', () => {
  const events = read({ type: 'error', message: 'slow' }, line('completion', { finalText: 'Done.' }))
  expect(texts(events)).toEqual(['Done.'])
  expect(endOf(events)).toMatchObject({ state, evidence: { failure: null } })
})

test('an error without a completion is no success', () => {
  expect(endOf(read({ type: 'error' })).state).toBe('unknown')
})

test('calls have an id of their own in older versions; a result that says nothing failed', () => {
  const events = read(
    line('tool_call', { id: 't1', toolCallId: 'c1', toolName: 'Shell', parameters: {} }),
    line('tool_result', { id: 't2', toolCallId: 'c1' }),
    line('tool_result', { isError: true, messageId: 'm', toolId: 'Read', error: 'no' }),
  )
  expect(only(events, 'tool.call.failed').map(({ data }) => [data.call_id, data.name, data.error])).toEqual([
    ['c1', 'Shell', undefined],
    ['', 'Read', 'no'],
  ])
})

test('what is not known is kept as raw', () => {
  const events = read(
    line('reasoning', { text: 'Hm' }),
    line('message', { role: 'assistant', text: 'x', y: 1 }),
  )
  expect(codesOf(events)).toContain('UNKNOWN_TYPE')
  expect(codesOf(events)).toContain('DRIFT_REPORT')
  expect(endOf(events).state).toBe('unknown')
})

test('records of others are not read', () => {
  const events = run(droid, {
    stdout: lines(
      line('system', { subtype: 'init', uuid: 'u', tools: [], mcp_servers: [] }),
      { type: 'message', timestamp: 't', role: 'assistant', content: 'Hi', delta: true },
      { type: 'result', timestamp: 't', status: 'success', stats: {} },
    ),
    exit: 0,
  })
  expect(texts(events)).toEqual([])
  expect(endOf(events).state).toBe('unknown')
})

test('auto takes a first line like its own for what the next one is', () => {
  const claude = { type: 'assistant', session_id: 's', message: { id: 'm', content: 'Hi' } }
  const first = { type: 'system', subtype: 'init', session_id: 's', tools: [], model: 'm' }
  expect(run(auto, { stdout: lines(first, claude), exit: 0 }).at(-1)!.source.engine).toBe('claude')
  const completion = line('completion', { finalText: 'Done.' })
  expect(run(auto, { stdout: lines(init, completion), exit: 0 }).at(-1)!.source.engine).toBe('droid')
  expect(run(auto, { stdout: lines(init), exit: 0 }).at(-1)!.source.engine).toBe('droid')
})
