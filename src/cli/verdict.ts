import type { CompletionData } from '../events/event.ts'
import { exits } from './exits.ts'

/**
 * The exit code for how a run ended. A good end needs both: the engine's word and, where it is known, the exit code
 * of its process.
 */
export function verdict(completion: CompletionData | undefined): number {
  if (!completion) return exits.incomplete
  const { state, reason_code, evidence } = completion
  switch (state) {
    case 'completed':
    case 'awaiting_user_input':
      return evidence.exit_code || evidence.signal !== null ? exits.failed : exits.good
    case 'interrupted':
      return reason_code === 'TRUNCATED' ? exits.incomplete : exits.failed
    case 'unknown':
      return exits.incomplete
    default:
      return state satisfies never
  }
}
