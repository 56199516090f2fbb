import fs from 'node:fs'

/**
 * Calls `onTimeout` when the time is up, and `onIdle` when none of the logs has grown for the idle time. It
 * checks the files, not the reader: a slow reader must not look like a silent agent.
 */
export function watchdog(options: {
  readonly timeout: number | undefined
  readonly idleTimeout: number | undefined
  readonly logs: readonly string[]
  readonly onTimeout: () => void
  readonly onIdle: () => void
}): { stop(): void } {
  const { timeout, idleTimeout, logs, onTimeout, onIdle } = options
  const timers = new Map<string, NodeJS.Timeout>()
  if (timeout !== undefined) timers.set('timeout', setTimeout(onTimeout, timeout))
  if (idleTimeout !== undefined) {
    const started = Date.now()
    const look = () => {
      const silent = Date.now() - Math.max(started, ...logs.map(lastWrite))
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

function lastWrite(path: string): number {
  try {
    return fs.statSync(path).mtimeMs
  } catch {
    return 0
  }
}
