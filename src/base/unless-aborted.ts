/**
 * Asks, unless the signal is aborted, and waits no longer than until it is: a call that ignores its signal must not
 * hold us. What it answers after that goes to `late`.
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
    // It may still answer, or fail, after we have stopped waiting, and that must not end the process.
    promise.then(late).catch(() => {})
    throw error
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}
