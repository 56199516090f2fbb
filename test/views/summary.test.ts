import { describe, expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { problemOf } from '../../src/events/problems.ts'
import { summarizer, summary } from '../../src/views/summary.ts'
import { recordedRun } from './fixtures.ts'

const eventsOf = (name: string) => recordedRun(name).events

function summaryOf(folder: string) {
  const facts = summarizer()
  for (const event of eventsOf(folder)) facts.write(event)
  return facts.summary()
}

describe('the summary of a run', () => {
  test('counts tools and failures, names the files, adds up the tokens, and keeps the answer', () => {
    const failed = summaryOf('codex/03b-tool-fail.pipe')
    expect(failed.tools.failed).toBeGreaterThan(0)
    expect(failed.tools.called).toBeGreaterThanOrEqual(failed.tools.failed)
    const written = summaryOf('codex/07a-file-write.tee80')
    expect(written.files).toHaveLength(written.file_count)
    expect(written.file_count).toBeGreaterThan(0)
    const ends = eventsOf('codex/07a-file-write.tee80').filter(
      (event) => event.type === 'lifecycle.completion.state',
    )
    expect(written.tokens).toEqual(ends.at(-1)?.data.tokens)
    expect(written).toMatchObject({ engine: 'codex', outcome: 'finished', attempts: 1 })
    expect(written.answer).toBeTypeOf('string')
  })

  test('of nothing is empty', () => {
    expect(summarizer().summary()).toEqual({
      events: 0,
      attempts: 0,
      turns: 0,
      messages: 0,
      tools: { called: 0, failed: 0 },
      files: [],
      file_count: 0,
      warnings: 0,
    })
  })

  test('counts a file once, however often it is changed, also beyond those that are listed', () => {
    const [event] = eventsOf('codex/07a-file-write.tee80').filter(({ type }) => type.startsWith('artifact.'))
    const facts = summarizer()
    // Cast: an artifact has no other field.
    for (let n = 0; n < 1001; n++) facts.write({ ...event!, data: { path: `src/${n}.ts` } } as AgentEvent)
    for (let again = 0; again < 5; again++)
      facts.write({ ...event!, data: { path: 'src/1000.ts' } } as AgentEvent)
    const { files, file_count } = facts.summary()
    expect([files.length, file_count]).toEqual([1000, 1001])
  })

  test('counts a call once, whether its start is told or not', () => {
    const [event] = eventsOf('codex/03b-tool-fail.pipe').filter(({ type }) => type === 'tool.call.failed')
    const facts = summarizer()
    facts.write(event!)
    expect(facts.summary().tools).toEqual({ called: 1, failed: 1 })
  })
})

describe('the problems of a run', () => {
  const kindsOf = (folder: string) => eventsOf(folder).flatMap((event) => problemOf(event)?.kind ?? [])

  test('are its failed tools, errors of the engine and a bad end', () => {
    expect(kindsOf('codex/03b-tool-fail.pipe')[0]).toBe('tool')
    expect(kindsOf('codex/08a-http-429.pipe').at(-1)).toBe('end')
    expect(kindsOf('codex/11a-sigint.pipe').at(-1)).toBe('end')
  })

  test('are none in a good run', () => {
    expect(kindsOf('codex/01-plain.tee80')).toEqual([])
  })

  test('say where they are, in one bounded line', () => {
    const [event] = eventsOf('codex/03b-tool-fail.pipe').filter(({ type }) => type === 'tool.call.failed')
    const problem = problemOf({ ...event, data: { ...event!.data, error: 'x'.repeat(9999) } } as AgentEvent)
    expect(problem).toMatchObject({ seq: event!.seq, raw_ref: event!.raw_ref })
    expect(problem?.title).toHaveLength(300)
  })

  const [failed] = eventsOf('codex/03b-tool-fail.pipe').filter(({ type }) => type === 'tool.call.failed')
  const titleOf = (data: object) => {
    const before = { name: 'sh', exit_code: 1, error: undefined }
    return problemOf({ ...failed, data: { ...failed!.data, ...before, ...data } } as AgentEvent)?.title
  }

  test.each([
    ['{"error":{"message":"No key"}}', 'No key'],
    ['429: { "detail": "Slow down" }', '429: Slow down'],
    [
      '{\n  "error": {\n    "message": "{\\n  \\"error\\": { \\"message\\": \\"Exhausted\\" } }"\n  }\n}',
      'Exhausted',
    ],
    ['the body {"a":1} is no message', 'the body {"a":1} is no message'],
  ])('are told in words, not as JSON: %j', (error, words) => {
    expect(titleOf({ error })).toBe(`sh exit 1 failed: ${words}`)
  })

  test('of a test run name the line that says FAIL, not the last one', () => {
    const output = 'ok a\n FAIL  b.test.ts > adds\nTests: 1 failed\nDuration 2.1 s'
    expect(titleOf({ output })).toBe('sh exit 1 failed: FAIL  b.test.ts > adds')
    expect(titleOf({ output: 'ok 1\nnot ok 2 - adds\n# fail 1' })).toBe('sh exit 1 failed: not ok 2 - adds')
    const error = 'Exit code 1\nok a\nFAIL b.test.ts > adds\nTests: 1 failed'
    expect(titleOf({ error })).toBe('sh exit 1 failed: FAIL b.test.ts > adds')
    expect(titleOf({ error: 'exited with 1', output })).toBe('sh exit 1 failed: FAIL  b.test.ts > adds')
    expect(titleOf({ error: 'Not found\nlook elsewhere' })).toBe('sh exit 1 failed: Not found look elsewhere')
    expect(titleOf({ output: 'no test\nlast line' })).toBe('sh exit 1 failed: last line')
  })
})

test('summary() reads the events to their end', async () => {
  const { events } = recordedRun('codex/03b-tool-fail.pipe')
  expect((await summary(events)).tools.failed).toBe(1)
})
