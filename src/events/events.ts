import { realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { checkOptions } from '../base/check-options.ts'
import { type Flow, flow, type Intake } from '../base/flow.ts'
import { type Chunk, chunkIntake } from '../frames/chunk.ts'
import type { Event } from './event.ts'
import { type EventOptions, eventStage } from './event-stage.ts'
import { guarded } from './guard.ts'
import { checkEngine, type Picker, type Profile } from './profile.ts'

export { type EventOptions, eventStage } from './event-stage.ts'

/**
 * Reads the output of one run with one engine's eyes. Takes chunks (a bare Buffer or string is stdout),
 * gives RASP events; nothing is lost, what is not understood comes out as `raw.*`.
 *
 * @example
 * for await (const event of tap(child).pipe(events(codex))) console.log(event.type)
 */
export function events(
  profile: Profile | Picker,
  options: EventOptions & { readonly signal?: AbortSignal | undefined } = {},
): Flow<Event> {
  checkEngine('events', profile)
  checkOptions('events', options, 'events(codex, { run_id })')
  const inside = options.dir === undefined ? undefined : linkCheck(options.dir)
  return flow(eventStage(guarded(profile), { ...options, inside }), {
    signal: options.signal,
    intake: eventIntake,
  })
}

/** Bare bytes are stdout, and nothing else will come: who writes them need not pay for dedupe. */
function eventIntake(): Intake<Chunk> {
  const door = chunkIntake()
  let first = true
  return {
    ...door,
    take(written) {
      const chunk = door.take(written)
      const bare = typeof written === 'string' || written instanceof Uint8Array
      const alone = first && bare && chunk.channel !== 'exit'
      first = false
      return alone ? { ...chunk, channels: ['stdout'] } : chunk
    },
  }
}

/** Follows links: a path that is not there cannot lead anywhere. */
function linkCheck(dir: string): (path: string) => boolean {
  return (path) => {
    try {
      const root = realpathSync(dir)
      return `${realpathSync(join(dir, path))}${sep}`.startsWith(`${root}${sep}`)
    } catch {
      return true
    }
  }
}
