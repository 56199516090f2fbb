import { expect, test } from 'vitest'
import { claude } from '../../src/engines/claude/claude.ts'
import { text } from '../../src/engines/text.ts'
import { type AgentEvent, isEvent } from '../../src/events/event.ts'
import { isGood, outcomeOf } from '../../src/events/run-outcome.ts'
import { whyOf } from '../../src/views/why.ts'
import { run } from '../engines/run.ts'
import { recordedRun, recordedRuns } from '../views/fixtures.ts'

const endOf = (events: readonly AgentEvent[]) => {
  const last = events.at(-1)!
  if (!isEvent(last, 'lifecycle.completion.state')) throw new Error('there is no end')
  return last.data
}

test('every end that is not good has one sentence, and `why` begins with it', () => {
  let bad = 0
  for (const { name, events } of recordedRuns()) {
    const end = endOf(events)
    const reason = whyOf()
    for (const event of events) reason.write(event)
    const { first } = reason.why()
    if (isGood(outcomeOf(end))) expect(end.problem, name).toBeUndefined()
    else {
      bad++
      expect(end.problem, name).toMatch(/^\S.{3,299}$/)
      expect(first?.title, name).toBe(end.problem)
      expect(end.problem, name).not.toMatch(/\{"|\n/)
    }
  }
  expect(bad).toBeGreaterThan(100)
})

const lines = (...records: object[]) => records.map((one) => `${JSON.stringify(one)}\n`).join('')
const session_id = '00000000-0000-4000-8000-000000000000'
const init = { type: 'system', subtype: 'init', session_id, uuid: 'u', model: 'm', cwd: '/w', tools: [] }
const said = (words: string) => ({
  type: 'assistant',
  session_id,
  uuid: `u-${words.length}`,
  message: { id: `m-${words.length}`, role: 'assistant', content: [{ type: 'text', text: words }] },
})
const result = (words: string, more: object = {}) => ({
  ...{
    type: 'result',
    subtype: 'success',
    is_error: false,
    session_id,
    uuid: 'r',
    num_turns: 1,
    duration_ms: 1,
  },
  ...{ result: words, ...more },
})

test("the words of the engine's result are the answer, beside the last message", () => {
  const stdout = lines(init, said('draft'), result('final answer'))
  const events = run(claude, { stdout, exit: 0 })
  expect(endOf(events)).toMatchObject({ outcome: 'finished', answer: 'final answer' })
  expect(events.filter(({ type }) => type === 'agent.message.final')).toHaveLength(1)
})

test('a turn that failed has no answer, and a new turn forgets that of the last one', () => {
  const failed = result('API Error: 529 overloaded', { is_error: true })
  expect(endOf(run(claude, { stdout: lines(init, failed), exit: 1 })).answer).toBeUndefined()
  const again = lines(init, said('one'), result('one'), init, said('two'))
  expect(endOf(run(claude, { stdout: again, exit: 0 })).answer).toBeUndefined()
})

test('with a schema the answer is searched, too, and a repetition is not counted twice', () => {
  const schema = { type: 'object', required: ['a'] }
  const outcome = (...records: object[]) =>
    run(claude, { stdout: lines(init, ...records), exit: 0 }, { schema }).find(
      (event) => event.type === 'lifecycle.run.result',
    )?.data
  const draft = said('<json>{"a":1}</json>')
  expect(outcome(draft, result('<json>{"a":2}</json>'))).toMatchObject({ status: 'success', value: { a: 2 } })
  expect(outcome(draft, result('<json>{"a":1}</json>'))).toMatchObject({ value: { a: 1 }, warnings: [] })
  expect(outcome(draft, result('Done.'))).toMatchObject({ status: 'success', value: { a: 1 } })
  const cut = outcome(draft, result('Better: <json>{"a":'))
  expect(cut).toMatchObject({ status: 'failed' })
})

test('Cursor joins all its messages in its result', () => {
  const { events } = recordedRun('cursor/partial.pipe')
  expect(endOf(events).answer).toBe('I count.One file.')
  const words = events.flatMap((event) => (isEvent(event, 'agent.message.final') ? [event.data.text] : []))
  expect(words).toEqual(['I count.', 'One file.'])
})

test.each<[string, Parameters<typeof run>[1], RegExp]>([
  ['an exit code alone', { exit: 3 }, /^it exited with code 3$/],
  ['a signal', { stdout: 'one\n', exit: 'SIGKILL' }, /^SIGKILL ended it$/],
  [
    'the last line on stderr',
    { stdout: 'one\n', stderr: 'no room\n', exit: 3 },
    /code 3; .* stderr: no room$/,
  ],
  [
    'a line of progress is no reason',
    { stdout: 'one\n', stderr: 'Reading...\n', exit: 3 },
    /^it exited with code 3$/,
  ],
  ['text that tells no end', { stdout: 'one\n', exit: 0 }, /code 0, without reporting an end: .* plain text/],
  ['a JSON body', { stderr: 'Error: {"error":{"message":"No key"}}\n', exit: 1 }, /^Error: No key$/],
])('%s', (_, input, words) => {
  expect(endOf(run(text, input)).problem).toMatch(words)
})
