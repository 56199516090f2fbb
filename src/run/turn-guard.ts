import { type Note, orElse } from '../base/fault.ts'
import type { LimitCounter } from './run-limits.ts'

interface GuardOptions {
  readonly limits: LimitCounter | undefined
  /** Milliseconds that the process may go on after its turn. @default no limit */
  readonly endAfter: number | undefined
  readonly stop: (reason: 'limit' | 'end_signal', note?: Note) => void
}

/** How often to look at what is printed, in milliseconds: a reader may be far behind. */
const LOOK_MS = 100

/** Ends a process that passes a limit while it works, or that does not exit though its turn is over. */
export class TurnGuard {
  readonly #options: GuardOptions
  /** The turn has ended, and nothing followed. */
  #over = false
  #lingers: NodeJS.Timeout | undefined
  #clock: NodeJS.Timeout | undefined

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /** The process is about to be started. */
  begin(): void {
    if (!this.#options.limits?.needsClock) return
    // A log that cannot be looked at is told with the next read: thrown here, it would end the program.
    const look = () => orElse(() => this.checkLimits(), undefined)
    this.#clock = setInterval(look, LOOK_MS).unref()
  }

  /** The turn is over, or goes on. */
  readonly turned = (over: boolean): void => {
    const { endAfter, stop } = this.#options
    this.#over = over
    clearTimeout(this.#lingers)
    if (over && endAfter !== undefined) this.#lingers = setTimeout(() => stop('end_signal'), endAfter)
  }

  checkLimits(): void {
    const passed = this.#over ? undefined : this.#options.limits?.passed()
    if (passed) this.#options.stop('limit', passed)
  }

  end(): void {
    clearTimeout(this.#lingers)
    clearInterval(this.#clock)
  }
}
