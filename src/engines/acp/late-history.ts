import type { Rec } from '../../events/record.ts'

/**
 * Gemini CLI answers `session/load` before it has sent all of the old conversation: the rest arrives in the
 * new turn. It never repeats the prompt of a turn, so a user message begins the rest. Each old answer is one
 * chunk: the answer to the new prompt begins after that.
 */
export function lateHistory() {
  let session: string | undefined
  /** The last update was of the old conversation: its user has asked, or was answered. */
  let state: 'asked' | 'answered' | undefined
  return {
    /** The session was loaded. */
    loaded(id: string): void {
      session = id
      state = undefined
    },
    /** Whether this update is about something that was said or done before. */
    has(of: string, update: Rec): boolean {
      if (of !== session) return false
      const kind = update.at('sessionUpdate')
      const status = update.at('status')
      if (kind === 'user_message_chunk') state = 'asked'
      else if (kind === 'agent_message_chunk') state = state === 'asked' ? 'answered' : undefined
      // Old calls are shown with their end; what other updates say belongs to no turn.
      else if (kind === 'tool_call' && status !== 'completed' && status !== 'failed') state = undefined
      else if (kind === 'tool_call' && state === 'answered') state = 'asked'
      else if (state === 'answered') state = undefined
      return state !== undefined
    },
  }
}
