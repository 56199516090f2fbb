import { isRecord, type RunFacts, type Say, type StatusFacts, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { type Change, changesByPath, durationOfParts, errorText, readChanges } from './change.ts'
import { codexTokens } from './tokens.ts'

type Item = Record<string, unknown>

/** The dialect of 0.42: one `msg` per line, no end signal but `task_complete`. */
export function oldReader(): (msg: Item, turn: string, config: RunFacts, say: Say) => boolean {
  const pieces = { turn: '', messages: 0, open: undefined }
  const state: State = { patches: memory(sizeOf), pieces, config: {} }
  return (msg, turn, config, say) => {
    state.config = config
    return readOld(msg, turn, say, state)
  }
}

interface State {
  /** The changes of the patches that are being applied, by call. */
  readonly patches: ReturnType<typeof memory<readonly Change[]>>
  /**
   * The message that arrives in pieces, and how many messages its turn had before: pieces have only the id of
   * their turn.
   */
  pieces: { readonly turn: string; readonly messages: number; readonly open: string | undefined }
  /** Facts about the run in the line before the first message. */
  config: RunFacts
}

function readOld(msg: Item, turn: string, say: Say, state: State): boolean {
  const { patches } = state
  const id = text(msg['call_id']) ?? ''
  switch (msg['type']) {
    case 'session_configured':
      say.session(msg['session_id'], { ...state.config, model: text(msg['model']) ?? state.config.model })
      return true
    case 'task_started':
      say.begun()
      say.status('turn_started')
      return true
    case 'task_complete':
      say.status('turn_completed')
      say.ended('task_complete')
      return true
    case 'agent_message': {
      // It repeats the pieces before it.
      const open = state.pieces.turn === turn ? state.pieces.open : undefined
      if (open !== undefined) state.pieces = { ...state.pieces, open: undefined }
      say.message(open, text(msg['message']) ?? '')
      return true
    }
    case 'agent_message_delta':
      say.delta(pieceId(turn, state), text(msg['delta']) ?? '')
      return true
    case 'agent_reasoning':
      say.reasoning(undefined, text(msg['text']) ?? '')
      return true
    case 'token_count':
      say.status('token_count', isRecord(msg['info']) ? sumSoFar(msg['info']['total_token_usage']) : {})
      return true
    case 'exec_command_begin':
      say.started({ id, name: 'command_execution', input: { command: msg['command'] } })
      return true
    case 'exec_command_end': {
      const exit_code = typeof msg['exit_code'] === 'number' ? msg['exit_code'] : undefined
      const call = {
        id,
        name: 'command_execution',
        output: msg['aggregated_output'] ?? msg['stdout'],
        exit_code,
        duration_ms: durationOfParts(msg['duration']),
      }
      if ((exit_code ?? 0) === 0) say.completed(call)
      else say.failed(call)
      return true
    }
    case 'patch_apply_begin':
      say.started({ id, name: 'file_change', input: { changes: msg['changes'] } })
      patches.set(id, changesByPath(msg['changes']))
      return true
    case 'patch_apply_end': {
      const changes = patches.take(id)
      if (msg['success'] === false) {
        say.failed({ id, name: 'file_change', error: text(msg['stderr']) })
        return true
      }
      say.completed({ id, name: 'file_change', output: msg['stdout'] })
      readChanges(changes, say)
      return true
    }
    case 'stream_error':
      say.error(errorText(msg), 'warning', { retryable: true })
      return true
    case 'error':
      say.error(errorText(msg), 'fatal')
      return true
    case 'agent_reasoning_section_break':
    case 'exec_command_output_delta':
    case 'turn_diff':
      return true
    default:
      say.unknownType(`msg ${String(msg['type'])}`)
      return false
  }
}

function pieceId(turn: string, state: State): string {
  const { pieces } = state
  if (pieces.turn === turn && pieces.open !== undefined) return pieces.open
  const messages = pieces.turn === turn ? pieces.messages + 1 : 1
  const open = messages === 1 ? `turn-${turn}` : `turn-${turn}.${messages - 1}`
  state.pieces = { turn, messages, open }
  return open
}

function sumSoFar(usage: unknown): StatusFacts {
  return { usage, tokensSoFar: codexTokens(usage) }
}

/** An entry has a cost, too, however short its path is. */
function sizeOf(changes: readonly Change[]): number {
  return changes.reduce((sum, { path, diff = '' }) => sum + path.length + diff.length + 16, 0)
}
