import { checkOptions } from '../base/check-options.ts'
import { CHAT_OPTIONS, type Chat, type ChatOptions, chatStage } from '../views/chat.ts'
import { eventsOnly } from './events-only.ts'
import { type Flow, flow } from './flow.ts'

/**
 * Folds events into a conversation. Every turn that waits for the user ends with `user.input.required`.
 * Every other end of an attempt is one record at its end; a run whose last turn waits adds none.
 *
 * One `chat()` can read several attempts of a run, one after the other: `seq` continues, and
 * `conversation.started` is told once. For a `chat()` of its own for each attempt, `after` and `started` say
 * where the one before ended.
 *
 * @example
 * await pipeline(tap(child), events(opencode), chat(), sse(), response)
 */
export function chat(options: ChatOptions & { readonly signal?: AbortSignal | undefined } = {}): Flow<Chat> {
  checkOptions('chat', options, 'chat({ signal })', CHAT_OPTIONS)
  return flow(chatStage(options), { signal: options.signal, intake: eventsOnly('chat') })
}
