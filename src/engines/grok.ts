import { type Engine, isLenient } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { type Calls, calls, jsonIn, usualDenial } from './calls.ts'
import type { Program } from './command-line.ts'
import { rows } from './record-table.ts'

export const grokProgram: Program = {
  names: 'grok @vibe-kit/grok-cli',
  blind: 'tokens cost',
}

/**
 * grok-cli (`grok -p`): the chat as OpenAI messages, one per line, all at the end. Nothing says how the run
 * ended, so its end is unknown; a request that failed is an assistant message with known first words.
 */
export const grok: Engine = {
  name: 'grok',
  parser: 'grok_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'grok -p (@vibe-kit/grok-cli); 0.0.34',
  tools: {
    read: 'view_file',
    edit: 'create_file str_replace_editor edit_file',
    search: 'search',
    execute: 'bash',
    think: 'create_todo_list update_todo_list',
  },
  denials: usualDenial,
  shape: ({ value }) => messageIn(value)?.at('role') === 'user',
  open(limits) {
    /** The first message decides: other programs log chats, too, and those begin with a system prompt. */
    let own: boolean | undefined
    const begun = calls()
    return {
      read(frame, say) {
        const { value } = frame
        const message = messageIn(value) ?? (isLenient(frame, limits) ? Rec.of(value, LEAST) : undefined)
        if (!message) return false
        own ??= message.at('role') !== 'system'
        return own && messages.read(message, say, begun)
      },
    }
  },
}

const APOLOGY = 'Sorry, I encountered an error: '
const keys = new Set(['role', 'content', 'tool_calls', 'tool_call_id'])

const LEAST = 'role=user|assistant|tool !type !id !parts !timestamp'

function messageIn(value: unknown): Rec | undefined {
  const message = Rec.of(value)
  if (!message || !Object.keys(message.values).every((key) => keys.has(key))) return undefined
  const told = message.at('content') === null || message.text('content') !== undefined
  return told && message.text('role') !== undefined ? message : undefined
}

const messages = /* @__PURE__ */ rows<Calls>({
  by: 'role',
  called: 'role',
  fields: 'role content:text tool_calls:list tool_call_id:text',
  on: {
    user(message, say) {
      const words = message.text('content')
      if (words) say.user(words)
    },
    assistant: {
      fields: '',
      read(message, say, begun) {
        const words = message.text('content') ?? ''
        if (words.startsWith(APOLOGY)) say.error(words.slice(APOLOGY.length), 'fatal')
        else if (words !== '') say.message(undefined, words)
        for (const call of message.records('tool_calls')) {
          const name = call.text('function.name') ?? 'tool'
          const input = jsonIn(call.at('function.arguments'))
          begun.start({ id: call.text('id') ?? '', name, input }, say)
        }
      },
    },
    tool: {
      fields: '',
      read(message, say, begun) {
        const id = message.text('tool_call_id') ?? ''
        const known = begun.ended(id)
        const name = known?.name ?? 'tool'
        const output = message.text('content') ?? ''
        // Only its text says that it failed.
        const failed = output.startsWith(name === 'bash' ? 'Command failed: ' : 'Error ')
        const error = failed ? output.slice(0, 2000) : undefined
        say.call(failed ? 'failed' : 'completed', { id, name, output, error })
        if (failed) return
        if (known?.path !== undefined && name === 'create_file') say.artifact('created', known.path)
        if (known?.path !== undefined && name === 'str_replace_editor') say.artifact('modified', known.path)
      },
    },
  },
})
