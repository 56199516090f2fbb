import type { Sink, Stage } from '../base/stage.ts'
import type { Outcome } from './outcome.ts'

/** Which outcomes are handed out. */
export type Pick = 'each' | 'first' | 'last'

/**
 * Picks among the outcomes: `each` lets all pass; `first` is the first good one, at once, or else the first
 * bad one, at the end; `last` is the last one, good or bad, at the end: an earlier draft is never put in
 * the place of a later block that failed.
 *
 * @example
 * drive(pickStage('last'), [draft, final]) // [final]
 */
export function pickStage<T>(pick: Pick): Stage<Outcome<T>, Outcome<T>> {
  if (pick === 'each') return (next) => next
  return (next) => {
    let held: Outcome<T> | undefined
    let done = false
    const sink: Sink<Outcome<T>> = {
      write(outcome) {
        if (done) return
        if (pick === 'last') held = outcome
        else if (outcome.ok) {
          done = true
          next.write(outcome)
        } else held ??= outcome
      },
      end() {
        if (held && !done) next.write(held)
        next.end()
      },
    }
    return sink
  }
}
