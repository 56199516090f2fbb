import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { qwen } from '../../src/engines/qwen.ts'
import { type AgentEvent, isEvent } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { chat, endOf, lines, only, run } from '../engines/run.ts'

const codexTurn = (input_tokens: number, thread_id = 't-1') =>
  lines(
    { type: 'thread.started', thread_id },
    { type: 'turn.started' },
    { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'Hi.' } },
    { type: 'turn.completed', usage: { input_tokens, output_tokens: input_tokens / 10 } },
  )
const qwenTurn = (input_tokens: number, session_id = 't-1') => {
  const line = (type: string, more: object) => ({ type, uuid: 'u', session_id, ...more })
  const usage = { input_tokens, output_tokens: input_tokens / 10, total_tokens: input_tokens * 1.1 }
  return lines(
    line('system', { subtype: 'init', qwen_code_version: '0.24.4' }),
    line('assistant', { message: { id: 'm', content: [{ type: 'text', text: 'Hi.' }] } }),
    line('result', { subtype: 'success', is_error: false, result: 'Hi.', usage }),
  )
}

async function endsOf(engine: string, ...stdouts: readonly string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-tokens-'))
  for (const [index, stdout] of stdouts.entries()) {
    writeFileSync(join(dir, `stdout.${index + 1}.log`), stdout)
    writeFileSync(join(dir, `meta.${index + 1}.json`), JSON.stringify({ engine, exit_code: 0 }))
  }
  const ends: AgentEvent[] = []
  for await (const event of replay(dir)) if (isEvent(event, 'lifecycle.completion.state')) ends.push(event)
  return ends.map((event) => event.data as { tokens?: object; cumulative?: true })
}

describe.each([
  ['codex', codex, codexTurn],
  ['qwen', qwen, qwenTurn],
] as const)('the tokens of %s, which counts its session,', (name, engine, turn) => {
  test('are reported as a sum if the run is alone', () => {
    const events = run(engine, { stdout: turn(200), exit: 0 })
    expect(endOf(events)).toMatchObject({ tokens: { input: 200, output: 20 }, cumulative: true })
    const counted = only(events, 'lifecycle.run.status').filter(({ data }) => data.tokens)
    expect(counted.map(({ data }) => [data.tokens, data.cumulative])).toEqual([
      [{ input: 200, output: 20 }, true],
    ])
    expect(chat(events).find(({ type }) => type === 'user.input.required')?.data).toMatchObject({
      cumulative: true,
    })
  })

  test('are those of the turn if an attempt before it used the same session', async () => {
    const [first, second, third] = await endsOf(name, turn(100), turn(200), turn(350))
    expect(first).toMatchObject({ tokens: { input: 100, output: 10 }, cumulative: true })
    expect(second).toMatchObject({ tokens: { input: 100, output: 10 } })
    expect(third).toMatchObject({ tokens: { input: 150, output: 15 } })
    expect([second, third].some((end) => end?.cumulative)).toBe(false)
  })

  test('are a sum again in another session', async () => {
    const [, second] = await endsOf(name, turn(100), turn(200, 't-2'))
    expect(second).toMatchObject({ tokens: { input: 200 }, cumulative: true })
  })

  test('of a second turn in one process are its own', () => {
    const again = turn(300)
    const events = run(engine, { stdout: turn(100) + again, exit: 0 })
    const counted = only(events, 'lifecycle.run.status').filter(({ data }) => data.tokens)
    expect(counted.map(({ data }) => [data.tokens?.input, data.cumulative])).toEqual([
      [100, true],
      [200, undefined],
    ])
    expect(endOf(events)).toMatchObject({ tokens: { input: 300 }, cumulative: true })
  })

  test('can be given by whoever knows what the session had used', () => {
    const sessionTokens = { 't-1': { input: 150, output: 15 } }
    const events = run(engine, { stdout: turn(200), exit: 0 }, { sessionTokens })
    expect(endOf(events)).toMatchObject({ tokens: { input: 50, output: 5 } })
    expect(endOf(events).cumulative).toBeUndefined()
  })
})
