import { type Engine, isRecord, type Reader, type Say, text } from '../../events/engine.ts'
import { durationOf } from '../../events/record.ts'
import type { Tokens } from '../../events/tokens.ts'
import { tokenParts } from '../token-parts.ts'

type Line = Record<string, unknown>

/**
 * Cline CLI (`cline --json`). Each text comes four times, nothing has an id, and an interrupted run exits
 * with 0.
 */
export const cline: Engine = {
  name: 'cline',
  parser: 'cline_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'cline --json; 3.0',
  shape: ({ value }) => isRecord(value) && isOwn(value),
  open: reader,
}

/** Every line has a time, and in addition something that only Cline writes. */
function isOwn(line: Line): boolean {
  if (typeof line['ts'] !== 'string') return false
  switch (line['type']) {
    case 'hook_event':
      return typeof line['hookEventName'] === 'string' && typeof line['agentId'] === 'string'
    case 'agent_event':
      return isRecord(line['event']) && typeof line['event']['type'] === 'string'
    case 'run_start':
      return typeof line['providerId'] === 'string'
    case 'run_result':
      return typeof line['finishReason'] === 'string' && typeof line['iterations'] === 'number'
    case 'run_abort_requested':
      return typeof line['reason'] === 'string'
    case 'error':
      return typeof line['message'] === 'string' && Object.keys(line).length === 3
    default:
      return false
  }
}

/** A record of a run that has begun: optional fields may be missing. Other programs log errors, too. */
function isLater(line: Line): boolean {
  if (typeof line['ts'] !== 'string') return false
  if (line['type'] === 'hook_event') return typeof line['hookEventName'] === 'string'
  return (
    line['type'] === 'run_start' ||
    (line['type'] === 'run_result' && typeof line['finishReason'] === 'string')
  )
}

function reader(): Reader {
  /** A record that only Cline writes was seen. */
  let known = false
  /** The message whose pieces are arriving. */
  let open: string | undefined
  let spoke = false
  let failed = false
  /** Requests of this run have reported their tokens: the sum at its end repeats them. */
  let counted = false

  /** A message without an end was cut off. */
  const leave = (say: Say): void => {
    if (open !== undefined) say.message(open, undefined, { incomplete: true })
    open = undefined
  }

  const fail = (message: string, say: Say): void => {
    leave(say)
    if (!failed) say.error(message, 'fatal')
    failed = true
  }

  const content = (event: Line, say: Say): boolean => {
    const isEnd = event['type'] === 'content_end'
    const call = { id: text(event['toolCallId']) ?? '', name: text(event['toolName']) ?? 'tool' }
    switch (event['contentType']) {
      case 'text':
        say.fields(event, 'type contentType text accumulated')
        // The pieces are `start` records, each with the next words.
        if (!isEnd) {
          open ??= say.newId()
          say.delta(open, text(event['text']) ?? '')
        } else {
          say.message(open, text(event['text']) ?? '')
          open = undefined
          spoke = true
        }
        return true
      case 'reasoning':
        say.fields(event, 'type contentType reasoning text redacted accumulated')
        if (isEnd) say.reasoning(undefined, text(event['reasoning']) ?? text(event['text']) ?? '')
        return true
      case 'tool': {
        say.fields(event, 'type contentType toolName toolCallId input output error durationMs')
        if (!isEnd) {
          say.started({ ...call, input: event['input'] })
          return true
        }
        const { output, durationMs } = event
        const ended = { ...call, output, duration_ms: durationOf(durationMs) }
        const bad = failures(event)
        if (bad.length > 0) say.failed({ ...ended, error: bad.join('\n') })
        else say.completed(ended)
        return true
      }
      default:
        say.unknownType(`content ${String(event['contentType'])}`)
        return false
    }
  }

  const agentEvent = (event: Line, say: Say): boolean => {
    switch (event['type']) {
      case 'iteration_start':
        say.fields(event, 'type iteration')
        leave(say)
        say.status('step_start')
        return true
      case 'iteration_end':
        say.fields(event, 'type iteration hadToolCalls toolCallCount')
        leave(say)
        say.status('step_finish')
        return true
      case 'content_start':
      case 'content_end':
        return content(event, say)
      case 'content_update':
        return true
      case 'usage':
        counted = true
        say.status('usage', { usage: usageOf(event), tokens: tokensIn(event) })
        return true
      case 'error': {
        say.fields(event, 'type error errorClass recoverable iteration')
        const error = isRecord(event['error']) ? text(event['error']['message']) : text(event['error'])
        if (event['recoverable'] === true) say.error(error ?? 'an error without a message', 'warning')
        else fail(error ?? 'an error without a message', say)
        return true
      }
      case 'done':
        say.fields(event, 'type reason text iterations usage')
        say.status('done', { reason: text(event['reason']) ?? 'unknown', usage: event['usage'] })
        return true
      default:
        say.unknownType(`event ${String(event['type'])}`)
        return false
    }
  }

  const result = (line: Line, say: Say): void => {
    say.fields(line, 'ts type finishReason iterations usage aggregateUsage durationMs text model')
    leave(say)
    const reason = text(line['finishReason']) ?? 'unknown'
    const answer = text(line['text']) ?? ''
    const model = isRecord(line['model']) ? text(line['model']['id']) : undefined
    // It repeats the last answer, or the error.
    if (reason === 'completed' && !spoke && answer !== '') say.message(undefined, answer)
    const tokens = counted ? undefined : tokensIn(line['usage'])
    counted = false
    say.status('result', { reason, usage: line['usage'], tokens, model })
    if (reason === 'completed') say.ended('run_result completed')
    else fail(reason === 'error' && answer !== '' ? answer : `the run ended: ${reason}`, say)
  }

  const read = (line: Line, say: Say): boolean => {
    switch (line['type']) {
      case 'hook_event':
        say.fields(line, 'ts type hookEventName agentId taskId parentAgentId')
        // A subagent has a task of its own.
        if (typeof line['parentAgentId'] === 'string') return true
        say.session(line['taskId'])
        if (line['hookEventName'] !== 'agent_start') return true
        failed = spoke = false
        say.begun()
        say.status('turn_started')
        return true
      case 'agent_event':
        say.fields(line, 'ts type event')
        return agentEvent(line['event'] as Line, say)
      case 'run_start':
        say.status('run_start', typeof line['modelId'] === 'string' ? { model: line['modelId'] } : {})
        return true
      case 'run_result':
        result(line, say)
        return true
      case 'run_abort_requested':
        fail(`aborted: ${line['reason']}`, say)
        return true
      default:
        // After `isOwn`, only an error is left.
        fail(text(line['message']) ?? '', say)
        return true
    }
  }

  return {
    read({ value }, say) {
      if (!isRecord(value)) return false
      known ||= isOwn(value)
      if (isOwn(value) || (known && isLater(value))) return read(value, say)
      if (typeof value['ts'] === 'string' && typeof value['type'] === 'string') say.unknownType(value['type'])
      return false
    },
  }
}

/** The counts of this request and of the run so far. */
function usageOf({ type, ...counts }: Line): Line {
  return counts
}

/** The input includes cached tokens. */
export function tokensIn(counts: unknown): Tokens | undefined {
  if (!isRecord(counts)) return undefined
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = counts
  return tokenParts(
    { input: inputTokens, output: outputTokens, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens },
    { cache: 'within' },
  )
}

/** The failures in a call: its own, or those of each command or file it was about. */
function failures({ error, output }: Line): string[] {
  const parts = [{ error }, ...(Array.isArray(output) ? output : [output])]
  return parts.flatMap((part) => {
    if (!isRecord(part)) return []
    if (typeof part['error'] === 'string' && part['error'] !== '') return [part['error']]
    return part['success'] === false ? [text(part['result']) ?? 'it failed'] : []
  })
}
