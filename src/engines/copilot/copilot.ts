import { type Engine, isRecord, type RunFacts, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import type { Tokens } from '../../events/tokens.ts'
import { calls } from '../call.ts'
import { tokenParts } from '../token-parts.ts'
import { unifiedDiff } from '../unified-diff.ts'

type Line = Record<string, unknown>

/**
 * GitHub Copilot CLI (`copilot --output-format json`). Only the last line, `result`, has the session id and
 * the verdict.
 */
export const copilot: Engine = {
  name: 'copilot',
  parser: 'copilot_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'copilot --output-format json; 1.0',
  shape: ({ value }) => isSessionEvent(value) || isResult(value),
  open: () => {
    const conversation = reader()
    /** A record that only Copilot writes was seen, so a shorter `result` is its own, too. */
    let known = false
    return {
      read({ value }, say) {
        known ||= isSessionEvent(value) || isResult(value)
        if (isVerdict(value)) return known && conversation.result(value, say)
        return (
          (isSessionEvent(value) || (known && isLater(value))) && conversation.event(value, value.data, say)
        )
      },
    }
  },
}

type SessionEvent = Line & { type: string; data: Line }

/** Every line but the last has this envelope. */
function isSessionEvent(value: unknown): value is SessionEvent {
  return (
    isLater(value) &&
    typeof value['timestamp'] === 'string' &&
    (typeof value['parentId'] === 'string' || value['parentId'] === null)
  )
}

/** A record of a run that has begun: optional fields may be missing. */
function isLater(value: unknown): value is SessionEvent {
  return (
    isRecord(value) &&
    families.has(text(value['type'])?.split('.', 1)[0]) &&
    isRecord(value['data']) &&
    typeof value['id'] === 'string'
  )
}

const families = new Set<string | undefined>([
  ...['session', 'user', 'system', 'assistant', 'model', 'tool', 'subagent', 'hook', 'skill'],
  ...['permission', 'abort'],
])

/** The last line. Other programs end with such a record, too. */
function isVerdict(value: unknown): value is Line & { exitCode: number } {
  return (
    isRecord(value) &&
    value['type'] === 'result' &&
    typeof value['sessionId'] === 'string' &&
    typeof value['exitCode'] === 'number'
  )
}

function isResult(value: unknown): boolean {
  return isVerdict(value) && typeof value['timestamp'] === 'string' && isRecord(value['usage'])
}

/** Start-up, progress, and what another record repeats in full: kept as raw, silently. */
const quiet = new Set([
  ...['session.skills_loaded', 'session.mcp_servers_loaded', 'session.tools_updated', 'session.info'],
  ...['session.background_tasks_changed', 'model.call_start', 'model.call_finished'],
  ...['model.call_final_result', 'assistant.message_start', 'assistant.reasoning_delta'],
  ...['assistant.tool_call_delta', 'tool.shell_output', 'tool.execution_partial_result', 'assistant.idle'],
])

const changeOf = new Map<unknown, 'created' | 'deleted'>([
  ['create', 'created'],
  ['delete', 'deleted'],
])

function reader() {
  const begun = calls()
  /** The message whose pieces are arriving, per agent: a subagent may write in between. */
  const open = memory<string>((id) => id.length)
  let model: string | undefined
  /** The last thought of this step: both a message and a record of its own contain it. */
  let thought: string | undefined
  let failed = false

  /** A message without a final record (the model was cut off or is asked again) ends with the step. */
  const leave = (agent: string, say: Say): void => {
    const id = open.take(agent)
    if (id !== undefined) say.message(id, undefined, { incomplete: true })
  }

  const think = (id: string | undefined, content: unknown, say: Say): void => {
    if (typeof content !== 'string' || content === '' || content === thought) return
    thought = content
    say.reasoning(id, content)
  }

  const fail = (message: string, parent: string | undefined, say: Say): void => {
    // A subagent's failure belongs to its call: the run continues.
    if (parent === undefined) failed = true
    say.error(message, parent === undefined ? 'fatal' : 'error')
  }

  const toolEnded = (data: Line, parent: string | undefined, say: Say): void => {
    const id = text(data['toolCallId']) ?? ''
    const shell = isRecord(data['shellExecution']) ? data['shellExecution'] : {}
    const exit_code = typeof shell['exitCode'] === 'number' ? shell['exitCode'] : undefined
    const output = isRecord(data['result']) ? data['result']['content'] : undefined
    const error = isRecord(data['error']) ? text(data['error']['message']) : undefined
    const call = { id, name: begun.ended(id)?.name ?? 'tool', output, exit_code, error, parent }
    // `success` only means that the shell ran: the command itself may have failed.
    if (data['success'] !== true || (exit_code ?? 0) !== 0) say.failed(call)
    else say.completed(call)
    const edits = Array.isArray(data['fileEdits']) ? data['fileEdits'] : []
    for (const edit of edits) {
      if (!isRecord(edit) || typeof edit['path'] !== 'string') continue
      // A diff of several files is not the diff of one of them.
      const diff = edits.length === 1 ? diffOf(data) : undefined
      say.artifact(changeOf.get(edit['kind']) ?? 'modified', edit['path'], diff)
    }
  }

  return {
    event(line: Line & { type: string }, data: Line, say: Say): boolean {
      const { type } = line
      say.fields(line, 'type data id timestamp parentId ephemeral agentId')
      const parent = text(data['parentToolCallId']) ?? text(line['agentId'])
      const agent = parent ?? ''
      const id = text(data['messageId'])
      model = text(data['model']) ?? model
      switch (type) {
        case 'session.start':
          say.session(data['sessionId'], factsOf(data))
          return true
        case 'user.message':
          if (parent === undefined) sayPrompt(data, say)
          return true
        case 'assistant.turn_start':
          say.fields(data, 'turnId interactionId')
          leave(agent, say)
          thought = undefined
          if (parent !== undefined) return true
          // Also after an error: the engine continues, so the run did not fail.
          failed = false
          say.goesOn()
          say.status('turn_started', model === undefined ? {} : { model })
          return true
        case 'assistant.turn_end':
          say.fields(data, 'turnId')
          leave(agent, say)
          if (parent === undefined) say.status('turn_ended')
          return true
        case 'assistant.turn_retry':
          say.fields(data, 'turnId model reason')
          leave(agent, say)
          thought = undefined
          say.status('turn_retry', { reason: text(data['reason']) ?? 'unknown' })
          return true
        case 'model.call_failure':
          say.error(text(data['errorMessage']) ?? 'a request to the model failed', 'warning')
          return true
        case 'assistant.message_delta':
          say.fields(data, 'messageId deltaContent parentToolCallId')
          if (id === undefined) return false
          if (open.get(agent) !== id) {
            leave(agent, say)
            for (const other of open.set(agent, id)) say.message(other, undefined, { incomplete: true })
          }
          say.delta(id, text(data['deltaContent']) ?? '', { parent })
          return true
        case 'assistant.message': {
          say.fields(data, messageFields)
          if (open.get(agent) === id) open.take(agent)
          think(undefined, data['reasoningText'], say)
          // A message without text only calls tools.
          say.message(id, text(data['content']) || undefined, { parent })
          return true
        }
        case 'assistant.reasoning':
          say.fields(data, 'reasoningId content rte parentToolCallId')
          think(text(data['reasoningId']), data['content'], say)
          return true
        case 'assistant.usage':
          say.status('usage', { usage: data, tokens: tokensIn(data) })
          return true
        case 'tool.execution_start': {
          say.fields(
            data,
            'toolCallId toolName arguments turnId model toolTitle shellToolInfo parentToolCallId',
          )
          const call = { id: text(data['toolCallId']) ?? '', name: text(data['toolName']) ?? 'tool' }
          begun.begun(call.id, call.name, undefined)
          say.started({ ...call, input: data['arguments'], parent })
          return true
        }
        case 'tool.execution_complete':
          say.fields(data, toolFields)
          toolEnded(data, parent, say)
          return true
        case 'session.error':
          say.fields(data, 'errorType message statusCode originatingMessageId stack')
          fail(text(data['message']) ?? 'an error without a message', parent, say)
          return true
        case 'abort':
          fail(`aborted: ${text(data['reason']) ?? 'unknown'}`, parent, say)
          return true
        default:
          if (quiet.has(type)) return true
          say.unknownType(type)
          return false
      }
    },
    result(line: Line & { exitCode: number }, say: Say): boolean {
      say.fields(line, 'type timestamp sessionId exitCode usage')
      say.session(line['sessionId'], { model })
      say.status('result', { reason: `exit code ${line.exitCode}`, usage: line['usage'] })
      if (line.exitCode === 0) say.ended('result')
      else if (!failed) fail(`the engine ended with exit code ${line.exitCode}`, undefined, say)
      return true
    },
  }
}

const messageFields =
  'messageId originatingMessageId model content toolRequests interactionId turnId reasoningText reasoningOpaque rte apiCallId parentToolCallId phase outputTokens'
const toolFields =
  'toolCallId model interactionId turnId rte shellExecution fileEdits success result error toolTelemetry parentToolCallId'

/** The facts about the run at the start of a session. */
export function factsOf({ selectedModel, copilotVersion, context }: Line): RunFacts {
  const cwd = isRecord(context) ? text(context['cwd']) : undefined
  return { model: text(selectedModel), cwd, engine_version: text(copilotVersion) }
}

/**
 * Reports the prompt, without what Copilot added to it. Skills and Copilot itself write such messages, too,
 * with a source.
 */
export function sayPrompt({ content, source }: Line, say: Say): void {
  const words = text(content)
  if (words && (source === undefined || source === 'user')) say.user(words)
}

/** One request to the model. The input includes cached tokens. */
export function tokensIn(usage: Line): Tokens | undefined {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return tokenParts(
    {
      input: inputTokens,
      output: outputTokens,
      cacheRead: cacheReadTokens,
      cacheWrite: cacheWriteTokens,
      reasoning: reasoningTokens,
    },
    { cache: 'within', reasoning: 'within' },
  )
}

/** The diff that a tool reports of the file it has changed. */
export function diffOf({ result }: Line): string | undefined {
  return isRecord(result) ? unifiedDiff(result['detailedContent'])?.trimStart() : undefined
}
