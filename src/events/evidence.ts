import { clip } from '../base/fault.ts'
import type { CompletionData, EndReason, EndState, Evidence, ResultData } from './event.ts'
import { isAfter, type Moment, PerSource } from './position.ts'
import { isGood, outcomeOf } from './run-outcome.ts'

interface Told {
  readonly when: Moment
  readonly words: string
  /** It is a request that the user must answer. */
  readonly asks?: boolean
}

/** What the pipes, or the PTY, have reported about their current turn. */
interface Turn {
  /** When the turn began. */
  readonly begun: Moment | undefined
  /** When it continued after an end or a failure that the engine recovered from; else when it began. */
  readonly wentOn: Moment | undefined
  marked: Moment | undefined
  ended: Told | undefined
  failure: { readonly first: Told; readonly last: Told } | undefined
  /** The last call, if it is a question to the user without an answer. */
  question: Told | undefined
}

/** What the records of a run say about its end, without the exit code. */
export type Said = Pick<Evidence, 'done_marker' | 'end_signal' | 'failure' | 'truncated' | 'request'>

/**
 * Gathers the evidence for the end of a run. The start of a turn discards what was reported about the end of
 * the turn before it, including the done marker: the user asked for more, and the new turn must say whether
 * that is done. What counts is the position in the run: a record that only the PTY has can arrive long after
 * a later turn has ended.
 */
export function gatherEvidence() {
  const turns = new PerSource<Turn>()
  let truncated = false

  const turnOf = (when: Moment): Turn => {
    const known = turns.get(when)
    if (known) return known
    const turn = newTurn(undefined)
    turns.set(when, turn)
    return turn
  }

  /** What was reported since the agent last began or continued, in the order of the run. */
  const inOrder = (reported: readonly (Told | undefined)[]): Told[] => {
    const since = latest(turns.both().flatMap((turn) => turn.wentOn ?? []))
    return reported
      .filter((one) => one !== undefined)
      .filter(({ when }) => !(since && isAfter(since, when)))
      .sort((a, b) => (isAfter(a.when, b.when) ? 1 : -1))
  }

  const ended = () => inOrder(turns.both().map((turn) => turn.ended)).at(-1)

  /** Whether something happened in the turn that began last. */
  const isOfLastTurn = (when: Moment | undefined): boolean => {
    const begun = latest(turns.both().flatMap((turn) => turn.begun ?? []))
    return when !== undefined && !(begun && isAfter(begun, when))
  }

  /** What the user must still answer. */
  const request = (): Told | undefined => {
    const end = ended()
    if (end?.asks) return end
    return turns.both().find(({ question }) => isOfLastTurn(question?.when))?.question
  }

  const said = (): Said => {
    const [failure] = inOrder(turns.both().flatMap((turn) => [turn.failure?.first, turn.failure?.last]))
    const asked = request()
    return {
      done_marker: turns.both().some(({ marked }) => isOfLastTurn(marked)),
      end_signal: ended()?.words ?? null,
      failure: failure?.words ?? null,
      truncated,
      ...(asked && { request: asked.words }),
    }
  }

  return {
    begun(when: Moment) {
      turns.set(when, newTurn(when))
    },
    wentOn(when: Moment) {
      turns.set(when, { ...turnOf(when), wentOn: when, ended: undefined, failure: undefined })
    },
    ended(when: Moment, signal: string, asks = false) {
      turnOf(when).ended = { when, words: signal, asks }
    },
    /** The agent calls a tool, or a call ended. A question stays open until it is answered, or work follows. */
    called(when: Moment, name: string, state: 'started' | 'completed' | 'failed') {
      const turn = turnOf(when)
      if (isQuestion(name)) turn.question = state === 'completed' ? undefined : { when, words: name }
      else if (state === 'started') turn.question = undefined
    },
    failed(when: Moment, message: string) {
      const turn = turnOf(when)
      const reported = { when, words: clip(message, 200) }
      turn.failure = { first: turn.failure?.first ?? reported, last: reported }
    },
    done(when: Moment) {
      turnOf(when).marked = when
    },
    truncated() {
      truncated = true
    },
    said,
    /** Whether the report of this moment ended a turn that now waits for the user. */
    isWaiting(when: Moment): boolean {
      const { done_marker, failure } = said()
      return ended()?.when === when && !done_marker && failure === null
    },
  }
}

function newTurn(begun: Moment | undefined): Turn {
  return {
    begun,
    wentOn: begun,
    marked: undefined,
    ended: undefined,
    failure: undefined,
    question: undefined,
  }
}

/** The tools by which agents ask their user, without case and underscores. */
const questionTools: ReadonlySet<string> = new Set([
  ...['askuserquestion', 'askuser', 'askquestion', 'askfollowupquestion', 'question', 'requestuserinput'],
])

function isQuestion(name: string): boolean {
  return name.length <= 40 && questionTools.has(name.toLowerCase().replaceAll('_', ''))
}

function latest(moments: readonly Moment[]): Moment | undefined {
  return moments.reduce<Moment | undefined>(
    (last, moment) => (last && isAfter(last, moment) ? last : moment),
    undefined,
  )
}

/**
 * Decides how a run ended from all evidence. `conflict` names the evidence that disagrees with the
 * verdict.
 *
 * | # | evidence | state |
 * | 1 | the done marker | completed |
 * | 2 | the engine's end signal, no error flag | awaiting_user_input |
 * | 3 | error flag, exit ≠ 0, signal, a cut record | interrupted |
 * | 4 | a question without an answer | awaiting_user_input |
 * | 5 | none of these | unknown |
 *
 * @example
 * completionOf({ ...evidence, end_signal: 'turn.completed' }).data.state // 'awaiting_user_input'
 */
export function completionOf(
  evidence: Evidence,
  result?: ResultData['status'],
): { data: CompletionData; conflict: string | undefined } {
  const [state, reason_code] = verdict(evidence)
  const outcome = outcomeOf({ state, evidence }, result)
  const data = { state, reason_code, evidence, outcome, ok: isGood(outcome) }
  return { data, conflict: disagreement(state, evidence) }
}

function verdict(evidence: Evidence): [EndState, EndReason] {
  if (evidence.done_marker) return ['completed', 'DONE_MARKER']
  const asked = evidence.request !== undefined
  if (evidence.end_signal !== null && evidence.failure === null)
    return ['awaiting_user_input', asked ? 'REQUEST_OPEN' : 'END_SIGNAL']
  if (evidence.failure !== null) return ['interrupted', 'ENGINE_FAILED']
  if (evidence.signal !== null) return ['interrupted', 'SIGNAL']
  if (evidence.exit_code !== null && evidence.exit_code !== 0) return ['interrupted', 'EXIT_CODE']
  if (evidence.truncated) return ['interrupted', 'TRUNCATED']
  if (asked) return ['awaiting_user_input', 'REQUEST_OPEN']
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
