import { isFunction, isName, OFF, type OptionTable, readOptions } from '../base/check-options.ts'
import { Fault } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import { isRecord } from '../events/engine.ts'
import { type AgentEvent, type CompletionData, isEvent, type ToolKind } from '../events/event.ts'
import { type Tokens, tokenCounter } from '../events/tokens.ts'
import { type AiSdkChunk, type AiSdkData, type AiSdkMetadata, aiSdkStage } from './ai-sdk.ts'
import { OpenCalls } from './open-items.ts'

/** The options of `languageModel()`. */
export interface LanguageModelOptions {
  /**
   * What the text of the model is. `messages`: what the agent says; what its subagents say is reasoning.
   * `result`: the result of the run as JSON and nothing else, for `generateObject`; everything the agent says
   * is reasoning, and the run needs a `schema`.
   * @default 'messages'
   */
  readonly text?: 'messages' | 'result' | undefined
  /**
   * Sends each of our events that becomes no other part as a part of type `raw`, which `includeRawChunks` of
   * the AI SDK asks for.
   * @default false
   */
  readonly raw?: boolean | undefined
  /**
   * The name of your provider: the key in `providerMetadata` for what the AI SDK has no field for.
   * @default 'sluice'
   */
  readonly name?: string | undefined
  /**
   * Renames tools: given the agent's own name and the kind, the `toolName` that the AI SDK gets.
   * @default the name that the agent gives it
   */
  readonly tool?: ((name: string, kind: ToolKind) => string) | undefined
  /**
   * What your provider adds to the metadata of each text, call and answer, from what is known so far.
   * @default nothing
   */
  readonly metadata?: ((facts: LanguageModelFacts) => JsonObject) | undefined
}

/**
 * What is known of a run so far, for the `metadata` of `languageModel()`.
 *
 * @example
 * const metadata = ({ session_id }: LanguageModelFacts) => ({ threadId: session_id })
 */
export interface LanguageModelFacts {
  readonly run_id: string
  readonly engine: string
  readonly session_id?: string
  readonly model?: string
}

export const LANGUAGE_MODEL_OPTIONS = {
  text: { default: 'messages', words: ['messages', 'result'] },
  raw: OFF,
  name: { default: 'sluice', is: isName, must: 'be the name of a provider, and not empty' },
  tool: { is: isFunction, needs: 'a function as tool' },
  metadata: { is: isFunction, needs: 'a function as metadata' },
} as const satisfies OptionTable<LanguageModelOptions>

/** A JSON value, as the AI SDK types it. */
export type JsonValue = null | string | number | boolean | JsonValue[] | JsonObject
type JsonObject = { [key: string]: JsonValue | undefined }

/** Tokens as the AI SDK counts them. A count that the engine did not report is undefined. */
export interface LanguageModelUsage {
  readonly inputTokens: Readonly<Record<'total' | 'noCache' | 'cacheRead' | 'cacheWrite', number | undefined>>
  readonly outputTokens: Readonly<Record<'total' | 'text' | 'reasoning', number | undefined>>
  /** The last counts of the engine, as it reports them. */
  readonly raw?: JsonObject
}

/** Facts the AI SDK has no field for, under the name of the provider. */
type WithMetadata = { readonly providerMetadata?: { readonly [name: string]: JsonObject } }

/** A call that the agent has run itself, and its result. */
type ToolPart =
  | ({
      readonly type: 'tool-call'
      readonly toolCallId: string
      readonly toolName: string
      /** As JSON. */
      readonly input: string
      readonly providerExecuted: true
      readonly dynamic: true
    } & WithMetadata)
  | ({
      readonly type: 'tool-result'
      readonly toolCallId: string
      readonly toolName: string
      readonly result: NonNullable<JsonValue>
      readonly isError?: true
      readonly dynamic: true
    } & WithMetadata)

/** The run, and the model as the engine names it. */
interface ModelResponse {
  readonly id?: string
  readonly modelId?: string
}

interface TurnFinish extends WithMetadata {
  readonly usage: LanguageModelUsage
  /** A word of the AI SDK, and the `reason_code` of the run. */
  readonly finishReason: {
    readonly unified: 'stop' | 'length' | 'error' | 'other'
    readonly raw: string | undefined
  }
}

/** What a run is sent as: what an agent needs of `LanguageModelV3StreamPart` (`@ai-sdk/provider` 3). */
export type LanguageModelPart =
  | { readonly type: 'stream-start'; readonly warnings: [] }
  | ({ readonly type: 'response-metadata' } & ModelResponse)
  | ({
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'
      readonly id: string
    } & WithMetadata)
  | {
      readonly type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta'
      readonly id: string
      readonly delta: string
    }
  | {
      readonly type: 'tool-input-start'
      readonly id: string
      readonly toolName: string
      readonly providerExecuted: true
      readonly dynamic: true
    }
  | { readonly type: 'tool-input-end'; readonly id: string }
  | ToolPart
  | { readonly type: 'raw'; readonly rawValue: unknown }
  | { readonly type: 'error'; readonly error: unknown }
  | ({ readonly type: 'finish' } & TurnFinish)

/**
 * The stage of `languageModel()`: events as the parts of one answer of a language model of the AI SDK. It is
 * made of the chunks of `aiSdkStage`, so both show the same texts and calls. A run that failed sends `error`
 * before its `finish`.
 *
 * @example
 * const parts = drive(languageModelStage(), [event]) // [{ type: 'stream-start', … }, …]
 */
export function languageModelStage(options: LanguageModelOptions = {}): Stage<AgentEvent, LanguageModelPart> {
  const example = "languageModelStage({ text: 'result' })"
  const read = readOptions('languageModelStage', options, example, LANGUAGE_MODEL_OPTIONS)
  return (next) => {
    const parts = new LanguageModelSink(next, read)
    const chunks = aiSdkStage()(parts)
    return {
      write(event) {
        parts.about(event)
        chunks.write(renamed(event, read.tool))
      },
      end: () => chunks.end(),
    }
  }
}

/** The event with the name that the provider gives to its tool. */
function renamed(event: AgentEvent, tool: LanguageModelOptions['tool']): AgentEvent {
  const types = [
    'tool.call.input.delta',
    'tool.call.started',
    'tool.call.completed',
    'tool.call.failed',
  ] as const
  if (!tool || !isEvent(event, ...types)) return event
  // Cast: joins `type` and `data` again.
  return { ...event, data: { ...event.data, name: tool(event.data.name, event.data.kind) } } as AgentEvent
}

type ChunkOf<T extends AiSdkChunk['type']> = Extract<AiSdkChunk, { type: T }>

/** Turns the chunks of one message into the parts of one answer. */
class LanguageModelSink implements Sink<AiSdkChunk> {
  readonly #next: Sink<LanguageModelPart>
  readonly #options: LanguageModelOptions & { readonly name: string }
  #facts: LanguageModelFacts | undefined
  #usage: JsonObject | undefined
  readonly #names = new OpenCalls<string>()
  /** The calls of which pieces of the input may come, and whether one came: most agents send none. */
  readonly #inputs = new OpenCalls<{ readonly toolName: string; begun: boolean }>()
  /** The ids of texts that are not the answer. */
  readonly #asides = new Set<string>()
  readonly #tokens = tokenCounter()
  #ended: CompletionData | undefined
  #finish: ChunkOf<'finish'> | undefined

  constructor(next: Sink<LanguageModelPart>, options: LanguageModelOptions & { readonly name: string }) {
    this.#next = next
    this.#options = options
  }

  /** The event that the next chunks are made from. */
  about({ run_id, source, correlation: { session_id }, ...event }: AgentEvent): void {
    const { model, usage } = event.type === 'lifecycle.run.status' ? event.data : {}
    this.#facts = {
      ...this.#facts,
      ...{ run_id, engine: source.engine },
      ...(session_id !== undefined && { session_id }),
      ...(model !== undefined && { model }),
    }
    if (isRecord(usage)) this.#usage = usage as JsonObject // cast: a part of a record is JSON
  }

  /** What the AI SDK has no field for, and what the provider adds. */
  #annotated({ providerMetadata: facts }: { readonly providerMetadata?: AiSdkMetadata }): WithMetadata {
    const { name, metadata } = this.#options
    const own = metadata && this.#facts ? metadata(this.#facts) : undefined
    // Cast: facts of records are JSON.
    const known = { ...(facts?.sluice as JsonObject | undefined), ...own }
    return Object.keys(known).length > 0 ? { providerMetadata: { [name]: known } } : {}
  }

  write(chunk: AiSdkChunk) {
    switch (chunk.type) {
      case 'start':
        this.#say({ type: 'stream-start', warnings: [] })
        return this.#say({ type: 'response-metadata', id: chunk.messageId })
      case 'text-start':
      case 'text-end': {
        const { id } = chunk
        if (chunk.type === 'text-start' && this.#isAside(chunk.providerMetadata)) this.#asides.add(id)
        const kind = this.#asides.has(id) ? 'reasoning' : 'text'
        if (chunk.type === 'text-end') this.#asides.delete(id)
        const place = chunk.type === 'text-start' ? 'start' : 'end'
        return this.#say({ type: `${kind}-${place}`, id, ...this.#annotated(chunk) })
      }
      case 'text-delta':
        return this.#say(this.#asides.has(chunk.id) ? { ...chunk, type: 'reasoning-delta' } : chunk)
      case 'reasoning-start':
      case 'reasoning-end':
        return this.#say({ type: chunk.type, id: chunk.id, ...this.#annotated(chunk) })
      case 'reasoning-delta':
        return this.#say(chunk)
      case 'tool-input-start':
        return void this.#inputs.start(chunk.toolCallId, { toolName: chunk.toolName, begun: false })
      case 'tool-input-delta':
        return this.#input(chunk)
      case 'tool-input-available':
      case 'tool-output-available':
      case 'tool-output-error':
        return this.#call(chunk)
      case 'finish-step':
        this.#inputs.takeAll()
        return void this.#names.takeAll()
      case 'finish':
        this.#finish = chunk
        return
      case 'message-metadata':
        // It was stopped: a message of the chat has no `finish` then, but that of a model has one.
        this.#finish = { ...chunk, type: 'finish', finishReason: 'other' }
        return
      case 'error':
        // An answer that reached the limit of tokens is short, and no error.
        if (this.#ended?.reason_code !== 'MAX_TOKENS')
          this.#say({ type: 'error', error: new Fault('COMMAND_FAILED', chunk.errorText) })
        return
      case 'start-step':
      case 'abort':
      case 'data-payload':
        return
      default:
        return this.#record(chunk)
    }
  }

  end(): void {
    if (this.#finish) this.#say({ type: 'finish', ...this.#finishOf(this.#finish) })
    this.#next.end()
  }

  #say(part: LanguageModelPart): void {
    this.#next.write(part)
  }

  #isAside(facts: AiSdkMetadata | undefined): boolean {
    return this.#options.text === 'result' || facts?.sluice['parent_call_id'] !== undefined
  }

  #input({ toolCallId: id, inputTextDelta: delta }: ChunkOf<'tool-input-delta'>): void {
    const input = this.#inputs.find(id)
    if (!input) return
    const { toolName, begun } = input
    if (!begun) this.#say({ type: 'tool-input-start', id, toolName, providerExecuted: true, dynamic: true })
    input.begun = true
    this.#say({ type: 'tool-input-delta', id, delta })
  }

  #call(chunk: ChunkOf<'tool-input-available' | 'tool-output-available' | 'tool-output-error'>) {
    const { toolCallId } = chunk
    if (chunk.type === 'tool-input-available') {
      const { toolName } = chunk
      this.#names.start(toolCallId, toolName)
      if (this.#inputs.end(toolCallId)?.begun) this.#say({ type: 'tool-input-end', id: toolCallId })
      const call = { toolCallId, toolName, providerExecuted: true, dynamic: true } as const
      // Arguments that are not known are sent as none.
      const input = JSON.stringify(chunk.input ?? {})
      return this.#say({ type: 'tool-call', ...call, input, ...this.#annotated(chunk) })
    }
    const toolName = this.#names.end(toolCallId) ?? ''
    const failed = chunk.type === 'tool-output-error'
    this.#say({
      type: 'tool-result',
      ...{ toolCallId, toolName, dynamic: true },
      // Cast: a record is JSON. The AI SDK has no result that is null.
      result: failed ? chunk.errorText : ((chunk.output ?? '') as NonNullable<JsonValue>),
      ...(failed && { isError: true }),
      ...this.#annotated(chunk),
    })
  }

  #record({ data, id }: AiSdkData) {
    const event = data as AgentEvent // cast: all but payloads are sent as whole records
    if (this.#options.raw) this.#say({ type: 'raw', rawValue: event })
    switch (event.type) {
      case 'lifecycle.run.status':
        if (event.data.model !== undefined)
          this.#say({ type: 'response-metadata', modelId: event.data.model })
        return
      case 'lifecycle.run.result': {
        const { status, value } = event.data
        if (this.#options.text !== 'result' || status !== 'success') return
        this.#say({ type: 'text-start', id })
        this.#say({ type: 'text-delta', id, delta: JSON.stringify(value) })
        return this.#say({ type: 'text-end', id })
      }
      case 'lifecycle.completion.state': {
        const { tokens, cumulative } = event.data
        this.#ended = event.data
        if (tokens) cumulative ? this.#tokens.soFar(tokens) : this.#tokens.add(tokens)
      }
    }
  }

  #finishOf({ finishReason, messageMetadata }: ChunkOf<'finish'>): TurnFinish {
    const raw = this.#ended?.reason_code
    const { tokens: _, ...facts } = messageMetadata
    return {
      usage: { ...usageOf(this.#tokens.sum()), ...(this.#usage && { raw: this.#usage }) },
      finishReason: { unified: raw === 'MAX_TOKENS' ? 'length' : finishReason, raw },
      ...this.#annotated({ providerMetadata: { sluice: facts } }),
    }
  }
}

function usageOf({ input, output, cached, cache_write, reasoning }: Tokens = {}): LanguageModelUsage {
  const less = (total: number | undefined, part: number | undefined, more = 0) =>
    total === undefined || part === undefined ? undefined : Math.max(0, total - part - more)
  return {
    inputTokens: {
      total: input,
      noCache: less(input, cached, cache_write),
      cacheRead: cached,
      cacheWrite: cache_write,
    },
    outputTokens: { total: output, text: less(output, reasoning), reasoning },
  }
}

/** A whole answer: the part of `LanguageModelV3GenerateResult` that an agent has. */
export interface LanguageModelResult extends TurnFinish {
  readonly content: (
    | ToolPart
    | ({ readonly type: 'text' | 'reasoning'; readonly text: string } & WithMetadata)
  )[]
  readonly response: ModelResponse
  readonly warnings: []
}

/**
 * The parts of `languageModel()` as one result, for the `doGenerate` of a model. Throws the error of a run
 * that failed.
 *
 * @example
 * const agent = run('codex', ['exec', '--json', 'fix the test'])
 * const { content, usage } = await languageModelResult(agent.pipe(languageModel()))
 */
export async function languageModelResult(
  parts: AsyncIterable<LanguageModelPart> | Iterable<LanguageModelPart>,
): Promise<LanguageModelResult> {
  const content: LanguageModelResult['content'] = []
  const texts = new Map<string, { type: 'text' | 'reasoning'; text: string } & WithMetadata>()
  let response: ModelResponse = {}
  let finish: TurnFinish | undefined
  for await (const part of parts) {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const type = part.type === 'text-start' ? 'text' : 'reasoning'
        texts.set(part.id, { type, text: '', ...metadataOf(part) })
        content.push(texts.get(part.id)!)
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
        texts.get(part.id)!.text += part.delta
        break
      case 'text-end':
      case 'reasoning-end':
        Object.assign(texts.get(part.id)!, metadataOf(part))
        break
      case 'tool-call':
      case 'tool-result':
        content.push(part)
        break
      case 'response-metadata': {
        const { type: _, ...facts } = part
        response = { ...response, ...facts }
        break
      }
      case 'error':
        throw part.error
      case 'finish': {
        const { type: _, ...facts } = part
        finish = facts
      }
    }
  }
  if (!finish) throw new Fault('BAD_STATE', 'the parts have no finish; give it those of languageModel()')
  return { content, response, warnings: [], ...finish }
}

function metadataOf({ providerMetadata }: WithMetadata): WithMetadata {
  return providerMetadata ? { providerMetadata } : {}
}
