import { exits } from './exit-code-table.ts'

/** A signal that is aborted by the first SIGINT or SIGTERM; the second ends the process the usual way. */
export interface Stopped {
  readonly signal: AbortSignal
  /** The exit code for a command that was stopped before it was done. */
  exit(): number
  /** Takes its listeners off. */
  end(): void
}

export function untilStopped(): Stopped {
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
  return { signal: stop.signal, exit: () => exits.incomplete, end }
}

/** A status line sends Ctrl-C on once more when it has wiped itself; a person takes longer. */
const REPEAT_MS = 200
