import { type AgentEvent, type CompletionData, isEvent, type ResultData } from '../events/event.ts'
import { type LastWords, lastWords } from './meta.ts'
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
