import { expect, test } from 'vitest'
import { amp } from '../../src/engines/amp.ts'
import { engines } from '../../src/engines/engines.ts'
import { eventsOf, fixtures, inPieces } from './fixture.ts'
import { endOf, lines, only, run, texts } from './run.ts'

const own = fixtures().filter(({ engine }) => engine === 'amp')

/** What each of the hand-made runs was written to say. */
const told: Record<string, [state: string, messages: string[], completed: number, failed: number]> = {
  'plain.pipe': ['awaiting_user_input', ['Hello from the thread.'], 0, 0],
  'plain.tee80': ['awaiting_user_input', ['Hello from the thread.'], 0, 0],
  'tool-ok.pipe': ['awaiting_user_input', ['I look.', 'One file: a.txt.'], 1, 0],
  'tool-fail.pipe': ['awaiting_user_input', ['There is no such file.'], 0, 1],
  'exit-code.pipe': ['awaiting_user_input', ['One test fails.'], 0, 1],
  'thinking.pipe': ['awaiting_user_input', ['Hello.'], 0, 0],
  'done.pipe': ['completed', ['Done.\n```json\n{"__SKILL_DONE__": true, "files": 1}\n```'], 0, 0],
  'error.pipe': ['interrupted', [], 0, 0],
  'sigterm.pipe': ['interrupted', ['I look.'], 0, 0],
  'cut.pipe': ['interrupted', ['Hello from the thread.'], 0, 0],
}

test.each(own)('reads $name as it was written', (fixture) => {
  const events = eventsOf(fixture, inPieces(fixture))
  const [state, messages, completed, failed] = told[fixture.name]!
  expect(endOf(events).state).toBe(state)
  expect(texts(events)).toEqual(messages)
  expect(only(events, 'tool.call.completed')).toHaveLength(completed)
  expect(only(events, 'tool.call.failed')).toHaveLength(failed)
  expect(events.at(-1)!.correlation.session_id).toBe('T-0d5f1c7e-2a34-4b8e-9c11-7d2f60a1b501')
  expect(events.at(-1)!.source.engine).toBe('amp')
})

test('no other engine takes its first line, and it takes none of Claude Code or Qwen', () => {
  const shapes = (fixture: (typeof own)[number]) => {
    const log = fixture.logs.find(({ channel }) => channel === 'stdout')
    const line = Buffer.from(log?.bytes ?? [])
      .toString()
      .split('\n')[0]!
    const value = line.startsWith('{') && line.endsWith('}') ? JSON.parse(line) : undefined
    const frame = { channel: 'stdout', text: line, value } as never
    return Object.values(engines)
      .filter((engine) => engine.shape?.(frame))
      .map(({ name }) => name)
  }
  for (const fixture of own) expect(shapes(fixture)).toEqual(['amp'])
  for (const fixture of fixtures())
    if (fixture.engine !== 'amp') expect([fixture.path, ...shapes(fixture)]).not.toContain('amp')
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
