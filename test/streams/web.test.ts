import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { describe, expect, test, vi } from 'vitest'
import { Bytes } from '../../src/base/platform.ts'
import { wholeIntake } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { agUi, aiSdk, chat, events, frames, values, webFlow } from '../../src/streams/web.ts'
import { asLines, chatOf, eventsOf, fixtures, inPieces } from '../engines/fixture.ts'
import { slow } from '../pace.ts'
import { chosen } from '../views/chosen-runs.ts'

// Everything that is tested here runs on the Web's version of the platform.
vi.mock('../../src/base/platform.ts', () => import('../../src/base/platform-web.ts'))

async function all<T>(stream: ReadableStream<T>): Promise<T[]> {
  const items: T[] = []
  const reader = stream.getReader()
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read())
    items.push(value!)
  return items
}

const bodyOf = (text: string) => new Response(text).body!

test('the platform under test is that of the Web', () => {
  expect(Bytes.from('a')).not.toBeInstanceOf(Buffer)
})

test.each(fixtures().filter(({ engine, name }) => `${engine}/${name}` in chosen))(
  '$engine/$name gives the same events and conversation as in Node',
  (fixture) => {
    const found = eventsOf(fixture, inPieces(fixture))
    expect(asLines(found)).toBe(readFileSync(join(fixture.path, 'events.jsonl'), 'utf8'))
    expect(asLines(chatOf(found))).toBe(readFileSync(join(fixture.path, 'chat.jsonl'), 'utf8'))
  },
)

describe('a door of Web Streams', () => {
  test('values() of a response', async () => {
    const outcomes = await all(bodyOf('{"a":1}\n{"a":"é"}\n{"a":').pipeThrough(values({ lines: true })))
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.fault.code))).toEqual([
      { a: 1 },
      { a: 'é' },
      'TRUNCATED',
    ])
  })

  test('frames() tile the bytes', async () => {
    const found = await all(bodyOf('Hi\n<json>{"a":1}</json>').pipeThrough(frames()))
    expect(found.map(({ from, to }) => [from, to])).toEqual([
      [0, 3],
      [3, 23],
    ])
  })

  test('agUi() and aiSdk() behind events(), as their clients take them', async () => {
    const log =
      '{"type":"thread.started","thread_id":"t"}\n' +
      '{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"Fixed."}}\n' +
      '{"type":"turn.completed","usage":{}}\n'
    const shown = await all(
      bodyOf(log)
        .pipeThrough(events(codex))
        .pipeThrough(agUi({ raw: false })),
    )
    expect(shown.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['RUN_STARTED', 'TEXT_MESSAGE_CONTENT', 'RUN_FINISHED']),
    )
    const stream = bodyOf(log).pipeThrough(events(codex)).pipeThrough(aiSdk())
    let message: UIMessage | undefined
    // The casts are the door: its type names every tool and data part of a program.
    for await (const each of readUIMessageStream({ stream: stream as ReadableStream<UIMessageChunk> }))
      message = each
    expect(message?.parts).toContainEqual(expect.objectContaining({ type: 'text', text: 'Fixed.' }))
  })

  test('events() and chat(), one behind the other', async () => {
    const log = '{"type":"thread.started","thread_id":"t"}\n{"type":"turn.completed","usage":{}}\n'
    const records = await all(bodyOf(log).pipeThrough(events(codex)).pipeThrough(chat()))
    expect(records.map(({ type }) => type)).toContain('user.input.required')
  })

  test.runIf(slow)('the writer waits while the reader does not read, and nothing is lost', async () => {
    const flow = values({ lines: true })
    const writer = flow.writable.getWriter()
    const lines = '{"a":1}\n'.repeat(100_000)
    let written = false
    const over = writer.write(new TextEncoder().encode(lines)).then(() => {
      written = true
      return writer.close()
    })
    const reader = flow.readable.getReader()
    await reader.read()
    await new Promise((resolve) => setTimeout(resolve))
    expect(written).toBe(false)
    let count = 1
    while (!(await reader.read()).done) count++
    await over
    expect([count, written]).toEqual([100_000, true])
  })

  test('a reader that leaves ends the source', async () => {
    let cancelled = false
    const source = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('{"a":1}\n'.repeat(1000))),
      cancel() {
        cancelled = true
      },
    })
    const reader = source.pipeThrough(values({ lines: true })).getReader()
    await reader.read()
    await reader.cancel()
    await vi.waitFor(() => expect(cancelled).toBe(true))
  })

  test('a stage that fails at its end makes the reader fail', async () => {
    const broken = () => ({
      write() {},
      end() {
        throw new Error('no end')
      },
    })
    await expect(all(bodyOf('x').pipeThrough(webFlow(broken, wholeIntake())))).rejects.toThrow('no end')
  })

  test('a source that fails makes the reader fail', async () => {
    const source = new ReadableStream({
      start: (controller) => controller.error(new Error('the line is cut')),
    })
    await expect(all(source.pipeThrough(values({ lines: true })))).rejects.toThrow('the line is cut')
  })
})
