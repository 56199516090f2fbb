import { isRecord, type Say, text } from '../../events/engine.ts'
import type { chunkReader } from './chunks.ts'
import { turnTokens, usageTokens } from './tokens.ts'
import { record, titleOf } from './tool.ts'

type Values = Record<string, unknown>

/** Reasons why a turn can stop. Those with a message are failures. */
export const stops = {
  end_turn: '',
  max_tokens: '',
  max_turn_requests: 'the turn reached its limit of model requests',
  refusal: 'the agent refused to continue',
  cancelled: 'the turn was cancelled',
}

/** Calls that may wait for a permission at the same time. */
const MAX_ASKED = 4096
const METHOD_NOT_FOUND = -32601

/**
 * Tracks where turns begin and how they end. The prompt itself is in the client's half, which is not visible
 * here.
 */
export function turnReader(chunks: ReturnType<typeof chunkReader>) {
  /** Name of the agent, as it reports it. */
  let agent = ''
  let engine_version: string | undefined
  let session = false
  let busy = false
  /** Whether a session was created in this run, and what its turn has reported so far. */
  let fresh = false
  let called = false
  let counted = false
  /** Calls that wait for a permission. */
  const asked = new Set<string>()

  /** The agent is working: no permission is pending any more, except for other calls. */
  const work = (say: Say, call?: string) => {
    const waited = asked.size > 0
    called ||= call !== undefined
    if (call === undefined) asked.clear()
    else asked.delete(call)
    if (busy && !(waited && asked.size === 0)) return
    if (busy) say.goesOn()
    else {
      say.begun()
      say.status('turn_started')
    }
    busy = true
  }

  return {
    work,
    agent: () => agent,
    initialized({ name, version }: Values, say: Say): void {
      agent = text(name) ?? ''
      engine_version = text(version)
      say.status('initialized', agent === '' ? {} : { reason: `${agent} ${engine_version ?? ''}`.trim() })
    },
    session(id: unknown, say: Say, model?: string): void {
      session = true
      say.session(id, { model, engine_version })
    },
    /** A new, empty session. */
    opened(): void {
      fresh = true
    },
    /** Qwen Code reports the tokens of each answer of the model. */
    step(usage: unknown, say: Say): void {
      counted = true
      say.status('step_finish', { usage, tokens: usageTokens(usage) })
    },
    /** The user must allow the call: until the agent continues, the run waits for the user. */
    ask(call: Values, say: Say): void {
      const title = titleOf(call)?.title
      if (asked.size < MAX_ASKED) asked.add(text(call['toolCallId']) ?? '')
      say.status('permission_requested', title === undefined ? {} : { reason: title })
      say.ended('session/request_permission')
    },
    /** Reads the answer to `session/prompt`. */
    stop(result: Values, say: Say): void {
      const reason = text(result['stopReason']) ?? ''
      const usage = result['usage'] ?? record(record(result['_meta'])['quota'])['token_count']
      const good = reason === 'end_turn'
      const head = chunks.takeHead()
      chunks.endMessage(say, good ? {} : { incomplete: true })
      work(say)
      busy = false
      const reported = {
        agent: `${agent} ${engine_version?.split('.', 1)[0]}`,
        first: fresh,
        single: !called,
      }
      const tokens = counted ? undefined : turnTokens(usage, reported)
      fresh = called = counted = false
      say.status(good ? 'turn_completed' : 'turn_failed', { reason, usage, tokens })
      if (good) {
        say.ended(reason)
        // Copilot ends a failed turn like any other, with the error as a message. But it reports tokens for
        // every turn in which the model has answered.
        if (agent === 'Copilot' && usage === undefined && head.startsWith('Error: ')) say.error(head, 'fatal')
      } else if (reason === 'max_tokens') say.truncated(reason)
      else if (Object.hasOwn(stops, reason)) say.error(stops[reason as keyof typeof stops], 'fatal')
      else say.unknownType(`stopReason ${reason}`)
    },
    /**
     * Reads an error instead of an answer. It is not known which request failed: a later turn discards it.
     */
    failed(error: unknown, say: Say): void {
      const { code, message, data } = record(error)
      const details = text(data) ?? text(record(data)['details']) ?? text(record(data)['message'])
      const words = `${text(message) ?? 'an error without a message'}${details === undefined ? '' : `: ${details}`}`
      // Every agent supports prompts, so this is about something else.
      if (code === METHOD_NOT_FOUND) {
        say.error(words)
        return
      }
      chunks.takeHead()
      chunks.endMessage(say, { incomplete: true })
      if (session) {
        work(say)
        say.status('turn_failed')
        busy = fresh = called = counted = false
      }
      say.error(words, 'fatal')
    },
    /**
     * Reads what the Codex adapter reports about its thread. It, too, ends a failed turn like any other, with
     * the error as a message, but passes on the state of the thread.
     */
    codex({ threadStatus, error }: Values, say: Say): void {
      if (isRecord(error))
        say.error(text(error['message']) ?? 'Codex failed', error['willRetry'] === true ? 'warning' : 'error')
      if (record(threadStatus)['type'] !== 'systemError') return
      work(say)
      say.error('the Codex thread is in the state systemError', 'fatal')
    },
  }
}
