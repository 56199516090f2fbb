import { type Event, isEvent } from '../events/event.ts'
import type { OutcomeEvidence } from '../events/run-outcome.ts'

/** Facts about a whole run, from its events. */
export interface RunOverview {
  readonly run_id: string | undefined
  readonly engine: string | undefined
  readonly ts: string | undefined
  /** The attempt; of any type, because another program may have written the journal. */
  readonly attempt: unknown
  readonly completion?: (OutcomeEvidence & { readonly reason_code: string | undefined }) | undefined
}

/** The overview if this is the last event: a completion counts only if nothing follows it. */
export function overviewOf(event: Event): RunOverview {
  const completion = isEvent(event, 'lifecycle.completion.state') ? event.data : undefined
  const { run_id, ts, attempt_number: attempt } = event
  return { run_id, engine: event.source.engine, ts, attempt, completion }
}
