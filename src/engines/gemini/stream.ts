import { type EngineFrame, isRecord, type Say, text } from '../../events/engine.ts'
import { calls } from '../calls.ts'
import { statsTokens } from './tokens.ts'

type Line = Record<string, unknown>

/** The message whose pieces are arriving, if there is one. */
interface Message {
  open: string | undefined
}

function close(message: Message, say: Say): void {
  if (message.open !== undefined) say.message(message.open)
  message.open = undefined
}

/** Reads `-o stream-json`: one record per line, the answer in deltas. */
export function streamReader() {
  const begun = calls()
  /** There is no final record: the pieces up to the next other record are the message. */
  const main: Message = { open: undefined }
  /** The same for lines that only the PTY has. */
  const aside: Message = { open: undefined }

  return ({ extra }: EngineFrame, line: Line, say: Say): boolean => {
    const message = extra ? aside : main
    if (extra?.first) close(message, say)
    const understood = read(line, message, say)
    if (extra?.last) close(message, say)
    return understood
  }

  function read(line: Line, message: Message, say: Say): boolean {
    switch (line['type']) {
      case 'init':
        say.fields(line, 'type timestamp session_id model')
        say.session(line['session_id'], { model: text(line['model']) })
        say.begun()
        say.status('turn_started', { model: text(line['model']) })
        return true
      case 'message':
        say.fields(line, 'type timestamp role content delta')
        if (line['role'] !== 'assistant') {
          close(message, say)
          if (line['role'] === 'user' && line['content']) say.user(text(line['content']) ?? '')
        } else if (line['delta'] === true) {
          message.open ??= say.newId()
          say.delta(message.open, text(line['content']) ?? '')
        } else {
          close(message, say)
          say.message(undefined, text(line['content']) ?? '')
        }
        return true
      case 'tool_use': {
        close(message, say)
        say.fields(line, 'type timestamp tool_name tool_id parameters')
        const call = {
          id: text(line['tool_id']) ?? '',
          name: text(line['tool_name']) ?? 'tool',
          input: line['parameters'],
        }
        begun.begun(call.id, call.name, call.input)
        say.started(call)
        return true
      }
      case 'tool_result':
        close(message, say)
        say.fields(line, 'type timestamp tool_id status output error')
        toolResult(line, say)
        return true
      case 'error':
        say.fields(line, 'type timestamp severity message')
        say.error(
          text(line['message']) ?? 'an error without a message',
          line['severity'] === 'warning' ? 'warning' : 'error',
        )
        return true
      case 'result':
        close(message, say)
        say.fields(line, 'type timestamp status error stats')
        say.status('result', {
          reason: text(line['status']) ?? 'unknown',
          stats: line['stats'],
          tokens: statsTokens(line['stats']),
        })
        if (line['status'] === 'success') say.ended('result success')
        else
          say.error(
            (isRecord(line['error']) ? text(line['error']['message']) : undefined) ?? 'the engine failed',
            'fatal',
          )
        return true
      default:
        say.unknownType(String(line['type']))
        return false
    }
  }

  function toolResult(line: Line, say: Say): void {
    const id = text(line['tool_id']) ?? ''
    const known = begun.ended(id)
    const call = { id, name: known?.name ?? 'tool', output: line['output'] }
    if (line['status'] !== 'success') {
      say.failed({ ...call, error: isRecord(line['error']) ? text(line['error']['message']) : undefined })
      return
    }
    say.completed(call)
    const path = known?.path
    if (path !== undefined && call.name === 'write_file') say.artifact('created', path)
    if (path !== undefined && (call.name === 'replace' || call.name === 'edit'))
      say.artifact('modified', path)
  }
}
