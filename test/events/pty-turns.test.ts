import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { describe, expect, test, vi } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { iflow } from '../../src/engines/iflow.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { text } from '../../src/engines/text.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { replay } from '../../src/run/replay.ts'
import { events } from '../../src/streams/events.ts'
import { tap } from '../../src/streams/tap.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { chat, endOf, lines, only, run, texts } from '../engines/run.ts'

const started = { type: 'thread.started', thread_id: 't' }
const begun = { type: 'turn.started' }
const says = (words: string, id = 'item_0') => ({
  type: 'item.completed',
  item: { id, type: 'agent_message', text: words },
})
const ended = { type: 'turn.completed', usage: {} }
const part = (type: string, more: object) => ({
  ...{ type, timestamp: 1, sessionID: 's' },
  part: { id: 'p', messageID: 'm', sessionID: 's', type, ...more },
})
const geminiLine = (type: string, more: object) => ({ type, timestamp: 't', ...more })
const sdk = (type: string, more: object) => ({ type, uuid: `u-${type}`, session_id: 's', ...more })

/** A run of one turn: the record with the message, and those before and after it. */
const turns: Readonly<Record<string, readonly [Engine, object[], (words: string) => object, object[]]>> = {
  codex: [codex, [started, begun], says, [ended]],
  opencode: [
    opencode,
    [part('step_start', {})],
    (words) => part('text', { text: words }),
    [part('step_finish', { reason: 'stop' })],
  ],
  gemini: [
    gemini,
    [geminiLine('init', { session_id: 's', model: 'm' })],
    (words) => geminiLine('message', { role: 'assistant', content: words }),
    [geminiLine('result', { status: 'success', stats: {} })],
  ],
  claude: [
    claude,
    [sdk('system', { subtype: 'init' })],
    (words) => sdk('assistant', { message: { id: 'm', content: [{ type: 'text', text: words }] } }),
    [sdk('result', { subtype: 'success', is_error: false })],
  ],
}

/** The types of the chat, without raw lines and notes. */
const talk = (events: readonly AgentEvent[]) =>
  chat(events)
    .map(({ type }) => type)
    .filter((type) => type.startsWith('assistant.') || type.startsWith('user.') || type.endsWith('completed'))

/** Reads lines as they come, each from its channel. */
function live(engine: Engine, all: readonly (readonly [Channel, object])[]): readonly AgentEvent[] {
  const chunks: Chunk[] = all.map(([channel, record]) => ({
    channel,
    bytes: Buffer.from(lines(record)),
    channels: ['stdout', 'pty'],
  }))
  return drive(eventStage(engine, { clock: () => 0 }), [
    ...chunks,
    { channel: 'exit', code: 0, signal: null },
  ])
}

describe.each(Object.entries(turns))(
  'a message of %s that only the PTY has',
  (_, [engine, before, say, after]) => {
    const whole = (words: string) => [...before, say(words), ...after]
    const inputs = (words: string) => [
      // As two logs are read, and as a terminal that is ahead.
      live(engine, [
        ...before.map((record) => ['stdout', record] as const),
        ...after.map((record) => ['stdout', record] as const),
        ...whole(words).map((record) => ['pty', record] as const),
      ]),
      live(engine, [
        ...whole(words).map((record) => ['pty', record] as const),
        ...[...before, ...after].map((record) => ['stdout', record] as const),
      ]),
    ]

    test('comes before its turn waits for the user', () => {
      for (const events of inputs('Which file?'))
        expect(talk(events)).toEqual(['assistant.message.final', 'user.input.required'])
    })

    test('and has the done marker completes the run, which then waits for nobody', () => {
      for (const events of inputs('{"__SKILL_DONE__": true}')) {
        expect(talk(events)).toEqual(['assistant.message.final', 'conversation.completed'])
        expect(endOf(events).reason_code).toBe('DONE_MARKER')
      }
    })
  },
)

test('the end of a turn is told at the latest when the next one begins', () => {
  const stdout = [started, begun, says('One.'), ended, begun, says('Two.', 'item_1'), ended]
  const events = live(codex, [...stdout.map((record) => ['stdout', record] as const), ['pty', started]])
  expect(talk(events)).toEqual([
    ...['assistant.message.final', 'user.input.required'],
    ...['assistant.message.final', 'user.input.required'],
  ])
})

describe('a record of the PTY with other bytes', () => {
  const stamped = (record: object, timestamp: string) => ({ ...record, timestamp })
  const turned = (record: object) => Object.fromEntries(Object.entries(record).reverse())
  const both = (stdout: object[], pty: object[]) => {
    const mixed: (readonly [Channel, object])[] = []
    for (let nth = 0; nth < stdout.length; nth++)
      mixed.push(['pty', pty[nth]!] as const, ['stdout', stdout[nth]!] as const)
    return [
      run(codex, { stdout: lines(...stdout), pty: lines(...pty), exit: 0 }),
      live(codex, mixed),
      live(codex, [
        ...pty.map((one) => ['pty', one] as const),
        ...stdout.map((one) => ['stdout', one] as const),
      ]),
    ]
  }

  test('is the same if only the order of its keys or its time differs', () => {
    const record = says('Hello')
    for (const [stdout, pty] of [
      [record, turned(record)],
      [record, { type: record.type, item: turned(record.item) }],
      [stamped(record, '2026-01-01T00:00:00Z'), stamped(record, '2026-01-01T00:00:01.5Z')],
      [stamped(record, '2026-01-01T00:00:00Z'), turned(stamped(record, '2026-01-01T00:00:02Z'))],
      [record, stamped(record, '2026-01-01T00:00:00Z')],
    ] as const)
      for (const events of both([started, begun, stdout, ended], [started, begun, pty, ended]))
        expect(texts(events)).toEqual(['Hello'])
  })

  test('is another one if it says something else, or has no id', () => {
    const gem = (timestamp: string, content: string) => ({
      type: 'message',
      timestamp,
      role: 'assistant',
      content,
    })
    const init = geminiLine('init', { session_id: 's', model: 'm' })
    const done = geminiLine('result', { status: 'success', stats: {} })
    const read = (one: object, other: object) =>
      texts(run(gemini, { stdout: lines(init, one, done), pty: lines(init, other, done), exit: 0 })).length
    expect(read(gem('t1', 'ok'), gem('t2', 'ok'))).toBe(2)
    expect(read(gem('t1', 'ok'), turned(gem('t1', 'ok')))).toBe(1)
    const [a, b] = [says('Hello'), says('Hello', 'item_1')]
    for (const events of both([started, begun, a, ended], [started, begun, b, ended]))
      expect(texts(events)).toEqual(['Hello', 'Hello'])
  })

  test('two equal records are two', () => {
    const two = [started, begun, says('ok'), says('ok'), ended]
    const other = [started, begun, turned(says('ok')), turned(says('ok')), ended]
    for (const events of both(two, other)) expect(texts(events)).toEqual(['ok', 'ok'])
  })
})

describe('text that only the PTY has', () => {
  test.each([text, iflow, gemini, claude])('is the answer of $name if stdout is silent', (engine) => {
    const events = run(engine, { stdout: '\n', pty: 'Hello from the terminal.\r\nBye.\r\n', exit: 0 })
    expect(texts(events)).toEqual(['Hello from the terminal.\nBye.'])
    const beside = run(engine, { stdout: 'Hello.\n', pty: 'Hello.\r\nnoise\r\n', exit: 0 })
    expect(texts(beside)).toEqual(['Hello.'])
    expect(only(beside, 'raw.pty').map(({ data }) => data.line)).toEqual(['noise'])
  })
})

describe('the done marker', () => {
  const marker = '{"__SKILL_DONE__": true}'
  const read = (words: string) => run(codex, { stdout: lines(started, begun, says(words), ended), exit: 0 })

  test.each([
    marker,
    `Done. ${marker}`,
    `Done: ${marker}.`,
    `Done (${marker})!\n`,
    `**${marker}**`,
    `\`\`\`json\n${marker}\n\`\`\`\nAnything else?`,
    `<json>${marker}</json> Anything else?`,
    `\`\`\`\n${marker}\n\`\`\``,
  ])('counts: %s', (words) => {
    expect(endOf(read(words)).state).toBe('completed')
  })

  test.each([
    `I will print \`${marker}\`. Which file?`,
    `At the end I write ${marker} and stop.`,
    `${marker} is what I print when I am done.`,
    `<think>I will print ${marker}</think>Which file?`,
  ])('does not count where it is quoted: %s', (words) => {
    const events = read(words)
    expect(endOf(events).state).toBe('awaiting_user_input')
    expect(talk(events)).toEqual(['assistant.message.final', 'user.input.required'])
  })

  test.each([
    '```json\n{"__SKILL_DONE__": true, "a" "b" }}\n```',
    '```json\n{"__SKILL_DONE__": true, "a": \n```',
  ])('does not count in a broken payload, and the reason is told: %s', (words) => {
    const events = read(words)
    expect(endOf(events).state).toBe('awaiting_user_input')
    const notes = only(events, 'diagnostic.parser.warning').map(({ data }) => data.message)
    expect(notes.filter((note) => note.startsWith('the done marker does not count'))).toHaveLength(1)
  })
})

describe('questions of two turns that only the PTY has', () => {
  const stdout = [started, begun, ended, begun, ended]
  const pty = [started, begun, says('Which file?'), ended, begun, says('Sure?', 'item_1'), ended]
  const expected = [
    ...['assistant.message.final', 'user.input.required'],
    ...['assistant.message.final', 'user.input.required'],
  ]

  test.each([
    '',
    'Reading prompt from stdin...\n',
    lines({ level: 'warn' }),
    lines(says('Forged.', 'item_2')),
  ])('come before their turns wait in logs, with %j on stderr', async (stderr) => {
    const dir = mkdtempSync(join(tmpdir(), 'pty-turns-'))
    const logs = { stdout: lines(...stdout), stderr, 'pty-output': stderr + lines(...pty) }
    for (const [name, text] of Object.entries(logs)) writeFileSync(join(dir, `${name}.1.log`), text)
    expect(talk(await replay(dir, { engine: 'codex' }).toArray())).toEqual(expected)
    const sources = { stdout: logs.stdout, stderr, pty: logs['pty-output'] }
    const streams = Object.entries(sources).map(([name, text]) => [name, Readable.from([text])])
    const tapped = tap(Object.fromEntries(streams), { order: 'step' })
    expect(talk(await tapped.pipe(events(codex)).toArray())).toEqual(expected)
  })

  test('come before their turns wait when they are tapped live', async () => {
    const [out, terminal] = [new PassThrough(), new PassThrough()]
    const told: AgentEvent[] = []
    const output = tap({ stdout: out, stderr: Readable.from(['noise\n']), pty: terminal })
    const read = output.pipe(events(codex)).on('data', (event: AgentEvent) => told.push(event))
    const waits = (count: number) =>
      vi.waitFor(() => expect(talk(told)).toEqual(expected.slice(0, count)), { timeout: 5000 })
    for (const from of [0, 3]) {
      for (const record of stdout.slice(from, from === 0 ? 3 : 5)) out.write(lines(record))
      for (const record of from === 0 ? pty.slice(0, 4) : pty.slice(4)) terminal.write(lines(record))
      // Nothing ends: what comes now comes because nothing more was to be read.
      await waits(from === 0 ? 2 : 4)
    }
    out.end()
    terminal.end()
    await finished(read)
  })
})
