import { misfit, type OptionTable, readOptions } from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { Fault, quote } from '../base/fault.ts'
import type { Stage } from '../base/stage.ts'
import { type AgentEvent, eventsOnly } from '../events/event.ts'
import type { Chat } from '../views/chat.ts'
import { type Flow, flow } from './flow.ts'

/** The options of `sse()`. */
export interface SseOptions {
  /**
   * How long it may be silent before a comment is sent, so that proxies keep the connection open; 0 for
   * never.
   * @default '15s'
   */
  readonly heartbeat?: Duration | undefined
  /** Aborting it destroys the flow. */
  readonly signal?: AbortSignal | undefined
}

export const SSE_OPTIONS = {
  heartbeat: { ...DURATION, default: 15_000 },
} as const satisfies OptionTable<SseOptions>

/**
 * Events or chat records to `text/event-stream`. The id of each is `<run_id>:<seq>` (an event of a later
 * attempt: `<run_id>:<attempt>.<seq>`, because events are numbered per attempt), the event name is its type,
 * the data its JSON. The caller sends the response headers.
 *
 * @example
 * response.writeHead(200, { 'content-type': 'text/event-stream' })
 * await pipeline(tap(child), events(codex), chat(), sse(), response)
 */
export function sse(options: SseOptions = {}): Flow<string> {
  return sseFlow('sse', sseStage, readOptions('sse', options, "sse({ heartbeat: '5s' })", SSE_OPTIONS))
}

/** A flow of SSE messages, of events or what is made of them, that sends a heartbeat after a silence. */
export function sseFlow<In>(
  who: string,
  stage: Stage<In, string>,
  { heartbeat, signal }: { readonly heartbeat: number; readonly signal?: AbortSignal | undefined },
): Flow<string> {
  let quiet = true
  const made = flow<In, string>(
    (next) => {
      const sink = stage(next)
      return {
        write(record) {
          quiet = false
          sink.write(record)
        },
        end: () => sink.end(),
      }
    },
    { signal, intake: eventsOnly<In>(who) },
  )
  if (heartbeat > 0) {
    const timer = setInterval(() => {
      // A slow reader needs no heartbeat, and a queue of them must not build up.
      if (quiet && made.readableLength === 0 && !made.writableEnded) made.push(HEARTBEAT)
      quiet = true
    }, heartbeat).unref()
    made.once('close', () => clearInterval(timer))
  }
  return made
}

/** A comment: not an event for the reader, but bytes on the connection. */
export const HEARTBEAT = ':\n\n'

const sseStage: Stage<AgentEvent | Chat, string> = (next) => ({
  write: (record) => next.write(sseRecord(record)),
  end: () => next.end(),
})

/** One record as an SSE message. */
export function sseRecord(record: AgentEvent | Chat): string {
  return sseMessage({
    id: sseId(record),
    event: record.type,
    data: JSON.stringify(record),
  })
}

/** `<run_id>:<seq>`, or `<run_id>:<attempt>.<seq>` for the events of a later attempt. */
export function sseId(record: AgentEvent | Chat): string {
  const attempt = 'event' in record && record.attempt_number > 1 ? `${record.attempt_number}.` : ''
  return `${record.run_id}:${attempt}${record.seq}`
}

/** One SSE message, with only the fields that are given. */
export interface SseMessage {
  readonly id?: string | undefined
  readonly event?: string | undefined
  readonly data: string
}

/**
 * Formats a message. Data is split at CR, LF and CRLF, as the reader would; an id or event name with one of
 * them (or a NUL, at which readers drop the id) could forge a message and is refused.
 *
 * @example
 * const text = sseMessage({ id: 'r1:7', event: 'note', data: 'two\nlines' })
 * // 'id: r1:7\nevent: note\ndata: two\ndata: lines\n\n'
 */
export function sseMessage(message: SseMessage): string {
  if (typeof message?.data !== 'string')
    throw misfit('sseMessage', 'an object with data that is text', message, 'sseMessage({ data: "hello" })')
  let text = ''
  if (message.id !== undefined) text += `id: ${field('id', message.id)}\n`
  if (message.event !== undefined) text += `event: ${field('event', message.event)}\n`
  for (const line of dataLines(message.data)) text += `data: ${line}\n`
  return `${text}\n`
}

function dataLines(data: string): string[] {
  // JSON never contains a raw line end, so nearly every message is one line.
  if (!data.includes('\n') && !data.includes('\r')) return [data]
  return data.split(/\r\n|\r|\n/)
}

function field(name: string, value: string): string {
  if (/[\r\n\0]/.test(value)) {
    throw new Fault(
      'SSE_FIELD',
      `the ${name} ${quote(value)} has a CR, LF or NUL in it, and would break the stream`,
    )
  }
  return value
}
