import { type Complete, defined, OFF, type OptionTable, readOptions } from '../base/check-options.ts'
import { runCodes } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import { type Cost, costCounter } from '../events/cost.ts'
import type {
  AgentEvent,
  AgentRequest,
  ArtifactData,
  CompletionData,
  Correlation,
  DiagnosticData,
  EventOf,
  MessageData,
  RawData,
  RawRef,
  ReasoningData,
  ResultData,
  SettledBy,
  ToolData,
  ToolInputData,
  UserData,
} from '../events/event.ts'
import { isGood, outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { type Tokens, tokenCounter } from '../events/tokens.ts'
import type { ToldOrder } from '../text/chunk.ts'

/**
 * State of the conversation at the end of a turn or of an attempt. At the end of an attempt with `outcome`
 * and `ok`, and with `result` if a schema was given.
 */
export type ChatEnd = Omit<CompletionData, 'outcome' | 'ok'> &
  Partial<Pick<CompletionData, 'outcome' | 'ok'>> & { readonly result?: ResultData }

/**
 * How an attempt ended, the same as its `end`.
 *
 * @example
 * for await (const record of run('codex', ['exec', '--json', task]).pipe(chat()))
 *   if (record.type === 'conversation.ended') console.log(record.data.outcome, record.data.problem ?? '')
 */
export interface ConversationEnd {
  /** In one plain word: `succeeded`, `finished`, `needs_input`, `failed`, `cancelled` or `unknown`. */
  readonly outcome: RunOutcome
  /** True for `succeeded` and `finished`. */
  readonly ok: boolean
  /** What went wrong, in one sentence for people. Missing after a good end. */
  readonly problem?: string
  /** The last message of the attempt that is not of a subagent. */
  readonly text?: string
  readonly tokens?: Tokens
  readonly cost?: Cost
}

/** Every chat type and its `data`. */
export interface ChatData {
  'conversation.started': {
    readonly session_id: string
    readonly model?: string
    readonly cwd?: string
    readonly engine_version?: string
  }
  'user.message': UserData
  'assistant.message.delta': MessageData
  'assistant.message.final': MessageData
  'assistant.reasoning.delta': ReasoningData
  'assistant.reasoning': ReasoningData
  'assistant.tool_call.delta': ToolInputData
  'assistant.tool_call': ToolData & { readonly phase: 'started' | 'completed' | 'failed' }
  'artifact.created': ArtifactData
  'artifact.modified': ArtifactData
  'artifact.deleted': ArtifactData
  /** The end of a turn, when it happens; with a `request`, the agent asks in the middle of its turn. */
  'user.input.required': ChatEnd & { readonly request?: AgentRequest }
  /** A request has ended: the option that was chosen, if that was seen, and who ended it. */
  'user.input.settled': { readonly request_id: string; readonly option?: string; readonly by: SettledBy }
  /** What became of an order to the run: an answer, an interrupt or a stop from afar. */
  'user.control': ToldOrder
  /** The end of an attempt in which the agent wrote its done marker (the state `completed`). */
  'conversation.completed': ChatEnd
  /** The end of an attempt that failed or was stopped (the state `interrupted`). */
  'conversation.failed': ChatEnd
  /** The last record of every attempt, however it ended. */
  'conversation.ended': ConversationEnd
  /** Also used for an unknown end: then it has a `state`. */
  'diagnostic.warning': DiagnosticData & Partial<ChatEnd>
  'raw.stdout': RawData
  'raw.stderr': RawData
  'raw.pty': RawData
  'raw.stdin': RawData
}

/** The name of a chat record: `assistant.message.final`. */
export type ChatType = keyof ChatData

/** What a conversation shows: one record of FCMP, the Frontend Conversation Message Protocol. */
export type Chat = {
  [K in ChatType]: {
    readonly protocol_version: 'fcmp/1.0'
    readonly run_id: string
    /** From 1, without gaps, over all attempts of the run. */
    readonly seq: number
    readonly ts: string
    readonly engine: string
    readonly type: K
    readonly data: ChatData[K]
    /** `local_seq` counts the records of this attempt, from 1. */
    readonly meta: { readonly attempt: number; readonly local_seq: number }
    readonly correlation: Correlation
    readonly raw_ref: RawRef | null
  }
}[ChatType]

/** The chat records of one type. */
export type ChatOf<T extends ChatType> = Extract<Chat, { readonly type: T }>

/** The options of `chat()`. */
export interface ChatOptions {
  /** The last `seq` of the attempts before, if each has its own stream. @default 0 */
  readonly after?: number | undefined
  /** The conversation was started in an earlier attempt. @default false */
  readonly started?: boolean | undefined
}

export const CHAT_OPTIONS = {
  after: { default: 0 },
  started: OFF,
} as const satisfies OptionTable<ChatOptions>

/** What is told as it is, maybe by another name. */
const RENAMED = {
  'user.message': 'user.message',
  'agent.message.delta': 'assistant.message.delta',
  'agent.message.final': 'assistant.message.final',
  'agent.reasoning.delta': 'assistant.reasoning.delta',
  'agent.reasoning.summary': 'assistant.reasoning',
  'tool.call.input.delta': 'assistant.tool_call.delta',
  'artifact.created': 'artifact.created',
  'artifact.modified': 'artifact.modified',
  'artifact.deleted': 'artifact.deleted',
  'diagnostic.parser.warning': 'diagnostic.warning',
  'diagnostic.engine.error': 'diagnostic.warning',
  'raw.stdout': 'raw.stdout',
  'raw.stderr': 'raw.stderr',
  'raw.pty': 'raw.pty',
  'raw.stdin': 'raw.stdin',
} as const satisfies Partial<Record<AgentEvent['type'], ChatType>>

/** `chat()` without streams: see `Stage`. */
export function chatStage(options: ChatOptions = {}): Stage<AgentEvent, Chat> {
  const read = readOptions('chatStage', options, 'chatStage({ after: 12 })', CHAT_OPTIONS)
  return (next) => new ChatSink(next, read)
}

/** Turns the events of a stream into chat records. */
class ChatSink implements Sink<AgentEvent> {
  readonly #next: Sink<Chat>
  #seq: number
  #started: boolean
  #attempt: number | undefined
  #localSeq = 0
  #text: string | undefined
  #result: ResultData | undefined
  /** The attempt in which a turn was reported to wait for the user. */
  #waiting: number | undefined
  #spent = tokenCounter()
  #cost = costCounter()
  /** What was spent includes what the session had used before. */
  #cumulative = false

  constructor(next: Sink<Chat>, { after, started }: Complete<ChatOptions, typeof CHAT_OPTIONS>) {
    this.#next = next
    this.#seq = after
    this.#started = started
  }

  write(event: AgentEvent) {
    if (event.attempt_number !== this.#attempt) {
      this.#attempt = event.attempt_number
      this.#localSeq = 0
      this.#text = undefined
      this.#spent = tokenCounter()
      this.#cost = costCounter()
      this.#cumulative = false
    }
    const session = event.correlation.session_id
    if (!this.#started && session !== undefined) {
      this.#started = true
      this.#say(event, 'conversation.started', { session_id: session, ...factsOf(event) })
    }
    switch (event.type) {
      case 'agent.message.final':
        if (event.data.parent_call_id === undefined) this.#text = event.data.text
        break
      case 'tool.call.started':
      case 'tool.call.completed':
      case 'tool.call.failed': {
        const phase = event.type.slice('tool.call.'.length) as 'started' | 'completed' | 'failed'
        return this.#say(event, 'assistant.tool_call', { phase, ...event.data })
      }
      case 'lifecycle.run.result':
        this.#result = event.data
        return
      case 'lifecycle.completion.state':
        return this.#finish(event, event.data)
      case 'lifecycle.run.status':
        return this.#status(event)
    }
    // Cast: each has the data of its event.
    this.#say<ChatType>(event, RENAMED[event.type], event.data as ChatData[ChatType])
  }

  end(): void {
    this.#next.end()
  }

  #say<T extends ChatType>(event: AgentEvent, type: T, data: ChatData[T]): void {
    const record = {
      protocol_version: 'fcmp/1.0' as const,
      run_id: event.run_id,
      seq: ++this.#seq,
      ts: event.ts,
      engine: event.source.engine,
      type,
      data,
      meta: { attempt: event.attempt_number, local_seq: ++this.#localSeq },
      correlation: event.correlation,
      raw_ref: event.raw_ref,
    }
    // Cast: joins `type` and `data` again; inside a generic they are two unions to TypeScript.
    this.#next.write(record as unknown as Chat)
  }

  #status(event: EventOf<'lifecycle.run.status'>): void {
    const { status, evidence, tokens, cumulative, cost, request, request_id, option, by } = event.data
    if (status === 'control') {
      const { status: _, ...told } = event.data
      // Cast: an order has these fields, and no others.
      this.#say(event, 'user.control', told as ToldOrder)
      return
    }
    if (tokens) this.#spent.add(tokens)
    if (cost) this.#cost.add(cost)
    this.#cumulative ||= cumulative === true
    if (request_id !== undefined && by !== undefined)
      // Cast: only an order has another one.
      this.#say(event, 'user.input.settled', { request_id, ...defined({ option }), by: by as SettledBy })
    if (status !== 'awaiting_user_input' || !evidence) return
    this.#waiting = event.attempt_number
    const sum = this.#spent.sum()
    const reason_code = evidence.request === undefined ? 'END_SIGNAL' : 'REQUEST_OPEN'
    const end = { state: status, reason_code, evidence, ...(request && { request }) } as const
    const spent = this.#cost.sum()
    this.#say(event, 'user.input.required', {
      ...end,
      ...(sum && { tokens: sum }),
      ...(sum && this.#cumulative && { cumulative: true }),
      ...(spent && { cost: spent }),
    })
  }

  #finish(event: AgentEvent, data: CompletionData) {
    const outcome = outcomeOf(data, this.#result?.status)
    this.#judge(event, this.#result ? { ...data, result: this.#result } : data)
    this.#result = undefined
    const { problem, tokens, cost } = data
    const ended = { outcome, ok: isGood(outcome), ...defined({ problem, text: this.#text, tokens, cost }) }
    this.#say(event, 'conversation.ended', ended)
  }

  /** The protocol's own record of the end. */
  #judge(event: AgentEvent, end: ChatEnd) {
    switch (end.state) {
      case 'completed':
        return this.#say(event, 'conversation.completed', end)
      case 'awaiting_user_input':
        // Already written when the turn ended; journals of 0.1 do not have the ends of turns.
        if (this.#waiting !== event.attempt_number) this.#say(event, 'user.input.required', end)
        return
      case 'interrupted':
        return this.#say(event, 'conversation.failed', end)
      case 'unknown': {
        const { confidence } = event.source
        const code = 'END_UNKNOWN'
        const warning = { code, message: runCodes[code], severity: 'warning', confidence } as const
        return this.#say(event, 'diagnostic.warning', { ...warning, ...end })
      }
    }
  }
}

/** The facts about the run in the first record of a session. */
function factsOf(event: AgentEvent): Omit<ChatData['conversation.started'], 'session_id'> {
  if (event.type !== 'lifecycle.run.status') return {}
  const { model, cwd, engine_version } = event.data
  return defined({ model, cwd, engine_version })
}
