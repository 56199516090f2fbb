import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import { calls, pathOf, sayChange } from '../calls.ts'
import { turns } from '../session-turns.ts'
import { patchIn, sayPrompt, tokensIn } from './pi.ts'

type Line = Record<string, unknown>

/**
 * pi's session files (`agent/sessions/--<dir>--/*.jsonl` in its home): entries of a tree. The first line is
 * on stdout too, so the second one distinguishes the two. Each answer says how it ended (`stopReason`).
 */
export const piSession: Engine = {
  name: 'pi',
  parser: 'pi_session',
  growing: true,
  cut: { stdout: 'records' },
  about: 'session file: sessions/*/*.jsonl; 0.87, 0.73',
  shape: ({ value }) => isEntry(value),
  open() {
    const read = sessionReader()
    return {
      read({ value }, say) {
        if (isHead(value)) {
          say.session(value['id'], { cwd: text(value['cwd']) })
          return true
        }
        return isEntry(value) && read(value, say)
      },
    }
  },
}

function isHead(value: unknown): value is Line {
  return isRecord(value) && value['type'] === 'session' && typeof value['version'] === 'number'
}

const entryTypes = new Set([
  ...['message', 'model_change', 'thinking_level_change', 'context_edit', 'compaction', 'branch_summary'],
  ...['custom', 'custom_message', 'session_info', 'label'],
])

function isEntry(value: unknown): value is Line {
  return (
    isRecord(value) &&
    entryTypes.has(text(value['type']) ?? '') &&
    typeof value['id'] === 'string' &&
    typeof value['timestamp'] === 'string' &&
    (typeof value['parentId'] === 'string' || value['parentId'] === null) &&
    (value['type'] !== 'message' || isRecord(value['message']))
  )
}

function sessionReader() {
  const begun = calls()
  const turn = turns()

  const assistant = (id: string, message: Line, say: Say): true => {
    turn.goOn(say)
    const reason = text(message['stopReason'])
    const broken = reason === 'error' || reason === 'aborted'
    let blocks = 0
    const blockId = () => (blocks++ === 0 ? id : `${id}.${blocks - 1}`)
    for (const block of Array.isArray(message['content']) ? message['content'] : []) {
      if (!isRecord(block)) continue
      if (block['type'] === 'text')
        say.message(blockId(), text(block['text']) ?? '', broken ? { incomplete: true } : {})
      else if (block['type'] === 'thinking') say.reasoning(blockId(), text(block['thinking']) ?? '')
      else if (block['type'] === 'toolCall') {
        const call = { id: text(block['id']) ?? '', name: text(block['name']) ?? 'tool' }
        begun.begun(call.id, call.name, { file_path: pathOf(block['arguments']) })
        say.started({ ...call, input: block['arguments'] })
      } else say.unknownType(`content ${String(block['type'])}`)
    }
    const { usage } = message
    say.status('step_finish', { reason: reason ?? 'unknown', usage, tokens: tokensIn(usage) })
    if (reason === 'stop') turn.end('stop', say)
    if (reason === 'length') say.truncated('length')
    // The next attempt, if there is one, follows a failed one.
    if (broken) turn.fail(text(message['errorMessage']) ?? `the answer was ${reason}`, say)
    return true
  }

  const result = (message: Line, say: Say): true => {
    const id = text(message['toolCallId']) ?? ''
    const known = begun.ended(id)
    const name = text(message['toolName']) ?? known?.name ?? 'tool'
    const output = message['content']
    if (message['isError'] === true) {
      say.failed({ id, name, output, error: textOf(output) })
      return true
    }
    say.completed({ id, name, output })
    sayChange(name, known?.path, { fileDiff: patchIn(message) }, say)
    return true
  }

  return (line: Line, say: Say): boolean => {
    if (line['type'] === 'compaction') say.status('compacted')
    if (line['type'] === 'model_change' && typeof line['modelId'] === 'string')
      say.status('configured', { model: line['modelId'] })
    const { message } = line
    if (line['type'] !== 'message' || !isRecord(message)) return true
    switch (message['role']) {
      case 'user':
        sayPrompt(message, say)
        return turn.begin(say)
      case 'assistant':
        return assistant(text(line['id']) ?? '', message, say)
      case 'toolResult':
        return result(message, say)
      case 'system':
      case 'bashExecution':
      case 'custom':
        return true
      default:
        say.unknownType(`role ${String(message['role'])}`)
        return false
    }
  }
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return text(content) ?? ''
  return content.flatMap((block) => (isRecord(block) && text(block['text'])) || []).join('\n')
}
