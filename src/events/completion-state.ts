import type { CompletionData, EndReason, EndState, Evidence } from './event.ts'

/**
 * Decides how a run ended from all evidence. `conflict` names the evidence that disagrees with the
 * verdict.
 *
 * | # | evidence | state |
 * | 1 | the done marker | completed |
 * | 2 | the engine's end signal, no error flag | awaiting_user_input |
 * | 3 | error flag, exit ≠ 0, signal, a cut record | interrupted |
 * | 4 | none of these | unknown |
 *
 * @example
 * completionOf({ ...evidence, end_signal: 'turn.completed' }).data.state // 'awaiting_user_input'
 */
export function completionOf(evidence: Evidence): { data: CompletionData; conflict: string | undefined } {
  const [state, reason_code] = verdict(evidence)
  return { data: { state, reason_code, evidence }, conflict: disagreement(state, evidence) }
}

function verdict(evidence: Evidence): [EndState, EndReason] {
  if (evidence.done_marker) return ['completed', 'DONE_MARKER']
  if (evidence.end_signal !== null && evidence.failure === null) return ['awaiting_user_input', 'END_SIGNAL']
  if (evidence.failure !== null) return ['interrupted', 'ENGINE_FAILED']
  if (evidence.signal !== null) return ['interrupted', 'SIGNAL']
  if (evidence.exit_code !== null && evidence.exit_code !== 0) return ['interrupted', 'EXIT_CODE']
  if (evidence.truncated) return ['interrupted', 'TRUNCATED']
  return ['unknown', 'NO_END_SIGNAL']
}

function disagreement(state: EndState, evidence: Evidence): string | undefined {
  const bad: string[] = []
  if (evidence.failure !== null) bad.push(`the engine failed (${evidence.failure})`)
  if (evidence.signal !== null) bad.push(`signal ${evidence.signal}`)
  else if (evidence.exit_code !== null && evidence.exit_code !== 0)
    bad.push(`exit code ${evidence.exit_code}`)
  if (evidence.truncated) bad.push('a record was cut')
  if (state === 'completed' && bad.length > 0) return `the done marker was seen, but ${bad.join(' and ')}`
  if (evidence.end_signal === null) return undefined
  if (bad.length > 0) return `the end signal ${evidence.end_signal} was seen, but ${bad.join(' and ')}`
  return undefined
}
