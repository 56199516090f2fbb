import type { Event } from '../../src/events/event.ts'
import type { Reading } from './plain-records.ts'
import { endOf, only } from './run.ts'

/** The same, from the events of the run. */
export function readingOf(events: readonly Event[]): Reading {
  const finals = only(events, 'agent.message.final').map(({ data }) => data)
  const ended = new Map(
    only(events, 'tool.call.completed', 'tool.call.failed').map((event) => [
      event.data.call_id,
      event.type.slice('tool.call.'.length),
    ]),
  )
  return {
    messages: finals.filter(({ incomplete }) => !incomplete).map(({ text }) => text),
    broken: finals.filter(({ incomplete }) => incomplete).map(({ text }) => text),
    reasoning: only(events, 'agent.reasoning.summary').map(({ data }) => data.text),
    tools: only(events, 'tool.call.started').map(
      ({ data }) => `${data.name} ${ended.get(data.call_id) ?? 'open'}`,
    ),
    session: events.findLast(({ correlation }) => correlation.session_id)?.correlation.session_id ?? null,
    end: endOf(events).state,
  }
}
