import type { AgentEvent } from '../../src/events/event.ts'
import { endOf, only } from './run.ts'

/** What a run said, did and spent: what must not depend on the way its output was read. */
export function contentOf(events: readonly AgentEvent[]) {
  const ends = new Map(
    only(events, 'tool.call.completed', 'tool.call.failed').map(({ type, data }) => [
      data.call_id,
      type.slice('tool.call.'.length),
    ]),
  )
  const { state, tokens } = endOf(events)
  return {
    messages: only(events, 'agent.message.final').map(({ data }) => [data.text, data.incomplete ?? false]),
    thoughts: only(events, 'agent.reasoning.summary').map(({ data }) => data.text),
    prompts: only(events, 'user.message').map(({ data }) => data.text),
    tools: only(events, 'tool.call.started').map(
      ({ data }) => `${data.name} ${ends.get(data.call_id) ?? 'open'}`,
    ),
    session: events.findLast(({ correlation }) => correlation.session_id)?.correlation.session_id,
    state,
    tokens,
  }
}
