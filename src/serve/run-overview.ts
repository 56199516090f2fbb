import { type Event, isEvent } from '../events/event.ts'
import type { OutcomeEvidence } from '../events/run-outcome.ts'

/** What the events of a run say about it as a whole. */
export interface RunOverview {
  readonly run_id: string | undefined
  readonly engine: string | undefined
  readonly ts: string | undefined
  /** Of which attempt; another program may have written the journal, so it may be anything. */
  readonly attempt: unknown
  readonly completion?: (OutcomeEvidence & { readonly reason_code: string | undefined }) | undefined
}

/** What is told if this is the last event: the end of an attempt is, when nothing follows it. */
export function overviewOf(event: Event): RunOverview {
  const completion = isEvent(event, 'lifecycle.completion.state') ? event.data : undefined
  const { run_id, ts, attempt_number: attempt } = event
  return { run_id, engine: event.source.engine, ts, attempt, completion }
}
