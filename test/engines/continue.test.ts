import { expect, test } from 'vitest'
import { engines } from '../../src/engines/engines-by-name.ts'
import { fixtures } from './fixture.ts'
import { endOf, lines, only, run, texts } from './run.ts'
import { type Summary, summaryOf } from './summary.ts'
import { uncovered } from './uncovered.ts'

const own = fixtures().filter(({ engine }) => engine === 'continue')
const cn = engines.continue
const cjk = '任务已完成。结果：“引号”、emoji 👩‍👩‍👧‍👦 🎉、日本語テスト、한국어\u2028行分隔 \u00a0tab\t end.'
const done = 'Finished.\n```json\n{"__SKILL_DONE__": true, "summary": "all good"}\n```'
const state = 'awaiting_user_input'

const told: Record<string, Summary> = {
  'done.json-pipe': { state: 'completed', messages: [done] },
  'done.json-tee80': { state: 'completed', messages: [done] },
  'tool_ok.json-pipe': { state, messages: ['Command finished: alpha, beta.'] },
  'http_429.json-pipe': { state: 'interrupted', messages: [] },
  'http_429.json-tee80': { state: 'interrupted', messages: [] },
  'sigint.json-pipe': { state: 'interrupted', messages: [] },
  'cut.json-pipe': { state: 'interrupted', messages: [] },
  'json-answer.json-pipe': { state: 'unknown', messages: ['{"ok": true, "files": ["a.txt"]}'] },
}

test.each(own.filter(({ name }) => told[name]))('reads $name as a person does', (fixture) => {
  expect(summaryOf(fixture)).toEqual(told[fixture.name])
})

test.each(own.filter(({ name }) => name.startsWith('cjk')))('keeps every character of $name', (fixture) => {
  const said = summaryOf(fixture)
  expect(said.messages).toHaveLength(1)
  expect([...said.messages[0]!].length).toBeGreaterThan([...cjk].length - 4)
  expect(said.state).toBe(fixture.name.includes('json') ? state : 'unknown')
})

test('the text of -p has no end signal', () => {
  const fixture = own.find(({ name }) => name === 'tool_fail.text-pipe')!
  expect(summaryOf(fixture).state).toBe('unknown')
})

test('an error on stderr fails the run; on stdout it is what the model wrote', () => {
  const record = { status: 'error', message: '429 slow down' }
  const failed = run(cn, { stderr: lines(record), exit: 0 })
  expect(endOf(failed)).toMatchObject({ state: 'interrupted', evidence: { failure: '429 slow down' } })
  const said = run(cn, { stdout: lines(record), exit: 0 })
  expect(texts(said)).toEqual([JSON.stringify(record)])
  expect(endOf(said).state).toBe('unknown')
})

test('other lines on stderr, and what follows the record, are raw', () => {
  const record = { response: 'Hi', status: 'success', note: 'n' }
  const events = run(cn, { stdout: `${lines(record)}more\n`, stderr: 'warning\n', exit: 0 })
  expect(texts(events)).toEqual(['Hi'])
  expect(only(events, 'raw.stdout', 'raw.stderr')).toHaveLength(2)
})

test('blank lines alone, such as those of a terminal, are no message', () => {
  const events = run(cn, { stdout: '\n \n', exit: 0 })
  expect(texts(events)).toEqual([])
  expect(uncovered(events, 'stdout', 3)).toBe(-1)
})
