import type { Note } from '../base/fault.ts'
import type { Sink } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import type { GoodOutcome, Outcome } from './outcome.ts'

/** Which outcomes are emitted. */
export type PickRule = 'each' | 'first' | 'last'

/**
 * How clearly a candidate is marked as the answer: by a tag, a json fence, a line or as the whole input
 * (EXPLICIT); not at all, as an object in prose (IMPLICIT); not even that, inside the code of a fence or
 * after `//`.
 */
export const EXPLICIT = 3
export const IMPLICIT = 2
export const IN_FENCE = 1

/** Only of outcomes whose frame does not tell: a WeakMap takes as long as parsing a small object. */
const ranks = new WeakMap<Outcome<unknown>, number>()

export function rankOf(outcome: Outcome<unknown>): number {
  return ranks.get(outcome) ?? usualRank(outcome.frame)
}

export function ranked<T extends Outcome<unknown>>(outcome: T, rank: number): T {
  if (rank !== usualRank(outcome.frame)) ranks.set(outcome, rank)
  return outcome
}

/** An element of a document is marked by its document. */
function usualRank({ kind, path, in_fence }: Frame): number {
  if (kind !== 'object' || path !== undefined) return EXPLICIT
  return in_fence ? IN_FENCE : IMPLICIT
}

/** Takes outcomes, and can forget those that it still holds: they turned out to be thoughts. */
export interface OutcomeSink<T> extends Sink<Outcome<T>> {
  forget?(): void
}

/**
 * Picks among the outcomes: `each` passes all of them on. `first` is the first good one of the highest rank,
 * or else the first bad one. `last` is the last explicit one, good or bad: an earlier draft never replaces a
 * later block that failed; without any, the last good one, or else the last bad one. One that the input cut
 * replaces a draft of any rank. The pick is emitted at the end, because only then it is known whether others
 * pass, too; the note AMBIGUOUS says how many and where. One that is cut counts as one that passes.
 *
 * @example
 * drive(pickStage('last'), [draft, final]) // [final]
 */
export function pickStage<T>(pick: PickRule): (next: Sink<Outcome<T>>) => OutcomeSink<T> {
  if (pick === 'each') return (next) => next
  return (next) => {
    let held: Outcome<T> | undefined
    let passed = 0
    let cut = 0
    /** Where they begin, up to a limit. */
    let places: number[] = []
    return {
      forget() {
        held = undefined
        passed = cut = 0
        places = []
      },
      write(outcome) {
        // What was cut before another one came is a draft that no reader needs.
        const leavesDraft = isCut(outcome) && held?.ok === true
        if (outcome.ok) passed++
        else if (leavesDraft) cut++
        if ((outcome.ok || leavesDraft) && places.length < MAX_PLACES) places.push(outcome.frame.from)
        if (held === undefined || isBetter(pick, choiceOf(outcome), choiceOf(held))) held = outcome
      },
      end() {
        if (held) next.write(passed + cut > 1 && held.ok ? ambiguous(held) : held)
        next.end()
      },
    }

    function ambiguous(chosen: GoodOutcome<T>): GoodOutcome<T> {
      const what =
        cut > 0 ? `${passed} candidates pass and ${cut} broke off, ` : `${passed} candidates pass, `
      const message = `${what}at byte ${places.join(', ')}; the ${pick} was taken`
      const note: Note = { code: 'AMBIGUOUS', message, places }
      return ranked({ ...chosen, notes: [...chosen.notes, note] }, rankOf(chosen))
    }
  }
}

const MAX_PLACES = 16

/** What decides between two candidates. */
interface Choice {
  readonly ok: boolean
  /** The input ended inside it: what was before it is a draft. */
  readonly cut: boolean
  readonly rank: number
}

export function choiceOf(outcome: Outcome<unknown>): Choice {
  return { ok: outcome.ok, cut: isCut(outcome), rank: rankOf(outcome) }
}

export function isCut(outcome: Outcome<unknown>): boolean {
  return !outcome.ok && outcome.fault.code === 'TRUNCATED'
}

/** Whether a later candidate is a better choice than the one that is held. */
export function isBetter(pick: 'first' | 'last', later: Choice, held: Choice): boolean {
  const isLast = pick === 'last'
  if (isLast && later.cut && held.ok) return later.rank > 0
  if (isLast && (later.rank === EXPLICIT || held.rank === EXPLICIT)) return later.rank === EXPLICIT
  if (later.ok !== held.ok) return later.ok
  return isLast ? later.rank >= held.rank : later.rank > held.rank
}
