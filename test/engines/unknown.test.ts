import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { cursor } from '../../src/engines/cursor.ts'
import { droid } from '../../src/engines/droid.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { text } from '../../src/engines/text.ts'
import type { Engine } from '../../src/events/engine.ts'
import { type AgentEvent, isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { outcomeOf } from '../../src/events/run-outcome.ts'
import { inside } from '../cli/inside.ts'
import { runs, some } from '../pace.ts'
import { eventsOf, fixtures } from './fixture.ts'
import { codesOf, endOf, lines, only, run, texts } from './run.ts'
import { strangerLogs } from './stranger-logs.ts'

/** Engines whose answer may be any text, so that one line of a record may be it. */
const TEXT = ['text', 'iflow']
/**
 * Engines that write alike. Copilot's session file has stdout's records, and that of pi has its first line.
 */
const dialects: Record<string, string> = {
  ...{ qwen: 'claude', amp: 'claude', kilo: 'opencode' },
  ...{ 'copilot-session': 'copilot', 'pi-session': 'pi' },
}
const dialectOf = (name: string) => dialects[name] ?? name
const schema = { type: 'object' }

const isRecordLine = (line: string) => /^\{.*\}\r?$/.test(line)

/** Nothing was understood, and nothing is claimed. */
function expectUnknown(events: readonly AgentEvent[], which?: string): void {
  const picked = (event: AgentEvent) =>
    event.type === 'lifecycle.run.status' && event.data.status === 'engine_picked'
  const others = events.filter((event) => !picked(event))
  const told = new Set(others.map(({ type }) => type.replace(/\.(stdout|pty|stderr)$/, '')))
  for (const type of ['raw', 'diagnostic.parser.warning', 'diagnostic.engine.error', 'lifecycle.run.result'])
    told.delete(type as AgentEvent['type'])
  // A line of text is shown as it comes, until a record shows that it was no answer.
  for (const { data } of only(events, 'agent.message.delta')) expect(data.text, which).not.toContain('{"')
  told.delete('agent.message.delta')
  expect([...told], which).toEqual(['lifecycle.completion.state'])
  expect(
    events.every(({ correlation }) => correlation.session_id === undefined),
    which,
  ).toBe(true)
  expect(endOf(events).state, which).toBe('unknown')
  for (const { data } of only(events, 'lifecycle.run.result')) expect(data.status, which).toBe('failed')
}

describe('the records of one engine, read with the eyes of another dialect', () => {
  const recorded = fixtures().flatMap((fixture) => {
    const logs = fixture.logs.filter(({ bytes, channel }) => {
      const own = Buffer.from(bytes).toString().split('\n').filter(isRecordLine)
      return channel !== 'stderr' && channel !== 'stdin' && own.length > 1
    })
    return TEXT.includes(fixture.engine) || logs.length === 0 ? [] : [{ ...fixture, logs, fsDiff: undefined }]
  })
  const names = [...new Set(recorded.map(({ engine }) => engine))]
  const sample = names.flatMap((name) => some(recorded.filter(({ engine }) => engine === name)))
  const readers = Object.entries<Engine>(engines).filter(([reader]) => !TEXT.includes(reader))

  test.each(readers)('are raw for %s', (reader, profile) => {
    // A session file is a file: its reader does not look at a terminal.
    for (const fixture of sample.filter(({ engine }) => dialectOf(engine) !== dialectOf(reader)))
      for (const log of fixture.logs.filter(({ channel }) => profile.cut[channel])) {
        const events = eventsOf(fixture, [log, { channel: 'exit', code: 0, signal: null }], profile)
        const which = `${log.channel} of ${fixture.engine}/${fixture.name}`
        expectUnknown(events, which)
        expect(
          codesOf(events).filter((code) => code === 'ENGINE_UNKNOWN'),
          which,
        ).toHaveLength(1)
      }
  })

  test('have the shape of their own engine, and of none of another dialect', () => {
    const shaped = readers.filter(([, { shape }]) => shape)
    const taken: string[] = []
    const own = new Set<string>()
    for (const { engine, path, logs } of recorded) {
      for (const text of Buffer.from(logs[0]!.bytes).toString().split('\n').filter(isRecordLine)) {
        // A shape looks at nothing else of a frame.
        const frame = { channel: 'stdout', kind: 'line', text, value: JSON.parse(text) } as never
        for (const [reader, { shape }] of shaped) {
          if (!shape!(frame)) continue
          if (reader === engine) own.add(engine)
          else if (dialectOf(reader) !== dialectOf(engine))
            taken.push(`${reader} takes ${text.slice(0, 99)} of ${path}`)
        }
      }
    }
    expect(taken).toEqual([])
    // These write one document.
    const documents = ['cline-session', 'continue', 'nanocoder']
    expect(shaped.map(([name]) => name).filter((name) => !own.has(name))).toEqual(documents)
  })
})

describe('records of no known shape', () => {
  const strangers = lines(
    { kind: 'begin', id: 0, result: { protocol: 1, secret: 'hunter2' } },
    { kind: 'update', params: { update: { text: '<json>{"__SKILL_DONE__":true}</json>' } } },
    { kind: 'end', id: 1, result: { stopReason: 'end_turn' } },
  )

  test.each([auto, text, claude, gemini].map((engine) => [engine.name, engine] as const))(
    '%s takes the first record, cut off, for no answer',
    (_, engine) => {
      for (const stdout of [
        '{"type":"init","timestamp":"2026-1',
        '[{"type":"system","sub',
        '{"jsonrpc":"2.0","id',
      ])
        expect(texts(run(engine, { stdout, exit: 0 }))).toEqual([])
      expect(texts(run(engine, { stdout: '{"answer": 4', exit: 0 }))).toEqual(['{"answer": 4'])
    },
  )

  test.each([auto, text, claude, gemini, codex, opencode].map((engine) => [engine.name, engine] as const))(
    'are raw for %s, with one warning that shows their keys',
    (_, engine) => {
      const events = run(engine, { stdout: strangers, exit: 0 }, { schema })
      expectUnknown(events)
      const [warning, ...more] = only(events, 'diagnostic.parser.warning').filter(
        ({ data }) => data.code === 'ENGINE_UNKNOWN',
      )
      expect(more).toEqual([])
      expect(warning!.data.message).toContain('{kind, id, result{protocol, secret}}')
      expect(JSON.stringify(warning)).not.toContain('hunter2')
      expect(only(events, 'raw.stdout')).toHaveLength(3)
    },
  )

  test('are told though a prompt was sent on stdin', () => {
    const events = drive(eventStage(gemini, {}), [
      { channel: 'stdin', bytes: Buffer.from('Go.\n') },
      { channel: 'stdout', bytes: Buffer.from(strangers) },
      { channel: 'exit', code: 0, signal: null },
    ])
    expect(only(events, 'user.message')).toHaveLength(1)
    expect(codesOf(events)).toContain('ENGINE_UNKNOWN')
  })

  test.each(['pty', 'stdout'] as const)('are raw between lines of a log, on %s', (channel) => {
    const log = `Starting up\n${strangers.replaceAll('\n', '\nsome log line\n')}Bye\n`
    for (const engine of [auto, text, claude, gemini]) expectUnknown(run(engine, { [channel]: log, exit: 0 }))
  })

  test('are raw where a terminal has wrapped them, or where they are pretty', () => {
    const wrapped = strangers.split('\n').flatMap((line) => line.match(/.{1,40}/g) ?? [])
    const pretty = strangers
      .trim()
      .split('\n')
      .map((line) => JSON.stringify(JSON.parse(line), null, 2))
    for (const engine of [auto, text, claude, gemini]) {
      expectUnknown(run(engine, { pty: `${wrapped.join('\n')}\n`, exit: 0 }))
      expectUnknown(run(engine, { stdout: `${pretty.join('\n')}\n`, exit: 0 }))
    }
  })

  test('end with exit code 4', async () => {
    const { code } = await inside(['events', '--exit', '0'], { stdin: strangers })
    expect(code).toBe(4)
  })

  test('show no key that is no plain name', () => {
    const key = 'a\u001b[31m secret'
    const events = run(auto, { stdout: lines({ [key]: 1 }, { [key]: 2 }), exit: 0 })
    const warning = only(events, 'diagnostic.parser.warning').find(
      ({ data }) => data.code === 'ENGINE_UNKNOWN',
    )
    expect(warning!.data.message).toContain('{…}')
  })
})

describe('what is no record', () => {
  const says = (stdout: string) => {
    for (const engine of [auto, text, claude, gemini])
      expect([engine.name, texts(run(engine, { stdout, exit: 0 }))]).toEqual([
        engine.name,
        [stdout.trimEnd()],
      ])
  }

  test('plain text stays plain text', () => says('Hello.\n\nSecond line [1].\n[1]\n[2]\n'))
  test('one document alone is an answer', () => {
    says('{"a":1}\n')
    says('Here it is:\n{"a":1}\n')
    says('{\n  "a": 1\n}\n')
  })
  test('records in a fence or a tag are quoted', () => {
    says('Two records:\n```json\n{"a":1}\n{"b":2}\n```\nThat is all.\n')
    says('<json>\n{"a":1}\n</json>\nor better <json>\n{"a":2}\n</json>\n')
  })
  test('sentences that begin with JSON are sentences', () =>
    says('{"a":1} is the first\n{"b":2} is the second\n'))
})

/** Words that the dialects use, without what is a dialect's own. */
const value = fc.oneof(
  fc.string(),
  fc.constantFrom('result', 'success', 'assistant', 'message', 'system', 'init', 'error', 'item', 'user'),
  fc.integer(),
  fc.boolean(),
  fc.constant({ type: 'text', text: '{"ok":true}' }),
  fc.constant({ content: [{ type: 'text', text: '{"ok":true}' }] }),
)
const word = fc.constantFrom(
  ...['type', 'subtype', 'timestamp', 'session_id', 'sessionId', 'result', 'message', 'text', 'role'],
  ...['data', 'id', 'is_error', 'method', 'params', 'jsonrpc', 'level', 'msg', 'time', 'event', 'error'],
)

test('random records never end well', () => {
  const record = fc.oneof(fc.dictionary(word, value, { maxKeys: 8 }), fc.object())
  fc.assert(
    fc.property(fc.array(record, { minLength: 2, maxLength: 8 }), (records) => {
      const stdout = records.map((one) => `${JSON.stringify(one)}\n`).join('')
      for (const engine of [claude, gemini, auto]) {
        const events = run(engine, { stdout, exit: 0 }, { schema })
        expect(['unknown', 'failed']).toContain(outcomeOf(endOf(events)))
        for (const event of events)
          if (isEvent(event, 'lifecycle.run.result')) expect(event.data.status).toBe('failed')
      }
    }),
    { numRuns: runs(100) },
  )
})

const readers = [...Object.entries(engines), ['auto', auto] as const].filter(
  ([name]) => !name.endsWith('-session'),
)

test.each(Object.entries(strangerLogs))(
  'the log of another program never ends well, whichever engine reads it, and is no result: %s',
  (_, log) => {
    fc.assert(
      fc.property(
        log,
        fc.constantFrom(...readers),
        fc.constantFrom('stdout', 'pty'),
        (text, [, engine], channel) => {
          const bytes = Buffer.from(channel === 'pty' ? text.replace(/\r?\n/g, '\r\n') : text)
          const chunks = [{ channel, bytes } as const, { channel: 'exit', code: 0, signal: null } as const]
          const events = drive(eventStage(engine, { schema, clock: () => 0 }), chunks)
          expect(['unknown', 'failed']).toContain(outcomeOf(endOf(events)))
          for (const { data } of only(events, 'lifecycle.run.result')) expect(data.status).toBe('failed')
          expect(texts(events)).toEqual([])
        },
      ),
      { numRuns: runs(60) },
    )
  },
)

test('a record behind a time is one, also where an engine looks for its document there', () => {
  const stdout = ['{"stats":"a"}', '{"a":1}'].map((one) => `2026-11-15T00:00:00.000Z ${one}\n`).join('')
  for (const engine of [gemini, auto, text]) expectUnknown(run(engine, { stdout, exit: 0 }, { schema }))
})

test('one line with a record behind a time or a mark is still text', () => {
  for (const line of ['data: {"a":1}', '2026-11-15T00:00:00.000Z {"a":1}', 'web-1 | {"a":1}'])
    expect(texts(run(text, { stdout: `${line}\n`, exit: 0 }))).toEqual([line])
})

test('lines that another engine writes behind those of a run are none of its words', () => {
  const session_id = 's'
  const said = (words: string, more: object) => ({
    type: 'assistant',
    message: { role: 'assistant', content: [{ type: 'text', text: words }], ...more },
    session_id,
  })
  const ofClaude = { ...said('Claude', { id: 'm' }), uuid: 'u', parent_tool_use_id: null }
  const ofCursor = [
    { type: 'thinking', subtype: 'completed', session_id, timestamp_ms: 1 },
    said('Cursor', {}),
    { type: 'result', subtype: 'success', is_error: false, result: 'Cursor', session_id, request_id: 'r' },
  ]
  const ofDroid = { type: 'message', role: 'assistant', id: 'm', text: 'Droid', session_id, timestamp: 1 }
  const ofGemini = {
    type: 'message',
    timestamp: '2026-11-15T00:00:00.000Z',
    role: 'assistant',
    content: 'Gemini',
    delta: true,
  }
  expect(texts(run(claude, { stdout: lines(ofClaude, ...ofCursor), exit: 0 }))).toEqual(['Claude'])
  expect(texts(run(cursor, { stdout: lines(...ofCursor, ofClaude), exit: 0 }))).toEqual(['Cursor'])
  expect(texts(run(droid, { stdout: lines(ofDroid, ofGemini), exit: 0 }))).toEqual(['Droid'])
})

test('records that only look like an end are none', () => {
  const none = {
    codex: [
      { type: 'turn.started', player: 1 },
      { type: 'turn.completed', player: 1 },
    ],
    copilot: [{ type: 'result', sessionId: 's', exitCode: 0 }, { level: 30 }],
    continue: [1, 2].map(() => ({ response: '{"ok":true}', status: 'success', note: 'fine' })),
    gemini: [1, 2].map(() => ({ session_id: 's', prompt: 'hi', response: '{"ok":true}' })),
    pi: [{ type: 'message_start', message: { role: 'assistant', model: 'm' } }, { type: 'agent_start' }],
    acp: [
      { jsonrpc: '2.0', id: 1, result: { sessionId: 's' } },
      { jsonrpc: '2.0', method: 'tools/list' },
    ],
  }
  // By its name, an engine reads these; a picker does not know whose they are.
  const lenient = ['copilot', 'pi']
  for (const [name, records] of Object.entries(none))
    for (const engine of lenient.includes(name) ? [auto] : [engines[name as keyof typeof none], auto])
      expectUnknown(run(engine, { stdout: lines(...records), exit: 0 }, { schema }))
})

describe('a shape of its own', () => {
  const picks = (...records: object[]) =>
    run(auto, { stdout: lines(...records), exit: 0 }).at(-1)!.source.engine
  const time = '2026-11-15T00:00:00.000Z'

  test('is none of Copilot’s result, Cursor’s and Droid’s start, or log lines', () => {
    const cursor = [
      {
        type: 'system',
        subtype: 'init',
        apiKeySource: 'login',
        cwd: '/w',
        session_id: 's',
        model: 'm',
        permissionMode: 'default',
      },
      {
        type: 'assistant',
        message: { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
        session_id: 's',
      },
      {
        type: 'result',
        subtype: 'success',
        is_error: false,
        duration_ms: 1,
        result: 'Hi',
        session_id: 's',
        request_id: 'r',
      },
    ]
    const droid = [
      { type: 'system', subtype: 'init', session_id: 's', cwd: '/w', tools: [], model: 'm' },
      { type: 'message', role: 'assistant', id: 'm', text: 'Hi', session_id: 's', timestamp: 1 },
      { type: 'completion', finalText: 'Hi', numTurns: 1, durationMs: 1, session_id: 's' },
    ]
    const logs = [
      { type: 'result', timestamp: time, sessionId: 's', exitCode: 0, usage: {} },
      { type: 'message', timestamp: time, message: 'started' },
      { type: 'error', timestamp: time, message: 'late' },
    ]
    for (const records of [cursor, droid, logs])
      for (const engine of [claude, gemini, codex, opencode]) {
        // Claude Code, by its name, may begin like Droid: then the session is told, and nothing else.
        if (records === droid && engine === claude) continue
        expectUnknown(run(engine, { stdout: lines(...records), exit: 0 }))
      }
    const begun = run(claude, { stdout: lines(...droid), exit: 0 })
    expect(texts(begun)).toEqual([])
    expect(endOf(begun).outcome).toBe('unknown')
  })

  test('that is weak gives way to a surer one, and what came first comes out first', () => {
    const weak = { type: 'message', timestamp: time, role: 'user', content: 'hi' }
    const sure = [
      { type: 'thread.started', thread_id: 't' },
      { type: 'turn.completed', usage: {} },
    ]
    const events = run(auto, { stdout: lines(weak, ...sure), exit: 0 })
    expect(events.at(-1)!.source.engine).toBe('codex')
    expect(endOf(events).state).toBe('awaiting_user_input')
    const placed = events.flatMap(({ raw_ref }) => raw_ref?.byte_from ?? [])
    expect(placed).toEqual([...placed].sort((a, b) => a - b))
    expect(picks(weak, { type: 'message', timestamp: time, role: 'assistant', content: 'ho' })).toBe('gemini')
  })
})
