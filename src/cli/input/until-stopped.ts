/** A signal that the first SIGINT or SIGTERM aborts; the second one ends the process as usual. */
export function untilStopped(): { readonly signal: AbortSignal; end(): void } {
  const stop = new AbortController()
  let at = 0
  const onSignal = (name: NodeJS.Signals) => {
    if (!stop.signal.aborted) {
      at = performance.now()
      stop.abort()
    } else if (performance.now() - at > REPEAT_MS) {
      end()
      process.kill(process.pid, name)
    }
  }
  const end = () => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return { signal: stop.signal, end }
}

/** A status line re-sends Ctrl-C once after it has removed itself; a person takes longer. */
const REPEAT_MS = 200
