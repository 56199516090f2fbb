import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { eventsOf, fixtures, inPieces } from '../engines/fixture.ts'
import { chat, codesOf, lines, only, run, texts } from '../engines/run.ts'

const all = fixtures()
const named = (engine: string, name: string) => {
  const fixture = all.find((one) => one.engine === engine && one.name === name)
  if (!fixture) throw new Error(`no fixture ${engine}/${name}`)
  return eventsOf(fixture, inPieces(fixture))
}
const typesOf = (engine: string, name: string) => chat(named(engine, name)).map(({ type }) => type)

describe('every conversation', () => {
  test('starts with the session_id of its run, once, if it has one', () => {
    const runs = [
      ['codex', '02-reasoning.pipe'],
      ['opencode', '13-empty.pipe'],
      ['gemini', 'plain.json-pipe'],
      ['gemini', 'fail_400.json-pipe'],
      ['gemini', 'plain.stream-json-pipe'],
      ['qwen', 'plain.json-pipe'],
      ['claude', 'stream-json.plain'],
      ['iflow', 'reconstructed_resume.pipe'],
    ] as const
    for (const [engine, name] of runs) {
      const started = chat(named(engine, name)).filter(({ type }) => type === 'conversation.started')
      expect(started, `${engine}/${name}`).toHaveLength(1)
      expect(started[0]!.correlation.session_id).toBe((started[0]!.data as { session_id: string }).session_id)
    }
  })

  test('has final messages, with every engine', () => {
    for (const engine of Object.keys(engines)) {
      const found = all.some((one) => one.engine === engine && texts(eventsOf(one, inPieces(one))).length > 0)
      expect(found, engine).toBe(true)
    }
  })

  test('says user.input.required once, if the agent waits for input', () => {
    for (const [engine, name] of [
      ['codex', '02-reasoning.pipe'],
      ['opencode', '02-reasoning.pipe'],
      ['gemini', 'plain.json-pipe'],
      ['iflow', 'awaiting.pipe'],
    ] as const) {
      const types = typesOf(engine, name)
      expect(
        types.filter((type) => type === 'user.input.required'),
        engine,
      ).toHaveLength(1)
    }
  })

  test('ends with conversation.completed or conversation.failed, and then conversation.ended', () => {
    for (const [engine, name] of [
      ['codex', '06a-skill-done.pipe'],
      ['opencode', '06a-skill-done.pipe'],
      ['iflow', 'reconstructed_success.pipe'],
      ['claude', 'stream-json.thinking-and-marker'],
    ] as const) {
      expect(typesOf(engine, name).slice(-2), engine).toEqual([
        'conversation.completed',
        'conversation.ended',
      ])
    }
    for (const [engine, name] of [
      ['codex', '08a-http-429.pipe'],
      ['opencode', '11a-sigint.pipe'],
      ['gemini', 'fail_400.json-pipe'],
      ['qwen', 'fail_400.json-pipe'],
      ['iflow', 'thrown-error.pipe'],
    ] as const) {
      expect(typesOf(engine, name).slice(-2), engine).toEqual(['conversation.failed', 'conversation.ended'])
    }
  })

  test('gives the bytes of an unreadable log back in raw events', () => {
    const stdout = 'not json\r\n{"broken": \n\n\u0000\u0001 \u001b[31mred\u001b[0m\n[1, 2\nlast'
    const bytes = Buffer.from(stdout)
    const raws = only(run(codex, { stdout, exit: 0 }), 'raw.stdout')
    const pieces = raws.map(({ raw_ref }) => bytes.subarray(raw_ref!.byte_from, raw_ref!.byte_to))
    expect(Buffer.concat(pieces).toString()).toBe(stdout)
  })
})

describe('what is not understood is raw, with a warning', () => {
  test('a guess has a warning with its confidence, each time', () => {
    const events = run(engines.text, { stdout: 'Hello.\n', exit: 0 })
    expect(only(events, 'agent.message.final')[0]!.source.confidence).toBe(0.6)
    const [warning] = only(events, 'diagnostic.parser.warning')
    expect(warning!.data).toMatchObject({ code: 'LOW_CONFIDENCE_PARSE', confidence: 0.6 })
    expect(only(events, 'raw.stdout')[0]!.data.line).toBe('Hello.')
  })

  test('unknown types and fields are kept as raw, with a warning, and counted', () => {
    const stdout = lines(
      { type: 'thread.started', thread_id: 't', mood: 'calm' },
      { type: 'brand.new', x: 1 },
      { type: 'brand.new', x: 2 },
      { type: 'item.completed', item: { id: 'item_0', type: 'hologram' } },
    )
    const events = run(codex, { stdout, exit: 0 })
    expect(only(events, 'raw.stdout').map(({ data }) => JSON.parse(data.line).type)).toEqual([
      'thread.started',
      'brand.new',
      'brand.new',
      'item.completed',
    ])
    expect(codesOf(events)).toEqual(['UNKNOWN_FIELD', 'UNKNOWN_TYPE', 'UNKNOWN_TYPE', 'DRIFT_REPORT'])
    expect(only(events, 'diagnostic.parser.warning').at(-1)!.data.drift).toEqual({
      types: { 'brand.new': 2, 'item hologram': 1 },
      fields: { mood: 1 },
    })
  })

  test('names that reach for a prototype are counted like any other', () => {
    const events = run(codex, {
      stdout:
        '{"type":"thread.started","thread_id":"t"}\n{"type":"turn.started","__proto__":1,"constructor":2}\n{"type":"__proto__"}\n',
    })
    expect(only(events, 'diagnostic.parser.warning').at(-1)!.data.drift).toEqual({
      types: JSON.parse('{"__proto__":1}'),
      fields: JSON.parse('{"__proto__":1,"constructor":1}'),
    })
    expect(({} as Record<string, unknown>)['constructor']).toBe(Object)
  })

  test('a line that outgrows the limit is raw in pieces, and the next record is read', () => {
    const stdout = `${JSON.stringify({ type: 'turn.started', pad: 'x'.repeat(5000) })}\n${lines({ type: 'turn.completed', usage: {} })}`
    const events = run(codex, { stdout, exit: 0 }, { maxFrame: 1000 })
    expect(codesOf(events)).toContain('FRAME_TOO_LONG')
    expect(only(events, 'lifecycle.run.status').map(({ data }) => data.status)).toEqual([
      'turn_completed',
      'awaiting_user_input',
    ])
    expect(only(events, 'raw.stdout').at(-1)!.raw_ref!.byte_to).toBe(stdout.indexOf('\n') + 1)
  })
})
