import { type Engine, isRecord, type Reader, type Say, text } from '../events/engine.ts'
import { calls } from './call.ts'

type Line = Record<string, unknown>

/** Factory Droid (`droid exec --output-format stream-json`). */
export const droid: Engine = {
  name: 'droid',
  parser: 'droid_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'droid exec --output-format stream-json; read from the types of public parsers, not run',
  // Other engines begin with such a line, too: what follows it decides.
  shape: ({ value }) => isDroid(value) && (value['type'] !== 'system' || 'weak'),
  open: openRun,
}

/** Read from public parsers, not from our own recordings. */
const CONFIDENCE = 0.8

/** A line that only Droid writes: its `init` has tools, but neither servers nor a uuid. */
function isDroid(value: unknown): value is Line {
  if (!isRecord(value) || session(value) === undefined || 'uuid' in value) return false
  switch (value['type']) {
    case 'system':
      return Array.isArray(value['tools']) && !('mcp_servers' in value) && !('apiKeySource' in value)
    case 'message':
      return typeof value['role'] === 'string' && typeof value['text'] === 'string'
    case 'tool_call':
      return typeof value['toolName'] === 'string'
    case 'tool_result':
      return typeof value['isError'] === 'boolean' && typeof value['messageId'] === 'string'
    case 'completion':
      return typeof value['finalText'] === 'string'
    default:
      return false
  }
}

/** Both spellings were seen. */
function session(line: Line): string | undefined {
  return text(line['session_id']) ?? text(line['sessionId'])
}

const common = 'type id messageId timestamp session_id sessionId'

/** Calls that may wait for their result. */
const MAX_WAITING = 4096

function openRun(): Reader {
  let own = false
  let answered = false
  const begun = calls()
  /** Calls without a result, oldest first: results of some versions have no id. */
  const waiting = new Set<string>()

  const started = (line: Line, say: Say): void => {
    const { parameters } = line
    const call = { id: callId(line) ?? '', name: text(line['toolName']) ?? 'tool', input: parameters }
    const path = isRecord(parameters) ? (parameters['file_path'] ?? parameters['path']) : undefined
    begun.begun(call.id, call.name, { file_path: path })
    waiting.add(call.id)
    if (waiting.size > MAX_WAITING) waiting.delete(oldest() ?? '')
    say.started(call)
  }

  const oldest = (): string | undefined => waiting.values().next().value

  const ended = (line: Line, say: Say): void => {
    const id = callId(line) ?? oldest() ?? ''
    waiting.delete(id)
    const known = begun.ended(id)
    const name = known?.name ?? text(line['toolName']) ?? text(line['toolId']) ?? 'tool'
    const { value, error } = line
    if (line['isError'] !== false || error !== undefined) {
      const words = isRecord(error) ? text(error['message']) : (text(error) ?? text(value))
      say.failed({ id, name, output: value, error: words })
      return
    }
    say.completed({ id, name, output: value })
    const change = changes.get(name)
    if (change !== undefined && known?.path !== undefined) say.artifact(change, known.path)
  }

  const read = (line: Line, say: Say): boolean => {
    switch (line['type']) {
      case 'system':
        if (line['subtype'] !== 'init') break
        say.begun()
        say.status('turn_started', typeof line['model'] === 'string' ? { model: line['model'] } : {})
        return true
      case 'message':
        say.fields(line, `${common} role text`)
        if (typeof line['text'] !== 'string') return false
        if (line['role'] === 'user') say.user(line['text'])
        if (line['role'] !== 'assistant') return true
        answered = true
        say.message(text(line['id']), line['text'])
        return true
      case 'tool_call':
        say.fields(line, `${common} toolCallId toolId toolName parameters`)
        started(line, say)
        return true
      case 'tool_result':
        say.fields(line, `${common} toolCallId toolId toolName isError value error`)
        ended(line, say)
        return true
      case 'error':
        // If nothing follows it, the run has no end. The completion or the exit code says whether it failed.
        say.error(text(line['message']) ?? 'an error without a message')
        return true
      case 'completion': {
        say.fields(line, `${common} finalText numTurns durationMs usage`)
        const answer = text(line['finalText']) ?? ''
        // It repeats the last message.
        if (!answered && answer !== '') say.message(undefined, answer)
        answered = false
        say.status('completion', { usage: line['usage'] })
        say.ended('completion')
        return true
      }
    }
    say.unknownType(`${String(line['type'])} ${text(line['subtype']) ?? ''}`.trim())
    return false
  }

  return {
    read({ value }, say) {
      if (!isRecord(value) || !(own || isDroid(value))) return false
      own = true
      say.confidence(CONFIDENCE)
      say.session(session(value), { model: text(value['model']), cwd: text(value['cwd']) })
      return read(value, say)
    },
  }
}

function callId(line: Line): string | undefined {
  return text(line['toolCallId']) ?? text(line['id'])
}

const changes: ReadonlyMap<string, 'created' | 'modified'> = new Map([
  ['Create', 'created'],
  ['Edit', 'modified'],
  ['MultiEdit', 'modified'],
])
