import { describe, expect, test } from 'vitest'
import { iflow } from '../../src/engines/iflow.ts'
import { only, run, texts } from './run.ts'

const id = 'session-00000000-0000-4000-8000-000000000001'
const notice = `ℹ️  Resuming session ${id} (6 messages loaded)`
const statuses = (events: ReturnType<typeof run>) =>
  only(events, 'lifecycle.run.status').map(({ data }) => data.status)

describe('the notice of a resumed session', () => {
  test.each(['stdout', 'stderr', 'pty'] as const)('is read on %s', (channel) => {
    const events = run(iflow, { [channel]: `\n${notice}\n`, exit: 0 })
    expect(statuses(events)).toEqual(['started', 'resumed'])
    expect(events.at(-1)!.correlation.session_id).toBe(id)
  })

  test.each([
    'Resuming session tokens is not supported.',
    `Resuming session ${id} (6 messages loaded)`,
    `ℹ️  Resuming session ${id}`,
    'ℹ️  Resuming session it (6 messages loaded)',
    `${notice} and more`,
  ])('is not "%s": that is the answer', (line) => {
    const events = run(iflow, { stdout: `${line}\nDone.\n`, exit: 0 })
    expect(texts(events)).toEqual([`${line}\nDone.`])
    expect(statuses(events)).toEqual([])
  })

  test('is not what the model quotes', () => {
    const events = run(iflow, { stdout: `It printed:\n${notice}\nDone.\n`, exit: 0 })
    expect(texts(events)).toEqual([`It printed:\n${notice}\nDone.`])
    expect(statuses(events)).toEqual([])
  })
})
