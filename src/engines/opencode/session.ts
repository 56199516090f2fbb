import type { Engine, Say } from '../../events/engine.ts'
import { Rec } from '../../events/record.ts'
import { opencodeDenial } from '../denials.ts'
import { turns } from '../session-turns.ts'
import { errorText, parts, tools } from './opencode.ts'

/**
 * OpenCode's sessions are rows of a database. They are read as lines: `{opencode: 'session', row}`, then one
 * `{opencode: 'message', id, sessionID, data, parts}` per message. Tools and steps are those of stdout.
 */
export const opencodeSession: Engine = {
  name: 'opencode',
  parser: 'opencode_session',
  growing: true,
  tools,
  denials: opencodeDenial,
  cut: { stdout: 'records' },
  about: 'session of opencode.db (with node:sqlite, from Node 22.5); 1.18, 1.14',
  shape: ({ value }) => (sessionIn(value) ?? messageIn(value)) !== undefined,
  open() {
    const turn = turns()
    const run: Run = { failed: false, over: false }
    let model: string | undefined
    return {
      read({ value }, say) {
        const session = sessionIn(value)
        if (session) {
          const facts = { cwd: session.text('row.directory'), engine_version: session.text('row.version') }
          say.session(session.at('row.id'), facts)
          return true
        }
        const message = messageIn(value)
        if (!message) return false
        say.session(message.at('sessionID'))
        const used = message.text('data.modelID')
        if (used !== undefined && used !== model) say.status('configured', { model: used })
        model = used ?? model
        const role = message.at('data.role')
        if (role === 'user') {
          const words = promptOf(message)
          if (words !== '') say.user(words)
          run.over = false
          return turn.begin(say)
        }
        if (role === 'assistant') return readAnswer(message, turn, run, say)
        say.unknownType(`role ${String(role)}`)
        return false
      },
    }
  },
}

const sessionIn = (value: unknown) => Rec.of(value, 'opencode=session row:record')
const messageIn = (value: unknown) => Rec.of(value, 'opencode=message sessionID:text data:record parts:list')

/** The user's own text: files and additions of commands are synthetic. */
function promptOf(message: Rec): string {
  const texts = message.records('parts').filter((part) => part.at('type') === 'text')
  const own = texts.filter((part) => part.at('synthetic') !== true)
  return own.flatMap((part) => part.text('text') ?? []).join('\n')
}

type Run = Parameters<typeof parts.read>[2]

function readAnswer(message: Rec, turn: ReturnType<typeof turns>, run: Run, say: Say): true {
  turn.goOn(say)
  const aborted = message.record('data.error') !== undefined
  run.failed = false
  run.stored = { aborted }
  for (const part of message.records('parts')) parts.read(part, say, run)
  if (aborted) turn.fail(errorText(message.record('data')!), say)
  return true
}
