import type { RunFacts } from '../../events/profile.ts'
import type { Rec } from '../../events/record.ts'
import { rows } from '../table.ts'

/** The `system` lines: the start of a turn, a retry, a task, a change of the context. */
export const systemLines = rows({
  by: 'subtype',
  called: 'system',
  quiet: 'hook_started hook_progress hook_response notification thinking_tokens',
  on: {
    init(line, say) {
      say.begun()
      // It comes with each turn; `started` has the facts of the first one.
      say.status('turn_started', factsOf(line))
    },
    'retry, api_retry'(line, say) {
      const reason = retryReason(line)
      say.status('retrying', { reason })
      say.error(reason, 'warning', { retryable: true })
    },
    status(line, say) {
      // `requesting` and null come with every request.
      if (line.at('status') === 'compacting') say.status('compacting')
    },
    compact_boundary: (line, say) =>
      say.status('compacted', { reason: line.text('compact_metadata.trigger') }),
    'task_started, task_progress, task_updated, task_notification': (line, say) =>
      say.status(line.text('subtype')!, { reason: line.text('status description') }),
  },
})

/** A hook of the session start runs before the `init` line. */
export function isHook(line: Rec): boolean {
  return line.at('type') === 'system' && line.text('subtype')?.startsWith('hook_') === true
}

/** The facts about the run in an `init` line. */
export function factsOf(line: Rec): RunFacts {
  if (line.at('type') !== 'system' || line.at('subtype') !== 'init') return {}
  return {
    model: line.text('model'),
    cwd: line.text('cwd'),
    engine_version: line.text('claude_code_version qwen_code_version'),
  }
}

function retryReason(line: Rec): string {
  const attempt = line.number('attempt')
  const most = line.number('max_retries')
  const which = attempt === undefined ? '' : `: attempt ${attempt}${most === undefined ? '' : ` of ${most}`}`
  const why = [line.at('error_status'), line.at('error')]
    .filter((word) => typeof word === 'number' || typeof word === 'string')
    .join(' ')
  return `the engine asks the model again${which}${why === '' ? '' : ` (${why})`}`
}
