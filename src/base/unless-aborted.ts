/**
 * Calls `ask` unless the signal is aborted, and stops waiting when it is: a callee that ignores its signal
 * must not block us. An answer that arrives later goes to `late`.
 */
export async function unlessAborted<T>(
  ask: () => T | PromiseLike<T>,
  signal: AbortSignal | undefined,
  late?: (answer: T) => void,
): Promise<T> {
  if (!signal) return ask()
  signal.throwIfAborted()
  const promise = Promise.resolve(ask())
  let onAbort: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([aborted, promise])
  } catch (error) {
    // The callee may still answer or fail later; a late rejection must not end the process.
    promise.then(late).catch(() => {})
    throw error
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}

/**
 * The same for every step of a stream, until it is released. They share a listener: one for each step took
 * half the time of `ask.stream`.
 */
export function stepsUnlessAborted<T>(steps: AsyncIterator<T>, signal: AbortSignal) {
  let fail: ((reason: unknown) => void) | undefined
  const onAbort = () => fail?.(signal.reason)
  signal.addEventListener('abort', onAbort)
  return {
    next(): Promise<IteratorResult<T>> {
      return new Promise((resolve, reject) => {
        signal.throwIfAborted()
        fail = reject
        Promise.resolve(steps.next()).then(resolve, reject)
      })
    },
    release: () => signal.removeEventListener('abort', onAbort),
  }
}
