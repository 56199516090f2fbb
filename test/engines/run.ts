import { drive } from '../../src/base/stage.ts'
import type { Engine, Picker } from '../../src/events/engine.ts'
import {
  type AgentEvent,
  type CompletionData,
  type EventOf,
  type EventType,
  isEvent,
} from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { type Chat, chatStage } from '../../src/views/chat.ts'
import { validChat, validEvents } from './valid.ts'

/** What a run wrote, and how it ended. */
export interface Input {
  readonly stdout?: string
  readonly stderr?: string
  readonly pty?: string
  readonly stdin?: string
  readonly exit?: number | string
}

/** The events of a run, valid, and the same however the input is cut. */
export function run(
  profile: Engine | Picker,
  input: Input,
  options: EventOptions = {},
): readonly AgentEvent[] {
  const once = (size: number) => {
    const events = drive(eventStage(profile, { clock: () => 0, ...options }), chunksOf(input, size))
    return validEvents(events)
  }
  const whole = once(Number.POSITIVE_INFINITY)
  const long = (input.stdout ?? '').length + (input.pty ?? '').length > 20_000
  for (const size of long ? [4095] : [1, 3, 64]) {
    if (JSON.stringify(once(size)) !== JSON.stringify(whole))
      throw new Error(`other events in pieces of ${size}`)
  }
  validChat(chat(whole))
  return whole
}

function chunksOf(input: Input, size: number): Chunk[] {
  const chunks: Chunk[] = []
  for (const channel of ['stdin', 'stdout', 'stderr', 'pty'] satisfies Channel[]) {
    const bytes = Buffer.from(input[channel] ?? '')
    for (let at = 0; at < bytes.length; at += size)
      chunks.push({ channel, bytes: bytes.subarray(at, at + size) })
  }
  const { exit } = input
  if (typeof exit === 'number') chunks.push({ channel: 'exit', code: exit, signal: null })
  if (typeof exit === 'string') chunks.push({ channel: 'exit', code: null, signal: exit })
  return chunks
}

export function chat(events: readonly AgentEvent[]): Chat[] {
  return drive(chatStage(), events)
}

/** The events of these types. */
export function only<T extends EventType>(events: readonly AgentEvent[], ...types: T[]): EventOf<T>[] {
  return events.filter((event) => isEvent(event, ...types)) as EventOf<T>[]
}

export function texts(events: readonly AgentEvent[]): string[] {
  return only(events, 'agent.message.final').map((event) => event.data.text)
}

export function endOf(events: readonly AgentEvent[]): CompletionData {
  return only(events, 'lifecycle.completion.state')[0]!.data
}

/** The codes of all diagnostics. */
export function codesOf(events: readonly AgentEvent[]): string[] {
  return only(events, 'diagnostic.parser.warning', 'diagnostic.engine.error').map((event) => event.data.code)
}

export function lines(...records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}
