import { isRecord, type RunFacts, type Say, text } from '../../events/engine.ts'

type Message = Record<string, unknown>

/** Lines without anything to report. */
const quiet = new Set(['hook_started', 'hook_progress', 'hook_response', 'notification', 'thinking_tokens'])

/** Reads a `system` line: the start of a turn, a retry, a task, a change of the context. */
export function readSystem(line: Message, say: Say): boolean {
  const subtype = text(line['subtype']) ?? 'unknown'
  if (quiet.has(subtype)) return true
  switch (subtype) {
    case 'init':
      say.begun()
      // It comes with each turn; `started` has the facts of the first one.
      say.status('turn_started', factsOf(line))
      return true
    case 'retry':
    case 'api_retry': {
      const reason = retryReason(line)
      say.status('retrying', { reason })
      say.error(reason, 'warning', { retryable: true })
      return true
    }
    case 'status':
      // `requesting` and null come with every request.
      if (line['status'] === 'compacting') say.status('compacting')
      return true
    case 'compact_boundary': {
      const trigger = isRecord(line['compact_metadata'])
        ? text(line['compact_metadata']['trigger'])
        : undefined
      say.status('compacted', trigger === undefined ? {} : { reason: trigger })
      return true
    }
    case 'task_started':
    case 'task_progress':
    case 'task_updated':
    case 'task_notification': {
      const reason = text(line['status']) ?? text(line['description'])
      say.status(subtype, reason === undefined ? {} : { reason })
      return true
    }
    default:
      say.unknownType(`system ${subtype}`)
      return false
  }
}

/** A hook of the session start runs before the `init` line. */
export function isHook({ type, subtype }: Message): boolean {
  return type === 'system' && text(subtype)?.startsWith('hook_') === true
}

/** The facts about the run in an `init` line. */
export function factsOf(line: Message): RunFacts {
  if (line['type'] !== 'system' || line['subtype'] !== 'init') return {}
  return {
    model: text(line['model']),
    cwd: text(line['cwd']),
    engine_version: text(line['claude_code_version']) ?? text(line['qwen_code_version']),
  }
}

/** `allowed` comes with every run; only a limit that was reached is reported. */
export function readRateLimit(info: unknown, say: Say): true {
  const status = isRecord(info) ? info['status'] : undefined
  if (status === 'rejected') say.error('the rate limit is reached', 'warning')
  return true
}

/** The tool that a `control_request` asks the user about, if it does. */
export function askedFor(request: unknown): string | undefined {
  if (!isRecord(request) || request['subtype'] !== 'can_use_tool') return undefined
  return text(request['tool_name']) ?? 'tool'
}

function retryReason(line: Message): string {
  const { attempt, max_retries, error_status, error } = line
  const which = typeof attempt === 'number' ? `: attempt ${attempt}` : ''
  const all = typeof max_retries === 'number' && which ? ` of ${max_retries}` : ''
  const why = [error_status, error].filter((word) => typeof word === 'number' || typeof word === 'string')
  return `the engine asks the model again${which}${all}${why.length > 0 ? ` (${why.join(' ')})` : ''}`
}
