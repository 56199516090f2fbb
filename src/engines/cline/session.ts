import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import { turns } from '../session-turns.ts'
import { tokensIn } from './cline.ts'

type Line = Record<string, unknown>

/**
 * Cline's session files (`data/sessions/<id>/<id>.messages.json` in its home): one document, rewritten each
 * time. It has no end; the manifest next to it does. Its session id is not the one on stdout.
 */
export const clineSession: Engine = {
  name: 'cline',
  parser: 'cline_session',
  growing: true,
  cut: { stdout: 'documents' },
  about: 'session file: sessions/*/*.messages.json; 3.0',
  shape: ({ value }) => isDocument(value),
  open: () => ({ read: ({ value }, say) => isDocument(value) && readDocument(value, say) }),
}

function isDocument(value: unknown): value is Line & { messages: unknown[] } {
  return (
    isRecord(value) &&
    typeof value['sessionId'] === 'string' &&
    typeof value['updated_at'] === 'string' &&
    typeof value['agent'] === 'string' &&
    Array.isArray(value['messages'])
  )
}

function readDocument(document: Line & { messages: unknown[] }, say: Say): true {
  say.fields(document, 'version updated_at agent sessionId origin messages system_prompt')
  const { origin } = document
  say.session(document['sessionId'], {
    model: modelOf(document.messages),
    engine_version: isRecord(origin) ? text(origin['version']) : undefined,
  })
  const turn = turns()
  const names = new Map<string, string>()
  for (const message of document.messages) {
    if (!isRecord(message)) continue
    const content = Array.isArray(message['content']) ? message['content'].filter(isRecord) : []
    if (message['role'] === 'assistant') readAnswer(message, content, turn, names, say)
    else if (message['role'] === 'user') {
      const words = content.flatMap((block) => (block['type'] === 'text' && text(block['text'])) || [])
      for (const own of words.flatMap(userInput)) say.user(own)
      if (words.length > 0) turn.begin(say)
      for (const block of content) if (block['type'] === 'tool_result') readResult(block, names, say)
    } else say.unknownType(`role ${String(message['role'])}`)
  }
  return true
}

function readAnswer(
  message: Line,
  content: readonly Line[],
  turn: ReturnType<typeof turns>,
  names: Map<string, string>,
  say: Say,
): void {
  const { metadata } = message
  if (isRecord(metadata) && metadata['displayRole'] === 'error') {
    turn.fail(content.map((block) => text(block['text']) ?? '').join('\n'), say)
    return
  }
  turn.goOn(say)
  const id = text(message['id']) ?? 'message'
  let blocks = 0
  const blockId = () => (blocks++ === 0 ? id : `${id}.${blocks - 1}`)
  for (const block of content) {
    if (block['type'] === 'text') say.message(blockId(), text(block['text']) ?? '')
    else if (block['type'] === 'thinking') say.reasoning(blockId(), text(block['thinking']) ?? '')
    else if (block['type'] === 'tool_use') {
      const call = { id: text(block['id']) ?? '', name: text(block['name']) ?? 'tool' }
      names.set(call.id, call.name)
      say.started({ ...call, input: block['input'] })
    } else say.unknownType(`content ${String(block['type'])}`)
  }
  const { metrics } = message
  if (isRecord(metrics)) say.status('step_finish', { usage: metrics, tokens: tokensIn(metrics) })
}

/** The model of the first answer. */
function modelOf(messages: readonly unknown[]): string | undefined {
  for (const message of messages) {
    const info = isRecord(message) ? message['modelInfo'] : undefined
    if (isRecord(info) && typeof info['id'] === 'string') return info['id']
  }
  return undefined
}

const END = '</user_input>'

/**
 * The user's text, which Cline puts in a tag: `<user_input mode="act">…</user_input>`. Text without it is
 * Cline's own.
 */
function userInput(words: string): string[] {
  const from = words.startsWith('<user_input') ? words.indexOf('>') + 1 : 0
  return from > 0 && words.endsWith(END) ? [words.slice(from, -END.length)] : []
}

function readResult(block: Line, names: ReadonlyMap<string, string>, say: Say): void {
  const id = text(block['tool_use_id']) ?? ''
  const output = block['content']
  const call = { id, name: names.get(id) ?? text(block['name']) ?? 'tool', output }
  const parts = Array.isArray(output) ? output.filter(isRecord) : []
  const bad = parts.find((part) => part['success'] === false)
  if (bad || block['is_error'] === true)
    say.failed({ ...call, error: text(bad?.['error']) ?? text(output) ?? 'the tool failed' })
  else say.completed(call)
}
