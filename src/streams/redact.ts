import type { Event } from '../events/event.ts'
import { checkRedacting, type RedactOptions, type Redactor, redactStage } from '../views/redact/redact.ts'
import { eventsOnly } from './events-only.ts'
import { type Flow, flow } from './flow.ts'

/**
 * Hides keys, tokens and passwords in events; see `redactStage` for how. Pass a `redactor` to find out how
 * many were hidden.
 *
 * @example
 * await pipeline(replay('.audit/latest'), redact(), jsonl(), stream)
 */
export function redact(
  options: (RedactOptions & { readonly signal?: AbortSignal | undefined }) | Redactor = {},
): Flow<Event> {
  checkRedacting('redact', options)
  const signal = 'signal' in options ? options.signal : undefined
  return flow(redactStage(options), { signal, intake: eventsOnly('redact') })
}
