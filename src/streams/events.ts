import { realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { checkOptions } from '../base/check-options.ts'
import { orElse } from '../base/fault.ts'
import { checkEngine, guarded } from '../events/check-engine.ts'
import type { Engine, Picker } from '../events/engine.ts'
import { type AgentEvent, type EventWithRecord, eventsOnly } from '../events/event.ts'
import { EVENT_OPTIONS, type EventOptions, eventStage } from '../events/event-stage.ts'
import { eventIntake } from '../text/chunk.ts'
import { CHAT_OPTIONS, type Chat, type ChatOptions, chatStage } from '../views/chat.ts'
import { type Flow, flow } from './flow.ts'

/**
 * Reads the output of one run as one engine writes it. Takes chunks (a bare Buffer or string is stdout),
 * emits events (docs/protocol.md); nothing is lost, what is not understood is emitted as `raw.*`.
 *
 * @example
 * for await (const event of tap(child).pipe(events(codex))) console.log(event.type)
 */
export function events(
  engine: Engine | Picker,
  options: EventOptions & { readonly signal?: AbortSignal | undefined; readonly record: true },
): Flow<EventWithRecord>
export function events(
  engine: Engine | Picker,
  options?: EventOptions & { readonly signal?: AbortSignal | undefined },
): Flow<AgentEvent>
export function events(
  engine: Engine | Picker,
  options: EventOptions & { readonly signal?: AbortSignal | undefined } = {},
): Flow<AgentEvent> {
  checkEngine('events', engine)
  checkOptions('events', options, 'events(codex, { runId })', EVENT_OPTIONS)
  const inside = options.dir === undefined ? undefined : linkCheck(options.dir)
  return flow(eventStage(guarded(engine), { ...options, inside }), {
    signal: options.signal,
    intake: eventIntake,
  })
}

/** Follows links. A path that does not exist cannot lead outside. */
function linkCheck(dir: string): (path: string) => boolean {
  const isInside = (path: string) =>
    `${realpathSync(join(dir, path))}${sep}`.startsWith(`${realpathSync(dir)}${sep}`)
  return (path) => orElse(() => isInside(path), true)
}

/**
 * Folds events into a conversation. Every turn that waits for the user ends with `user.input.required`. The
 * last record of an attempt is `conversation.ended`, however it ended.
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
