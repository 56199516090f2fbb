import { clip, Fault, type Note } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { type AgentEvent, type CompletionData, isEvent, type ResultData } from '../events/event.ts'
import { completionOf } from '../events/evidence.ts'
import { endPhrase } from '../events/run-outcome.ts'
import type { ExitChunk } from '../text/chunk.ts'
import { type LastWords, lastWords, type StopReason } from './meta.ts'
import { type SessionTokens, SpentTokens } from './session-tokens.ts'

/** What the events of an attempt have told so far. */
export class Told {
  completion: CompletionData | undefined
  result: ResultData | null = null
  said: LastWords = { session: null, text: null }
  /** The engine that was recognised. */
  engine: string | undefined
  /** A turn has ended, and nothing followed. */
  isIdle = false
  readonly spent: SpentTokens

  /** `spent`: what the sessions of earlier attempts have used. */
  constructor(spent: SessionTokens | undefined) {
    this.spent = new SpentTokens(spent)
  }

  add(event: AgentEvent): void {
    if (isEvent(event, 'lifecycle.completion.state')) this.completion = event.data
    if (isEvent(event, 'lifecycle.run.result')) this.result = event.data
    this.said = lastWords(this.said, event)
    this.engine = event.source.engine
    this.spent.add(event)
    this.isIdle = isIdleAfter(event, this.isIdle)
  }
}

/** Whether the agent waits for its next prompt after this event. */
function isIdleAfter(event: AgentEvent, before: boolean): boolean {
  if (!isEvent(event, 'lifecycle.run.status')) return before && !/^(?:user|agent|tool)\./.test(event.type)
  const { status, request } = event.data
  return status === 'awaiting_user_input' ? request === undefined : before && status !== 'turn_started'
}

/** Why the flow of a run is destroyed: its reader left, could not write the output, or we failed. */
export function whyLeft(failure: Error | null, own: unknown): StopReason {
  if (failure !== null && failure === own) return 'recorder_failed'
  const isOutput = Fault.is(failure)
    ? failure.code === 'OUTPUT_FAILED'
    : unwritable.has(codeOf(failure) ?? '')
  return isOutput ? 'output_failed' : 'abandoned'
}

/** Errors of a disk, as a `pipeline` passes them on from a file at its end. */
const unwritable: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS'])

/** What went wrong, unless the reader just left. */
export function failureNote(failure: Error | null, own: unknown): Note | undefined {
  const reason = whyLeft(failure, own)
  if (!failure || reason === 'abandoned') return undefined
  const code = reason === 'output_failed' ? 'OUTPUT_FAILED' : 'RECORD_FAILED'
  return { code: Fault.is(failure) ? failure.code : code, message: clip(failure.message, 300) }
}

/** How a run ended, from its exit alone. */
export function completionOfExit({ code, signal, stopped, failure }: ExitChunk): CompletionData {
  const said = { done_marker: false, end_signal: null, truncated: false, failure: failure?.message ?? null }
  const exit = { exit_code: code, signal, ...(stopped !== undefined && { stopped }) }
  const { data } = completionOf({ ...said, ...exit })
  return data.ok ? data : { ...data, problem: data.evidence.failure ?? endPhrase(data.outcome) }
}
