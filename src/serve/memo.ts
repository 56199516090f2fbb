/** Keeps an answer for a while. */
export interface Memo<T> {
  (): T
  /** Asks again, however young the answer is. */
  fresh(): T
}

export function memo<T>(ms: number, ask: () => T): Memo<T> {
  let at = Number.NEGATIVE_INFINITY
  let answer: T
  const fresh = () => {
    answer = ask()
    at = performance.now()
    return answer
  }
  return Object.assign(() => (performance.now() - at < ms ? answer : fresh()), { fresh })
}
