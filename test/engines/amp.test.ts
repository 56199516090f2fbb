import { expect, test } from 'vitest'
import { amp } from '../../src/engines/amp.ts'
import { eventsOf, fixtures, inPieces } from './fixture.ts'
import { lines, only, run } from './run.ts'
import { type Summary, summaryOf, takers } from './summary.ts'

const own = fixtures().filter(({ engine }) => engine === 'amp')

const state = 'awaiting_user_input'

/** What each of the hand-made runs was written to say. */
const told: Record<string, Summary> = {
  'plain.pipe': { state, messages: ['Hello from the thread.'] },
  'plain.tee80': { state, messages: ['Hello from the thread.'] },
  'tool-ok.pipe': { state, messages: ['I look.', 'One file: a.txt.'], completed: ['Bash'] },
  'tool-fail.pipe': { state, messages: ['There is no such file.'], failed: ['Read'] },
  'exit-code.pipe': { state, messages: ['One test fails.'], failed: ['Bash'] },
  'thinking.pipe': { state, messages: ['Hello.'], reasoning: 1 },
  'done.pipe': {
    state: 'completed',
    messages: ['Done.\n```json\n{"__SKILL_DONE__": true, "files": 1}\n```'],
  },
  'error.pipe': { state: 'interrupted', messages: [] },
  'sigterm.pipe': { state: 'interrupted', messages: ['I look.'] },
  'cut.pipe': { state: 'interrupted', messages: ['Hello from the thread.'] },
}

test.each(own)('reads $name as it was written', (fixture) => {
  expect(summaryOf(fixture)).toEqual(told[fixture.name])
  const events = eventsOf(fixture, inPieces(fixture))
  expect(events.at(-1)!.correlation.session_id).toBe('T-0d5f1c7e-2a34-4b8e-9c11-7d2f60a1b501')
  expect(events.at(-1)!.source.engine).toBe('amp')
})

test('its first record is its own, and it takes none of the others’', () => {
  for (const fixture of own) expect(takers(fixture)[0]).toEqual(['amp'])
  for (const fixture of fixtures())
    if (fixture.engine !== 'amp') expect(takers(fixture).flat(), fixture.path).not.toContain('amp')
})

test('an output that only looks like a result is no failure', () => {
  const init = { type: 'system', subtype: 'init', session_id: 'T-1', tools: [], mcp_servers: [] }
  const use = (id: string, name: string) => ({
    type: 'assistant',
    session_id: 'T-1',
    message: { content: [{ type: 'tool_use', id, name, input: {} }] },
  })
  const result = (tool_use_id: string, content: unknown) => ({
    type: 'user',
    session_id: 'T-1',
    message: { content: [{ type: 'tool_result', tool_use_id, content, is_error: false }] },
  })
  const events = run(amp, {
    stdout: lines(
      init,
      use('a', 'Read'),
      result('a', '{"exitCode":3}'),
      use('b', 'Bash'),
      result('b', '{"exitCode":3'),
      use('c', 'Bash'),
      result('c', [{ type: 'text', text: '{"exitCode":3}' }]),
    ),
  })
  expect(only(events, 'tool.call.failed')).toEqual([])
})
