import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { languageModelStage } from '../../src/views/language-model.ts'
import { lines } from '../engines/run.ts'

test('has the tools, the metadata and the counts of a provider that exists', () => {
  const stdout = lines(
    { type: 'thread.started', thread_id: 't' },
    { type: 'item.completed', item: { id: 'c', type: 'command_execution', command: 'ls', exit_code: 0 } },
    { type: 'item.completed', item: { id: 'm', type: 'agent_message', text: 'Hi' } },
    { type: 'turn.completed', usage: { input_tokens: 7, output_tokens: 3 } },
  )
  const told = drive(eventStage(engines.codex), [{ channel: 'stdout', bytes: Buffer.from(stdout) }])
  const parts = drive(
    languageModelStage({
      name: 'codex-cli',
      tool: (name, kind) => (kind === 'execute' ? 'exec' : name),
      metadata: ({ session_id }) => ({ threadId: session_id }),
    }),
    told,
  )
  const call = parts.find(({ type }) => type === 'tool-call')
  expect(call).toMatchObject({ toolName: 'exec', providerMetadata: { 'codex-cli': { threadId: 't' } } })
  expect(parts.find(({ type }) => type === 'tool-result')).toMatchObject({ toolName: 'exec' })
  expect(parts.find(({ type }) => type === 'text-start')).toMatchObject({
    providerMetadata: { 'codex-cli': { threadId: 't' } },
  })
  expect(parts.at(-1)).toMatchObject({
    type: 'finish',
    usage: { inputTokens: { total: 7 }, raw: { input_tokens: 7, output_tokens: 3 } },
    providerMetadata: { 'codex-cli': { threadId: 't', engine: 'codex' } },
  })
  expect(JSON.stringify(parts)).not.toContain('"sluice"')
})
