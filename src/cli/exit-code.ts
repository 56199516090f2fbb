import type { CompletionData } from '../events/event.ts'
import { exits } from './exits.ts'
import { exitOf } from './run-input.ts'

/**
 * The exit code for how a run ended. A good end needs both: the engine's word and, where it is known, the exit
 * of its process.
 */
export function verdict(completion: CompletionData | undefined): number {
  const code = exitOf(completion, undefined)
  const failed = completion && (completion.evidence.exit_code || completion.evidence.signal !== null)
  return code === exits.good && failed ? exits.failed : code
}
