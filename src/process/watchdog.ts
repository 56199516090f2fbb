/**
 * Calls `onTimeout` when the time is up, and `onIdle` when the process wrote nothing for the idle time. What
 * counts is when it wrote, not when that was read: a slow reader must not look like a silent agent.
 */
export function watchdog(options: {
  readonly timeout: number | undefined
  readonly idleTimeout: number | undefined
  /** In milliseconds since 1970. */
  readonly lastWrite: () => number
  readonly onTimeout: () => void
  readonly onIdle: () => void
}): { stop(): void } {
  const { timeout, idleTimeout, lastWrite, onTimeout, onIdle } = options
  const timers = new Map<string, NodeJS.Timeout>()
  if (timeout !== undefined) timers.set('timeout', setTimeout(onTimeout, timeout))
  if (idleTimeout !== undefined) {
    const started = Date.now()
    const look = () => {
      const silent = Date.now() - Math.max(started, lastWrite())
      if (silent >= idleTimeout) onIdle()
      else timers.set('idle', setTimeout(look, idleTimeout - silent))
    }
    timers.set('idle', setTimeout(look, idleTimeout))
  }
  return {
    stop() {
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}
