import type { EndState, Evidence } from './event.ts'

/** How a run ended, in one plain word. */
export type RunOutcome = 'succeeded' | 'needs_input' | 'failed' | 'cancelled' | 'unknown'

/** The part of a completion that decides the outcome. */
export interface OutcomeEvidence {
  readonly state: EndState
  readonly evidence: Pick<Evidence, 'exit_code' | 'signal' | 'stopped'>
}

/**
 * Returns in one word how a run ended. The protocol's `state` says how the conversation ended; success also
 * requires that the process exited without an error, if that is known.
 *
 * | exit | state | outcome |
 * | --- | --- | --- |
 * | ≠ 0, or a signal | any | `failed`; `cancelled` if it was stopped on request |
 * | 0, or not known | completed | `succeeded` |
 * | 0, or not known | awaiting_user_input | `needs_input` |
 * | 0, or not known | interrupted | `failed`; `cancelled` if it was stopped on request |
 * | 0, or not known | unknown | `unknown`; `cancelled` if it was stopped on request |
 *
 * The terminal, the page, `run().end`, `meta.N.json`, `/runs` and the exit codes of the command all use this
 * function.
 *
 * @example
 * if (event.type === 'lifecycle.completion.state') console.log(outcomeOf(event.data)) // 'needs_input'
 */
export function outcomeOf(completion: OutcomeEvidence): RunOutcome {
  // Checked and defaulted, because a journal written by another program may lack them. Missing means unknown.
  const { state, evidence } = completion ?? ({} as Partial<OutcomeEvidence>)
  const { exit_code, signal, stopped } = evidence ?? ({} as Partial<Evidence>)
  const broken = typeof signal === 'string' || (typeof exit_code === 'number' && exit_code !== 0)
  if (!broken && state === 'completed') return 'succeeded'
  if (!broken && state === 'awaiting_user_input') return 'needs_input'
  if (typeof stopped === 'string') return 'cancelled'
  return broken || state === 'interrupted' ? 'failed' : 'unknown'
}

/** What each outcome means, as shown to users. */
export const outcomeWords: Readonly<Record<RunOutcome, string>> = {
  succeeded: 'the agent said that its work is done',
  needs_input: 'turn finished, waiting for input',
  failed: 'it ended with an error or was cut off',
  cancelled: 'stopped on request',
  unknown: 'it ended without saying how',
}

/** Reads an outcome from untrusted JSON; undefined if it is not one. */
export function readOutcome(value: unknown): RunOutcome | undefined {
  return typeof value === 'string' && Object.hasOwn(outcomeWords, value) ? (value as RunOutcome) : undefined
}
