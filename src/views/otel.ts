import { type Complete, defined, misfit, OFF, type OptionTable, readOptions } from '../base/check-options.ts'
import type { Stage } from '../base/stage.ts'
import type { AgentEvent, CompletionData, EventOf, ToolData } from '../events/event.ts'
import { outcomeOf } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'
import { finishCall, OpenCalls } from './open-items.ts'
import { outputText } from './tool-text.ts'

// The part of `@opentelemetry/api` that is used, in all versions since 1.0. With its own types, everyone who
// compiles against ours would have to install it.

/** The attributes of a span. */
export type OtelAttributes = Record<string, string | number | boolean>

/** A `Context` of `@opentelemetry/api`. */
export interface OtelContext {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): OtelContext
  deleteValue(key: symbol): OtelContext
}

/** A `Span` of `@opentelemetry/api`. */
export interface OtelSpan {
  setAttribute(key: string, value: string | number | boolean): unknown
  setAttributes(attributes: OtelAttributes): unknown
  addEvent(name: string, attributes: OtelAttributes, time: [number, number]): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(time: [number, number]): void
}

/**
 * A `Tracer` of `@opentelemetry/api`.
 *
 * @example
 * const tracer: OtelTracer = trace.getTracer('my-app')
 */
export interface OtelTracer {
  startSpan(
    name: string,
    options: { startTime: [number, number]; attributes: OtelAttributes },
    context: OtelContext,
  ): OtelSpan
}

/** The options of `otel()`. */
export interface OtelOptions {
  /**
   * Whether prompts, messages, arguments, results and the text of diagnostics go into the spans. They may
   * contain secrets, so they are left out by default.
   * @default false
   */
  readonly content?: boolean | undefined
  /** Maximum length of one piece of content, in characters; the rest is left out. @default 16384 */
  readonly maxContent?: number | undefined
  /** The context whose span is the parent of the run, such as `context.active()`. @default none */
  readonly parent?: OtelContext | undefined
}

const OTEL_OPTIONS = {
  content: OFF,
  maxContent: { default: 16_384 },
  parent: {},
} as const satisfies OptionTable<OtelOptions>

type ReadOptions = Complete<OtelOptions, typeof OTEL_OPTIONS>

/** Messages whose text is included, with `content`: the first ones and the last. */
const MAX_MESSAGES = 32
/** SpanStatusCode.ERROR: only the types of the package are imported. */
const ERROR = 2

/** Engines with a single provider, named as in the conventions. The others can use many. */
const providers: Readonly<Record<string, string>> = {
  codex: 'openai',
  claude: 'anthropic',
  gemini: 'gcp.gemini',
}

interface OpenCall {
  readonly span: OtelSpan
  readonly since: number
}

interface OpenRun extends OpenCall {
  readonly context: OtelContext
  readonly calls: OpenCalls<OpenCall>
  readonly messages: { input: string[]; output: string[] }
  readonly attempt: number
}

/**
 * The stage of `otel()`: passes events on and makes spans of them, named by the conventions for generative
 * AI. Each attempt is a span `invoke_agent`, each tool call a child `execute_tool`; diagnostics and artifacts
 * are events of the span. Times are those of the events.
 *
 * @example
 * const stage = otelStage(trace.getTracer('my-app'))
 */
export function otelStage(tracer: OtelTracer, options: OtelOptions = {}): Stage<AgentEvent, AgentEvent> {
  if (typeof tracer?.startSpan !== 'function')
    throw misfit('otel', 'a tracer', tracer, "otel(trace.getTracer('my-app'))")
  const read = readOptions('otel', options, 'otel(tracer, { content: true })', OTEL_OPTIONS)
  return (next) => {
    const spans = new RunSpans(tracer, read)
    return {
      write(event) {
        spans.take(event)
        next.write(event)
      },
      end() {
        spans.end()
        next.end()
      },
    }
  }
}

class RunSpans {
  readonly #tracer: OtelTracer
  readonly #content: boolean
  readonly #maxContent: number
  readonly #parent: OtelContext
  #run: OpenRun | undefined
  /** The time of the event, in milliseconds. */
  #now = 0

  constructor(tracer: OtelTracer, { content, maxContent, parent }: ReadOptions) {
    this.#tracer = tracer
    this.#content = content
    this.#maxContent = maxContent
    this.#parent = parent ?? emptyContext
  }

  take(event: AgentEvent) {
    const ms = Date.parse(event.ts)
    // If the time cannot be read, use that of the event before.
    this.#now = Number.isNaN(ms) ? this.#now || Date.now() : ms
    if (this.#run && this.#run.attempt !== event.attempt_number) this.#finish(this.#run, undefined)
    this.#run ??= this.#begin(event)
    const run = this.#run
    const { span } = run
    if (event.correlation.session_id !== undefined)
      span.setAttribute('gen_ai.conversation.id', event.correlation.session_id)
    switch (event.type) {
      case 'lifecycle.run.status':
        if (event.data.model !== undefined) span.setAttribute('gen_ai.request.model', event.data.model)
        return
      case 'lifecycle.completion.state':
        return this.#finish(run, event.data)
      case 'user.message':
        return this.#keepText(run.messages.input, 'user', event.data.text)
      case 'agent.message.final':
        return this.#keepText(run.messages.output, 'assistant', event.data.text)
      case 'tool.call.started':
        return void this.#startCall(run, event.data)
      case 'tool.call.completed':
      case 'tool.call.failed':
        return this.#finishCall(run, event)
      case 'artifact.created':
      case 'artifact.modified':
      case 'artifact.deleted':
        return void span.addEvent(event.type, { 'file.path': event.data.path }, timeOf(this.#now))
      case 'diagnostic.parser.warning':
      case 'diagnostic.engine.error': {
        const { code, severity, message, count } = event.data
        const facts = {
          'sluice.code': code,
          'sluice.severity': severity,
          ...(count !== undefined && { 'sluice.count': count }),
          ...(this.#content && { message: this.#cut(message) }),
        }
        return void span.addEvent(event.type, facts, timeOf(this.#now))
      }
    }
  }

  /** Ends the spans that are open, because the events end. */
  end(): void {
    if (this.#run) this.#finish(this.#run, undefined)
  }

  #cut(text: string): string {
    return text.slice(0, this.#maxContent)
  }

  #begin(event: AgentEvent): OpenRun {
    const { engine } = event.source
    const provider = providers[engine]
    const attributes: OtelAttributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': engine,
      'sluice.run_id': event.run_id,
      'sluice.attempt': event.attempt_number,
      ...(provider !== undefined && { 'gen_ai.provider.name': provider }),
    }
    const start = { startTime: timeOf(this.#now), attributes }
    const span = this.#tracer.startSpan(`invoke_agent ${engine}`, start, this.#parent)
    return {
      span,
      since: this.#now,
      context: withSpan(this.#parent, span),
      calls: new OpenCalls(),
      messages: { input: [], output: [] },
      attempt: event.attempt_number,
    }
  }

  #startCall({ calls, context }: OpenRun, data: ToolData): OpenCall {
    const { call_id, name, input, parent_call_id } = data
    const withInput = this.#content && input !== undefined
    const attributes: OtelAttributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': call_id,
      ...(withInput && { 'gen_ai.tool.call.arguments': this.#cut(JSON.stringify(input)) }),
    }
    // The calls of a subagent are children of the call that started it.
    const above = parent_call_id === undefined ? undefined : calls.find(parent_call_id)
    const within = above ? withSpan(context, above.span) : context
    const start = { startTime: timeOf(this.#now), attributes }
    const call = { span: this.#tracer.startSpan(`execute_tool ${name}`, start, within), since: this.#now }
    for (const lost of calls.start(call_id, call)) this.#endCall(lost, { 'sluice.unfinished': true })
    return call
  }

  #endCall({ span, since }: OpenCall, attributes: OtelAttributes): void {
    span.setAttributes(attributes)
    span.end(timeOf(Math.max(this.#now, since)))
  }

  #finishCall(run: OpenRun, event: EventOf<'tool.call.completed' | 'tool.call.failed'>): void {
    const { data } = event
    const call = finishCall(run.calls, data.call_id, () => this.#startCall(run, data))
    const { exit_code, error } = data
    const failed = event.type === 'tool.call.failed'
    const message = this.#content && error ? { message: this.#cut(error) } : {}
    if (failed) call.span.setStatus({ code: ERROR, ...message })
    this.#endCall(call, {
      ...(failed && { 'error.type': exit_code === undefined ? 'tool_error' : `exit_${exit_code}` }),
      ...(exit_code !== undefined && { 'sluice.exit_code': exit_code }),
      ...(this.#content && { 'gen_ai.tool.call.result': this.#cut(outputText(data)) }),
    })
  }

  #finish(run: OpenRun, data: CompletionData | undefined): void {
    const { calls, messages } = run
    for (const call of calls.takeAll()) this.#endCall(call, { 'sluice.unfinished': true })
    const outcome = data ? outcomeOf(data) : 'unknown'
    if (outcome === 'failed') run.span.setStatus({ code: ERROR })
    this.#endCall(run, {
      'sluice.outcome': outcome,
      ...(data && { 'sluice.state': data.state, 'sluice.reason_code': data.reason_code }),
      ...usageOf(data?.tokens),
      ...(outcome === 'failed' && { 'error.type': data?.reason_code ?? '_OTHER' }),
      ...(messages.input.length > 0 && { 'gen_ai.input.messages': `[${messages.input.join()}]` }),
      ...(messages.output.length > 0 && { 'gen_ai.output.messages': `[${messages.output.join()}]` }),
    })
    this.#run = undefined
  }

  #keepText(list: string[], role: 'user' | 'assistant', text: string): void {
    if (!this.#content) return
    if (list.length >= MAX_MESSAGES) list.pop()
    list.push(JSON.stringify({ role, parts: [{ type: 'text', content: this.#cut(text) }] }))
  }
}

/** Seconds and nanoseconds: the SDK takes few milliseconds for a time since the process began. */
function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000)
  return [seconds, (ms - seconds * 1000) * 1_000_000]
}

function usageOf(tokens: Tokens | undefined): OtelAttributes {
  return defined({
    'gen_ai.usage.input_tokens': tokens?.input,
    'gen_ai.usage.output_tokens': tokens?.output,
    'gen_ai.usage.cache_read.input_tokens': tokens?.cached,
    'gen_ai.usage.cache_creation.input_tokens': tokens?.cache_write,
    'gen_ai.usage.reasoning.output_tokens': tokens?.reasoning,
  })
}

/**
 * The key under which every version of the package since 1.0 keeps the span of a context; `trace.setSpan`
 * would need the package at run time.
 */
const SPAN_KEY = Symbol.for('OpenTelemetry Context Key SPAN')

/** A context in which this span is the current one. */
function withSpan(parent: OtelContext, span: OtelSpan): OtelContext {
  return layered(parent, SPAN_KEY, span)
}

function layered(parent: OtelContext, key: symbol, value: unknown): OtelContext {
  const context: OtelContext = {
    getValue: (asked) => (asked === key ? value : parent.getValue(asked)),
    setValue: (next, given) => layered(context, next, given),
    deleteValue: (next) => layered(context, next, undefined),
  }
  return context
}

const emptyContext: OtelContext = {
  getValue: () => undefined,
  setValue: (key, value) => layered(emptyContext, key, value),
  deleteValue: () => emptyContext,
}
