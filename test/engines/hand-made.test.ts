import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventsOf, fixtures, inPieces } from './fixture.ts'
import { codesOf, endOf, only, texts } from './run.ts'

/** What a run comes to; the names of calls and files only where there are some. */
interface Summary {
  readonly state: string
  readonly messages: readonly string[]
  readonly completed?: readonly string[]
  readonly failed?: readonly string[]
  readonly reasoning?: number
  readonly files?: readonly string[]
}

const state = 'awaiting_user_input'
const broken = { state: 'interrupted', messages: [] }
const done = { state: 'completed', messages: ['Done.\n```json\n{"__SKILL_DONE__": true, "files": 1}\n```'] }
const finished = 'Finished.\n```json\n{"__SKILL_DONE__": true, "summary": "all good"}\n```'
const hello = 'Hello from the agent.\nTwo lines.'

/** Runs that were written by hand, or are short enough for a person to read, and what they say. */
const written: Record<string, Record<string, Summary>> = {
  amp: {
    'plain.pipe': { state, messages: ['Hello from the thread.'] },
    'tool-ok.pipe': { state, messages: ['I look.', 'One file: a.txt.'], completed: ['Bash'] },
    'tool-fail.pipe': { state, messages: ['There is no such file.'], failed: ['Read'] },
    'exit-code.pipe': { state, messages: ['One test fails.'], failed: ['Bash'] },
    'thinking.pipe': { state, messages: ['Hello.'], reasoning: 1 },
    'done.pipe': done,
    'error.pipe': broken,
    'sigterm.pipe': { state: 'interrupted', messages: ['I look.'] },
    'cut.pipe': { state: 'interrupted', messages: ['Hello from the thread.'] },
  },
  continue: {
    'done.json-pipe': { state: 'completed', messages: [finished] },
    'tool_ok.json-pipe': { state, messages: ['Command finished: alpha, beta.'] },
    'http_429.json-pipe': broken,
    'sigint.json-pipe': broken,
    'cut.json-pipe': broken,
    'json-answer.json-pipe': { state: 'unknown', messages: ['{"ok": true, "files": ["a.txt"]}'] },
  },
  cursor: {
    'plain.pipe': { state, messages: [hello], reasoning: 1 },
    'tool-parallel.pipe': {
      state,
      messages: ['I count.', 'Three, and seven.'],
      completed: ['shellToolCall', 'shellToolCall'],
    },
    'tool-fail.pipe': {
      state,
      messages: ['Three calls failed.'],
      failed: ['shellToolCall', 'readToolCall', 'shellToolCall'],
    },
    'files.pipe': {
      state,
      messages: ['One new, one changed, one gone.'],
      completed: ['writeToolCall', 'editToolCall', 'deleteToolCall'],
      files: ['created new.txt', 'modified a.txt', 'deleted old.txt'],
    },
    'partial.pipe': { state, messages: ['I count.', 'One file.'], completed: ['shellToolCall'] },
    'done.pipe': done,
    'error.pipe': broken,
    'stderr-error.pipe': broken,
    'sigint.pipe': { state: 'interrupted', messages: ['I count.'] },
    'cut.pipe': { state: 'interrupted', messages: [hello], reasoning: 1 },
    'json.pipe': { state, messages: ['Hello, as one record.'] },
  },
  droid: {
    'plain.pipe': { state, messages: ['Hello from the droid.'] },
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
    'done.pipe': done,
    'error.pipe': broken,
    'sigterm.pipe': { state: 'interrupted', messages: ['I look.'] },
    'cut.pipe': { state: 'interrupted', messages: ['Hello from the droid.'] },
  },
  grok: {
    'cut.pipe': broken,
    'sigterm.pipe': broken,
    'http_500.pipe': { ...broken, files: ['created .grok/settings.json'] },
  },
  nanocoder: { 'cut.json-pipe': broken },
}

test.each(Object.entries(written))('reads each run of %s as a person does', (engine, runs) => {
  const own = fixtures().filter((fixture) => fixture.engine === engine && fixture.name in runs)
  expect(own).toHaveLength(Object.keys(runs).length)
  for (const fixture of own) {
    const events = eventsOf(fixture, inPieces(fixture))
    expect(summary(events), fixture.name).toEqual(runs[fixture.name])
    expect(codesOf(events), fixture.name).not.toContain('DRIFT_REPORT')
  }
})

function summary(events: readonly AgentEvent[]): Summary {
  const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
  const named = {
    completed: only(events, 'tool.call.completed').map(({ data }) => data.name),
    failed: only(events, 'tool.call.failed').map(({ data }) => data.name),
    files: files.map(({ type, data }) => `${type.slice('artifact.'.length)} ${data.path}`),
  }
  const reasoning = only(events, 'agent.reasoning.summary').length
  return {
    state: endOf(events).state,
    messages: texts(events),
    ...Object.fromEntries(Object.entries(named).filter(([, list]) => list.length > 0)),
    ...(reasoning > 0 && { reasoning }),
  }
}
