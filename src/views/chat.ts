import { type OptionTable, readOptions } from '../base/check-options.ts'
import { codes } from '../base/fault.ts'
import type { Stage } from '../base/stage.ts'
import type {
  ArtifactData,
  CompletionData,
  Correlation,
  DiagnosticData,
  Event,
  MessageData,
  RawData,
  RawRef,
  ReasoningData,
  ResultData,
  ToolData,
  UserData,
} from '../events/event.ts'
import { tokenCounter } from '../events/tokens.ts'

/** State of the conversation at the end of an attempt; with `result` if a schema was given. */
export type ChatEnd = CompletionData & { readonly result?: ResultData }

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
  'assistant.reasoning': ReasoningData
  'assistant.tool_call': ToolData & { readonly phase: 'started' | 'completed' | 'failed' }
  'artifact.created': ArtifactData
  'artifact.modified': ArtifactData
  'artifact.deleted': ArtifactData
  /** The end of a turn, when it happens. */
  'user.input.required': ChatEnd
  /** The end of an attempt whose last turn waits for the user. */
  'conversation.completed': ChatEnd
  'conversation.failed': ChatEnd
  /** Also used for an unknown end: then it has a `state`. */
  'diagnostic.warning': DiagnosticData & Partial<ChatEnd>
  'raw.stdout': RawData
  'raw.stderr': RawData
  'raw.pty': RawData
}

export type ChatType = keyof ChatData

/** One FCMP record: what the conversation shows. Narrows on `type`. */
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
    readonly meta: { readonly attempt: number; readonly local_seq: number }
    readonly correlation: Correlation
    readonly raw_ref: RawRef | null
  }
}[ChatType]

/** The chat records of one type. */
export type ChatOf<T extends ChatType> = Extract<Chat, { readonly type: T }>

export interface ChatOptions {
  /** The last `seq` of the attempts before, if each has its own stream. @default 0 */
  readonly after?: number | undefined
  /** The conversation was started in an earlier attempt. @default false */
  readonly started?: boolean | undefined
}

export const CHAT_OPTIONS = {
  after: { default: 0 },
  started: { default: false },
} as const satisfies OptionTable<ChatOptions>

/** The stage of `chat()`. */
export function chatStage(options: ChatOptions = {}): Stage<Event, Chat> {
  const given = readOptions('chatStage', options, 'chatStage({ after: 12 })', CHAT_OPTIONS)
  return (next) => {
    let seq = given.after
    let { started } = given
    let attempt: number | undefined
    let localSeq = 0
    let result: ResultData | undefined
    /** The attempt in which a turn was reported to wait for the user. */
    let waiting: number | undefined
    let spent = tokenCounter()

    const write = <T extends ChatType>(event: Event, type: T, data: ChatData[T]) => {
      const record = {
        protocol_version: 'fcmp/1.0' as const,
        run_id: event.run_id,
        seq: ++seq,
        ts: event.ts,
        engine: event.source.engine,
        type,
        data,
        meta: { attempt: event.attempt_number, local_seq: ++localSeq },
        correlation: event.correlation,
        raw_ref: event.raw_ref,
      }
      // Cast: joins `type` and `data` again; inside a generic they are two unions to TypeScript.
      next.write(record as unknown as Chat)
    }

    const finish = (event: Event, data: CompletionData) => {
      const end: ChatEnd = result ? { ...data, result } : data
      result = undefined
      switch (data.state) {
        case 'completed':
          return write(event, 'conversation.completed', end)
        case 'awaiting_user_input':
          // Already written when the turn ended; journals of 0.1 do not have the ends of turns.
          if (waiting !== event.attempt_number) write(event, 'user.input.required', end)
          return
        case 'interrupted':
          return write(event, 'conversation.failed', end)
        case 'unknown': {
          const { confidence } = event.source
          const code = 'END_UNKNOWN'
          return write(event, 'diagnostic.warning', {
            code,
            message: codes[code],
            severity: 'warning',
            confidence,
            ...end,
          })
        }
      }
    }

    return {
      write(event) {
        if (event.attempt_number !== attempt) {
          attempt = event.attempt_number
          localSeq = 0
          spent = tokenCounter()
        }
        const session = event.correlation.session_id
        if (!started && session !== undefined) {
          started = true
          write(event, 'conversation.started', { session_id: session, ...factsOf(event) })
        }
        switch (event.type) {
          case 'user.message':
            return write(event, event.type, event.data)
          case 'agent.message.delta':
            return write(event, 'assistant.message.delta', event.data)
          case 'agent.message.final':
            return write(event, 'assistant.message.final', event.data)
          case 'agent.reasoning.summary':
            return write(event, 'assistant.reasoning', event.data)
          case 'tool.call.started':
          case 'tool.call.completed':
          case 'tool.call.failed': {
            const phase = event.type.slice('tool.call.'.length) as 'started' | 'completed' | 'failed'
            return write(event, 'assistant.tool_call', { phase, ...event.data })
          }
          case 'artifact.created':
          case 'artifact.modified':
          case 'artifact.deleted':
            return write(event, event.type, event.data)
          case 'diagnostic.parser.warning':
          case 'diagnostic.engine.error':
            return write(event, 'diagnostic.warning', event.data)
          case 'raw.stdout':
          case 'raw.stderr':
          case 'raw.pty':
            return write(event, event.type, event.data)
          case 'lifecycle.run.result':
            result = event.data
            return
          case 'lifecycle.completion.state':
            return finish(event, event.data)
          case 'lifecycle.run.status': {
            const { status, evidence, tokens } = event.data
            if (tokens) spent.add(tokens)
            if (status !== 'awaiting_user_input' || !evidence) return
            waiting = event.attempt_number
            const sum = spent.sum()
            const end = { state: status, reason_code: 'END_SIGNAL', evidence } as const
            return write(event, 'user.input.required', sum ? { ...end, tokens: sum } : end)
          }
          default: {
            event satisfies never
          }
        }
      },
      end: () => next.end(),
    }
  }
}

/** The facts about the run in the first record of a session. */
function factsOf(event: Event): Omit<ChatData['conversation.started'], 'session_id'> {
  if (event.type !== 'lifecycle.run.status') return {}
  const { model, cwd, engine_version } = event.data
  return {
    ...(model !== undefined && { model }),
    ...(cwd !== undefined && { cwd }),
    ...(engine_version !== undefined && { engine_version }),
  }
}
