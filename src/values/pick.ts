import type { Note } from '../base/fault.ts'
import type { Sink } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import type { Good, Outcome } from './outcome.ts'

/** Which outcomes are emitted. */
export type Pick = 'each' | 'first' | 'last'

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
function usualRank({ kind, path, inFence }: Frame): number {
  if (kind !== 'object' || path !== undefined) return EXPLICIT
  return inFence ? IN_FENCE : IMPLICIT
}

/** Takes outcomes, and can forget those that it still holds: they turned out to be thoughts. */
export interface OutcomeSink<T> extends Sink<Outcome<T>> {
  forget?(): void
}

/**
 * Picks among the outcomes: `each` passes all of them on. `first` is the first good one of the highest rank,
 * or else the first bad one. `last` is the last explicit one, good or bad: an earlier draft never replaces a
 * later block that failed; without any, the last good one, or else the last bad one. The pick is emitted
 * at the end, because only then it is known whether others pass, too; the note AMBIGUOUS says how many and
 * where.
 *
 * @example
 * drive(pickStage('last'), [draft, final]) // [final]
 */
export function pickStage<T>(pick: Pick): (next: Sink<Outcome<T>>) => OutcomeSink<T> {
  if (pick === 'each') return (next) => next
  return (next) => {
    let held: Outcome<T> | undefined
    let passed = 0
    /** Where the good ones begin, up to a limit. */
    let places: number[] = []
    return {
      forget() {
        held = undefined
        passed = 0
        places = []
      },
      write(outcome) {
        if (outcome.ok && passed++ < MAX_PLACES) places.push(outcome.frame.from)
        if (held === undefined || isBetter(pick, outcome, rankOf(outcome), held, rankOf(held))) held = outcome
      },
      end() {
        if (held) next.write(passed > 1 && held.ok ? ambiguous(held) : held)
        next.end()
      },
    }

    function ambiguous(chosen: Good<T>): Good<T> {
      const message = `${passed} candidates pass, at byte ${places.join(', ')}; the ${pick} was taken`
      const note: Note = { code: 'AMBIGUOUS', message, places }
      return ranked({ ...chosen, notes: [...chosen.notes, note] }, rankOf(chosen))
    }
  }
}

const MAX_PLACES = 16

/** Whether a later candidate is a better choice than the one that is held. */
export function isBetter(
  pick: 'first' | 'last',
  later: { readonly ok: boolean },
  laterRank: number,
  held: { readonly ok: boolean },
  heldRank: number,
): boolean {
  const isLast = pick === 'last'
  if (isLast && (laterRank === EXPLICIT || heldRank === EXPLICIT)) return laterRank === EXPLICIT
  if (later.ok !== held.ok) return later.ok
  return isLast ? laterRank >= heldRank : laterRank > heldRank
}
