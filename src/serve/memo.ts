/** An answer is reused for this many times as long as it took. */
const PATIENCE = 4

/**
 * Reuses an answer for a while, and longer if it was expensive: a call that takes a second must not run all
 * the time.
 */
export interface Memo<T> {
  (): T
  /** Calls again, however recent the answer is. */
  fresh(): T
}

export function memo<T>(ms: number, ask: () => T): Memo<T> {
  let at = Number.NEGATIVE_INFINITY
  let cost = 0
  let answer: T
  const fresh = () => {
    const began = performance.now()
    answer = ask()
    at = performance.now()
    cost = at - began
    return answer
  }
  const young = () => performance.now() - at < Math.max(ms, cost * PATIENCE)
  return Object.assign(() => (young() ? answer : fresh()), { fresh })
}
