import { type BaseEvent, HttpAgent, type Message } from '@ag-ui/client'
import type { AgentEvent } from '../../src/events/event.ts'
import { agUiSse } from '../../src/streams/view-sse.ts'

/** What the client of AG-UI made of a stream. */
export interface Received {
  readonly messages: readonly Message[]
  readonly events: readonly BaseEvent[]
  /** Why the client took the run for failed. */
  readonly error: Error | undefined
}

/** Sends events over SSE to the client of AG-UI, which parses, enforces, verifies and applies them. */
export async function sentToAgUi(events: readonly AgentEvent[]): Promise<Received> {
  const line = agUiSse({ heartbeat: 0 })
  const body = line.toArray()
  for (const event of events) line.write(event)
  line.end()
  return await receivedByAgUi(new Response((await body).join('')))
}

/** What the client of AG-UI makes of a response. */
export async function receivedByAgUi(response: Response): Promise<Received> {
  const agent = new HttpAgent({ url: 'http://sluice.invalid/', fetch: async () => response })
  const received: BaseEvent[] = []
  let error: Error | undefined
  const onEvent = ({ event }: { event: BaseEvent }) => void received.push(event)
  await agent.runAgent({}, { onEvent }).catch((reason: Error) => {
    error = reason
  })
  return { messages: agent.messages, events: received, error }
}
