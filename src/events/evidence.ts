import { clip } from '../base/fault.ts'
import type { CompletionData, EndReason, EndState, Evidence } from './event.ts'
import { isAfter, type Moment, PerSource } from './position.ts'

interface Told {
  readonly when: Moment
  readonly words: string
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
}

/** What the records of a run say about its end, without the exit code. */
export type Said = Pick<Evidence, 'done_marker' | 'end_signal' | 'failure' | 'truncated'>

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
    const turn: Turn = {
      begun: undefined,
      wentOn: undefined,
      marked: undefined,
      ended: undefined,
      failure: undefined,
    }
    turns.set(when, turn)
    return turn
  }

  /** Whether it was reported since the agent last began or continued. */
  const counts = (told: Told | undefined): told is Told => {
    const since = told && later(turns.pipes?.wentOn, turns.pty?.wentOn)
    return told !== undefined && !(since && isAfter(since, told.when))
  }

  /** The last end of a turn. */
  const ended = (): Told | undefined => {
    const pipes = counts(turns.pipes?.ended) ? turns.pipes.ended : undefined
    const pty = counts(turns.pty?.ended) ? turns.pty.ended : undefined
    return pipes && pty ? (isAfter(pty.when, pipes.when) ? pty : pipes) : (pipes ?? pty)
  }

  /** The first failure. */
  const failure = (): Told | undefined => {
    let found: Told | undefined
    for (const turn of [turns.pipes, turns.pty]) {
      if (!turn?.failure) continue
      const { first, last } = turn.failure
      for (const one of [first, last])
        if (counts(one) && (!found || isAfter(found.when, one.when))) found = one
    }
    return found
  }

  /** Whether the marker was seen in the turn that began last. */
  const isMarked = (): boolean => {
    const { pipes, pty } = turns
    if (!pipes?.marked && !pty?.marked) return false
    const begun = later(pipes?.begun, pty?.begun)
    const isIn = (marked: Moment | undefined) => marked !== undefined && !(begun && isAfter(begun, marked))
    return isIn(pipes?.marked) || isIn(pty?.marked)
  }

  const said = (): Said => ({
    done_marker: isMarked(),
    end_signal: ended()?.words ?? null,
    failure: failure()?.words ?? null,
    truncated,
  })

  return {
    begun(when: Moment) {
      turns.set(when, { begun: when, wentOn: when, marked: undefined, ended: undefined, failure: undefined })
    },
    wentOn(when: Moment) {
      turns.set(when, { ...turnOf(when), wentOn: when, ended: undefined, failure: undefined })
    },
    ended(when: Moment, signal: string) {
      turnOf(when).ended = { when, words: signal }
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
    isWaiting: (when: Moment): boolean => ended()?.when === when && !isMarked() && !failure(),
  }
}

function later(a: Moment | undefined, b: Moment | undefined): Moment | undefined {
  return a && b ? (isAfter(a, b) ? a : b) : (a ?? b)
}

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
