import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AgentEvent as Event, replay } from '../../src/index.ts'
import { agent, ran, workspace } from './agent.ts'

test('an attempt that continues a session counts its own tokens, live and in a replay', async () => {
  const { cwd, audit } = workspace()
  const turn = (sum: number) =>
    agent(cwd, `for (const line of lines) say(line.replace('"input_tokens":1', '"input_tokens":${sum}'))`)
  const first = await ran({ ...turn(100), cwd, audit })
  const second = await ran({ ...turn(250), cwd, audit })
  expect(first.end.completion).toMatchObject({ tokens: { input: 100 }, cumulative: true })
  expect(second.end.completion.tokens).toMatchObject({ input: 150, output: 0 })
  expect(second.end.completion.cumulative).toBeUndefined()
  const meta = JSON.parse(readFileSync(join(audit, 'meta.2.json'), 'utf8'))
  expect(meta.reading.session_tokens).toMatchObject({ 't-1': { input: 100 } })
  const again: Event[] = []
  for await (const event of replay(audit, { attempt: 2 })) again.push(event)
  expect(again).toEqual(second.events)
})
