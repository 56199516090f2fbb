/**
 * Calls `onTimeout` when the time is up, and `onIdle` when the process wrote nothing for the idle time. What
 * counts is when it wrote, not when that was read: a slow reader must not look like a silent agent. Both
 * clocks stand still while the process waits for us.
 */
export function watchdog(options: {
  readonly timeout: number | undefined
  readonly idleTimeout: number | undefined
  /** In milliseconds since 1970. */
  readonly lastWrite: () => number
  /** How long the process has waited for us, and until when it did. @default it never waits */
  readonly waited?: (() => { readonly ms: number; readonly until: number }) | undefined
  readonly onTimeout: () => void
  readonly onIdle: () => void
}): { stop(): void } {
  const { timeout, idleTimeout, lastWrite, onTimeout, onIdle } = options
  const { waited = () => ({ ms: 0, until: 0 }) } = options
  const started = Date.now()
  const stops = [
    alarm(timeout, () => started + waited().ms, onTimeout),
    alarm(idleTimeout, () => Math.max(started, lastWrite(), waited().until), onIdle),
  ]
  return {
    stop() {
      for (const stop of stops) stop()
    },
  }
}

/** While the process waits, what is left of its time stays the same: it is not looked at more often. */
const MIN_DELAY = 20

/** Rings when this much time has passed since a moment that may move. */
function alarm(limit: number | undefined, since: () => number, ring: () => void): () => void {
  if (limit === undefined) return () => {}
  const look = () => {
    const left = limit - (Date.now() - since())
    if (left <= 0) ring()
    else timer = setTimeout(look, Math.max(left, MIN_DELAY))
  }
  let timer = setTimeout(look, limit)
  return () => clearTimeout(timer)
}
