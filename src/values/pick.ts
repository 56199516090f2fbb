import type { Note } from '../base/fault.ts'
import type { Stage } from '../base/stage.ts'
import type { Good, Outcome } from './outcome.ts'

/** Which outcomes are emitted. */
export type Pick = 'each' | 'first' | 'last'

/**
 * Picks among the outcomes: `each` passes all of them on; `first` is the first good one, or else the first
 * bad one; `last` is the last one, good or bad: an earlier draft never replaces a later block that failed.
 * The pick is emitted at the end, because only then it is known whether others pass, too; the note AMBIGUOUS
 * says how many and where.
 *
 * @example
 * drive(pickStage('last'), [draft, final]) // [final]
 */
export function pickStage<T>(pick: Pick): Stage<Outcome<T>, Outcome<T>> {
  if (pick === 'each') return (next) => next
  return (next) => {
    let held: Outcome<T> | undefined
    let passed = 0
    /** Where the good ones begin, up to a limit. */
    const places: number[] = []
    return {
      write(outcome) {
        if (outcome.ok && passed++ < MAX_PLACES) places.push(outcome.frame.from)
        if (pick === 'last' || held === undefined || (outcome.ok && !held.ok)) held = outcome
      },
      end() {
        if (held) next.write(passed > 1 && held.ok ? ambiguous(held) : held)
        next.end()
      },
    }

    function ambiguous(chosen: Good<T>): Good<T> {
      const message = `${passed} candidates pass, at byte ${places.join(', ')}; the ${pick} was taken`
      const note: Note = { code: 'AMBIGUOUS', message, places }
      return { ...chosen, notes: [...chosen.notes, note] }
    }
  }
}

const MAX_PLACES = 16
