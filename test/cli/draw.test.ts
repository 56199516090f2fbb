import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { type Chat, type ChatEnd, chatStage } from '../../src/chat/chat.ts'
import { drawing } from '../../src/cli/draw.ts'
import { safe } from '../../src/cli/safe.ts'
import { fitTo, widthOf } from '../../src/cli/width.ts'
import { claude } from '../../src/engines/claude.ts'
import { codex } from '../../src/engines/codex.ts'
import { isEvent } from '../../src/events/event.ts'
import type { Profile } from '../../src/events/profile.ts'
import { type Input, lines, run } from '../engines/run.ts'

function drawn(profile: Profile, input: Input, { color = false, width = 60 } = {}): string {
  const draw = drawing({ color, width: () => width })
  const events = run(profile, input)
  const ends = events.flatMap((event) => (isEvent(event, 'lifecycle.completion.state') ? [event.data] : []))
  return [...drive(chatStage(), events).map(draw), ...ends.map(draw.end)].join('')
}

const item = (type: string, more: object) => ({
  type: 'item.completed',
  item: { id: 'item_0', type, ...more },
})
const command = { command: 'npm test', aggregated_output: 'one failed\nmore', exit_code: 1, status: 'failed' }

describe('a drawn conversation', () => {
  test('shows messages, thoughts, tools with their outcome, artifacts, and the end with its reason', () => {
    const stdout = lines(
      { type: 'thread.started', thread_id: 'abc' },
      item('reasoning', { text: 'Let me look.' }),
      item('command_execution', command),
      item('agent_message', { text: 'A test fails.\nShall I fix it?' }),
      item('file_change', { changes: [{ path: 'notes.md', kind: 'add' }], status: 'completed' }),
      { type: 'error', message: 'Reconnecting... 1/5' },
      { type: 'turn.completed', usage: {} },
    )
    expect(drawn(codex, { stdout, stderr: 'noise\n', exit: 0 })).toBe(
      [
        '● codex abc',
        'Let me look.',
        '▸ command_execution npm test',
        '✗ command_execution exit 1 one failed',
        'A test fails.',
        'Shall I fix it?',
        '▸ file_change notes.md',
        '✓ file_change',
        '! ENGINE_ERROR: Reconnecting... 1/5',
        '? turn finished, waiting for input',
        '+ notes.md',
        '■ needs_input: turn finished, waiting for input (END_SIGNAL: turn.completed, exit 0, 1 raw line not shown)',
        '',
      ].join('\n'),
    )
  })

  test('shows a message once, though it comes in pieces and again as a whole', () => {
    const sdk = (type: string, more: object) => ({
      type,
      uuid: 'u',
      session_id: 's',
      parent_tool_use_id: null,
      ...more,
    })
    const piece = (text: string) =>
      sdk('stream_event', { event: { type: 'content_block_delta', delta: { type: 'text_delta', text } } })
    const stdout = lines(
      piece('Hel'),
      piece('lo'),
      sdk('assistant', { message: { id: 'm', content: [{ type: 'text', text: 'Hello' }] } }),
    )
    expect(drawn(claude, { stdout, exit: 1 })).toBe(
      '● claude s\nHello\n■ failed: it ended with an error or was cut off (EXIT_CODE, exit 1)\n',
    )
  })

  test('dims thoughts and colours outcomes only where colour is wanted', () => {
    const stdout = lines(item('reasoning', { text: 'Hm.' }))
    expect(drawn(codex, { stdout }, { color: true })).toContain('\u001b[2mHm.\u001b[0m')
    expect(drawn(codex, { stdout })).not.toContain('\u001b')
  })

  test('lets nothing an agent wrote steer the terminal', () => {
    const evil = 'a\u001b[2J\u001b]0;title\u0007b\u009b31m\rc\u202ed\u0000\u2066'
    const stdout = lines(
      { type: 'thread.started', thread_id: evil },
      item('reasoning', { text: evil }),
      item('command_execution', {
        command: evil,
        aggregated_output: evil,
        exit_code: 0,
        status: 'completed',
      }),
      item('agent_message', { text: evil }),
      { type: 'turn.failed', error: { message: evil } },
    )
    expect(drawn(codex, { stdout, exit: 1 }, { width: 200 })).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2066]/,
    )
  })
})

describe('a drawn record', () => {
  const meta = {
    protocol_version: 'fcmp/1.0',
    run_id: 'r',
    seq: 1,
    ts: '',
    engine: 'toy',
    meta: { attempt: 1, local_seq: 1 },
    correlation: {},
  }
  /** What is drawn for these, one after the other. */
  const draw = (...records: [type: string, data: object][]) => {
    const drawn = drawing({ color: false, width: () => 60 })
    // The cast is the door: the test names only what is drawn.
    return records
      .map(([type, data]) =>
        type === 'end' ? drawn.end(data as ChatEnd) : drawn({ ...meta, type, data } as unknown as Chat),
      )
      .join('')
  }
  const piece = (message_id: string, text: string): [string, object] => [
    'assistant.message.delta',
    { message_id, text },
  ]
  const evidence = { failure: null, signal: null, end_signal: null, exit_code: null }

  test('keeps two messages apart that come in pieces', () => {
    expect(draw(piece('a', 'one'), piece('b', 'two\n'), piece('c', 'three'), piece('c', '!'))).toBe(
      'one\ntwo\nthree!',
    )
    const final: [string, object] = ['assistant.message.final', { message_id: 'c', text: 'three!' }]
    expect(draw(piece('c', 'three'), piece('c', '!'), final)).toBe('three!\n')
  })

  test('shows a message again if its pieces were others, and where it was cut', () => {
    const final = (text: string, more = {}): [string, object] => [
      'assistant.message.final',
      { message_id: 'a', text, ...more },
    ]
    expect(draw(piece('a', 'Hel'), final('Help!\n'))).toBe('Hel\nHelp!\n')
    expect(draw(piece('a', 'Hel'), final('Hel', { incomplete: true }))).toBe('Hel\n  (cut off)\n')
    expect(draw(final('Hel', { incomplete: true }))).toBe('Hel\n  (cut off)\n')
  })

  test('says what became of files', () => {
    const files = ['created', 'modified', 'deleted'].map((change): [string, object] => [
      `artifact.${change}`,
      { path: `${change}.txt` },
    ])
    expect(draw(...files)).toBe('+ created.txt\n~ modified.txt\n- deleted.txt\n')
  })

  test('sums a call up by what it is about', () => {
    const call = (input: unknown, more = {}): [string, object] => [
      'assistant.tool_call',
      { phase: 'started', call_id: 'a', name: 't', input, ...more },
    ]
    expect(draw(call(undefined))).toBe('▸ t\n')
    expect(draw(call(null))).toBe('▸ t\n')
    expect(draw(call(7))).toBe('▸ t 7\n')
    expect(draw(call({ url: 'x:/y' }))).toBe('▸ t x:/y\n')
    expect(draw(call({ changes: [{ path: 'a' }, null] }))).toBe('▸ t a undefined\n')
    expect(draw(call({ other: 1 }))).toBe('▸ t {"other":1}\n')
    expect(draw(call({}, { phase: 'completed', output: { ok: true } }))).toBe('✓ t {"ok":true}\n')
    expect(draw(call({}, { phase: 'completed' }))).toBe('✓ t\n')
    expect(draw(call({}, { phase: 'failed', error: 'denied', output: 'no' }))).toBe('✗ t denied\n')
  })

  test.each([
    [
      'end',
      { state: 'completed', evidence: { ...evidence, end_signal: 'stop' } },
      '■ succeeded: the agent said that its work is done (X: stop)\n',
    ],
    [
      'end',
      { state: 'awaiting_user_input', evidence: { ...evidence, exit_code: 1, end_signal: 'stop' } },
      '■ failed: it ended with an error or was cut off (X: stop, exit 1)\n',
    ],
    [
      'end',
      { state: 'interrupted', evidence: { ...evidence, truncated: true } },
      '■ failed: it ended with an error or was cut off (X: output was cut)\n',
    ],
    [
      'end',
      { state: 'interrupted', evidence: { ...evidence, signal: 'SIGINT', stopped: 'interrupted' } },
      '■ cancelled: stopped on request (X: SIGINT)\n',
    ],
    [
      'end',
      { state: 'awaiting_user_input', evidence, result: { status: 'success' } },
      '■ needs_input: turn finished, waiting for input (X, result success)\n',
    ],
    ['end', { state: 'unknown', evidence }, '■ unknown: it ended without saying how (X)\n'],
    ['conversation.failed', { state: 'interrupted', evidence }, ''],
    ['diagnostic.warning', { state: 'unknown', evidence }, ''],
    ['user.input.required', { evidence }, '? turn finished, waiting for input\n'],
    ['diagnostic.warning', { code: 'A', message: 'b', severity: 'fatal' }, '! A: b\n'],
    ['diagnostic.warning', { code: 'A', message: 'b', severity: 'info' }, ''],
  ])('%s %j is %j', (type, data, expected) => {
    expect(draw([type, { reason_code: 'X', ...data }])).toBe(expected)
  })

  test('counts the raw lines that it does not show', () => {
    const raw: [string, object] = ['raw.stderr', { line: 'x' }]
    const end: [string, object] = ['end', { state: 'completed', reason_code: 'X', evidence }]
    expect(draw(raw, ['raw.pty', { line: 'y' }], ['raw.stdout', { line: 'z' }], end)).toBe(
      '■ succeeded: the agent said that its work is done (X, 3 raw lines not shown)\n',
    )
  })
})

test('safe text shows control characters, keeps line ends and spells tabs out', () => {
  expect(safe('a\tb\r\nc\u001bd\u007f')).toBe('a    b\nc␛d\ufffd')
})

test.each([
  ['abc', 3],
  ['你好', 4],
  ['한국', 4],
  ['é', 1],
  ['👩‍👩‍👧‍👦', 2],
  ['🇨🇳', 2],
  ['❤️', 2],
  ['½', 1],
  ['a\u0007b', 2],
  ['a\u200bb', 2],
])('%s is %i columns wide', (text, width) => expect(widthOf(text)).toBe(width))

test.each([
  ['hello', 5, 'hello'],
  ['hello', 4, 'hel…'],
  ['你好世界', 8, '你好世界'],
  ['你好世界', 7, '你好世…'],
  ['你好世界', 6, '你好…'],
  ['👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3, '👩‍👩‍👧‍👦…'],
])('%s in %i columns', (text, columns, expected) => {
  expect(fitTo(text, columns)).toBe(expected)
  expect(widthOf(fitTo(text, columns))).toBeLessThanOrEqual(columns)
})

test('a text without end is not walked whole', () => {
  expect(fitTo('x'.repeat(100_000), 4)).toBe('xxx…')
})
