import { describe, expect, test } from 'vitest'
import { claude } from '../../src/engines/claude/claude.ts'
import { iflow } from '../../src/engines/iflow.ts'
import { text } from '../../src/engines/text.ts'
import { codesOf, lines, only, run, texts } from '../engines/run.ts'

const piece = (text: string, parent: string | null) => ({
  type: 'stream_event',
  session_id: 's',
  parent_tool_use_id: parent,
  event: { type: 'content_block_delta', delta: { type: 'text_delta', text } },
})
const stop = (parent: string | null) => ({
  type: 'stream_event',
  session_id: 's',
  parent_tool_use_id: parent,
  event: { type: 'message_stop' },
})
const finals = (events: ReturnType<typeof run>) => only(events, 'agent.message.final')

describe('text that outgrows maxFrame', () => {
  test.each([text, iflow, claude])('comes in pieces from $name, and nothing is lost', (profile) => {
    const stdout = Array.from({ length: 100 }, (_, n) => `${String(n).padStart(99, 'x')}\n`).join('')
    const events = run(profile, { stdout, exit: 0 }, { maxFrame: 1000 })
    for (const text of texts(events)) expect(text.length).toBeLessThanOrEqual(1000)
    expect(`${texts(events).join('\n')}\n`).toBe(stdout)
    expect(finals(events).map(({ data }) => data.incomplete)).toEqual([...Array(11).fill(true), undefined])
    expect(codesOf(events).filter((code) => code === 'FRAME_TOO_LONG')).toHaveLength(1)
  })

  test('counts the blank lines between', () => {
    const stdout = `a${'\n'.repeat(30)}b${'\n'.repeat(30)}c\n`
    const events = run(text, { stdout, exit: 0 }, { maxFrame: 60 })
    expect(texts(events).map((text) => text.replaceAll('\n', ''))).toEqual(['ab', 'c'])
  })
})

describe('messages that are open at once', () => {
  test('hold maxFrame together: the oldest are closed as they are', () => {
    const count = 100
    const records = Array.from({ length: count }, (_, n) => piece('x'.repeat(8000), `p${n}`))
    const events = run(claude, { stdout: lines(...records), exit: 0 }, { maxFrame: 16_384 })
    expect(texts(events).map((text) => text.length)).toEqual(Array(count).fill(8000))
    let held = 0
    for (const { event, data } of only(events, 'agent.message.delta', 'agent.message.final')) {
      if (event.type === 'agent.message.delta') expect(held).toBeLessThanOrEqual(16_384)
      held += event.type === 'agent.message.delta' ? data.text.length : -data.text.length
    }
    expect(finals(events).every(({ data }) => data.incomplete)).toBe(true)
    expect(only(events, 'diagnostic.parser.warning').map(({ data }) => [data.code, data.count])).toEqual([
      ['FRAME_TOO_LONG', undefined],
      ['FRAME_TOO_LONG', 98],
    ])
  })

  test('a message goes on after it was closed', () => {
    const records = [piece('a'.repeat(600), null), piece('b'.repeat(600), 'p'), piece('c', null), stop(null)]
    const events = run(claude, { stdout: lines(...records), exit: 0 }, { maxFrame: 1000 })
    expect(texts(events).map((text) => [text[0], text.length])).toEqual([
      ['a', 600],
      ['c', 1],
      ['b', 600],
    ])
  })

  test('one that outgrows maxFrame alone is cut, between characters, and says so', () => {
    const records = [
      piece('a', null),
      ...Array.from({ length: 3 }, () => piece('😀'.repeat(200), null)),
      stop(null),
    ]
    const events = run(claude, { stdout: lines(...records), exit: 0 }, { maxFrame: 1000 })
    const [{ data }] = finals(events) as [ReturnType<typeof finals>[0]]
    expect(data).toMatchObject({ incomplete: true })
    expect(data.text).toBe(`a${'😀'.repeat((data.text.length - 1) / 2)}`)
    expect(data.text.length).toBeGreaterThan(900)
    expect(data.text.length).toBeLessThanOrEqual(1000)
    expect(only(events, 'agent.message.delta')).toHaveLength(4)
    expect(codesOf(events)).toEqual(['FRAME_TOO_LONG'])
  })
})
