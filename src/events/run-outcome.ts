import type { EndState, Evidence, FailureClass, ResultData, RunOutcome } from './event.ts'

export type { RunOutcome }

/** The part of a completion that decides the outcome. */
export interface OutcomeEvidence {
  readonly state: EndState
  /** The word itself; recordings of 0.2 do not have it. */
  readonly outcome?: RunOutcome
  readonly evidence: Pick<Evidence, 'exit_code' | 'signal' | 'stopped'> & Partial<Evidence>
}

/**
 * Returns in one word how a run ended: the first in this table that holds.
 *
 * | outcome | evidence | ok |
 * | --- | --- | --- |
 * | `cancelled` | it was stopped on request | no |
 * | `failed` | an error of the engine, exit ≠ 0, a signal, cut output, or no valid result | no |
 * | `needs_input` | a request or a question is open, or the done marker that was asked for is missing | no |
 * | `succeeded` | the done marker, or a payload that passed the schema | yes |
 * | `finished` | the engine's end signal | yes |
 * | `unknown` | none of these | no |
 *
 * A completion that carries its `outcome` keeps it. A recording of 0.2 has none and used other words: what it
 * called `needs_input` is `finished` unless a request was open. The terminal, the page, `run().end`,
 * `meta.N.json`, `/runs` and the exit codes of the command all use this function.
 *
 * @example
 * if (event.type === 'lifecycle.completion.state') console.log(outcomeOf(event.data)) // 'finished'
 */
export function outcomeOf(completion: OutcomeEvidence, result?: ResultData['status']): RunOutcome {
  // Checked and defaulted, because a journal written by another program may lack them. Missing means unknown.
  const { state, evidence, outcome } = completion ?? ({} as Partial<OutcomeEvidence>)
  const told = readOutcome(outcome)
  if (told) return told
  const { stopped, request, marker, end_signal } = evidence ?? ({} as Partial<Evidence>)
  if (typeof stopped === 'string') return 'cancelled'
  if (failureKind(completion, result)) return 'failed'
  const asked = typeof request === 'string' || (state === 'awaiting_user_input' && isOldRequest(end_signal))
  if (asked || marker === 'missing') return 'needs_input'
  if (state === 'completed' || result === 'success') return 'succeeded'
  return state === 'awaiting_user_input' ? 'finished' : 'unknown'
}

/** Whether a run with this outcome ended well. */
export function isGood(outcome: RunOutcome | null | undefined): boolean {
  return outcome === 'succeeded' || outcome === 'finished'
}

/** What made a run fail: an error, cut output and nothing else, or a result that does not pass its schema. */
export function failureKind(
  completion: OutcomeEvidence,
  result?: ResultData['status'],
): 'error' | 'cut' | 'result' | undefined {
  const { state, evidence } = completion ?? ({} as Partial<OutcomeEvidence>)
  const { exit_code, signal, failure, truncated } = evidence ?? ({} as Partial<Evidence>)
  const broken = typeof signal === 'string' || (typeof exit_code === 'number' && exit_code !== 0)
  if (broken || typeof failure === 'string' || (state === 'interrupted' && !truncated)) return 'error'
  // After a good end, too: the part that was cut off may have said otherwise.
  if (truncated === true) return 'cut'
  return result === 'failed' ? 'result' : undefined
}

/** The end signals by which 0.2 recorded an open request. */
function isOldRequest(signal: unknown): boolean {
  return typeof signal === 'string' && oldRequests.test(signal.slice(0, 100))
}

const oldRequests =
  /^(session\/request_permission$|can_use_tool |item\/\w+\/request|mcpServer\/elicitation\/|(execCommand|applyPatch)Approval$)/

/** What each outcome means, as shown to users. */
export const outcomeWords: Readonly<Record<RunOutcome, string>> = {
  succeeded: 'the work is done',
  finished: 'the turn ended well',
  needs_input: 'it waits for an answer, or did not say that it is done',
  failed: 'an error, a cut, or no valid result',
  cancelled: 'stopped on request',
  unknown: 'it ended without saying how',
}

/** What a class of failure means, as shown to users; `other` is not shown. */
const failureWords: Readonly<Record<FailureClass, string>> = {
  auth: 'auth, the login or the key was refused',
  quota: 'quota, the plan or the budget is used up',
  rate: 'rate, too many requests, or the service is overloaded',
  context: "context, the model's context is full",
  network: 'network, the service or the way to it failed',
  denied: 'denied, it was not allowed to go on',
  other: outcomeWords.failed,
}

export const failureClasses: readonly string[] = /* @__PURE__ */ Object.keys(failureWords)

/**
 * How a run ended, in words for people: of a run that failed, why, if that is known.
 *
 * @example
 * endPhrase('failed', 'auth') // 'auth, the login or the key was refused'
 */
export function endPhrase(outcome: RunOutcome, failure?: FailureClass | null): string {
  const known = outcome === 'failed' ? readFailure(failure) : undefined
  return known ? failureWords[known] : outcomeWords[outcome]
}

/** Reads an outcome from untrusted JSON; undefined if it is not one. */
export function readOutcome(value: unknown): RunOutcome | undefined {
  return typeof value === 'string' && Object.hasOwn(outcomeWords, value) ? (value as RunOutcome) : undefined
}

const endStates: readonly EndState[] = ['completed', 'awaiting_user_input', 'interrupted', 'unknown']

/** Reads the protocol's word for an end from untrusted JSON; undefined if it is not one. */
export function readState(value: unknown): EndState | undefined {
  return endStates.find((known) => known === value)
}

/** Reads a class of failure from untrusted JSON; undefined if it is not one. */
export function readFailure(value: unknown): FailureClass | undefined {
  return typeof value === 'string' && Object.hasOwn(failureWords, value) ? (value as FailureClass) : undefined
}
