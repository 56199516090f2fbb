import { Fault } from '../base/fault.ts'
import { type Intake, wholeIntake } from '../base/stage.ts'
import type { Event } from '../events/event.ts'

/**
 * Takes events, and says what to do about anything else: a flow that is piped to the output of a process by
 * mistake would otherwise emit nothing, or fail deep inside.
 */
export function eventsOnly(who: string): () => Intake<Event> {
  return () => ({
    ...wholeIntake<Event>(),
    take(written) {
      if (typeof written === 'object' && written !== null && 'type' in written && 'data' in written)
        return written as Event // cast: a record with these fields is meant as one
      throw new Fault(
        'BAD_CHUNK',
        `${who} takes events, not the output of a process; put events() between them`,
      )
    },
  })
}
