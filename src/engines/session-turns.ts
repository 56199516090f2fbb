import { digest } from '../base/platform.ts'
import type { Say } from '../events/engine.ts'
import { memory } from '../events/memory.ts'

export type Turns = ReturnType<typeof turns>

/**
 * Tracks the turns of a session. In a file that records failures but not retries, an agent that continues
 * after a failure has recovered from it; and one that continues after its end has not ended.
 */
export function turns() {
  let over = false
  let lastModel: string | undefined
  /** What was reported: files repeat it after a resume, or when it is complete. */
  const seen = memory<true>(() => 0)
  return {
    /** A prompt of the user. */
    begin(say: Say): true {
      over = false
      say.turn('begins')
      say.status('turn_started')
      return true
    },
    /** The agent says or does something. */
    goOn(say: Say): void {
      if (over) say.turn('goes on')
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
    /** The model of an answer: reported when it changes. */
    model(model: string | undefined, say: Say): void {
      if (model === undefined || model === lastModel) return
      lastModel = model
      say.status('configured', { model })
    },
    /** False for what was there before. What has no id of its own is no copy. */
    isNew(...key: readonly (string | undefined)[]): boolean {
      if (key.includes(undefined)) return true
      const name = digest(JSON.stringify(key))
      if (seen.get(name)) return false
      seen.set(name, true)
      return true
    },
  }
}
