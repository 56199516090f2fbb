import type { EngineFrame, Say, ToolTable } from '../../events/engine.ts'
import { fits, Rec } from '../../events/record.ts'
import { errorAnswer } from '../api-errors.ts'
import { type Calls, calls } from '../calls.ts'
import { errorText, errorWords } from '../error-text.ts'
import { rows } from '../record-table.ts'
import { statsTokens } from '../token-parts.ts'

export const tools: ToolTable = {
  read: 'read_file read_many_files',
  edit: 'write_file replace edit',
  search: 'glob list_directory search_file_content grep_search google_web_search',
  execute: 'run_shell_command',
  think: 'save_memory write_todos codebase_investigator invoke_agent',
  fetch: 'web_fetch',
}

/** How the result of a call begins that was not allowed. */
export const geminiDenial =
  /^(?:Tool execution |Tool ".{1,100}" |Execution )?(?:is |was )?denied by policy|^Command (?:rejected because|'.{1,300}' is blocked|substitution .{1,100} is not allowed)|^Command\(s\) not [io]n the |requires user confirmation, which is not supported in non-interactive/

/** The message whose pieces are arriving, if there is one. */
interface Message {
  open: string | undefined
  /** Its beginning: an error of the API may stand in place of an answer. */
  head: string
}

interface State {
  readonly begun: Calls
  message: Message
  /** The last error that was told: the result may have no words of its own. */
  error: string | undefined
}

/** Reads `-o stream-json`: one record per line, the answer in deltas. */
export function streamReader() {
  /** There is no final record: the pieces up to the next other record are the message. */
  const main: Message = { open: undefined, head: '' }
  /** The same for lines that only the PTY has. */
  const aside: Message = { open: undefined, head: '' }
  const state: State = { begun: calls(), message: main, error: undefined }

  return ({ extra }: EngineFrame, line: Rec, say: Say): boolean | 'kept' => {
    state.message = extra ? aside : main
    if (extra?.first) close(state, say)
    const understood = streamLines.read(line, say, state)
    if (extra?.last) close(state, say)
    return understood
  }
}

function close({ message }: State, say: Say, failed = false): void {
  if (message.open !== undefined && failed) say.message(message.open, undefined, { withdrawn: true })
  else if (message.open !== undefined) say.message(message.open)
  message.open = undefined
}

/** Characters of a message to remember: an error is shorter. */
const MAX_HEAD = 5000

/** A record of stream-json, with the required fields of its type. Log lines have a type and a time, too. */
export function isStreamLine(value: unknown): boolean {
  const line = Rec.of(value, 'timestamp:text')
  return line !== undefined && streamLines.shapeOf(line) === true
}

/** What a record of stream-json has at least, if the caller has named the engine. */
export function hasLeast(value: unknown): boolean {
  const line = Rec.of(value, '!uuid !part')
  return line !== undefined && streamLines.hasLeast(line, false)
}

/** A record of a stream that has begun: a field may be missing, and the type may be a new one. */
export function isEvent(line: Rec): boolean {
  if (!streamLines.rowOf(line)) return true
  return fits(line.values, line.at('type') === 'result' ? 'timestamp:text status:text' : 'timestamp:text')
}

const limited = /MAX_TOKENS|truncated due to token limit/i

const streamLines = /* @__PURE__ */ rows<State>({
  fields: 'type timestamp',
  on: {
    init: {
      shape: 'session_id:text',
      least: 'session_id|model:text',
      fields: 'session_id model:text',
      read(line, say) {
        const model = line.text('model')
        say.session(line.at('session_id'), { model })
        say.turn('begins')
        say.status('turn_started', { model })
      },
    },
    message: {
      shape: 'role:text content:text',
      least: 'role:text content:text',
      fields: 'role=user|assistant content:text delta:flag',
      read(line, say, state) {
        const words = line.text('content')
        if (words === undefined) return
        // It is not known who says it: kept as raw, with a warning.
        if (line.text('role') === undefined) return false
        if (line.at('role') === 'assistant' && line.at('delta') === true) {
          const { message } = state
          if (message.open === undefined) message.head = ''
          message.open ??= say.newId()
          if (message.head.length < MAX_HEAD) message.head += words
          say.piece('message', message.open, words)
          return
        }
        close(state, say)
        if (line.at('role') === 'assistant') {
          state.message.head = ''
          say.message(undefined, words)
        }
        if (line.at('role') === 'user' && words !== '') say.user(words)
      },
    },
    tool_use: {
      shape: 'tool_name:text tool_id:text',
      least: 'tool_name|tool_id:text',
      fields: 'tool_name:text tool_id:text parameters',
      read(line, say, state) {
        close(state, say)
        const call = { id: line.text('tool_id') ?? '', name: line.text('tool_name') ?? 'tool' }
        state.begun.start({ ...call, input: line.at('parameters') }, say)
      },
    },
    tool_result: {
      shape: 'tool_id:text status:text',
      least: 'tool_id|status:text',
      fields: 'tool_id:text status=success|error output error:record',
      read(line, say, state) {
        close(state, say)
        const output = line.at('output')
        const call = {
          id: line.text('tool_id') ?? '',
          output,
          error: line.text('error.message'),
          ...(line.at('error.type') === 'policy_violation' && { denied: true }),
        }
        state.begun.end(
          call,
          (line.at('status') ?? (line.has('error') ? 'error' : 'success')) !== 'success',
          say,
        )
      },
    },
    error: {
      shape: 'severity:text message:text',
      least: 'severity:text',
      fields: 'severity=warning|error message:text',
      read(line, say, state) {
        const severity = line.at('severity') === 'warning' ? 'warning' : 'error'
        const message = errorText(line.at('message error detail'))
        if (severity === 'error') state.error = line.text('message')
        say.error(message, severity, { alone: severity === 'error' })
        if (limited.test(message.slice(0, 300))) say.turn('cut', 'MAX_TOKENS')
      },
    },
    result: {
      shape: 'status:text stats|error:record',
      least: 'status:text, stats:record !subtype !is_error',
      fields: 'status=success|error error:record stats:record',
      read(line, say, state) {
        const reason = line.text('status')
        const stats = line.at('stats')
        const tokens = statsTokens(stats)
        const failed = reason !== undefined && reason !== 'success'
        const error = !failed ? errorAnswer(state.message.head, tokens?.output) : undefined
        close(state, say, error !== undefined)
        say.status('result', { reason: reason ?? 'unknown', stats, tokens })
        if (error !== undefined) say.error(error, 'fatal')
        else if (reason === 'success') say.ended('result success')
        else if (failed || line.has('error'))
          say.error(errorWords(line.at('error')) ?? state.error ?? 'the engine failed', 'fatal', {
            verdict: true,
          })
      },
    },
  },
})
