import type { Engine } from '../events/engine.ts'
import { calls, usualDenial } from './calls.ts'
import type { Program } from './command-line.ts'
import { errorText } from './error-text.ts'
import { table } from './record-table.ts'

/** Calls that may wait for their result. */
const MAX_WAITING = 4096

export const droidProgram: Program = {
  names: 'droid',
  headless: 'exec',
  records: '--output-format=json|stream-json|acp -o=json|stream-json|acp',
  add: '--output-format stream-json',
  blind: 'tokens cost',
}

/** Factory Droid (`droid exec --output-format stream-json`). */
export const droid: Engine = /* @__PURE__ */ table({
  name: 'droid',
  parser: 'droid_ndjson',
  about: 'droid exec --output-format stream-json; read from the types of public parsers, not run',
  // Read from public parsers, not from our own recordings.
  confidence: 0.8,
  tools: {
    read: 'Read',
    edit: 'Edit MultiEdit Create ApplyPatch',
    search: 'LS Grep Glob WebSearch',
    execute: 'Execute',
    think: 'Task TodoWrite',
    fetch: 'FetchUrl',
  },
  denials: usualDenial,
  shape: 'session_id|sessionId:text !uuid',
  least: '!uuid',
  fields: 'type id:text messageId:text timestamp session_id:text sessionId:text',
  sub: 'subtype',
  state: () => ({
    answered: false,
    /** The session of the turn: another one does not end it. */
    session: undefined as string | undefined,
    begun: calls(),
    /** Calls without a result, oldest first: results of some versions have no id. */
    waiting: new Set<string>(),
  }),
  each(line, say, state) {
    // Both spellings were seen.
    const session = line.text('session_id sessionId')
    state.session = line.at('type') === 'system' ? session : (state.session ?? session)
    say.session(session, { model: line.text('model'), cwd: line.text('cwd') })
  },
  on: {
    'system init': {
      // Other engines begin with such a line, too: what follows it decides.
      weak: true,
      shape: 'tools:list !mcp_servers !apiKeySource',
      least: '!mcp_servers !apiKeySource',
      read(line, say) {
        say.turn('begins')
        say.status('turn_started', { model: line.text('model') })
      },
    },
    message: {
      shape: 'role:text text:text',
      least: 'role:text text:text',
      fields: 'role=user|assistant|system text:text',
      read(line, say, state) {
        const words = line.text('text')
        if (words === undefined) return false
        const role = line.at('role')
        if (role === 'user') say.user(words)
        if (role !== 'assistant') return true
        state.answered = true
        say.message(line.text('id'), words)
        return true
      },
    },
    tool_call: {
      shape: 'toolName:text',
      least: 'toolName|toolId:text',
      fields: 'toolCallId:text toolId:text toolName:text parameters',
      read(line, say, { begun, waiting }) {
        const id = line.text('toolCallId id') ?? ''
        if (id !== '') waiting.add(id)
        if (waiting.size > MAX_WAITING) waiting.delete(oldest(waiting) ?? '')
        begun.start({ id, name: line.text('toolName') ?? 'tool', input: line.at('parameters') }, say)
      },
    },
    tool_result: {
      shape: 'isError:flag messageId:text',
      least: '!tool_id !status !message',
      fields: 'toolCallId:text toolId:text toolName:text isError:flag value error',
      read(line, say, { begun, waiting }) {
        const id = line.text('toolCallId id') ?? oldest(waiting) ?? ''
        waiting.delete(id)
        const error = line.text(line.record('error') ? 'error.message' : 'error value')
        const call = { id, name: line.text('toolName toolId'), output: line.at('value'), error }
        begun.end(call, line.isSet('isError') || line.has('error'), say)
      },
    },
    // If nothing follows it, the run has no end. The completion or the exit code says whether it failed.
    error: {
      least: '!severity !ts',
      common: true,
      read: (line, say) => say.error(errorText(line.at('message error detail'))),
    },
    completion: {
      shape: 'finalText:text',
      least: '',
      fields: 'finalText:text numTurns:number durationMs:number usage:record',
      read(line, say, state) {
        const answer = line.text('finalText') ?? ''
        // It repeats the last message.
        if (!state.answered && answer !== '') say.message(undefined, answer)
        state.answered = false
        say.status('completion', { usage: line.at('usage') })
        if ((line.text('session_id sessionId') ?? state.session) === state.session)
          say.ended('completion', line.text('finalText'))
      },
    },
  },
})

function oldest(waiting: ReadonlySet<string>): string | undefined {
  return waiting.values().next().value
}
