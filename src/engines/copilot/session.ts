import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import { calls } from '../call.ts'
import { pathOf, sayChange } from '../file-change.ts'
import { turns } from '../session-turns.ts'
import { diffOf, factsOf, sayPrompt, tokensIn } from './copilot.ts'

type Line = Record<string, unknown>

/**
 * GitHub Copilot CLI's session files (`session-state/<session>/events.jsonl` in its home): the permanent
 * lines of stdout, with the session at the start and without the result at the end. A shutdown is routine
 * after a failure, too, so the end of a session that did not fail is unknown.
 */
export const copilotSession: Engine = {
  name: 'copilot',
  parser: 'copilot_session',
  growing: true,
  cut: { stdout: 'records' },
  about: 'session file: session-state/*/events.jsonl; 1.0',
  shape: ({ value }) => isStart(value),
  open() {
    const read = sessionReader()
    /** Only the file begins with the start of the session; stdout has lines of the same types. */
    let started = false
    return {
      read({ value }, say) {
        started ||= isStart(value)
        return started && isLine(value) && read(value, value['data'], say)
      },
    }
  },
}

function isLine(value: unknown): value is Line & { data: Line } {
  return (
    isRecord(value) &&
    typeof value['type'] === 'string' &&
    typeof value['id'] === 'string' &&
    isRecord(value['data'])
  )
}

function isStart(value: unknown): boolean {
  return (
    isLine(value) &&
    value['type'] === 'session.start' &&
    typeof value.data['sessionId'] === 'string' &&
    typeof value.data['copilotVersion'] === 'string'
  )
}

const silent = new Set([
  ...['system.message', 'session.resume', 'session.shutdown', 'session.info'],
  ...['assistant.turn_start', 'assistant.turn_end', 'session.mode_changed'],
])

function sessionReader() {
  const begun = calls()
  const turn = turns()

  const ended = (data: Line, say: Say): true => {
    const id = text(data['toolCallId']) ?? ''
    const known = begun.ended(id)
    const name = known?.name ?? text(data['toolName']) ?? 'tool'
    const { shellExecution, result, error } = data
    const code = isRecord(shellExecution) ? shellExecution['exitCode'] : undefined
    const output = isRecord(result) ? result['content'] : undefined
    const exit_code = typeof code === 'number' ? code : undefined
    const call = { id, name, output, exit_code, parent: text(data['parentToolCallId']) }
    // `success` only means that the shell ran: the command itself may have failed.
    if (data['success'] !== true || (exit_code ?? 0) !== 0) {
      say.failed({ ...call, error: isRecord(error) ? text(error['message']) : text(error) })
      return true
    }
    say.completed(call)
    sayChange(name, known?.path, { fileDiff: diffOf(data) }, say)
    return true
  }

  return (line: Line, data: Line, say: Say): boolean => {
    const type = text(line['type']) ?? ''
    switch (type) {
      case 'session.start':
        say.session(data['sessionId'], factsOf(data))
        return true
      case 'session.model_change':
        if (typeof data['newModel'] === 'string') say.status('configured', { model: data['newModel'] })
        return true
      case 'session.usage_record': {
        const { usage } = data
        if (isRecord(usage)) say.status('usage', { usage, tokens: tokensIn(usage) })
        return true
      }
      case 'user.message':
        // The prompt of a subagent.
        if ((data['parentToolCallId'] ?? line['agentId']) !== undefined) return true
        sayPrompt(data, say)
        return turn.begin(say)
      case 'assistant.message': {
        const parent = text(data['parentToolCallId'])
        if (parent === undefined) turn.goOn(say)
        const id = text(data['messageId'])
        const thoughts = text(data['reasoningText'])
        const words = text(data['content'])
        if (thoughts) say.reasoning(id, thoughts)
        if (words) say.message(id, words, { parent })
        return true
      }
      case 'tool.execution_start': {
        const call = { id: text(data['toolCallId']) ?? '', name: text(data['toolName']) ?? 'tool' }
        begun.begun(call.id, call.name, { file_path: pathOf(data['arguments']) })
        say.started({ ...call, input: data['arguments'], parent: text(data['parentToolCallId']) })
        return true
      }
      case 'tool.execution_complete':
        return ended(data, say)
      case 'session.error':
        return turn.fail(text(data['message']) ?? 'the session failed', say)
      case 'abort':
        return turn.fail(`aborted: ${text(data['reason']) ?? 'no reason given'}`, say)
      case 'session.compaction_complete':
        say.status('compacted')
        return true
      default:
        if (silent.has(type)) return true
        say.unknownType(type)
        return false
    }
  }
}
