import { type Engine, isLenient, type Say } from '../../events/engine.ts'
import { fits, Rec } from '../../events/record.ts'
import { pathOf, sayChange, shownIn } from '../calls.ts'
import { wordsOf } from '../content-blocks.ts'
import { rows } from '../record-table.ts'
import { type Turns, turns } from '../session-turns.ts'
import { geminiTokens } from '../token-parts.ts'
import { geminiDenial, tools } from './stream.ts'

/** The head of the log, or the whole document. */
const HEAD = 'sessionId:text projectHash:text startTime:text'
const LEAST = '!type projectHash|startTime:text sessionId|messages'
/** Lines of the log that only this agent writes, and those of the user. */
const LINES = ['type=gemini', 'type=user content id:text !message', '$set:record']

/**
 * Gemini CLI's session files (`tmp/<project>/chats/session-*` in its home): one document (0.20), or a log of
 * changes to it (0.40 and later). A message is written again when its tools are done, and all of them after a
 * resume: only what is new is reported. The file records no end and no failure; 0.61 removes a failed turn
 * from it.
 */
export const geminiSession: Engine = {
  name: 'gemini',
  parser: 'gemini_session',
  growing: true,
  tools,
  denials: geminiDenial,
  cut: { stdout: 'documents' },
  about: 'session file: tmp/*/chats/session-*; 0.61, 0.40, 0.20',
  shape: ({ value }) => Rec.of(value, HEAD) !== undefined,
  open(limits) {
    const turn = turns()
    let known = false
    return {
      read(frame, say) {
        const { value } = frame
        const lenient = isLenient(frame, limits)
        const head = Rec.of(value, HEAD) ?? (lenient ? Rec.of(value, LEAST) : undefined)
        known ||= head !== undefined || (lenient && LINES.some((conditions) => fits(value, conditions)))
        const line = known ? (head ?? Rec.of(value)) : undefined
        if (!line) return false
        if (head) {
          say.fields(
            head.values,
            'sessionId projectHash startTime lastUpdated kind messages:list summary directories',
          )
          say.session(head.at('sessionId'))
          for (const message of head.records('messages')) messages.read(message, say, turn)
          return true
        }
        const changed = line.record('$set')
        if (!changed) return messages.read(line, say, turn)
        // All messages once more, some of them rewritten. Their content was reported before.
        const again = changed.at('messages')
        if (Array.isArray(again)) say.status('messages_replaced', { reason: `${again.length} messages` })
        return true
      },
    }
  },
}

const messages = /* @__PURE__ */ rows<Turns>({
  fields: '* id:text content:text|list',
  quiet: 'info warning',
  on: {
    user: {
      fields: '',
      read(message, say, turn) {
        const words = wordsOf(message.at('content'), '')
        if (words === '' || words.startsWith('<session_context>')) return
        if (!turn.isNew('prompt', message.text('id'))) return
        turn.begin(say)
        say.user(words)
      },
    },
    'gemini, model': { fields: 'thoughts:list tokens:record toolCalls:list', read: readAnswer },
    error: (message, say) => say.error(wordsOf(message.at('content'), ''), 'error'),
  },
})

function readAnswer(message: Rec, say: Say, turn: Turns): void {
  const id = message.text('id')
  const usage = message.record('tokens')?.values
  turn.model(message.text('model'), say)
  // The message is written again with its calls, and the same counts.
  const tokens = usage && geminiTokens(usage)
  if (tokens && turn.isNew('tokens', id)) say.status('usage', { usage, tokens })
  for (const thought of message.records('thoughts')) {
    const words = [thought.text('subject'), thought.text('description')].filter(Boolean).join('\n')
    if (words !== '' && turn.isNew('thought', id, words)) say.reasoning(id, words)
  }
  const words = wordsOf(message.at('content'), '')
  if (words !== '' && turn.isNew('text', id, words)) say.message(id, words)
  for (const call of message.records('toolCalls')) readCall(call, say, turn)
}

const CALL =
  '* id:text name:text status=success|error|cancelled|validating|scheduled|awaiting_approval|executing'

function readCall(given: Rec, say: Say, turn: Turns): void {
  say.fields(given.values, CALL)
  const call = { id: given.text('id') ?? '', name: given.text('name') ?? 'tool' }
  const input = given.at('args')
  const status = given.text('status') ?? ''
  if (turn.isNew('call', call.id)) say.call('started', { ...call, input })
  const over = status === 'success' || status === 'error' || status === 'cancelled'
  if (!over || !turn.isNew('ended', call.id)) return
  const response = given.records('result')[0]?.record('functionResponse.response')
  const output = response?.at('output')
  if (status === 'success') {
    say.call('completed', { ...call, output })
    sayChange(call.name, pathOf(input), shownIn(given.record('resultDisplay')), say)
  } else {
    const error = response?.text('error') ?? given.text('resultDisplay') ?? status
    say.call('failed', { ...call, output, error })
  }
}
