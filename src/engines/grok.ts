import { type Engine, isRecord, type Reader, type Say, text } from '../events/engine.ts'
import { calls } from './call.ts'

type Message = Record<string, unknown>

/**
 * grok-cli (`grok -p`): the chat as OpenAI messages, one per line, all at the end. Nothing says how the run
 * ended, so its end is unknown; a request that failed is an assistant message with known first words.
 */
export const grok: Engine = {
  name: 'grok',
  parser: 'grok_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'grok -p (@vibe-kit/grok-cli); 0.0.34',
  shape: ({ value }) => isMessage(value) && value['role'] === 'user',
  open: openRun,
}

const APOLOGY = 'Sorry, I encountered an error: '
const keys = new Set(['role', 'content', 'tool_calls', 'tool_call_id'])

function isMessage(value: unknown): value is Message {
  if (!isRecord(value) || !Object.keys(value).every((key) => keys.has(key))) return false
  return (
    typeof value['role'] === 'string' && (typeof value['content'] === 'string' || value['content'] === null)
  )
}

function openRun(): Reader {
  /** The first message decides: other programs log chats, too, and those begin with a system prompt. */
  let own: boolean | undefined
  const begun = calls()

  const assistant = (line: Message, say: Say): boolean => {
    const words = text(line['content']) ?? ''
    if (words.startsWith(APOLOGY)) say.error(words.slice(APOLOGY.length), 'fatal')
    else if (words !== '') say.message(undefined, words)
    for (const call of Array.isArray(line['tool_calls']) ? line['tool_calls'].filter(isRecord) : []) {
      const { name, arguments: input } = isRecord(call['function']) ? call['function'] : {}
      const reported = { id: text(call['id']) ?? '', name: text(name) ?? 'tool', input: parsed(input) }
      begun.begun(
        reported.id,
        reported.name,
        isRecord(reported.input) ? { file_path: reported.input['path'] } : undefined,
      )
      say.started(reported)
    }
    return true
  }

  const tool = (line: Message, say: Say): boolean => {
    const id = text(line['tool_call_id']) ?? ''
    const known = begun.ended(id)
    const name = known?.name ?? 'tool'
    const output = text(line['content']) ?? ''
    // Only its text says that it failed.
    if (output.startsWith(name === 'bash' ? 'Command failed: ' : 'Error ')) {
      say.failed({ id, name, output, error: output.slice(0, 2000) })
      return true
    }
    say.completed({ id, name, output })
    if (known?.path !== undefined && name === 'create_file') say.artifact('created', known.path)
    if (known?.path !== undefined && name === 'str_replace_editor') say.artifact('modified', known.path)
    return true
  }

  return {
    read({ value }, say) {
      if (!isMessage(value)) return false
      own ??= value['role'] !== 'system'
      if (!own) return false
      switch (value['role']) {
        case 'user':
          if (value['content']) say.user(String(value['content']))
          return true
        case 'assistant':
          return assistant(value, say)
        case 'tool':
          return tool(value, say)
        default:
          say.unknownType(`role ${String(value['role'])}`)
          return false
      }
    },
  }
}

function parsed(input: unknown): unknown {
  try {
    return typeof input === 'string' ? JSON.parse(input) : input
  } catch {
    return input
  }
}
