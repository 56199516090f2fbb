import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Event } from '../../src/events/event.ts'

const root = fileURLToPath(new URL('../../fixtures', import.meta.url))

/** A recorded run, by `<engine>/<case>`, and its events. */
export interface Recorded {
  readonly name: string
  readonly events: readonly Event[]
}

let known: readonly Recorded[] | undefined

/** Every recorded run, read once. */
export function recordedRuns(): readonly Recorded[] {
  known ??= readRuns()
  return known
}

function readRuns(): Recorded[] {
  return readdirSync(root).flatMap((engine) =>
    readdirSync(join(root, engine)).flatMap((name) => {
      const file = join(root, engine, name, 'events.jsonl')
      if (!existsSync(file)) return []
      const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
      return [{ name: `${engine}/${name}`, events: lines.map((line) => JSON.parse(line) as Event) }]
    }),
  )
}
