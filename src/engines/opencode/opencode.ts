import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import type { Tokens } from '../../events/tokens.ts'
import { durationOf } from '../duration.ts'
import { tokenParts } from '../token-parts.ts'
import { unifiedDiff } from '../unified-diff.ts'

type Part = Record<string, unknown>

/**
 * OpenCode (`opencode run --format json`). There is no line for the start or end of a session: the first id
 * starts it, `stop` ends it.
 */
export const opencode: Engine = {
  name: 'opencode',
  parser: 'opencode_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'opencode run --format json; 1.18, 1.1',
  shape: ({ value }) => isLine(value),
  open() {
    /** The run reported a failure; the engine may still retry. */
    let failed = false
    return {
      read({ value }, say) {
        if (!isLine(value)) return false
        say.fields(value, 'type timestamp sessionID part error')
        say.session(value['sessionID'])
        if (value['type'] === 'error') {
          failed = true
          say.error(errorText(value['error']), 'fatal', { retryable: retryable(value['error']) })
          return true
        }
        if (value['type'] === 'step_start' && failed) {
          failed = false
          say.goesOn()
        }
        return isRecord(value['part']) && readPart(value['type'], value['part'], say)
      },
    }
  },
}

function isLine(value: unknown): value is Part & { type: string } {
  if (!isRecord(value) || typeof value['sessionID'] !== 'string') return false
  const { type, part, error } = value
  return typeof type === 'string' && (isRecord(part) || (type === 'error' && error !== undefined))
}

function readPart(type: string, part: Part, say: Say): boolean {
  switch (type) {
    case 'step_start':
      say.fields(part, 'id messageID sessionID snapshot type')
      say.status('step_start')
      return true
    case 'text':
      say.fields(part, 'id messageID sessionID type text time synthetic metadata')
      say.message(text(part['id']), text(part['text']) ?? '')
      return true
    case 'reasoning':
      say.fields(part, 'id messageID sessionID type text time metadata')
      say.reasoning(text(part['id']), text(part['text']) ?? '')
      return true
    case 'tool_use':
      say.fields(part, 'id messageID sessionID type tool callID state metadata')
      readTool(part, say)
      return true
    case 'step_finish': {
      say.fields(part, 'id messageID sessionID type reason snapshot tokens cost metrics time')
      const reason = text(part['reason']) ?? 'unknown'
      say.status('step_finish', { reason, usage: part['tokens'], tokens: tokensIn(part['tokens']) })
      if (reason === 'stop') say.ended('step_finish stop')
      if (reason === 'length') say.truncated('length')
      return true
    }
    default:
      say.unknownType(type)
      return false
  }
}

/** The input excludes cached tokens. The output includes reasoning up to 1.1, which reports no total. */
function tokensIn(counts: unknown): Tokens | undefined {
  if (!isRecord(counts)) return undefined
  const { input, output, reasoning, total } = counts
  const { read, write } = isRecord(counts['cache']) ? counts['cache'] : {}
  return tokenParts(
    { input, output, reasoning, total, cacheRead: read, cacheWrite: write },
    { cache: 'apart', reasoning: total === undefined ? 'within' : undefined },
  )
}

/**
 * A tool appears only when it has ended. `completed` alone proves nothing: the exit code and `invalid` do.
 */
function readTool(part: Part, say: Say): void {
  const state = isRecord(part['state']) ? part['state'] : {}
  const input = isRecord(state['input']) ? state['input'] : {}
  const metadata = isRecord(state['metadata']) ? state['metadata'] : {}
  const name = text(part['tool']) ?? 'tool'
  const exit_code = typeof metadata['exit'] === 'number' ? metadata['exit'] : undefined
  const error = text(state['error']) ?? (name === 'invalid' ? text(input['error']) : undefined)
  const { start, end } = isRecord(state['time']) ? state['time'] : {}
  const duration_ms =
    typeof start === 'number' && typeof end === 'number' ? durationOf(end - start) : undefined
  const call = {
    id: text(part['callID']) ?? '',
    name,
    input,
    output: state['output'],
    exit_code,
    error,
    duration_ms,
  }
  if (state['status'] === 'error' || name === 'invalid' || (exit_code ?? 0) !== 0) say.failed(call)
  else if (state['status'] === 'completed') {
    say.completed(call)
    const path = text(metadata['filepath']) ?? text(input['filePath'])
    const diff = unifiedDiff(metadata['diff'])
    if (path !== undefined && name === 'write')
      say.artifact(metadata['exists'] === true ? 'modified' : 'created', path, diff)
    if (path !== undefined && (name === 'edit' || name === 'multiedit')) say.artifact('modified', path, diff)
  } else say.started(call)
}

function errorText(error: unknown): string {
  if (!isRecord(error)) return 'an error without a message'
  const data = isRecord(error['data']) ? error['data'] : {}
  const message = text(data['message']) ?? text(error['message']) ?? 'no message'
  return `${text(error['name']) ?? 'error'}: ${message}`
}

function retryable(error: unknown): boolean | undefined {
  const reported = isRecord(error) && isRecord(error['data']) ? error['data']['isRetryable'] : undefined
  return typeof reported === 'boolean' ? reported : undefined
}
