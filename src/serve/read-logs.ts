import { setImmediate } from 'node:timers/promises'
import type { Event } from '../events/event.ts'
import type { RunPlace } from './run-place.ts'

/** After this many events, other requests get a turn: a replay from disk hardly ever waits by itself. */
const TURN = 128

/** The events of logs, read so that the server stays responsive. `signal` ends it. */
export async function* readLogs(
  place: RunPlace,
  options: Parameters<RunPlace['replay']>[0],
): AsyncGenerator<Event> {
  let count = 0
  for await (const event of place.replay(options)) {
    yield event
    if (++count % TURN === 0) await setImmediate()
  }
}
