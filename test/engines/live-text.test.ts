import { describe, expect, test } from 'vitest'
import { drive, type Sink } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { continueCli } from '../../src/engines/continue.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import { iflow } from '../../src/engines/iflow.ts'
import { nanocoder } from '../../src/engines/nanocoder.ts'
import { qwen } from '../../src/engines/qwen.ts'
import { text } from '../../src/engines/text.ts'
import type { Engine, Picker } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { lines, only, run, texts } from './run.ts'

/** Writes lines one by one, and collects what comes out so far. */
function open(engine: Engine | Picker) {
  const events: AgentEvent[] = []
  const sink: Sink<Chunk> = eventStage(engine, { clock: () => 0 })({
    write: (event) => void events.push(event),
    end() {},
  })
  return {
    write(line: string, channel: Channel = 'stdout') {
      sink.write({ channel, bytes: Buffer.from(line) })
      return deltas(events)
    },
    end() {
      sink.end()
      return events
    },
    events,
  }
}

const deltas = (events: readonly AgentEvent[]) =>
  only(events, 'agent.message.delta').map(({ data }) => data.text)

describe('plain text is live', () => {
  test.each([text, iflow])('a line of $name is a delta as it comes', (engine) => {
    const { write, end } = open(engine)
    expect(write('Hel')).toEqual([])
    expect(write('lo\n')).toEqual(['Hello'])
    expect(write('\n')).toEqual(['Hello'])
    expect(write('Bye.\n')).toEqual(['Hello', '\n\nBye.'])
    expect(texts(end())).toEqual(['Hello\n\nBye.'])
  })

  test.each([gemini, claude, qwen, continueCli, nanocoder])(
    'so are the lines of the text mode of $name, from the second one on: the first may be noise',
    (engine) => {
      const { write, end } = open(engine)
      expect(write('Hello\n')).toEqual([])
      expect(write('there\n')).toEqual(['Hello\nthere'])
      expect(write('Bye.\n')).toEqual(['Hello\nthere', '\nBye.'])
      expect(texts(end())).toEqual(['Hello\nthere\nBye.'])
    },
  )

  test('so is text before an engine is picked, from the second line on', () => {
    const { write, end } = open(auto)
    expect(write('\nHello\n')).toEqual([])
    write('log\n', 'stderr')
    expect(write('there\n')).toEqual(['Hello', '\nthere'])
    expect(write('Bye.\n')).toEqual(['Hello', '\nthere', '\nBye.'])
    const events = end()
    expect(texts(events)).toEqual(['Hello\nthere\nBye.'])
    expect(only(events, 'raw.stderr')).toHaveLength(1)
  })

  test('text before the records of an engine is no message, also if it was shown', () => {
    const { write, end } = open(auto)
    expect(write('> app start\n> codex\n\n')).toEqual(['> app start', '\n> codex'])
    write(lines({ type: 'thread.started', thread_id: 't' }))
    write(lines({ type: 'item.completed', item: { id: 'm', type: 'agent_message', text: 'Hi' } }))
    const events = end()
    expect(texts(events)).toEqual(['Hi'])
    const raw = only(events, 'raw.stdout').map(({ data }) => data.line)
    expect(raw).toEqual(['> app start', '> codex'])
  })

  test('text before an engine is picked is read the same way however it is cut', () => {
    for (const stdout of ['a\n\nb\n{"a":1}\nc\n', 'a\nb\n```json\n{"a":1}\n```\n', 'a\nb\n{"a":\n1}\nc'])
      run(auto, { stdout, stderr: 'log\n', exit: 0 }, { maxFrame: 60 })
    const pty = run(auto, { pty: 'a\r\nb\r\nc\r\n', exit: 0 })
    expect([deltas(pty), texts(pty)]).toEqual([['a', '\nb', '\nc'], ['a\nb\nc']])
  })

  test('the deltas are the message, whatever is in it', () => {
    for (const words of [
      'Hello\n```json\n{"a":1}\n```\nBye.',
      'Hello\n{"a":1}\nBye.',
      'Hello\n{"a":\n1}',
      '[x] done\nBye.',
      '\n\nHello\n\n\n',
      '429 Too Many Requests\nmeans: wait.',
      '<json>\n{"a":1}\n</json>',
    ]) {
      const events = run(text, { stdout: `${words}\n`, exit: 0 })
      const [message = ''] = texts(events)
      expect(message.startsWith(deltas(events).join('')), words).toBe(true)
      expect(message.trim()).toBe(words.trim())
    }
  })

  test('a record among the lines ends it, and what was shown is no message', () => {
    const { write, end } = open(text)
    expect(write('Starting\n')).toEqual(['Starting'])
    expect(write('{"a":1}\n')).toEqual(['Starting'])
    expect(write('{"b":2}\n')).toEqual(['Starting'])
    const events = end()
    expect(texts(events)).toEqual([])
    expect(only(events, 'raw.stdout').map(({ data }) => data.line)).toEqual([
      'Starting',
      '{"a":1}',
      '{"b":2}',
    ])
  })

  test('an error in place of the answer is never shown', () => {
    const { write, end } = open(text)
    expect(write('429 Too Many Requests\n')).toEqual([])
    expect(write('{"error":"slow down"}\n')).toEqual([])
    expect(texts(end())).toEqual([])
  })

  test('what iFlow prints about the session is not shown as its words', () => {
    const { write, end } = open(iflow)
    expect(write('Done.\n')).toEqual(['Done.'])
    expect(write('session-id: session-00000001\n')).toEqual(['Done.'])
    expect(write('<Execution Info>\n{"session-id": "session-00000001"}\n</Execution Info>\n')).toEqual([
      'Done.',
    ])
    expect(texts(end())).toEqual(['Done.\nsession-id: session-00000001'])
  })

  test('the end of iFlow on stderr comes when it is read, after the answer', () => {
    const { write, events } = open(iflow)
    write('Done.\n')
    write('<Execution Info>\n{"session-id": "session-00000001"}\n</Execution Info>\n', 'stderr')
    const told = events.filter(({ type }) => !type.startsWith('raw.') && !type.startsWith('diagnostic.'))
    expect(told.map(({ type, data }) => ('status' in data ? data.status : type))).toEqual([
      ...['agent.message.delta', 'started', 'agent.message.final', 'execution_info', 'awaiting_user_input'],
    ])
  })

  test.each(['stdout', 'stderr'] as const)(
    'the end of a Gemini document on %s comes with its bracket',
    (channel) => {
      const { write, events } = open(gemini)
      const document = JSON.stringify({ session_id: 's', response: 'Hi }', stats: { a: {} } }, null, 2)
      for (const pieces of [document.slice(0, -1), document.slice(-1)]) write(pieces, channel)
      expect(texts(events)).toEqual(['Hi }'])
      expect(only(events, 'lifecycle.run.status').at(-1)?.data.status).toBe('awaiting_user_input')
      const one = open(gemini)
      for (const byte of JSON.stringify(JSON.parse(document))) one.write(byte, channel)
      expect(texts(one.events)).toEqual(['Hi }'])
    },
  )

  test('a document and what follows it are the same however they are cut', () => {
    const document = JSON.stringify({ session_id: 's', response: 'Hi', stats: {} })
    for (const rest of ['', '\n', '\r\n', ' \n\n', ' bye\n', 'bye', '\nbye\n', `\n${document}\n`, document])
      for (const stdout of [document + rest, JSON.stringify(JSON.parse(document), null, 2) + rest])
        run(gemini, { stdout, stderr: 'log\n', exit: 0 })
  })
})

test('the stage is made once for each run', () => {
  const stage = eventStage(text, { clock: () => 0 })
  const once = () => texts(drive(stage, [{ channel: 'stdout', bytes: Buffer.from('Hi\n') }]))
  expect([once(), once()]).toEqual([['Hi'], ['Hi']])
})
