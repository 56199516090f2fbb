import { orElse } from '../base/fault.ts'

/** Something that this program has started, and that must not outlive it. */
export interface Dependant {
  /** Asks it to end, because this program got the signal. It leaves by itself when that is done. */
  end(signal: NodeJS.Signals): void
  /** Ends it now: the host can wait no longer. */
  kill(): void
  /** Milliseconds that it may take to end. */
  readonly grace: number
}

/**
 * Ends something with this program: when a signal asks the program to end, and when it exits, for whatever
 * reason. Call the result when it has ended by itself. Listeners are there only while something depends.
 *
 * If the program does not handle the signal, it dies of it when all have ended, as it would have without us;
 * a second signal kills them and ends it at once. If the program handles it, they are ended, too, and it is
 * left alone. An uncaught error or a rejection is never listened for, which would change the program: it ends
 * in `exit`, where all are killed.
 */
export function endWithHost(dependant: Dependant): () => void {
  const host = theHost()
  host.add(dependant)
  return () => host.delete(dependant)
}

/** Handles the signals in place of ending what depends on us, until the returned function is called. */
export function handleSignals(handle: (signal: NodeJS.Signals) => void): () => void {
  const host = theHost()
  host.handle = handle
  for (const signal of SIGNALS) process.on(signal, handle)
  return () => {
    host.handle = undefined
    for (const signal of SIGNALS) process.off(signal, handle)
  }
}

/** Kills all that would end with this program. */
export function killDependants(): void {
  theHost().killAll()
}

/** Signals that ask a program to end. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Over the grace of what is ended: for the last bytes on the disk. */
const WRITING_MS = 1000

/**
 * By hand: `signal-exit` calls back synchronously, so nothing could end in order, and not at all while the
 * program listens to the signal itself.
 */
class Host {
  handle: ((signal: NodeJS.Signals) => void) | undefined
  readonly #dependants = new Set<Dependant>()
  /** The signal that ends the program when the last of them is gone. */
  #dying: NodeJS.Signals | undefined
  #timer: NodeJS.Timeout | undefined

  add(dependant: Dependant): void {
    if (this.#dependants.size === 0) {
      process.on('exit', this.killAll)
      // First, so that a listener that is there once is still there to be counted.
      for (const signal of SIGNALS) process.prependListener(signal, this.#onSignal)
    }
    this.#dependants.add(dependant)
    if (this.#dying) dependant.end(this.#dying)
  }

  delete(dependant: Dependant): void {
    if (!this.#dependants.delete(dependant) || this.#dependants.size > 0) return
    process.off('exit', this.killAll)
    for (const signal of SIGNALS) process.off(signal, this.#onSignal)
    clearTimeout(this.#timer)
    if (!this.#dying) return
    process.kill(process.pid, this.#dying)
    this.#dying = undefined
    // Only `signal-exit` may have heard that; it kills in the next turn, which a program that is done would
    // not wait for.
    setTimeout(() => {}, WRITING_MS)
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (this.handle) return
    if (this.#dying) {
      this.#endNow()
      return
    }
    const all = [...this.#dependants]
    if (isUnhandled(signal)) {
      this.#dying = signal
      const grace = Math.max(...all.map((one) => one.grace))
      this.#timer = setTimeout(() => this.#endNow(), grace + WRITING_MS)
    }
    for (const dependant of all) orElse(() => dependant.end(signal), undefined)
  }

  readonly killAll = (): void => {
    for (const dependant of this.#dependants) orElse(() => dependant.kill(), undefined)
  }

  #endNow(): void {
    this.killAll()
    for (const dependant of [...this.#dependants]) this.delete(dependant)
  }
}

/** Whether the program itself does not listen to the signal. */
function isUnhandled(signal: NodeJS.Signals): boolean {
  // Listeners of `signal-exit`, which many packages use, wait for the signal that nobody else handles. It
  // counts them here, for the copies of itself.
  const { [SIGNAL_EXIT_4]: four } = globalThis as { [SIGNAL_EXIT_4]?: Counted }
  const { [SIGNAL_EXIT_3]: three } = process as { [SIGNAL_EXIT_3]?: Counted }
  return process.listenerCount(signal) - (four?.count ?? 0) - (three?.count ?? 0) <= 1
}

interface Counted {
  readonly count?: number
}
const SIGNAL_EXIT_4 = Symbol.for('signal-exit emitter')
const SIGNAL_EXIT_3 = '__signal_exit_emitter__'

/** One for all copies of this package in a program: two would each take the other for a listener. */
function theHost(): Host {
  const known = globalThis as { [HOST]?: Host }
  known[HOST] ??= new Host()
  return known[HOST]
}

const HOST = Symbol.for('agent-sluice host 1')
