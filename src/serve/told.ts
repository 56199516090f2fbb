import { type EndState, type Event, isEvent } from '../events/event.ts'

/** What the events of a run say about it as a whole. */
export interface Told {
  readonly run_id: string | undefined
  readonly engine: string | undefined
  readonly ts: string | undefined
  readonly completion?: { readonly state: EndState; readonly reason_code: string | undefined } | undefined
}

/** What is told if this is the last event: the end of an attempt is, when nothing follows it. */
export function toldBy(event: Event): Told {
  const completion = isEvent(event, 'lifecycle.completion.state') ? event.data : undefined
  return { run_id: event.run_id, engine: event.source.engine, ts: event.ts, completion }
}
