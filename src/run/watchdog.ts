import fs from 'node:fs'

/**
 * Calls `onTimeout` when the time is over, and `onIdle` when none of the logs has grown for so long. It asks
 * the files, not the reader: one that is behind must not look like an agent that is silent.
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
