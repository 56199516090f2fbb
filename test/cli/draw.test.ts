import { describe, expect, test, vi } from 'vitest'
import { Drawing, type DrawOptions } from '../../src/cli/draw/drawing.ts'
import { foldBinary } from '../../src/cli/draw/row-layout.ts'
import { safe } from '../../src/cli/draw/safe.ts'
import { fitTo, widthOf } from '../../src/cli/draw/width.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { type Input, lines, run } from '../engines/run.ts'

function drawn(profile: Engine, input: Input, options: Partial<DrawOptions> = {}): string {
  const draw = new Drawing({ color: false, width: () => 60, ...options })
  return (
    run(profile, input)
      .map((event) => draw.write(event))
      .join('') + draw.end()
  )
}

const item = (type: string, more: object) => ({
  type: 'item.completed',
  item: { id: 'item_0', type, ...more },
})
const command = { command: 'npm test', aggregated_output: 'one failed\nmore', exit_code: 1, status: 'failed' }

describe('a drawn run', () => {
  const stdout = lines(
    { type: 'thread.started', thread_id: 'abc' },
    item('reasoning', { text: 'Let me look.' }),
    item('command_execution', command),
    item('agent_message', { text: 'A **test** fails.\nShall I fix it?' }),
    item('file_change', { changes: [{ path: 'notes.md', kind: 'add' }], status: 'completed' }),
    { type: 'error', message: 'Reconnecting... 1/5' },
    { type: 'turn.completed', usage: { input_tokens: 1200, cached_input_tokens: 1000, output_tokens: 34 } },
  )

  test('has a head, messages, thoughts, tools with their outcome, files, and a summary', () => {
    expect(drawn(codex, { stdout, stderr: 'noise\n', exit: 0 })).toBe(
      [
        '● codex',
        '  session abc',
        '',
        '  Let me look.',
        '',
        '✗ command_execution npm test · exit 1',
        '  │ one failed',
        '  │ more',
        '',
        'A test fails.',
        'Shall I fix it?',
        '',
        '✓ file_change notes.md',
        '↻ Reconnecting... 1/5',
        '+ notes.md',
        '',
        '■ finished: the turn ended well (turn.completed, exit 0)',
        '  2 tools (1 failed) · 1 retry · 1 file',
        '  tokens 1,200 in / 34 out / 1,000 cached',
        '  not shown: 1 raw line (--verbose)',
        '',
      ].join('\n'),
    )
  })

  test('shows codes and raw lines if they are asked for', () => {
    const all = drawn(codex, { stdout, stderr: 'noise\n', exit: 0 }, { verbose: true, width: () => 100 })
    expect(all).toContain('! ENGINE_ERROR: Reconnecting... 1/5\n')
    expect(all).toContain('· noise\n')
    expect(all).toContain('(END_SIGNAL, turn.completed, exit 0)')
    expect(all).not.toContain('not shown')
  })

  test('knows its command, its start and its audit, where it is recorded', () => {
    const about = () => ({
      argv: ['codex', 'exec', "it's"],
      started: '2026-01-02T03:04:05.678Z',
      audit: '.audit/x',
    })
    const all = drawn(codex, { stdout, exit: 0 }, { about })
    expect(all).toContain(
      "● codex\n  started 2026-01-02 03:04:05 UTC · session abc\n  $ codex exec 'it'\\''s'\n",
    )
    expect(all).toMatch(/\n {2}audit: \.audit\/x\n$/)
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
      '● claude\n  session s\n\nHello\n\n■ failed: it exited with code 1\n',
    )
  })

  test('dims thoughts and colours outcomes only where colour is wanted', () => {
    const stdout = lines(item('reasoning', { text: 'Hm.' }))
    expect(drawn(codex, { stdout }, { color: true })).toContain('\u001b[2;3mHm.\u001b[0m')
    expect(drawn(codex, { stdout })).not.toContain('\u001b')
  })

  test('is the same text in colours and without', () => {
    const text = '# A\n\n**b** `c` [d](e)\n\n- f\n\n```js\ng\n```\n\n|h|i|\n|-|-|\n|j|k|\n\n> l'
    const all = lines(item('agent_message', { text }), item('command_execution', command))
    const painted = drawn(codex, { stdout: all, exit: 1 }, { color: true })
    expect(painted.replaceAll(/\u001b\[[\d;]*m/g, '')).toBe(drawn(codex, { stdout: all, exit: 1 }))
  })

  test.each([40, 41, 57, 80, 200])('is never wider than %i columns, but for a path to copy', (width) => {
    const wide = '你好 世界 👩‍👩‍👧‍👦 and words '.repeat(9)
    const all = lines(
      { type: 'thread.started', thread_id: 'x'.repeat(100) },
      item('reasoning', { text: wide }),
      item('command_execution', {
        ...command,
        command: wide,
        aggregated_output: `${wide}\n${'y'.repeat(300)}`,
      }),
      item('agent_message', {
        text: `# ${wide}\n\n- ${wide}\n  - ${wide}\n\n> ${wide}\n\n\`\`\`\n${wide}\n\`\`\`\n\n|a|b|\n|-|-|\n|${wide}|${'z'.repeat(90)}|`,
      }),
      { type: 'turn.failed', error: { message: wide } },
    )
    for (const full of [false, true]) {
      const text = drawn(codex, { stdout: all, exit: 1 }, { width: () => width, full })
      for (const line of text.split('\n')) expect([line, widthOf(line) <= width]).toEqual([line, true])
      expect(text.replaceAll(/\s|│|▌/g, '')).toContain('z'.repeat(90))
    }
  })

  test('lets nothing an agent wrote steer the terminal', () => {
    const evil = 'a\u001b[2J\u001b]0;title\u0007b\u009b31m\rc\u202ed\u0000\u2066'
    const stdout = lines(
      { type: 'thread.started', thread_id: evil },
      item('reasoning', { text: evil }),
      item('command_execution', { command: evil, aggregated_output: evil, exit_code: 2, status: 'failed' }),
      item('agent_message', { text: `${evil}\n\n\`\`\`${evil}\n${evil}\n\`\`\`\n[${evil}](${evil})` }),
      { type: 'turn.failed', error: { message: evil } },
    )
    const about = () => ({ argv: [evil], audit: evil })
    for (const full of [false, true])
      expect(
        drawn(codex, { stdout, stderr: evil, exit: 1 }, { width: () => 200, full, verbose: full, about }),
      ).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2066]/)
  })
})

describe('a drawn event', () => {
  /** What is drawn for these, one after the other, without the head. */
  const draw = (options: Partial<DrawOptions>, ...events: [type: string, data: object, ts?: string][]) => {
    const drawing_ = new Drawing({ color: false, width: () => 60, ...options })
    // The cast is the door: the test names only what is drawn.
    const all = events.map(([type, data, ts = '2026-01-01T00:00:00.000Z']) =>
      drawing_.write({
        type,
        data,
        ts,
        attempt_number: 1,
        seq: 1,
        source: { engine: 'toy' },
        correlation: {},
      } as unknown as AgentEvent),
    )
    return (all.join('') + drawing_.end()).replace(/^● toy\n\n?/, '')
  }
  const piece = (message_id: string, text: string): [string, object] => [
    'agent.message.delta',
    { message_id, text },
  ]
  const evidence = { failure: null, signal: null, end_signal: null, exit_code: null }
  const end = (more: object): [string, object] => [
    'lifecycle.completion.state',
    { reason_code: 'X', state: 'completed', evidence, ...more },
  ]

  test('keeps two messages apart that come in pieces', () => {
    expect(draw({}, piece('a', 'one'), piece('b', 'two\n'), piece('c', 'three'), piece('c', '!'))).toBe(
      'one\n\ntwo\n\nthree!\n',
    )
  })

  test('shows a block as soon as it is complete, and the same however it comes', () => {
    const text = 'One\n\n- a\n\n  b\n\n```\nx\n\ny\n```\n\nlast'
    const draw_ = new Drawing({ color: false, width: () => 60 })
    const write = (text: string) =>
      draw_.write({
        type: 'agent.message.delta',
        data: { message_id: 'm', text },
        source: {},
        correlation: {},
      } as AgentEvent)
    expect([write('One\n'), write('\n'), write('- a')]).toEqual(['● \n', '', ''])
    expect(write('\n\n')).toBe('\nOne\n')
    const whole = draw({}, ['agent.message.final', { message_id: 'a', text }])
    const bytes = draw({}, ...[...text].map((char) => piece('a', char)), [
      'agent.message.final',
      { message_id: 'a', text },
    ])
    expect(bytes).toBe(whole)
  })

  test('shows a message again if its pieces were others, and where it was cut', () => {
    const final = (text: string, more = {}): [string, object] => [
      'agent.message.final',
      { message_id: 'a', text, ...more },
    ]
    expect(draw({}, piece('a', 'Hel'), final('Jump!\n'))).toBe('Hel\n\nJump!\n')
    expect(draw({}, piece('a', 'Hel'), final('Help!\n'))).toBe('Help!\n')
    expect(draw({}, piece('a', 'Hel'), final('Hel', { incomplete: true }))).toBe('Hel\n\n  (cut off)\n')
    expect(draw({}, final('Hel', { incomplete: true }))).toBe('Hel\n\n  (cut off)\n')
  })

  test('says what became of files, with the start of the diff', () => {
    const files = ['created', 'modified', 'deleted'].map((change): [string, object] => [
      `artifact.${change}`,
      { path: `${change}.txt` },
    ])
    expect(draw({}, ...files)).toBe('+ created.txt\n~ modified.txt\n- deleted.txt\n')
    const diff = `--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n${'+2\n'.repeat(12)}`
    const changed: [string, object] = ['artifact.modified', { path: 'x', diff }]
    expect(draw({}, changed)).toBe(
      `~ x (+12 −1)\n  │ @@ -1 +1 @@\n  │ -1\n${'  │ +2\n'.repeat(6)}  │ … 6 more lines (--full)\n`,
    )
    expect(draw({ full: true }, changed)).toContain('  │ +2\n'.repeat(12))
  })

  test('sums a call up in one line, when it is over', () => {
    const call = (input: unknown, more = {}, type = 'completed'): [string, object] => [
      `tool.call.${type}`,
      { call_id: 'a', name: 't', input, ...more },
    ]
    expect(draw({}, call(undefined))).toBe('✓ t\n')
    expect(draw({}, call({ url: 'x:/y' }))).toBe('✓ t x:/y\n')
    expect(draw({}, call({ path: 'p' }, {}, 'started'), call(undefined))).toBe('✓ t p\n')
    expect(draw({}, call({}, { exit_code: 0, duration_ms: 1400, output: 'x' }))).toBe(
      '✓ t {} · exit 0 · 1.4 s\n',
    )
    expect(draw({ full: true }, call({}, { output: { ok: true } }))).toBe('✓ t {}\n  │ {"ok":true}\n')
    expect(draw({}, call({}, { error: 'denied' }, 'failed'))).toBe('✗ t {} · failed\n  │ denied\n')
    expect(draw({}, call({ path: 'p' }, { parent_call_id: 'b' }))).toBe('  ✓ t p\n')
    expect(draw({}, call({ command: 'c '.repeat(60) }, { exit_code: 7 }, 'failed'))).toMatch(
      /^✗ t (c )+… · exit 7\n$/,
    )
  })

  test('takes the time of a call from its events only where those have times', () => {
    const calls: [string, object, string][] = [
      ['tool.call.started', { call_id: 'a', name: 't' }, '2026-01-01T00:00:00.000Z'],
      ['tool.call.completed', { call_id: 'a', name: 't' }, '2026-01-01T00:01:05.000Z'],
    ]
    expect(draw({}, ...calls)).toBe('✓ t\n')
    expect(draw({ timed: true }, ...calls)).toBe('✓ t · 1 min 5 s\n')
  })

  test('shows the end of the output of a failed call, stderr last, and all of it if asked', () => {
    const output = { stdout: Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n'), stderr: 'boom' }
    const failed: [string, object] = ['tool.call.failed', { call_id: 'a', name: 't', output }]
    const few = draw({}, failed)
    expect(few).toMatch(/^✗ t · failed\n {2}│ … 9 more lines \(--full\)\n {2}│ line 9\n/)
    expect(few).toMatch(/ {2}│ line 19\n {2}│ boom\n$/)
    expect(draw({ full: true }, failed)).toContain('│ line 0\n')
  })

  test('says which calls did not finish', () => {
    const started: [string, object] = [
      'tool.call.started',
      { call_id: 'a', name: 't', input: { command: 'sleep' } },
    ]
    expect(draw({}, started, end({}))).toMatch(/^… t sleep · did not finish\n\n■ /)
  })

  test('folds the prompt and thoughts', () => {
    const text = 'a\n\nb\n\nc\n\nd\n\ne'
    expect(draw({}, ['user.message', { text }])).toBe('> a\n  \n  b\n  … 6 more lines (--full)\n')
    expect(draw({ full: true }, ['user.message', { text }])).toContain('  e\n')
    expect(draw({}, ['agent.reasoning.summary', { text }])).toBe(
      '  a\n\n  b\n\n  c\n\n  … 3 more lines (--full)\n',
    )
  })

  test('folds retries into one line and does not repeat an error', () => {
    const retry = (n: number): [string, object] => [
      'diagnostic.engine.error',
      { code: 'A', message: `again ${n}`, severity: 'warning', retryable: true },
    ]
    const error: [string, object] = [
      'diagnostic.engine.error',
      { code: 'A', message: 'gone', severity: 'error' },
    ]
    expect(draw({}, retry(1), retry(2), error, error, end({}))).toMatch(
      /^↻ 2 retries, the last: again 2\n! gone\n\n■ [^\n]+\n {2}2 retries\n$/,
    )
  })

  test('a warning of the engine was counted as a retry', () => {
    const data = { code: 'A', message: 'no metadata for the model', severity: 'warning' }
    expect(draw({}, ['diagnostic.engine.error', data], end({}))).toMatch(
      /^■ [^\n]+\n {2}not shown: 1 warning \(--verbose\)\n$/,
    )
  })

  test('tells the end of a turn only if the run goes on', () => {
    const turn: [string, object] = ['lifecycle.run.status', { status: 'awaiting_user_input' }]
    expect(draw({}, turn, end({}))).not.toContain('?')
    expect(draw({}, turn, ['user.message', { text: 'more' }])).toBe(
      '? turn finished, waiting for input\n\n> more\n',
    )
  })

  test.each([
    [
      { evidence: { ...evidence, end_signal: 'stop' }, reason_code: 'DONE_MARKER' },
      '■ succeeded: the work is done (done marker, stop)\n',
    ],
    [
      { state: 'awaiting_user_input', evidence: { ...evidence, exit_code: 1, end_signal: 'stop' } },
      '■ failed: an error, a cut, or no valid result (stop, exit 1)\n',
    ],
    [
      { state: 'interrupted', evidence: { ...evidence, truncated: true } },
      '■ failed: an error, a cut, or no valid result (output was cut)\n',
    ],
    [
      { state: 'interrupted', evidence: { ...evidence, signal: 'SIGINT', stopped: 'interrupted' } },
      '■ cancelled: stopped on request (SIGINT)\n',
    ],
    [
      { state: 'unknown', reason_code: 'NO_END_SIGNAL' },
      '■ unknown: it ended without saying how (no end signal)\n',
    ],
  ])('%j is %j', (data, expected) => {
    expect(draw({ width: () => 80 }, end(data))).toBe(expected)
  })

  test('the end tells the result of a schema', () => {
    const result: [string, object] = ['lifecycle.run.result', { status: 'success' }]
    expect(draw({ width: () => 80 }, result, end({}))).toBe(
      '■ succeeded: the work is done (result success)\n',
    )
  })

  test('counts the raw lines that it does not show', () => {
    const raw: [string, object] = ['raw.stderr', { line: 'x' }]
    expect(draw({}, raw, ['raw.pty', { line: 'y' }], ['raw.stdout', { line: 'z' }], end({}))).toContain(
      '\n  not shown: 3 raw lines (--verbose)\n',
    )
  })

  test('says what goes on now', () => {
    const draw_ = new Drawing({ color: false, width: () => 60 })
    const write = (type: string, data: object) =>
      draw_.write({
        type,
        data,
        ts: '2026-01-01T00:00:00.000Z',
        source: {},
        correlation: {},
      } as unknown as AgentEvent)
    vi.spyOn(Date, 'now').mockReturnValue(1000)
    const time = 13_000
    expect(draw_.now(time)).toBe('')
    write('tool.call.started', { call_id: 'a', name: 't', input: { command: 'npm test' } })
    expect(draw_.now(time)).toBe('▸ t npm test · 12.0 s')
    write('tool.call.started', { call_id: 'b', name: 'u' })
    expect(draw_.now(time)).toBe('▸ u · 12.0 s · 1 more')
    write('tool.call.completed', { call_id: 'a', name: 't' })
    write('tool.call.completed', { call_id: 'b', name: 'u' })
    expect(draw_.now(time)).toBe('')
    write('lifecycle.run.status', { status: 'awaiting_user_input' })
    expect(draw_.now(time)).toBe('? turn finished, waiting for input')
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

test.each([
  ['text', 'a\u001b[1m\tb\r\nnaïve €', 'a\u001b[1m\tb\r\nnaïve €'],
  ['one broken byte in a line', 'caf\ufffd is a word\nb', 'caf\ufffd is a word\nb'],
  [
    'binary between text',
    'Here:\n\ufffdPNG\u0000\u0001\n\u0002\nx\n\ufffd\ufffd\nDone, see above.',
    'Here:\n… 4 lines of binary (--full)\nDone, see above.',
  ],
  ['binary at the end', 'Here:\n\u0000\u0001', 'Here:\n… 1 line of binary (--full)'],
])('%s is folded as a reader wants', (_, text, shown) => {
  expect(foldBinary(text)).toBe(shown)
})

test('binary lines are drawn with --full', () => {
  const stdout = lines(item('agent_message', { text: '\u0001\u0002\u0003' }))
  expect(drawn(codex, { stdout })).toContain('… 1 line of binary (--full)')
  expect(drawn(codex, { stdout }, { full: true })).toContain('␁␂␃')
})
