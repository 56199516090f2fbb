import {
  DefaultChatTransport,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  validateUIMessages,
} from 'ai'
import type { AgentEvent } from '../../src/events/event.ts'
import { aiSdkHeaders, aiSdkSse } from '../../src/streams/view-sse.ts'

/** What the AI SDK made of a stream. */
export interface Received {
  /** Undefined if the stream had none. */
  readonly message: UIMessage | undefined
  readonly chunks: readonly UIMessageChunk[]
  /** What it was told with `error` chunks, or found wrong with the stream. */
  readonly errors: readonly string[]
}

/** Sends events over SSE to the AI SDK, which checks, reads and validates them. */
export async function sentToAiSdk(events: readonly AgentEvent[]): Promise<Received> {
  const line = aiSdkSse({ heartbeat: 0 })
  const body = line.toArray()
  for (const event of events) line.write(event)
  line.end()
  return await receivedByAiSdk(new Response((await body).join(''), { headers: aiSdkHeaders }))
}

/**
 * What the AI SDK makes of a response. Throws for a chunk that it refuses and for a message that is not
 * valid.
 */
export async function receivedByAiSdk(response: Response): Promise<Received> {
  const transport = new DefaultChatTransport({ fetch: async () => response })
  const stream = await transport.reconnectToStream({ chatId: 'run' })
  if (!stream) return { message: undefined, chunks: [], errors: [] }
  const [first, second] = stream.tee()
  const chunks: UIMessageChunk[] = []
  const errors: string[] = []
  const listed = (async () => {
    for await (const chunk of first) chunks.push(chunk)
  })()
  let message: UIMessage | undefined
  const onError = (error: unknown) => void errors.push(error instanceof Error ? error.message : String(error))
  for await (const shown of readUIMessageStream({ stream: second, onError })) message = shown
  await listed
  if (message) await validateUIMessages({ messages: [message] })
  return { message, chunks, errors }
}
