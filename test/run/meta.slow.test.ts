import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { reply, run } from '../../src/run/run.ts'
import { workspace } from './agent.ts'

/** The events and the directory of a program that prints a recorded stdout. */
async function printed(fixture: string) {
  const { cwd, audit } = workspace()
  const log = resolve('fixtures', fixture, 'stdout.log')
  const agent = run('cat', [log], { cwd, audit, fsDiff: false })
  const events: AgentEvent[] = []
  for await (const event of agent) events.push(event)
  const meta = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
  return { audit, events, meta }
}

test('the meta of a run said auto, though its engine was recognised; a replay looks again', async () => {
  const { audit, events, meta } = await printed('codex/02-reasoning.pipe')
  expect(meta).toMatchObject({ engine: 'codex', recognised: true })
  const again: AgentEvent[] = []
  for await (const event of replay(audit)) again.push(event)
  expect(again).toEqual(events)
})

test('a reply to a run of Copilot that was killed said that no engine was recognised', async () => {
  const { audit } = await printed('copilot/sigterm.tee80')
  await expect(reply(audit, 'go on').end).rejects.toThrow(/its agent told no session id/)
})
