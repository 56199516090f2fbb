import { digest } from '../../base/platform.ts'
import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { pathOf, sayChange } from '../calls.ts'
import { turns } from '../session-turns.ts'
import { geminiTokens } from './tokens.ts'

type Line = Record<string, unknown>

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
  cut: { stdout: 'documents' },
  about: 'session file: tmp/*/chats/session-*; 0.61, 0.40, 0.20',
  shape: ({ value }) => isHead(value),
  open() {
    const replay = messageReader()
    let known = false
    return {
      read({ value }, say) {
        if (isHead(value)) {
          known = true
          say.fields(value, 'sessionId projectHash startTime lastUpdated kind messages summary directories')
          say.session(value['sessionId'])
          if (Array.isArray(value['messages'])) for (const one of value['messages']) replay.read(one, say)
          return true
        }
        if (!known || !isRecord(value)) return false
        if (isRecord(value['$set'])) {
          const { messages } = value['$set']
          if (Array.isArray(messages)) replay.again(messages, say)
          return true
        }
        return replay.read(value, say)
      },
    }
  },
}

/** The head of the log, or the whole document. */
function isHead(value: unknown): value is Line {
  return (
    isRecord(value) &&
    typeof value['sessionId'] === 'string' &&
    typeof value['projectHash'] === 'string' &&
    typeof value['startTime'] === 'string'
  )
}

function messageReader() {
  const turn = turns()
  /** Messages, texts and calls that were reported. */
  const seen = memory<true>(() => 0)
  let model: string | undefined

  const isNew = (...key: readonly string[]): boolean => {
    const name = digest(JSON.stringify(key))
    if (seen.get(name)) return false
    seen.set(name, true)
    return true
  }

  const call = (given: unknown, say: Say) => {
    if (!isRecord(given)) return
    const id = text(given['id']) ?? ''
    const name = text(given['name']) ?? 'tool'
    const status = text(given['status']) ?? ''
    const over = status === 'success' || status === 'error' || status === 'cancelled'
    if (isNew('call', id)) say.started({ id, name, input: given['args'] })
    if (!over || !isNew('ended', id)) return
    const { output, error } = responseOf(given['result'])
    if (status !== 'success') {
      say.failed({ id, name, output, error: error ?? text(given['resultDisplay']) ?? status })
      return
    }
    say.completed({ id, name, output })
    sayChange(name, pathOf(given['args']), given['resultDisplay'], say)
  }

  const answer = (message: Line, say: Say): true => {
    const id = text(message['id']) ?? ''
    const { tokens: usage } = message
    if (typeof message['model'] === 'string' && message['model'] !== model) {
      model = message['model']
      say.status('configured', { model })
    }
    // The message is written again with its calls, and the same counts.
    const tokens = isRecord(usage) ? geminiTokens(usage) : undefined
    if (tokens && isNew('tokens', id)) say.status('usage', { usage, tokens })
    for (const thought of Array.isArray(message['thoughts']) ? message['thoughts'] : []) {
      const words = thoughtOf(thought)
      if (words !== '' && isNew('thought', id, words)) say.reasoning(id, words)
    }
    const words = textOf(message['content'])
    if (words !== '' && isNew('text', id, words)) say.message(id, words)
    for (const given of Array.isArray(message['toolCalls']) ? message['toolCalls'] : []) call(given, say)
    return true
  }

  const prompt = (message: Line, say: Say): true => {
    const words = textOf(message['content'])
    if (words === '' || words.startsWith('<session_context>')) return true
    if (!isNew('prompt', text(message['id']) ?? '')) return true
    turn.begin(say)
    say.user(words)
    return true
  }

  return {
    read(message: unknown, say: Say): boolean {
      if (!isRecord(message)) return false
      switch (message['type']) {
        case 'user':
          return prompt(message, say)
        case 'gemini':
          return answer(message, say)
        case 'error':
          say.error(textOf(message['content']), 'error')
          return true
        case 'info':
        case 'warning':
          return true
        default:
          say.unknownType(String(message['type']))
          return false
      }
    },
    /** All messages once more, some of them rewritten. Their content was reported before. */
    again(messages: readonly unknown[], say: Say): void {
      say.status('messages_replaced', { reason: `${messages.length} messages` })
    },
  }
}

function responseOf(result: unknown): { output?: unknown; error?: string | undefined } {
  const first = Array.isArray(result) ? result[0] : undefined
  const given = isRecord(first) ? first['functionResponse'] : undefined
  const response = isRecord(given) ? given['response'] : undefined
  return isRecord(response) ? { output: response['output'], error: text(response['error']) } : {}
}

function thoughtOf(thought: unknown): string {
  if (!isRecord(thought)) return ''
  return [text(thought['subject']), text(thought['description'])].filter(Boolean).join('\n')
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return text(content) ?? ''
  return content.flatMap((part) => (isRecord(part) && text(part['text'])) || []).join('')
}
