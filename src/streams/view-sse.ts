import { readOptions } from '../base/check-options.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { AgentEvent } from '../events/event.ts'
import { AG_UI_OPTIONS, type AgUiEvent, type AgUiOptions, agUiStage } from '../views/ag-ui.ts'
import { type AiSdkChunk, aiSdkStage } from '../views/ai-sdk.ts'
import type { Flow } from './flow.ts'
import { SSE_OPTIONS, type SseOptions, sseFlow, sseId, sseMessage } from './sse.ts'

/** The origin of a message of a view: an event, and which of its messages this is. */
export interface ViewPlace {
  readonly attempt_number: number
  readonly seq: number
  readonly part: number
}

/** A message of a view, as it is sent, and its place; without one it has no id. */
interface ViewMessage {
  readonly text: string
  readonly place?: ViewPlace
}

/** A protocol that is sent over SSE. */
export interface SseView {
  readonly headers: Readonly<Record<string, string>>
  stage(): Stage<AgentEvent, ViewMessage>
  /** Reports that the events cannot be read any further; nothing follows it. */
  fault(message: string, code: string): string
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/**
 * The headers of a response with `aiSdkSse()`; the AI SDK sends the same.
 *
 * @example
 * response.writeHead(200, aiSdkHeaders)
 */
export const aiSdkHeaders: Readonly<Record<string, string>> = {
  ...headers,
  'x-vercel-ai-ui-message-stream': 'v1',
}

/** Clients of AG-UI refuse a message of 10 MB. */
const MAX_MESSAGE = 8 << 20
/** The end mark of the AI SDK. */
const DONE = 'data: [DONE]\n\n'

export const sseViews: Readonly<Record<'ag-ui' | 'ai-sdk', SseView>> = {
  'ag-ui': {
    headers,
    stage: () => placed(agUiStage(), agUiJson),
    fault: (message, code) =>
      sseMessage({ data: JSON.stringify({ type: 'RUN_ERROR', message, code } satisfies AgUiEvent) }),
  },
  'ai-sdk': {
    headers: aiSdkHeaders,
    stage: () => placed(aiSdkStage(), JSON.stringify, DONE),
    fault: (errorText) =>
      sseMessage({ data: JSON.stringify({ type: 'error', errorText } satisfies AiSdkChunk) }) + DONE,
  },
}

/**
 * Events as AG-UI over SSE. The id of a message is that of the event it was made from and, after a slash,
 * which of its messages it is (`r1:7/2`), so that a client that was cut off can resume after it.
 *
 * @example
 * response.writeHead(200, { 'content-type': 'text/event-stream' })
 * await pipeline(run('codex', ['exec', '--json', 'fix the test']), agUiSse(), response)
 */
export function agUiSse(options: AgUiOptions & SseOptions = {}): Flow<string> {
  const read = readOptions('agUiSse', options, "agUiSse({ heartbeat: '5s' })", {
    ...SSE_OPTIONS,
    ...AG_UI_OPTIONS,
  })
  return sseFlow('agUiSse', onlyText(placed(agUiStage({ raw: read.raw }), agUiJson)), read)
}

/**
 * Events as an AI SDK UI message stream over SSE, with the same ids as `agUiSse()`. Send it with
 * `aiSdkHeaders`.
 *
 * @example
 * response.writeHead(200, aiSdkHeaders)
 * await pipeline(run('codex', ['exec', '--json', 'fix the test']), aiSdkSse(), response)
 */
export function aiSdkSse(options: SseOptions = {}): Flow<string> {
  const read = readOptions('aiSdkSse', options, "aiSdkSse({ heartbeat: '5s' })", SSE_OPTIONS)
  return sseFlow('aiSdkSse', onlyText(placed(aiSdkStage(), JSON.stringify, DONE)), read)
}

/** Formats what a view emits, with its place; at the end, that of the last event. */
function placed<Out>(
  view: Stage<AgentEvent, Out>,
  spell: (value: Out) => string,
  done?: string,
): Stage<AgentEvent, ViewMessage> {
  return (next) => {
    let last: AgentEvent | undefined
    let part = 0
    const sink: Sink<AgentEvent> = view({
      write(value) {
        const data = spell(value)
        if (!last) return next.write({ text: sseMessage({ data }) })
        const { attempt_number, seq } = last
        const place = { attempt_number, seq, part: ++part }
        next.write({ text: sseMessage({ id: `${sseId(last)}/${part}`, data }), place })
      },
      end() {
        if (done !== undefined) next.write({ text: done })
        next.end()
      },
    })
    return {
      write(event) {
        last = event
        part = 0
        sink.write(event)
      },
      end: () => sink.end(),
    }
  }
}

function onlyText(stage: Stage<AgentEvent, ViewMessage>): Stage<AgentEvent, string> {
  return (next) => stage({ write: ({ text }) => next.write(text), end: () => next.end() })
}

/** Leaves out the record if it would make the message too long, and says so. */
function agUiJson(event: AgUiEvent): string {
  const json = JSON.stringify(event)
  if (json.length <= MAX_MESSAGE || event.rawEvent === undefined) return json
  const { rawEvent, metadata, ...rest } = event
  const facts = { ...metadata?.['agent-sluice'], raw_event: 'left out, because it is too long' }
  return JSON.stringify({ ...rest, metadata: { 'agent-sluice': facts } })
}
