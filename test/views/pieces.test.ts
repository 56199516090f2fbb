import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { Drawing } from '../../src/cli/draw/drawing.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { RedactedLog } from '../../src/process/redacted-log.ts'
import { hidingOf } from '../../src/serve/redact-served.ts'
import { agUiStage } from '../../src/views/ag-ui.ts'
import { aiSdkStage } from '../../src/views/ai-sdk.ts'
import { Conversation, type Item } from '../../src/views/conversation.ts'
import { languageModelStage } from '../../src/views/language-model.ts'
import { markdownStage } from '../../src/views/markdown/markdown.ts'
import { redactor } from '../../src/views/redact/redact.ts'
import { redactStage } from '../../src/views/redact/redact-stage.ts'
import { ends, makeRun } from './make-run.ts'

// The pieces of thoughts and of inputs, in every view.

type Step = Parameters<typeof makeRun>[0][number]

const think = (text: string, message_id = 'r'): Step => ['agent.reasoning.delta', { message_id, text }]
const thought = (text: string, message_id = 'r'): Step => ['agent.reasoning.summary', { message_id, text }]
const call = { call_id: 'c', name: 'Read', kind: 'read' } as const
const write = (text: string): Step => ['tool.call.input.delta', { ...call, text }]
const start = (input: unknown): Step => ['tool.call.started', { ...call, input }]
const done: Step = ['tool.call.completed', { ...call, output: 'ok' }]

function draw(...steps: Step[]): string {
  const drawing = new Drawing({ color: false, width: () => 40 })
  return makeRun(steps)
    .map((event) => drawing.write(event))
    .join('')
}

test.each(['One line.', 'First.\n\nSecond.\n\n- a\n- b\n\nThird.\n\nFourth.', 'A\nb\nc\nd\ne\nf\ng', ''])(
  'a thought is drawn as it grows, and looks like a whole one: %j',
  (text) => {
    expect(draw(...[...text].map((char) => think(char)), thought(text))).toBe(draw(thought(text)))
  },
)

test('the beginning of a thought is drawn before its end, and not again if others speak in between', () => {
  const head = draw(think('First.'))
  const live = (...steps: Step[]) => draw(...steps).slice(head.length)
  expect(live(think('First.\n\nSec'))).toBe('')
  expect(live(think('First.\n\nSec'), think('ond.\n'))).toBe('\n  First.\n')
  const both = draw(
    think('A.\n\nB', 'a'),
    think('C.\n\nD', 'b'),
    thought('A.\n\nB.', 'a'),
    thought('C.\n\nD', 'b'),
  )
  for (const words of ['A.', 'C.']) expect(both.split(words)).toHaveLength(2)
})

test('an input that is being written is what the agent does now; its line comes once', () => {
  const drawing = new Drawing({ color: false, width: () => 40 })
  const events = makeRun([write('{"path":'), write('"a.txt"}'), start({ path: 'a.txt' }), done])
  const shown: string[] = []
  const lines = events.map((event) => {
    const added = drawing.write(event)
    shown.push(drawing.now(Date.now()))
    return added
  })
  expect(shown).toEqual(['▸ Read {"path":', '▸ Read {"path":"a.txt"}', '▸ Read a.txt', ''])
  expect(lines.join('')).toContain('✓ Read a.txt\n')
  expect(lines.join('').split('Read')).toHaveLength(2)
})

test('they are one item of the conversation, and once in an export', () => {
  const items: Item[] = []
  const talk = new Conversation((item) => items.push(item))
  const steps = [
    think('Hm'),
    think('m.'),
    thought('Hmm.'),
    write('{"a"'),
    start({ a: 1 }),
    write('late'),
    done,
  ]
  for (const event of makeRun([...steps, ends.well])) talk.take(event)
  expect(items.map(({ kind }) => kind)).toEqual(['reasoning', 'tool', 'end'])
  expect(items[0]).toMatchObject({ text: 'Hmm.', growing: false })
  expect(items[1]).toMatchObject({ input: { a: 1 }, writing: false, state: 'completed' })
  const [page = ''] = drive(markdownStage(), makeRun([...steps, ends.well]))
  expect(page.split('Hmm.')).toHaveLength(2)
  const [cut = ''] = drive(markdownStage(), makeRun([write('{"a"'), ends.badly]))
  expect(cut).toContain('`{"a"` did not end')
})

const key = 'ghp_0123456789abcdefABCDEF0123456789abcd'

test.each([1, 4, 10, 30])('a secret that two pieces have a half of each does not pass (%i)', (at) => {
  const [head, tail] = [`key ${key.slice(0, at)}`, `${key.slice(at)}\nok`]
  const steps = [
    think(head),
    think(tail),
    thought(head + tail),
    write(head),
    write(tail),
    start({ a: head + tail }),
  ]
  const hidden = [
    drive(redactStage(), makeRun(steps)),
    makeRun(steps).map((event) => hidingOf(true)!.event(event)),
  ]
  for (const events of hidden) {
    const texts = events.map(({ data }) => ('text' in data ? data.text : ''))
    for (const part of [key, key.slice(at), texts.slice(0, 2).join('')])
      expect(
        part === '' || !key.includes(part) || part.length < 5 || !JSON.stringify(events).includes(part),
      ).toBe(true)
    expect(texts.join('')).not.toContain(key.slice(at))
    // The pieces of an input have no text; what it is comes with the call.
    expect(texts.slice(3, 5)).toEqual(['', ''])
  }
})

test('nor in a recording, though each record has an id of its own', () => {
  const records: ((text: string, n: number) => object)[] = [
    (thinking, n) => ({
      type: 'stream_event',
      uuid: `u${n}`,
      event: { delta: { type: 'thinking_delta', thinking } },
    }),
    (partial_json, n) => ({
      type: 'stream_event',
      uuid: `u${n}`,
      event: { delta: { type: 'input_json_delta', partial_json } },
    }),
    (inputDelta, n) => ({
      type: 'assistant.tool_call_delta',
      data: { toolCallId: 't', toolName: 'edit', inputDelta },
      id: `i${n}`,
      parentId: `i${n - 1}`,
    }),
  ]
  for (const record of records) {
    for (const at of [1, 4, 10, 30]) {
      const log = new RedactedLog(redactor())
      const lines = [`one\n{"k":"${key.slice(0, at)}`, `${key.slice(at)}"}\n`].map(
        (text, n) => `${JSON.stringify(record(text, n))}\n`,
      )
      const written = Buffer.concat([log.write(Buffer.from(lines.join(''))), log.end()]).toString()
      expect(written).toContain('[redacted:')
      expect(written).not.toContain(key.slice(at))
    }
  }
})

test('a secret is not recorded whose pieces have a record of another kind between them', () => {
  const key = 'ghp_7hQ2mV9xK4tLw8ZpR3nB6yD1cF5gJ0sA2eUi'
  const update = (update: object) => ({
    jsonrpc: '2.0',
    method: 'session/update',
    params: { sessionId: 's', update },
  })
  const say = (text: string) =>
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  const claude = (text: string, n = 0) => ({
    ...{ type: 'stream_event', uuid: `u${n}`, session_id: 's' },
    event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  })
  const between = update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'ls' })
  const record = (records: readonly object[]) => {
    const log = new RedactedLog(redactor())
    const lines = records.map((one) => `${JSON.stringify(one)}\n`).join('')
    return Buffer.concat([log.write(Buffer.from(lines)), log.end()]).toString()
  }
  for (const piece of [say, claude])
    for (const at of [5, 8, 12, 20, 30, 39]) {
      const cut = [`I use ${key.slice(0, at)}`, `${key.slice(at)} here,`, ' and so on']
      const written = record([piece(cut[0]!), between, piece(cut[1]!), between, piece(cut[2]!)])
      expect(written).toContain('[redacted:')
      if (at < 34) expect(written, String(at)).not.toContain(key.slice(at))
      if (at > 4) expect(written, String(at)).not.toContain(key.slice(0, at))
      for (const word of ['I use ', ' here,', ' and so on', 'tool_call']) expect(written).toContain(word)
    }
  // A named value, and words that are none.
  const named = record([say('DB_PASSWORD=tr0uba'), between, say('dour-4417-x'), between, say('\nDone')])
  for (const part of ['tr0uba', 'dour-4417-x']) expect(named).not.toContain(part)
  const plain = [say('I read README'), between, say('.md2 and App2'), between, say('.tsx in 3f9a'), between]
  expect(record(plain)).toBe(plain.map((one) => `${JSON.stringify(one)}\n`).join(''))
  // A longer word of letters of both cases, or with digits, could be half of a key.
  expect(record([say('See readFile2'), between])).toContain('See [redacted:cut]')
})

const typesOf = (made: readonly { readonly type: string }[]) => made.map(({ type }) => type)
const ofCalls = (events: readonly AgentEvent[]) =>
  drive(agUiStage({ raw: false }), events).filter(({ type }) => type.startsWith('TOOL_CALL'))

test('AG-UI gets the pieces, the rest, and an end', () => {
  expect(ofCalls(makeRun([write('{"a": '), write('1}'), start({ a: 1 }), done]))).toMatchObject([
    { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'Read' },
    { type: 'TOOL_CALL_ARGS', delta: '{"a": ' },
    { type: 'TOOL_CALL_ARGS', delta: '1}' },
    { type: 'TOOL_CALL_END', toolCallId: 'c' },
    { type: 'TOOL_CALL_RESULT', toolCallId: 'c' },
  ])
  expect(
    ofCalls(makeRun([write('{"a"'), start({ a: 1 })])).map((event) => ('delta' in event ? event.delta : '')),
  ).toEqual(['', '{"a"', ':1}', ''])
})

test('AG-UI gets another call for pieces that the input contradicts, and an end for a call that never began', () => {
  expect(ofCalls(makeRun([write('{"b"'), start({ a: 1 }), done]))).toMatchObject([
    { type: 'TOOL_CALL_START', toolCallId: 'c' },
    { type: 'TOOL_CALL_ARGS', delta: '{"b"' },
    { type: 'TOOL_CALL_END', toolCallId: 'c', metadata: { 'agent-sluice': { superseded: true } } },
    { type: 'TOOL_CALL_START', toolCallId: 'c#2' },
    { type: 'TOOL_CALL_ARGS', delta: '{"a":1}' },
    { type: 'TOOL_CALL_END', toolCallId: 'c#2' },
    { type: 'TOOL_CALL_RESULT', toolCallId: 'c#2' },
  ])
  expect(typesOf(ofCalls(makeRun([write('{"b"'), ends.badly])))).toEqual([
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
  ])
})

test('the AI SDK gets them under the id of the whole, and a model no more than it had without pieces', () => {
  const steps = [think('Hm'), thought('Hm.'), write('{}'), start({}), done, ends.well]
  const parts = (chunks: readonly { readonly type: string }[]) =>
    typesOf(chunks).filter((type) => /^(?:reasoning|tool)-/.test(type))
  expect(parts(drive(aiSdkStage(), makeRun(steps)))).toEqual([
    ...['reasoning-start', 'reasoning-delta', 'reasoning-delta', 'reasoning-end'],
    ...['tool-input-start', 'tool-input-delta', 'tool-input-available', 'tool-output-available'],
  ])
  const renamed = drive(languageModelStage({ tool: (name) => `my-${name}` }), makeRun(steps))
  expect(renamed).toContainEqual({
    ...{ type: 'tool-input-start', id: 'c', toolName: 'my-Read' },
    ...{ providerExecuted: true, dynamic: true },
  })
  expect(parts(renamed).slice(4)).toEqual([
    ...['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result'],
  ])
  expect(parts(drive(languageModelStage(), makeRun([start({}), done, ends.well])))).toEqual([
    'tool-call',
    'tool-result',
  ])
})
