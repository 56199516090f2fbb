import type { RunFacts } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import type { Rec } from '../../events/record.ts'
import { errorText } from '../error-text.ts'
import { rows } from '../record-table.ts'
import { type Change, changesByPath, codexTokens, durationOfParts, sayChanges } from './shared.ts'

export class OldRun {
  /** The first line; a session may come later. */
  config: RunFacts | undefined
  /** The changes of the patches that are being applied, by call. */
  readonly patches = memory<readonly Change[]>(sizeOf)
  /** The thought whose pieces are arriving. */
  thought: string | undefined
  /** The message in pieces, which have only the id of their turn, and how many came before it there. */
  #turn = ''
  #messages = 0
  #open: string | undefined

  /** The message that the next piece belongs to. */
  pieceId(turn: string): string {
    if (this.#turn !== turn) this.#messages = 0
    if (this.#turn !== turn || this.#open === undefined) {
      this.#messages++
      this.#open = this.#messages === 1 ? `turn-${turn}` : `turn-${turn}.${this.#messages - 1}`
      this.#turn = turn
    }
    return this.#open
  }

  /** The message of this turn whose pieces have arrived, once. */
  closePieces(turn: string): string | undefined {
    if (this.#turn !== turn) return undefined
    const open = this.#open
    this.#open = undefined
    return open
  }
}

/** An entry has a cost, too, however short its path is. */
function sizeOf(changes: readonly Change[]): number {
  return changes.reduce((sum, { path, diff = '' }) => sum + path.length + diff.length + 16, 0)
}

const callId = (msg: Rec): string => msg.text('call_id') ?? ''

/** The dialect of 0.42: one `msg` per line, no end signal but `task_complete`. */
export const oldLines = /* @__PURE__ */ rows<OldRun>({
  by: 'msg.type',
  of: 'msg',
  called: 'msg',
  fields: '*',
  quiet: 'agent_reasoning_section_break exec_command_output_delta turn_diff',
  on: {
    session_configured(msg, say, { config }) {
      say.session(msg.at('session_id'), { ...config, model: msg.text('model') ?? config?.model })
    },
    task_started(_, say) {
      say.turn('begins')
      say.status('turn_started')
    },
    task_complete(_, say) {
      say.status('turn_completed')
      say.ended('task_complete')
    },
    agent_message: {
      fields: 'message:text',
      read(msg, say, run, line) {
        // It repeats the pieces before it.
        say.message(run.closePieces(line.text('id') ?? ''), msg.text('message'))
      },
    },
    agent_message_delta: {
      fields: 'delta:text',
      read(msg, say, run, line) {
        const words = msg.text('delta')
        if (words !== undefined) say.piece('message', run.pieceId(line.text('id') ?? ''), words)
      },
    },
    agent_reasoning: {
      fields: 'text:text',
      read(msg, say, run) {
        const words = msg.text('text')
        if (words !== undefined) say.reasoning(run.thought, words)
        run.thought = undefined
      },
    },
    agent_reasoning_delta: {
      fields: 'delta:text',
      read(msg, say, run) {
        const words = msg.text('delta')
        if (!words) return
        run.thought ??= say.newId('reasoning')
        say.piece('reasoning', run.thought, words)
      },
    },
    token_count(msg, say) {
      const usage = msg.at('info.total_token_usage')
      say.status('token_count', msg.record('info') ? { usage, tokens_so_far: codexTokens(usage) } : {})
    },
    exec_command_begin: (msg, say) =>
      say.call('started', {
        id: callId(msg),
        name: 'command_execution',
        input: { command: msg.at('command') },
      }),
    exec_command_end: {
      fields: 'exit_code:number',
      read(msg, say) {
        const exit_code = msg.number('exit_code')
        const call = {
          id: callId(msg),
          name: 'command_execution',
          output: msg.at('aggregated_output stdout output'),
          exit_code,
          duration_ms: durationOfParts(msg.at('duration')),
        }
        say.call((exit_code ?? 0) === 0 ? 'completed' : 'failed', call)
      },
    },
    patch_apply_begin(msg, say, { patches }) {
      say.call('started', { id: callId(msg), name: 'file_change', input: { changes: msg.at('changes') } })
      patches.set(callId(msg), changesByPath(msg.record('changes')))
    },
    patch_apply_end: {
      fields: 'success:flag',
      read(msg, say, { patches }) {
        const call = { id: callId(msg), name: 'file_change' }
        const changes = patches.take(call.id)
        if (msg.at('success') === false) say.call('failed', { ...call, error: msg.text('stderr') })
        else {
          say.call('completed', { ...call, output: msg.at('stdout') })
          sayChanges(changes, say)
        }
      },
    },
    turn_aborted(msg, say) {
      const reason = msg.text('reason') ?? 'aborted'
      say.status('turn_failed', { reason })
      say.error(`the turn was ${reason}`, 'fatal')
    },
    stream_error: (msg, say) => say.error(errorText(msg.values), 'warning', { retryable: true }),
    error: (msg, say) => say.error(errorText(msg.values), 'fatal'),
  },
})
