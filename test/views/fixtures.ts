import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AgentEvent } from '../../src/events/event.ts'

const root = fileURLToPath(new URL('../../fixtures', import.meta.url))

/** A recorded run, by `<engine>/<case>`, and its events. */
export interface Recorded {
  readonly name: string
  readonly events: readonly AgentEvent[]
}

/** Every recorded run. */
export function recordedRuns(): readonly Recorded[] {
  return readdirSync(root).flatMap((engine) =>
    readdirSync(join(root, engine))
      .map((name) => `${engine}/${name}`)
      .filter((name) => existsSync(join(root, name, 'events.jsonl')))
      .map(recordedRun),
  )
}

export function recordedRun(name: string): Recorded {
  const lines = readFileSync(join(root, name, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
  return { name, events: lines.map((line) => JSON.parse(line) as AgentEvent) }
}
