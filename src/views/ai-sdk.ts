import type { Stage } from '../base/stage.ts'
import type { CompletionData, Event, EventOf, MessageData, ToolData } from '../events/event.ts'
import { outcomeOf, outcomeWords } from '../events/run-outcome.ts'
import { type OpenText, OpenTexts } from './open-texts.ts'
import { failureText } from './tool-text.ts'
import { uniqueIds } from './unique-ids.ts'

/** Facts the protocol has no field for, under the key `sluice`. */
export interface AiSdkMetadata {
  readonly sluice: Readonly<Record<string, unknown>>
}

/** Facts about the run, as the metadata of its message. */
export interface AiSdkMessageMetadata {
  readonly run_id: string
  readonly engine: string
  readonly session_id?: string
  readonly model?: string
  /** At the end: how the run ended, in one word. */
  readonly outcome?: string
  readonly tokens?: unknown
}

/**
 * The chunks of an AI SDK UI message stream (protocol v1) that a run is sent as. Versions 6 and 7 support all
 * of them.
 */
export type AiSdkChunk =
  | {
      readonly type: 'start'
      readonly messageId: string
      readonly messageMetadata: AiSdkMessageMetadata
    }
  | { readonly type: 'start-step' | 'finish-step' }
  | {
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'
      readonly id: string
      readonly providerMetadata?: AiSdkMetadata
    }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | ({ readonly type: 'tool-input-start'; readonly toolCallId: string; readonly toolName: string } & Called)
  | ({
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: unknown
      readonly providerMetadata?: AiSdkMetadata
    } & Called)
  | ({
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: unknown
      readonly providerMetadata?: AiSdkMetadata
    } & Called)
  | ({
      readonly type: 'tool-output-error'
      readonly toolCallId: string
      readonly errorText: string
      readonly providerMetadata?: AiSdkMetadata
    } & Called)
  | AiSdkData
  | {
      readonly type: 'finish'
      readonly finishReason: 'stop' | 'error' | 'other'
      readonly messageMetadata: AiSdkMessageMetadata
    }
  | { readonly type: 'abort'; readonly reason: string }
  | { readonly type: 'error'; readonly errorText: string }

/** The agent has run its tools itself: the client has nothing to do. */
interface Called {
  readonly dynamic: true
  readonly providerExecuted: true
}

/**
 * A record without a chunk of its own is sent as data. A transient one goes to `onData` and is not kept in
 * the message.
 */
export interface AiSdkData {
  readonly type: `data-${'user' | 'payload' | 'artifact' | 'diagnostic' | 'status' | 'result' | 'end' | 'raw'}`
  readonly id: string
  readonly data: unknown
  readonly transient?: true
}

const called = { dynamic: true, providerExecuted: true } as const
/** Limit of the open calls to remember. */
const MAX_OPEN = 4096

/**
 * The stage of `aiSdk()`: events as the chunks of one AI SDK message, which `useChat` shows while it grows.
 * The attempts of a run are the steps of the message. `finish`, followed by `error` or `abort` if the run
 * failed or was stopped, comes when the events end, because another attempt may follow before.
 *
 * @example
 * const chunks = drive(aiSdkStage(), [event]) // [{ type: 'start', … }, { type: 'start-step' }, …]
 */
export function aiSdkStage(): Stage<Event, AiSdkChunk> {
  return (next) => {
    const unique = uniqueIds()
    let texts = new OpenTexts()
    let calls = new Map<string, string>()
    let about: AiSdkMessageMetadata | undefined
    /** The attempt whose step is open. */
    let step: number | undefined
    let ended: CompletionData | undefined

    const say = (chunk: AiSdkChunk) => next.write(chunk)
    const place = ({ attempt_number, seq }: Event) => `${attempt_number}.${seq}`
    const keep = (event: Event, type: AiSdkData['type'], data: unknown = event) =>
      say({ type, id: place(event), data })
    const mention = (event: Event, type: AiSdkData['type']) =>
      say({ type, id: place(event), data: event, transient: true })

    const begin = (event: Event) => {
      const first = about === undefined
      about = { ...about, run_id: event.run_id, engine: event.source.engine }
      if (event.correlation.session_id !== undefined)
        about = { ...about, session_id: event.correlation.session_id }
      if (first) say({ type: 'start', messageId: event.run_id, messageMetadata: about })
      say({ type: 'start-step' })
      step = event.attempt_number
      ended = undefined
    }

    const closeText = ({ id }: OpenText, facts: Readonly<Record<string, unknown>> = {}) =>
      say({ type: 'text-end', id, ...metadata(facts) })

    const startText = (event: Event, data: MessageData): OpenText => {
      const { open, oldest } = texts.start(data, unique(data.message_id, place(event)))
      if (oldest) closeText(oldest)
      say({ type: 'text-start', id: open.id, ...metadata({ parent_call_id: data.parent_call_id }) })
      return open
    }

    const delta = (event: EventOf<'agent.message.delta'>) => {
      const { data } = event
      if (data.text === '') return
      const open = texts.find(data.message_id) ?? startText(event, data)
      say({ type: 'text-delta', id: open.id, delta: data.text })
      texts.add(open, data.text)
    }

    const final = (event: EventOf<'agent.message.final'>) => {
      const { data } = event
      let reported = texts.complete(data)
      if (reported?.contradicts) {
        closeText(reported.open, { superseded: true })
        reported = undefined
      }
      if (!reported) {
        startText(event, data)
        reported = texts.complete(data)!
      }
      if (reported.rest !== '') say({ type: 'text-delta', id: reported.open.id, delta: reported.rest })
      const { incomplete, parent_call_id, repair_level } = data
      closeText(reported.open, { incomplete, parent_call_id, repair_level })
      if (data.structured_payload !== undefined) {
        const { message_id, structured_payload } = data
        keep(event, 'data-payload', { message_id, structured_payload, repair_level })
      }
    }

    const reasoning = (event: EventOf<'agent.reasoning.summary'>) => {
      const id = unique(event.data.message_id, place(event))
      say({ type: 'reasoning-start', id })
      if (event.data.text !== '') say({ type: 'reasoning-delta', id, delta: event.data.text })
      say({ type: 'reasoning-end', id })
    }

    const startCall = (event: Event, data: ToolData): string => {
      const toolCallId = unique(data.call_id, place(event))
      const [oldest] = calls.size >= MAX_OPEN ? calls.keys() : []
      if (oldest !== undefined) calls.delete(oldest)
      calls.set(data.call_id, toolCallId)
      const tool = { toolCallId, toolName: data.name, ...called }
      say({ type: 'tool-input-start', ...tool })
      const { parent_call_id, input = null } = data
      say({ type: 'tool-input-available', ...tool, input, ...metadata({ parent_call_id }) })
      return toolCallId
    }

    const endCall = (event: EventOf<'tool.call.completed' | 'tool.call.failed'>) => {
      const { data } = event
      // Some engines report only the end of a call.
      const toolCallId = calls.get(data.call_id) ?? startCall(event, data)
      calls.delete(data.call_id)
      const { exit_code, error, duration_ms, output = null } = data
      if (event.type === 'tool.call.completed')
        say({
          type: 'tool-output-available',
          toolCallId,
          output,
          ...called,
          ...metadata({ exit_code, duration_ms }),
        })
      else
        say({
          type: 'tool-output-error',
          toolCallId,
          errorText: failureText(data),
          ...called,
          ...metadata({ exit_code, duration_ms, error, output: data.output }),
        })
    }

    /** Ends the attempt, and everything it left open. */
    const endStep = () => {
      if (step === undefined) return
      for (const open of texts.takeAll()) closeText(open, { incomplete: true })
      texts = new OpenTexts()
      calls = new Map()
      step = undefined
      say({ type: 'finish-step' })
    }

    const finish = () => {
      if (!about) return
      const outcome = ended && outcomeOf(ended)
      const messageMetadata = {
        ...about,
        ...(outcome && { outcome }),
        ...(ended?.tokens && { tokens: ended.tokens }),
      }
      const good = outcome === 'succeeded' || outcome === 'needs_input'
      const finishReason = good ? 'stop' : outcome === 'failed' ? 'error' : 'other'
      say({ type: 'finish', finishReason, messageMetadata })
      if (outcome === 'cancelled') say({ type: 'abort', reason: ended?.evidence.stopped ?? outcome })
      // Last, because `useChat` stops there.
      if (outcome === 'failed')
        say({ type: 'error', errorText: ended?.evidence.failure ?? outcomeWords.failed })
    }

    return {
      write(event) {
        if (step !== event.attempt_number) {
          endStep()
          begin(event)
        }
        switch (event.type) {
          case 'agent.message.delta':
            return delta(event)
          case 'agent.message.final':
            return final(event)
          case 'agent.reasoning.summary':
            return reasoning(event)
          case 'tool.call.started':
            return void startCall(event, event.data)
          case 'tool.call.completed':
          case 'tool.call.failed':
            return endCall(event)
          case 'user.message':
            return keep(event, 'data-user')
          case 'artifact.created':
          case 'artifact.modified':
          case 'artifact.deleted':
            return keep(event, 'data-artifact')
          case 'diagnostic.parser.warning':
          case 'diagnostic.engine.error':
            return keep(event, 'data-diagnostic')
          case 'lifecycle.run.result':
            return keep(event, 'data-result')
          case 'lifecycle.run.status': {
            const { model, tokens, usage } = event.data
            if (model !== undefined && about) about = { ...about, model }
            const reported = tokens !== undefined || usage !== undefined
            return reported ? keep(event, 'data-status') : mention(event, 'data-status')
          }
          case 'lifecycle.completion.state':
            keep(event, 'data-end')
            ended = event.data
            return endStep()
          case 'raw.stdout':
          case 'raw.stderr':
          case 'raw.pty':
            return mention(event, 'data-raw')
        }
      },
      end() {
        endStep()
        finish()
        next.end()
      },
    }
  }
}

function metadata(facts: Readonly<Record<string, unknown>>): { providerMetadata?: AiSdkMetadata } {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  return known.length > 0 ? { providerMetadata: { sluice: Object.fromEntries(known) } } : {}
}
