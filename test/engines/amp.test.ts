import { expect, test } from 'vitest'
import { amp } from '../../src/engines/amp.ts'
import { lines, only, run } from './run.ts'

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
