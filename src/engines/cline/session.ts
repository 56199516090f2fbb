import type { Profile, Say } from '../../events/profile.ts'
import { isRecord, text } from '../../events/profile.ts'
import { fits, Rec } from '../../events/record.ts'
import { contentBlocks, wordsOf } from '../content-blocks.ts'
import { turns } from '../session-turns.ts'
import { failuresIn, tokensIn } from './cline.ts'

const DOCUMENT = 'sessionId:text updated_at:text agent:text messages:list'

/**
 * Cline's session files (`data/sessions/<id>/<id>.messages.json` in its home): one document, rewritten each
 * time. It has no end; the manifest next to it does. Its session id is not the one on stdout.
 */
export const clineSession: Profile = {
  name: 'cline',
  parser: 'cline_session',
  growing: true,
  cut: { stdout: 'documents' },
  about: 'session file: sessions/*/*.messages.json; 3.0',
  shape: ({ value }) => fits(value, DOCUMENT),
  open: () => ({
    read({ value }, say) {
      if (!isRecord(value) || !fits(value, DOCUMENT)) return false
      readDocument(new Rec(value), say)
      return true
    },
  }),
}

function newState() {
  return { turn: turns(), blocks: contentBlocks() }
}

type State = ReturnType<typeof newState>

function readDocument(document: Rec, say: Say): void {
  say.fields(
    document.values,
    'version updated_at agent sessionId origin:record messages system_prompt origin.version:text',
  )
  const messages = document.records('messages')
  const named = messages.find((message) => message.text('modelInfo.id') !== undefined)
  say.session(document.at('sessionId'), {
    model: named?.text('modelInfo.id'),
    engine_version: document.text('origin.version'),
  })
  const state = newState()
  for (const message of messages) {
    const role = message.at('role')
    if (role === 'assistant') readAnswer(message, say, state)
    else if (role === 'user') readUser(message, say, state)
    else say.unknownType(`role ${String(role)}`)
  }
}

function readUser(message: Rec, say: Say, { turn, blocks }: State): void {
  const content = message.records('content')
  const words = content.flatMap((block) => (block.at('type') === 'text' && block.text('text')) || [])
  for (const own of words.flatMap(userInput)) say.user(own)
  if (words.length > 0) turn.begin(say)
  for (const block of content) {
    if (block.at('type') !== 'tool_result') continue
    const output = block.at('content')
    const failures = failuresIn({}, output)
    const error = failures.join('\n') || text(output) || 'the tool failed'
    const call = { id: block.text('tool_use_id') ?? '', name: block.text('name'), output, error }
    blocks.end(call, failures.length > 0 || block.at('is_error') === true, say)
  }
}

function readAnswer(message: Rec, say: Say, { turn, blocks }: State): void {
  if (message.at('metadata.displayRole') === 'error') {
    turn.fail(wordsOf(message.at('content')), say)
    return
  }
  turn.goOn(say)
  for (const block of message.records('content')) blocks.say(message.text('id') ?? 'message', block, say)
  const usage = message.record('metrics')?.values
  if (usage) say.status('step_finish', { usage, tokens: tokensIn(usage) })
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
