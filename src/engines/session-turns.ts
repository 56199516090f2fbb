import type { Say } from '../events/engine.ts'

/**
 * Tracks the turns of a session. In a file that records failures but not retries, an agent that continues
 * after a failure has recovered from it; and one that continues after its end has not ended.
 */
export function turns() {
  let over = false
  return {
    /** A prompt of the user. */
    begin(say: Say): true {
      over = false
      say.begun()
      say.status('turn_started')
      return true
    },
    /** The agent says or does something. */
    goOn(say: Say): void {
      if (over) say.goesOn()
      over = false
    },
    fail(message: string, say: Say): true {
      over = true
      say.error(message, 'fatal')
      return true
    },
    end(signal: string, say: Say): void {
      over = true
      say.ended(signal)
    },
  }
}
