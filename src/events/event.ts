import { type Code, Fault } from '../base/fault.ts'
import { type Intake, wholeIntake } from '../base/stage.ts'
import type { Channel, ToldOrder } from '../text/chunk.ts'
import type { RepairLevel } from '../values/outcome.ts'
import type { Cost } from './cost.ts'
import type { Tokens } from './tokens.ts'

/** How bad a diagnostic is. Only `fatal` counts as a failure of the run. */
export type Severity = 'info' | 'warning' | 'error' | 'fatal'

/**
 * How the conversation ended, in the words of the protocol: a turn that ended well is `awaiting_user_input`.
 * The plain word for people is the outcome.
 */
export type EndState = 'completed' | 'awaiting_user_input' | 'interrupted' | 'unknown'

/**
 * How a run ended, in one plain word; `succeeded` and `finished` are good ends. `outcome` of
 * `lifecycle.completion.state` explains each. A question in prose is not recognised: that run is `finished`.
 */
export type RunOutcome = 'succeeded' | 'finished' | 'needs_input' | 'failed' | 'cancelled' | 'unknown'

/** The piece of evidence that decided the end. */
export type EndReason =
  | 'DONE_MARKER'
  | 'END_SIGNAL'
  | 'REQUEST_OPEN'
  | 'ENGINE_FAILED'
  | 'EXIT_CODE'
  | 'SIGNAL'
  /** The engine says that the answer reached a limit of tokens. */
  | 'MAX_TOKENS'
  | 'TRUNCATED'
  | 'NO_END_SIGNAL'

/**
 * Why a run failed, in one word: not logged in or no right to it, nothing left of the plan, too many
 * requests, a prompt that is too long, the network or the server, something that was not allowed, anything
 * else.
 */
export type FailureClass = 'auth' | 'quota' | 'rate' | 'context' | 'network' | 'denied' | 'other'

/** What is known about the end of an agent's run, from which its `outcome` is made. */
export interface Evidence {
  /** The agent wrote its done marker in its last turn: the option `doneMarker` of `events()`. */
  readonly done_marker: boolean
  /** The name of the engine's record that ended the last turn: `turn.completed`. */
  readonly end_signal: string | null
  /** The words of the error that made the run fail: a fatal one of the engine, or one of ours. */
  readonly failure: string | null
  readonly exit_code: number | null
  readonly signal: string | null
  /** The output ended inside a record, or the last answer was `cut`. */
  readonly truncated: boolean
  /** How the engine says that the last answer was cut: `max_tokens`, `length`. Missing if it does not. */
  readonly cut?: string
  /** Why it was stopped on request: `interrupted`, `aborted`, `abandoned`. Missing if it ended by itself. */
  readonly stopped?: string
  /** The request or the question tool of the agent that has no answer yet. Missing if nothing is open. */
  readonly request?: string
  /** A done marker was asked for (the option `doneMarker`), and there is none. */
  readonly marker?: 'missing'
}

/** What the user can choose. Several options may have the same kind, and each agent names its own. */
export interface RequestOption {
  readonly id: string
  readonly kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'cancel'
  /** What to show to the user for it. */
  readonly label: string
}

/** A question of the agent, with the answers that it offers. */
export interface RequestQuestion {
  readonly id: string
  readonly question: string
  readonly header?: string
  readonly options: readonly { readonly label: string; readonly description?: string }[]
  /** More than one of the options can be chosen. */
  readonly multiple?: true
  /** Another answer than the options can be given. */
  readonly other?: true
  /** The answer is a secret. */
  readonly secret?: true
}

/** What an agent asks, before it goes on. Command, paths and reason are the model's words. */
export interface AgentRequest {
  /** The attempt, and the agent's own id as JSON: `1:0`, `1:"0"`. `1:0:2` is the second with the id 0. */
  readonly id: string
  readonly kind: 'permission' | 'question'
  /** The name of the tool that it is about. */
  readonly tool: string
  /** What would be done, in one line made from `input`: the command, the files; or the question. */
  readonly title: string
  /** Why, in the model's own words. They may say anything: never decide by them. */
  readonly reason?: string
  /** What the tool would get. Missing if the agent does not show it. */
  readonly input?: unknown
  /** The call that waits for the answer. */
  readonly call_id?: string
  /** Empty if the answer is not one of several: a question that can only be answered. */
  readonly options: readonly RequestOption[]
  /** What is asked, if the kind is `question`. */
  readonly questions?: readonly RequestQuestion[]
}

/**
 * How a request ended: answered on stdin (`user`) or by an order from elsewhere (`control`), rejected by us
 * because nobody answered in time, or can (`limit`), by the agent (it withdrew the request or went on;
 * without stdin that is all that can be seen of an answer), by an interrupt, or by the end of the run.
 */
export type SettledBy = 'user' | 'control' | 'limit' | 'agent' | 'interrupt' | 'end'

interface StatusData {
  /**
   * The engine's own word for the step (`turn_started`), or one of ours: `started` (the session is known),
   * `engine_picked` (by `auto`), `awaiting_user_input`, `request_settled`, `control` (an order to the run).
   */
  readonly status: string
  /** Token counts in the engine's own format, cumulative in some: never add them up, add up `tokens`. */
  readonly usage?: unknown
  /** The tokens of this step or turn only: the sum over all records is that of the run. */
  readonly tokens?: Tokens
  /** The tokens of this turn so far. `tokens` at its end has the count: never add these up. */
  readonly turn_tokens?: Tokens
  /** `tokens` may include what the session had used before this run. */
  readonly cumulative?: true
  /** The cost of this step or turn only, as the engine reports it: the sum over all records is the run's. */
  readonly cost?: Cost
  /** The answer that the engine has in a field of its own (Claude Code: `structured_output`). */
  readonly structured_payload?: unknown
  /** What else the engine counts, in its own format (Gemini CLI: `stats`). */
  readonly stats?: unknown
  /** The engine's word about the step. With `awaiting_user_input`: the name of the record that says so. */
  readonly reason?: string
  /** With `started`, or later if the engine reports it later. */
  readonly model?: string
  readonly cwd?: string
  readonly engine_version?: string
  /** With `awaiting_user_input`, the end of a turn that needs an answer: what is known so far. */
  readonly evidence?: Evidence
  /** With `awaiting_user_input` in the middle of a turn: what the agent asks. */
  readonly request?: AgentRequest
  /** With `request_settled`: the request, the option that was chosen, if that was seen, and who ended it. */
  readonly request_id?: string
  readonly option?: string
  /** With `control`: where the order came from. */
  readonly by?: SettledBy | (string & {})
  /** With `request_settled` of a question: what was answered, if that was seen and is no secret. */
  readonly answers?: readonly string[]
  /** The call of the subagent that it is about: its tokens are a part of the run's. */
  readonly parent_call_id?: string
  /** With `control`: the id of an order to the run, what it was to do, and what became of it. */
  readonly id?: string
  readonly do?: string
  readonly result?: ToldOrder['result']
  readonly why?: string
}

/** How a run ended: the data of `lifecycle.completion.state`. */
export interface CompletionData {
  readonly state: EndState
  readonly reason_code: EndReason
  readonly evidence: Evidence
  /**
   * How the run ended, in one plain word:
   * - `succeeded`: the done marker was written, or the result passed the schema
   * - `finished`: the turn ended well and nothing more was asked for, the usual good end
   * - `needs_input`: a request or question of the agent is open, or the done marker you named is missing
   * - `failed`: an error, exit ≠ 0, a signal, a time limit, cut output, or no result that passes the schema
   * - `cancelled`: stopped on request; `unknown`: no evidence
   *
   * Recordings of 0.2 lack it and `ok`; `outcomeOf` reads both.
   */
  readonly outcome: RunOutcome
  /** True for `succeeded` and `finished`. */
  readonly ok: boolean
  /**
   * What went wrong, in one sentence for people, in the agent's own words where there are any: `it ran longer
   * than 4 s`. Missing after a good end.
   */
  readonly problem?: string
  /**
   * The engine's own words in the record of its result (Claude Code and Cursor: `result`, Gemini CLI:
   * `response`). Missing if it has none, or the turn failed.
   */
  readonly answer?: string
  /** If the run failed (`interrupted`): why, in one word. */
  readonly failure_class?: FailureClass
  /** The bytes that say so: of a record, a line. Missing if only the exit code or a signal does. */
  readonly failure_ref?: RawRef
  /** For the whole run, as far as the engine reported them. */
  readonly tokens?: Tokens
  /** The engine counts its session: `tokens` includes what a continued one had used before. */
  readonly cumulative?: true
  /** What the whole run cost, as the engine reported it, never computed. Missing if it did not. */
  readonly cost?: Cost
}

/**
 * Whether the answer of a run passed the schema: with `success` there is a `value`, and `failed` may have
 * `errors`.
 *
 * @example
 * const { result } = await run('codex', ['exec', '--json', task], { schema: Report }).end
 * if (result?.status === 'success') console.log(result.value.issues)
 */
export type ResultData<T = unknown> = {
  readonly repair_level: RepairLevel
  /** The codes of its notes; those of a result that failed begin with why. */
  readonly warnings: readonly Code[]
  /** It passed, and the run ended as it should: the `cache` of `run()` may store it. */
  readonly cacheable: boolean
} & (
  | { readonly status: 'success'; readonly value: T; readonly errors?: undefined }
  | {
      readonly status: 'failed'
      readonly value?: undefined
      readonly errors?: readonly { readonly path: string; readonly rule: string; readonly message: string }[]
    }
)

export interface MessageData {
  readonly message_id: string
  readonly text: string
  /** The last payload of the message that could be parsed. */
  readonly structured_payload?: unknown
  readonly repair_level?: RepairLevel
  /** The run ended before the engine closed this message. */
  readonly incomplete?: true
  /** The call of the subagent that wrote it, if the engine reports that. */
  readonly parent_call_id?: string
}

/** What the user, or a program for the user, told the agent: no payload, no done marker is read there. */
export interface UserData {
  readonly text: string
}

export interface ReasoningData {
  readonly message_id: string
  readonly text: string
  /** Only pieces of it arrived: it broke off, or the run ended. */
  readonly incomplete?: true
  /** The call of the subagent whose thought it is, if the engine reports that. */
  readonly parent_call_id?: string
}

/**
 * What a tool does, in the words of the Agent Client Protocol. An unknown tool is `other`.
 *
 * @example
 * if (isEvent(event, 'tool.call.started') && event.data.kind === 'execute') console.log(event.data.input)
 */
export type ToolKind =
  | 'read'
  | 'edit'
  | 'delete'
  | 'move'
  | 'search'
  | 'execute'
  | 'think'
  | 'fetch'
  | 'other'

export interface ToolData {
  readonly call_id: string
  readonly name: string
  readonly kind: ToolKind
  readonly input?: unknown
  readonly output?: unknown
  readonly exit_code?: number
  readonly error?: string
  /** Of a call that failed: it was not allowed, by a person, a rule or a policy. */
  readonly denied?: true
  /** As the engine measured it. */
  readonly duration_ms?: number
  readonly parent_call_id?: string
}

/** A piece of the arguments of a call, as the model writes them: joined they are the input, mostly JSON. */
export interface ToolInputData extends Pick<ToolData, 'call_id' | 'name' | 'kind' | 'parent_call_id'> {
  readonly text: string
}

export interface ArtifactData {
  /** Relative to the run directory, with `/`. */
  readonly path: string
  /** The last change as a unified diff, as the engine reported it; of a long one the beginning. */
  readonly diff?: string
  /** `diff` is not the engine's, but all that the attempt changed in this file, by `diff: true` of `run`. */
  readonly whole?: true
}

export interface DiagnosticData {
  readonly code: Code
  readonly message: string
  readonly severity: Severity
  /** As in `source` of the event. */
  readonly confidence: number
  /** Whether the engine says that it will, or could, retry. */
  readonly retryable?: boolean
  /** Of an engine error: what sort of failure it is. Missing if the words do not say. */
  readonly failure_class?: FailureClass
  /** How often it happened, if one diagnostic covers several occurrences. */
  readonly count?: number
  /** The unknown type or field, at most 80 characters of it. */
  readonly name?: string
  /** The drift report: counts of each unknown type and field; `…` is for those after the first 256. */
  readonly drift?: {
    readonly types: Readonly<Record<string, number>>
    readonly fields: Readonly<Record<string, number>>
  }
}

export interface RawData {
  /** The line, escape sequences removed, bounded; `raw_ref` has all of it. */
  readonly line: string
  readonly truncated?: true
}

/** Every event type and its `data`. */
export interface EventData {
  'lifecycle.run.status': StatusData
  'lifecycle.completion.state': CompletionData
  'lifecycle.run.result': ResultData
  'user.message': UserData
  'agent.message.delta': MessageData
  'agent.message.final': MessageData
  'agent.reasoning.delta': ReasoningData
  'agent.reasoning.summary': ReasoningData
  'tool.call.input.delta': ToolInputData
  'tool.call.started': ToolData
  'tool.call.completed': ToolData
  'tool.call.failed': ToolData
  'artifact.created': ArtifactData
  'artifact.modified': ArtifactData
  'artifact.deleted': ArtifactData
  'diagnostic.parser.warning': DiagnosticData
  'diagnostic.engine.error': DiagnosticData
  'raw.stdout': RawData
  'raw.stderr': RawData
  'raw.pty': RawData
  'raw.stdin': RawData
}

/** The name of an event: `agent.message.final`. */
export type EventType = keyof EventData

/** The part of a type before its first dot. */
export type Category<T extends EventType = EventType> = T extends `${infer Head}.${string}` ? Head : never

/** Where in the raw log an event comes from: the bytes `[byte_from, byte_to)` of one stream. */
export interface RawRef {
  readonly attempt_number: number
  readonly stream: Channel
  readonly byte_from: number
  readonly byte_to: number
  readonly encoding: 'utf-8'
}

/** Who read an event. */
export interface EventParser {
  readonly engine: string
  /** The name of the engine's dialect: `codex_ndjson`. */
  readonly parser: string
  /** How certain the reading is, from 0.3 to 1: 0.95 for a plain record, below 0.7 a guess. */
  readonly confidence: number
}

export interface Correlation {
  readonly session_id?: string
  /** Derived from run, attempt, stream, range and index, so the same bytes give the same id. */
  readonly event_id: string
}

/** What an engine reported: one record of RASP, the Runtime Agent Stream Protocol. */
export type AgentEvent = {
  [K in EventType]: {
    readonly protocol_version: 'rasp/1.0'
    /** The same as `event.type`, at the top, so that `switch (event.type)` narrows `data`. */
    readonly type: K
    readonly run_id: string
    /** From 1, without gaps, per attempt. */
    readonly seq: number
    /** ISO 8601, UTC. */
    readonly ts: string
    readonly source: EventParser
    readonly event: { readonly category: Category<K>; readonly type: K }
    readonly data: EventData[K]
    readonly correlation: Correlation
    readonly attempt_number: number
    readonly raw_ref: RawRef | null
  }
}[EventType]

/**
 * An event of `events(engine, { record: true })`: `record` is the value of the record that it was read from,
 * undefined for a line of text and for the end of the run.
 *
 * @example
 * const show = ({ type, record }: EventWithRecord) => console.log(type, record)
 */
export type EventWithRecord = AgentEvent & { readonly record?: unknown }

/**
 * The events of one type.
 *
 * @example
 * function show(event: EventOf<'agent.message.final'>) { console.log(event.data.text) }
 */
export type EventOf<T extends EventType> = Extract<AgentEvent, { readonly type: T }>

/**
 * Narrows an event to one type (or several), for `filter` and `find`; in a `switch (event.type)` TypeScript
 * narrows by itself.
 *
 * @example
 * if (isEvent(event, 'agent.message.final')) console.log(event.data.text)
 */
export function isEvent<T extends EventType>(event: AgentEvent, ...types: readonly T[]): event is EventOf<T> {
  // Works for values that are not events, too: a type guard must not throw.
  return (types as readonly EventType[]).includes(event?.type)
}

/** Whether an event is a piece of a message, a thought or an input: another event has all of it. */
export function isPiece(event: AgentEvent): event is EventOf<PieceType> {
  return isEvent(event, 'agent.message.delta', 'agent.reasoning.delta', 'tool.call.input.delta')
}

type PieceType = 'agent.message.delta' | 'agent.reasoning.delta' | 'tool.call.input.delta'

/**
 * Takes events, and says what to do about anything else: a flow that is piped to the output of a process by
 * mistake would otherwise emit nothing, or fail deep inside.
 */
export function eventsOnly<In = AgentEvent>(who: string): () => Intake<In> {
  return () => ({
    ...wholeIntake<In>(),
    take(written) {
      if (typeof written === 'object' && written !== null && 'type' in written && 'data' in written)
        return written as In // cast: a record with these fields is meant as one
      throw new Fault(
        'BAD_CHUNK',
        `${who} takes events, not the output of a process; put events() between them`,
      )
    },
  })
}
