import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { text } from '../../src/engines/text.ts'
import { callSubject, callText } from '../../src/events/call-words.ts'
import { errorLine } from '../../src/events/cause.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { replay } from '../../src/run/replay.ts'
import { why, whyOf } from '../../src/views/why.ts'
import { countWords, durationWords } from '../../src/views/words.ts'
import { recordedRun, recordedRuns } from './fixtures.ts'

/**
 * What the first failure of a run that did not end well is, by reading its logs. The start of the words is
 * enough.
 */
const table: readonly (readonly [run: string, first: string])[] = [
  ['acp/codex-acp-cancel-during-request.loop', 'it was stopped on request in the middle of a turn'],
  ['acp/copilot-http_500.pipe', 'Error: Failed to get response from the AI model; retried 5 times'],
  ['acp/gemini-cancel.pipe', 'the turn was cancelled'],
  ['amp/cut.pipe', 'the input ended inside a record'],
  ['amp/error.pipe', 'Unauthorized: log in again'],
  ['amp/sigterm.pipe', 'SIGTERM ended it while Bash ran: ls'],
  ['claude/stream-json.max-turns', 'Reached maximum number of turns (1)'],
  ['claude/stream-json.synthetic-error', 'API Error: 529 overloaded'],
  ['claude-session/interrupted', 'interrupted by the user'],
  ['claude-session/rate-limit', "You've hit your limit"],
  ['cline/http_429.pipe', 'Rate limit reached for mock-model. Please try again later.'],
  ['cline/sigint.tee80', 'it exited with code 0, without reporting an end, in the middle of a message'],
  [
    'cline/sigint_tool.pipe',
    'it exited with code 0, without reporting an end, while run_commands ran: echo begun; sleep 600',
  ],
  ['cline/silent-resume-turn2.pipe', 'JSON output mode requires a prompt argument or piped stdin'],
  ['cline-session/3.0.65-sigint_tool', 'run_commands failed: Command failed: Command was aborted'],
  [
    'cline-session/3.0.65-sigkill_tool',
    'the log stops, without reporting an end, while run_commands ran: echo begun; sleep 600',
  ],
  ['codex/08a-http-429.pipe', 'exceeded retry limit, last status: 429 Too Many Requests'],
  ['codex/11a-sigint.pipe', 'it exited with code 1 in the middle of a turn'],
  ['codex/app-server-interrupt.pipe', 'the turn was interrupted'],
  ['codex/sigint_tool.pipe', 'it exited with code 1 while command_execution ran: echo begun; sleep 600'],
  ['codex-session/0.166.0-sigint_tool', 'the turn was interrupted'],
  ['continue/http_429.json-tee80', '429 Rate limit reached for mock-model. Please try again later.'],
  ['continue/sigint.json-pipe', 'it exited with code 130 (as after SIGINT)'],
  ['copilot/http_401.pipe', 'Authentication failed with provider at http://127.0.0.1:8787/v1 (HTTP 401).'],
  ['copilot/sigterm.tee80', 'SIGTERM ended it in the middle of a message'],
  ['copilot-session/1.0.102-http_500', 'Failed to get response from the AI model; retried 5 times'],
  ['cursor/error.pipe', 'The model is not available'],
  ['cursor/stderr-error.pipe', 'ConnectError: [unavailable] the server is away'],
  ['droid/sigterm.pipe', 'SIGTERM ended it while Execute ran: ls'],
  ['gemini/cut_mid.stream-json-pipe', '[API Error: terminated]'],
  ['gemini/fail_400.text-pty80', 'Error when talking to Gemini API'],
  ['grok/http_500.pipe', 'Grok API error: 500 The server had an error while processing your request.'],
  ['iflow/thrown-error.pipe', 'Error: 401 Incorrect API key provided'],
  ['kilo/http_401.tee80', 'APIError: Incorrect API key provided: dummy.'],
  ['nanocoder/error.json-pipe', 'the run ended: error'],
  ['opencode/08g-stream-failed.pipe', 'UnknownError: Mock upstream exploded.'],
  ['opencode/11a-sigint.pipe', 'SIGINT ended it'],
  ['opencode-session/1.18.34-cut_mid', 'APIError: Connection reset by server'],
  ['pi/http_401.pipe', '401: Incorrect API key provided: dummy.'],
  ['pi/sigterm.tee80', 'it exited with code 143 (as after SIGTERM) in the middle of a message'],
  ['pi-session/0.87.1-cut_mid', 'terminated'],
  ['qwen/0.15.10-sigint_tool.stream-json-pipe', 'run_shell_command failed: [Operation Cancelled] Reason:'],
  ['qwen/empty.text-pipe', '[API Error: Model stream ended with empty response text.]'],
  ['qwen-session/0.15.10-sigint_tool', 'Request was aborted.'],
  ['text/codex-16-human-http-500.pipe', 'ERROR: We’re currently experiencing high demand'],
  ['text/opencode-16-human-http-401.pipe', 'Error: Incorrect API key provided: dummy.'],
]

function whyOfRun(events: readonly AgentEvent[]) {
  const reason = whyOf()
  for (const event of events) reason.write(event)
  return reason.why()
}

describe('why', () => {
  test.each(table)('%s: %s', (run, first) => {
    const { outcome, first: found } = whyOfRun(recordedRun(run).events)
    expect(['failed', 'unknown', 'cancelled']).toContain(outcome)
    expect(found?.title.slice(0, first.length)).toBe(first)
  })

  test('names something for each run that did not end well, and no end for a good one', () => {
    for (const { name, events } of recordedRuns()) {
      const { outcome, first } = whyOfRun(events)
      if (outcome === 'succeeded' || outcome === 'finished') expect(first?.kind, name).not.toBe('end')
      else expect(first?.title, name).toMatch(/\w/)
    }
  })

  const events = (...list: [type: string, data: object, attempt?: number][]) =>
    list.map(
      ([type, data, attempt_number = 1], index) =>
        // The cast is the door: the test names only what is looked at.
        ({
          type,
          data,
          attempt_number,
          seq: index + 1,
          raw_ref: null,
          correlation: {},
        }) as unknown as AgentEvent,
    )
  const whyOfEvents = (...list: Parameters<typeof events>) => whyOfRun(events(...list))
  const evidence = { exit_code: 1, signal: null }
  const failed: [string, object] = [
    'lifecycle.completion.state',
    { state: 'interrupted', reason_code: 'EXIT_CODE', evidence },
  ]
  const tool: [string, object] = [
    'tool.call.failed',
    { call_id: 'c', name: 'sh', input: { command: 'npm test' }, output: 'a\nb', exit_code: 2 },
  ]
  const error = (message: string, severity = 'error'): [string, object] => [
    'diagnostic.engine.error',
    { code: 'ENGINE_ERROR', message, severity },
  ]
  const message: [string, object] = ['agent.message.final', { message_id: 'm', text: 'So?' }]

  test('is not a tool that the agent went on after', () => {
    expect(whyOfEvents(tool, message, error('gone'), failed)).toMatchObject({
      first: { title: 'gone', seq: 3 },
      call: { name: 'sh', subject: 'npm test', exit_code: 2, lines: ['a', 'b'], finished: true },
    })
  })

  test('is a tool if nothing came after it, and any failed tool in a run that ended well', () => {
    expect(whyOfEvents(tool, failed).first?.kind).toBe('tool')
    const good: [string, object] = ['lifecycle.completion.state', { state: 'completed', evidence: {} }]
    expect(whyOfEvents(tool, message, good).first?.kind).toBe('tool')
    expect(whyOfEvents(message, good).first).toBe(undefined)
  })

  test('is the first of the errors that were not overcome; the last one is told, too', () => {
    const { first, last } = whyOfEvents(error('old'), message, error('one'), error('two'), failed)
    expect([first?.title, last?.title]).toEqual(['one', 'two'])
    expect(whyOfEvents(error('old', 'fatal'), message, failed).first?.title).toBe('old')
  })

  test('is the last words of a program that refused to start, and of no other', () => {
    const said: [string, object] = ['raw.pty', { line: 'No prompt provided.' }]
    expect(whyOfEvents(said, failed).first?.title).toBe('No prompt provided.')
    expect(whyOfEvents(message, said, failed).first?.title).toBe('it exited with code 1')
  })

  test('is the limit that ended the run, whatever failed before', () => {
    const limit: [string, object] = [
      'diagnostic.parser.warning',
      { code: 'RUN_TIMEOUT', message: 'the time limit was reached', severity: 'warning' },
    ]
    expect(whyOfEvents(tool, limit, failed).first).toMatchObject({
      kind: 'limit',
      title: 'the time limit was reached',
    })
  })

  test('counts the last attempt only', () => {
    const again: [string, object, number] = [failed[0], failed[1], 2]
    expect(whyOfEvents(error('one'), failed, again).first?.title).toBe('it exited with code 1')
  })

  test('of a run that goes on has no outcome', () => {
    expect(whyOfEvents(tool).outcome).toBe(undefined)
    expect(whyOf().why()).toEqual({})
  })

  test('names the file that was changed last', () => {
    const { file } = whyOfEvents(
      ['artifact.created', { path: 'a' }],
      ['artifact.deleted', { path: 'b' }],
      failed,
    )
    expect(file).toEqual({ path: 'b', change: 'deleted' })
  })
})

test.each([
  ['Error: no key', 'Error: no key'],
  ['  2026-01-01T00:00:00Z ERROR core: broken', 'ERROR core: broken'],
  ['{"level":"error","msg":"x"}', 'x'],
  ['{"type":"error"}', undefined],
  ['{"type":"info","message":"x"}', undefined],
  ['{not json', undefined],
  ['Warning: failed to find a font', undefined],
  ['    at failed (file.js:1:2)', undefined],
  ['ERROR: Reconnecting... 1/5', undefined],
  ['all is well', undefined],
])('the error in the line %j is %j', (line, error) => expect(errorLine(line)).toBe(error))

test('a start that was refused and read as plain text has the last lines of stderr, where nothing else tells', () => {
  const bytes = (text: string) => new TextEncoder().encode(text)
  const events = drive(eventStage(text, { runId: 'r', clock: () => 0 }), [
    { channel: 'stdout', bytes: bytes('Welcome to the agent.\n') },
    { channel: 'stderr', bytes: bytes('one\n\ntwo\nYou are not logged in.\nRun agent login first.\n') },
    { channel: 'exit', code: 3, signal: null },
  ])
  const { first, stderr } = whyOfRun(events)
  expect(first?.title).toBe('it exited with code 3; the last line on stderr: Run agent login first.')
  expect(stderr).toEqual(['two', 'You are not logged in.', 'Run agent login first.'])
})

test.each<[unknown, string]>([
  [undefined, ''],
  [7, '7'],
  ['text', 'text'],
  [{ command: "/bin/bash -lc 'npm test'" }, 'npm test'],
  [{ command: '/bin/bash -lc "echo \\"a\\" \\$b"' }, 'echo "a" $b'],
  [{ command: 'bash -lc ls' }, 'ls'],
  [{ command: "bash -c 'a' 'b'" }, "bash -c 'a' 'b'"],
  [{ command: ['/bin/sh', '-c', 'a b'] }, 'a b'],
  [{ command: ['git', 'log'] }, 'git log'],
  [{ cmd: 'ls' }, 'ls'],
  [{ commands: ['a', 'b'] }, 'a b'],
  [{ file_path: 'a.ts', content: 'x' }, 'a.ts'],
  [{ changes: [{ path: 'a' }, null, { path: 'b' }] }, 'a b'],
  [{ changes: { 'x.ts': {} } }, 'x.ts'],
  ['*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** End Patch', 'src/a.ts'],
  [{ other: 1 }, '{"other":1}'],
])('a call with %j is about %j', (input, subject) => expect(callSubject(input)).toBe(subject))

test.each<[object, string]>([
  [{}, ''],
  [{ output: 'a\n' }, 'a'],
  [{ output: 'a', error: 'b' }, 'a\nb'],
  [{ output: 'a b', error: 'b' }, 'a b'],
  [{ error: 'b' }, 'b'],
  [{ output: { stdout: 'o\n', stderr: 'e\n' } }, 'o\ne'],
  [{ output: { stdout: '', stderr: 'e' } }, 'e'],
  [{ output: '{"output":"1 failed\\n","exitCode":3}' }, '1 failed'],
  [{ output: '{"a":1}' }, '{"a":1}'],
  [{ output: '{"a"' }, '{"a"'],
  [{ output: [{ type: 'text', text: 'a' }, 'b'] }, 'a\nb'],
  [{ output: [{ query: 'q', result: 'r', error: 'e' }] }, 'r\ne'],
  [{ output: { content: [{ text: 'boom' }] } }, 'boom'],
  [{ output: { ok: true } }, '{"ok":true}'],
  [{ output: 3 }, '3'],
  [{ output: '\n\n  ✓ one\n  ✕ two\n' }, '  ✓ one\n  ✕ two'],
])('a call that gave %j says %j', (data, text) => expect(callText(data)).toBe(text))

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1400, '1.4 s'],
  [59_960, '1 min 0 s'],
  [65_000, '1 min 5 s'],
  [3_600_000, '1 h 0 min'],
  [7_800_000, '2 h 10 min'],
])('%i milliseconds are %s', (ms, words) => expect(durationWords(ms)).toBe(words))

test('counts have their thing', () => {
  expect([countWords(1, 'file'), countWords(1234567, 'file'), countWords(2, 'retry', 'retries')]).toEqual([
    '1 file',
    '1,234,567 files',
    '2 retries',
  ])
})

test('why() reads the events to their end', async () => {
  const dir = 'fixtures/codex/03b-tool-fail.pipe'
  const found = await why(replay(dir))
  const fold = whyOf()
  for await (const event of replay(dir)) fold.write(event)
  expect(found).toEqual(fold.why())
  expect(found.call?.raw_ref?.stream).toBe('stdout')
})
