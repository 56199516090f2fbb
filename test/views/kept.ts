import { isDeepStrictEqual } from 'node:util'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { drive } from '../../src/base/stage.ts'
import type { AgentEvent, MessageData, ToolData } from '../../src/events/event.ts'
import { type OtelOptions, otelStage } from '../../src/views/otel.ts'
import { failureText, outputText } from '../../src/views/tool-text.ts'
import { sentToAgUi } from './ag-ui-client.ts'
import { type Received, sentToAiSdk } from './ai-sdk-client.ts'
import { type Answered, sentToStreamText } from './language-model-client.ts'

/**
 * Where a client has what a record says: in what it shows by itself, in what it hands to the program (events,
 * data parts), or nowhere.
 */
export type Kept = 'shown' | 'handed on' | 'lost'

/** Where the client of AG-UI has each record. Throws if it refuses something. */
export async function keptByAgUi(events: readonly AgentEvent[]): Promise<Kept[]> {
  const { messages, events: received, error } = await sentToAgUi(events)
  if (error) throw error
  const records = received.map((event) => (event['rawEvent'] ?? event['event']) as AgentEvent | undefined)
  const handedOn = inOrder(records.filter((record) => record !== undefined))
  const texts = inOrder(messages.filter(({ role }) => role === 'assistant').map(({ content }) => content))
  const told = inOrder(messages.filter(({ role }) => role === 'user').map(({ content }) => content))
  const thoughts = inOrder(messages.filter(({ role }) => role === 'reasoning').map(({ content }) => content))
  const written = messages.flatMap((message) =>
    message.role === 'assistant' ? (message.toolCalls ?? []) : [],
  )
  const calls = inOrder(written)
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message]] : [])),
  )
  return events.map((event) => {
    const whole = handedOn((record) => isDeepStrictEqual(record, event)) ? 'handed on' : 'lost'
    if (whole === 'lost') return 'lost'
    switch (event.type) {
      case 'agent.message.delta':
        return messages.some(({ content }) => String(content).includes(event.data.text)) ? 'shown' : whole
      case 'agent.message.final':
        return texts((text) => text === event.data.text) ? 'shown' : whole
      case 'user.message':
        return told((text) => text === event.data.text) ? 'shown' : whole
      case 'agent.reasoning.delta':
        return messages.some(({ content }) => String(content).includes(event.data.text)) ? 'shown' : whole
      case 'agent.reasoning.summary':
        return thoughts((text) => text === event.data.text) ? 'shown' : whole
      case 'tool.call.input.delta':
        return written.some(({ function: called }) => called.arguments.includes(event.data.text))
          ? 'shown'
          : whole
      case 'tool.call.started': {
        const input = event.data.input === undefined ? '' : JSON.stringify(event.data.input)
        const { name } = event.data
        return calls(({ function: called }) => called.name === name && called.arguments === input)
          ? 'shown'
          : whole
      }
      case 'tool.call.completed':
      case 'tool.call.failed':
        return results.get(event.data.call_id)?.content === outputText(event.data) ? 'shown' : whole
      case 'lifecycle.completion.state':
        return 'shown'
      default:
        return whole
    }
  })
}

/** Where the AI SDK has each record. Throws if it refuses something. */
export async function keptByAiSdk(
  events: readonly AgentEvent[],
  received?: Received | undefined,
): Promise<Kept[]> {
  const { message, chunks } = received ?? (await sentToAiSdk(events))
  const parts = message?.parts ?? []
  const texts = inOrder(parts.filter((part) => part.type === 'text'))
  const thoughts = inOrder(parts.filter((part) => part.type === 'reasoning'))
  const tools = new Map(
    parts.flatMap((part) => (part.type === 'dynamic-tool' ? [[part.toolCallId, part]] : [])),
  )
  const inputs = inOrder(chunks.filter((chunk) => chunk.type === 'tool-input-delta'))
  const handedOn = inOrder(chunks.flatMap((chunk) => ('data' in chunk ? [chunk.data] : [])))
  const factsOf = (told: Partial<Record<string, unknown>> | undefined) => told?.['sluice'] ?? {}
  return events.map((event) => {
    switch (event.type) {
      case 'agent.message.delta':
        return parts.some((part) => part.type === 'text' && part.text.includes(event.data.text))
          ? 'shown'
          : 'lost'
      case 'agent.message.final': {
        const { message_id: _, text, structured_payload, ...facts } = event.data satisfies MessageData
        const same = texts(
          (part) => part.text === text && isDeepStrictEqual(factsOf(part.providerMetadata), facts),
        )
        const payload = (data: unknown) =>
          isDeepStrictEqual((data as { structured_payload: unknown }).structured_payload, structured_payload)
        return same && (structured_payload === undefined || handedOn(payload)) ? 'shown' : 'lost'
      }
      case 'agent.reasoning.delta':
        return parts.some((part) => part.type === 'reasoning' && part.text.includes(event.data.text))
          ? 'shown'
          : 'lost'
      case 'agent.reasoning.summary':
        return thoughts((part) => part.text === event.data.text) ? 'shown' : 'lost'
      case 'tool.call.input.delta':
        // The part has the whole input by now; the chunk was shown as it came.
        return inputs((chunk) => chunk.inputTextDelta === event.data.text) ? 'shown' : 'lost'
      case 'tool.call.started': {
        const { call_id, name, input = null } = event.data
        const part = tools.get(call_id)
        return part?.toolName === name && isDeepStrictEqual(part.input, input) ? 'shown' : 'lost'
      }
      case 'tool.call.completed':
      case 'tool.call.failed': {
        const { call_id, output, exit_code, duration_ms, error }: ToolData = event.data
        const part = tools.get(call_id)
        const facts = JSON.parse(
          JSON.stringify(
            event.type === 'tool.call.failed'
              ? { exit_code, duration_ms, error, output }
              : { exit_code, duration_ms },
          ),
        )
        const result =
          event.type === 'tool.call.failed'
            ? part?.state === 'output-error' && part.errorText === failureText(event.data)
            : part?.state === 'output-available' && isDeepStrictEqual(part.output, output ?? null)
        const told = part && 'resultProviderMetadata' in part ? part.resultProviderMetadata : undefined
        return result && isDeepStrictEqual(factsOf(told), facts) ? 'shown' : 'lost'
      }
      default:
        return handedOn((data) => isDeepStrictEqual(data, event)) ? 'handed on' : 'lost'
    }
  })
}

/** Where `streamText` has each record, if a model answers with the run. Throws if it refuses something. */
export async function keptByStreamText(
  events: readonly AgentEvent[],
  answered?: Answered | undefined,
): Promise<Kept[]> {
  const { content, parts } = answered ?? (await sentToStreamText(events))
  const textsOf = (wanted: 'text' | 'reasoning') =>
    content.flatMap((part) => (part.type === wanted && 'text' in part ? [part] : []))
  const said = [...textsOf('text'), ...textsOf('reasoning')]
  const texts = inOrder(textsOf('text'))
  const asides = inOrder(textsOf('reasoning'))
  const calls = inOrder(content.filter(({ type }) => type === 'tool-call'))
  const results = inOrder(content.filter(({ type }) => type === 'tool-result' || type === 'tool-error'))
  const inputs = inOrder(parts.filter((part) => part.type === 'tool-input-delta'))
  const handedOn = inOrder(parts.flatMap((part) => (part.type === 'raw' ? [part.rawValue] : [])))
  return events.map((event) => {
    switch (event.type) {
      case 'agent.message.delta':
        return said.some(({ text }) => text.includes(event.data.text)) ? 'shown' : 'lost'
      case 'agent.message.final': {
        const find = event.data.parent_call_id === undefined ? texts : asides
        // A text without a character is no content.
        return event.data.text === '' || find(({ text }) => text === event.data.text) ? 'shown' : 'lost'
      }
      case 'agent.reasoning.delta':
        return said.some(({ text }) => text.includes(event.data.text)) ? 'shown' : 'lost'
      case 'tool.call.input.delta':
        return inputs((part) => part.delta === event.data.text) ? 'shown' : 'lost'
      case 'agent.reasoning.summary':
        return event.data.text === '' || asides(({ text }) => text === event.data.text) ? 'shown' : 'lost'
      case 'tool.call.started': {
        const { name, input } = event.data
        const same = calls(
          (part) =>
            part.type === 'tool-call' && part.toolName === name && isDeepStrictEqual(part.input, input ?? {}),
        )
        return same ? 'shown' : 'lost'
      }
      case 'tool.call.completed':
      case 'tool.call.failed': {
        const { name, output } = event.data
        const same = results((part) =>
          part.type === 'tool-result'
            ? event.type === 'tool.call.completed' && isDeepStrictEqual(part.output, output ?? '')
            : part.type === 'tool-error' && part.toolName === name && part.error === failureText(event.data),
        )
        return same ? 'shown' : 'lost'
      }
      case 'lifecycle.completion.state': {
        const finish = parts.find(({ type }) => type === 'finish')
        const isEnd = handedOn((record) => isDeepStrictEqual(record, event))
        return finish?.type === 'finish' && finish.rawFinishReason === event.data.reason_code
          ? 'shown'
          : isEnd
            ? 'handed on'
            : 'lost'
      }
      default:
        return handedOn((record) => isDeepStrictEqual(record, event)) ? 'handed on' : 'lost'
    }
  })
}

/** The spans of events, as a real tracer exports them. */
export function spansOf(events: readonly AgentEvent[], options?: OtelOptions): ReadableSpan[] {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  drive(otelStage(provider.getTracer('test'), options), events)
  return exporter.getFinishedSpans()
}

/** Where spans, without content, have each record: as a span or one of its facts, or nowhere. */
export function keptByOtel(events: readonly AgentEvent[]): Kept[] {
  const spans = spansOf(events)
  const calls = spans.filter(({ name }) => name.startsWith('execute_tool'))
  const tools = inOrder(calls)
  const ends = inOrder(calls)
  const run = spans.find(({ name }) => name.startsWith('invoke_agent'))
  const noted = inOrder(run?.events ?? [])
  return events.map((event) => {
    switch (event.type) {
      case 'tool.call.started':
        return tools(({ attributes }) => attributes['gen_ai.tool.call.id'] === event.data.call_id)
          ? 'shown'
          : 'lost'
      case 'tool.call.completed':
      case 'tool.call.failed': {
        const failed = event.type === 'tool.call.failed'
        return ends(
          ({ attributes }) =>
            attributes['gen_ai.tool.call.id'] === event.data.call_id &&
            (attributes['error.type'] !== undefined) === failed,
        )
          ? 'shown'
          : 'lost'
      }
      case 'lifecycle.completion.state':
        return run?.attributes['sluice.state'] === event.data.state ? 'shown' : 'lost'
      case 'lifecycle.run.status':
        return run?.attributes['gen_ai.request.model'] === event.data.model && event.data.model
          ? 'shown'
          : 'lost'
      default:
        return noted(({ name }) => name === event.type) ? 'shown' : 'lost'
    }
  })
}

/** Finds things in a list, each once and in any order. */
function inOrder<T>(list: readonly T[]): (is: (item: T) => boolean) => boolean {
  const left = [...list]
  return (is) => {
    const at = left.findIndex(is)
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  }
}
