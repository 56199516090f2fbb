import { type EngineName, engineOf } from '../engines/engine-name.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { AgentEvent, EventWithRecord } from '../events/event.ts'
import type { EventOptions } from '../events/event-stage.ts'
import { events as eventsOf } from './events.ts'
import type { Flow } from './flow.ts'

/**
 * Reads the output of one run as one engine writes it. Takes chunks (a bare Buffer or string is stdout),
 * emits events (docs/protocol.md); nothing is lost, what is not understood is emitted as `raw.*`.
 *
 * The engine may be given by its name. `agent-sluice/events` takes the engine itself, so that a bundle
 * contains no other.
 *
 * @example
 * for await (const event of tap(child).pipe(events('codex'))) console.log(event.type)
 */
export function events(
  engine: Engine | Picker | EngineName,
  options: EventOptions & { readonly signal?: AbortSignal | undefined; readonly record: true },
): Flow<EventWithRecord>
export function events(
  engine: Engine | Picker | EngineName,
  options?: EventOptions & { readonly signal?: AbortSignal | undefined },
): Flow<AgentEvent>
export function events(
  engine: Engine | Picker | EngineName,
  options: EventOptions & { readonly signal?: AbortSignal | undefined } = {},
): Flow<AgentEvent> {
  return eventsOf(engineOf(engine), options)
}
