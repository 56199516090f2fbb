import type { EngineFrame, Say } from '../../events/engine.ts'
import { fits, Rec } from '../../events/record.ts'
import { calls } from '../calls.ts'
import { rows } from '../table.ts'
import { statsTokens } from './tokens.ts'

/** The message whose pieces are arriving, if there is one. */
interface Message {
  open: string | undefined
}

interface State {
  readonly begun: ReturnType<typeof calls>
  message: Message
}

/** Reads `-o stream-json`: one record per line, the answer in deltas. */
export function streamReader() {
  /** There is no final record: the pieces up to the next other record are the message. */
  const main: Message = { open: undefined }
  /** The same for lines that only the PTY has. */
  const aside: Message = { open: undefined }
  const state: State = { begun: calls(), message: main }

  return ({ extra }: EngineFrame, line: Rec, say: Say): boolean | 'kept' => {
    state.message = extra ? aside : main
    if (extra?.first) close(state, say)
    const understood = streamLines.read(line, say, state)
    if (extra?.last) close(state, say)
    return understood
  }
}

function close({ message }: State, say: Say): void {
  if (message.open !== undefined) say.message(message.open)
  message.open = undefined
}

/** A record of stream-json, with the required fields of its type. Log lines have a type and a time, too. */
export function isStreamLine(value: unknown): boolean {
  const line = Rec.of(value, 'timestamp:text')
  return line !== undefined && streamLines.shapeOf(line) === true
}

/** A record of a stream that has begun: a field may be missing, and the type may be a new one. */
export function isEvent(line: Rec): boolean {
  if (!streamLines.rowOf(line)) return true
  return fits(line.values, line.at('type') === 'result' ? 'timestamp:text status:text' : 'timestamp:text')
}

const streamLines = /* @__PURE__ */ rows<State>({
  fields: 'type timestamp',
  on: {
    init: {
      shape: 'session_id:text',
      fields: 'session_id model:text',
      read(line, say) {
        const model = line.text('model')
        say.session(line.at('session_id'), { model })
        say.begun()
        say.status('turn_started', { model })
      },
    },
    message: {
      shape: 'role:text content:text',
      fields: 'role=user|assistant content:text delta:flag',
      read(line, say, state) {
        const words = line.words('content')
        if (words === undefined) return
        if (line.at('role') === 'assistant' && line.at('delta') === true) {
          state.message.open ??= say.newId()
          say.delta(state.message.open, words)
          return
        }
        close(state, say)
        if (line.at('role') === 'assistant') say.message(undefined, words)
        if (line.at('role') === 'user' && words !== '') say.user(words)
      },
    },
    tool_use: {
      shape: 'tool_name:text tool_id:text',
      fields: 'tool_name:text tool_id:text parameters',
      read(line, say, state) {
        close(state, say)
        const call = { id: line.text('tool_id') ?? '', name: line.text('tool_name') ?? 'tool' }
        state.begun.start({ ...call, input: line.at('parameters') }, say)
      },
    },
    tool_result: {
      shape: 'tool_id:text status:text',
      fields: 'tool_id:text status=success|error output error:record',
      read(line, say, state) {
        close(state, say)
        const output = line.at('output')
        const call = { id: line.text('tool_id') ?? '', output, error: line.text('error.message') }
        state.begun.end(call, line.at('status') !== 'success', say)
      },
    },
    error: {
      shape: 'severity:text message:text',
      fields: 'severity=warning|error message:text',
      read(line, say) {
        const severity = line.at('severity') === 'warning' ? 'warning' : 'error'
        say.error(line.text('message') ?? 'an error without a message', severity)
      },
    },
    result: {
      shape: 'status:text stats|error:record',
      fields: 'status=success|error error:record stats:record',
      read(line, say, state) {
        close(state, say)
        const reason = line.text('status') ?? 'unknown'
        const stats = line.at('stats')
        say.status('result', { reason, stats, tokens: statsTokens(stats) })
        if (reason === 'success') say.ended('result success')
        else say.error(line.text('error.message') ?? 'the engine failed', 'fatal')
      },
    },
  },
})
