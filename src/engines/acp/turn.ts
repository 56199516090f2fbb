import type { EngineFrame, MessageFacts, ReaderOptions, Say } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import type { Rec } from '../../events/record.ts'
import { type Tokens, tokenCounter } from '../../events/tokens.ts'
import { errorAnswer } from '../api-errors.ts'
import { errorText } from '../error-text.ts'
import { tokensAt } from '../token-parts.ts'
import { type ToolCalls, textIn } from './tool.ts'

/** Reasons why a turn can stop. Those with a message are failures. */
export const stops = {
  end_turn: '',
  max_tokens: '',
  max_turn_requests: 'the turn reached its limit of model requests',
  refusal: 'the agent refused to continue',
  cancelled: 'the turn was cancelled',
}

const CODEX_ACP = '@agentclientprotocol/codex-acp'
const warning = /^(?:Config w|W)arning: /

/** What the usage in the answer to `session/prompt` counts: the turn, its last request, or all so far. */
const counted: Readonly<Record<string, 'turn' | 'request' | 'process'>> = {
  'gemini-cli 0': 'turn',
  'nanocoder 1': 'turn',
  // Version 1 reported the last request.
  '@agentclientprotocol/codex-acp 2': 'turn',
  'Copilot 1': 'process',
  'OpenCode 1': 'request',
  'Kilo 7': 'request',
}

const METHOD_NOT_FOUND = -32601
/** Requests without which there is no turn. */
const needed = /^(?:initialize|session\/(?:new|load|resume|prompt))$/

/** Tracks where turns begin and how they end. The client's half may not be visible here. */
export class AcpTurns {
  /** Name of the agent, as it reports it. */
  agent = ''
  #version: string | undefined
  #session: string | undefined
  #busy = false
  /** Whether a session was created in this run, and what its turn has reported so far. */
  #fresh = false
  #called = false
  #counted = false
  /** For an agent that counts from the start of its process. */
  readonly #sinceStart = tokenCounter()
  readonly #chunks: ReturnType<typeof chunkReader>
  readonly #tools: ToolCalls

  constructor(chunks: ReturnType<typeof chunkReader>, tools: ToolCalls) {
    this.#chunks = chunks
    this.#tools = tools
  }

  /** The agent is working, on this call or on something else. */
  work(say: Say, call?: string): void {
    this.#called ||= call !== undefined
    if (this.#busy) return
    say.turn('begins')
    say.status('turn_started')
    this.#busy = true
  }

  initialized(result: Rec, say: Say): void {
    this.agent = result.text('agentInfo.name') ?? ''
    this.#version = result.text('agentInfo.version')
    const reason = this.agent === '' ? undefined : `${this.agent} ${this.#version ?? ''}`.trim()
    say.status('initialized', { reason })
  }

  /** Returns the session that a record is about: the last one, if it does not say. */
  session(id: unknown, say: Say, model?: string): string {
    this.#session = typeof id === 'string' ? id : (this.#session ?? '')
    say.session(id, { model, engine_version: this.#version })
    return this.#session
  }

  /** A new, empty session. */
  opened(): void {
    this.#fresh = true
  }

  /**
   * Whether a chunk is a notice of the agent, which nobody said: Qwen Code marks its own; those of codex-acp
   * are not part of a message, which has an id there.
   */
  notice(update: Rec): 'notice' | 'warning' | undefined {
    const isMarked = update.at('_meta.qwenDiscreteMessage') === true
    const isAgents = update.at('sessionUpdate') === 'agent_message_chunk'
    if (update.text('_meta.source')?.startsWith('background_') || (isMarked && isAgents)) return 'notice'
    const isCodex = this.agent === CODEX_ACP && isAgents && !update.has('messageId')
    return isCodex && warning.test(update.text('content.text') ?? '') ? 'warning' : undefined
  }

  /** Qwen Code reports the tokens of each answer of the model. */
  step(usage: Rec | undefined, parent: string | undefined, say: Say): void {
    if (parent === undefined) this.#counted = true
    say.status('step_finish', { usage: usage?.values, tokens: usageTokens(usage?.values), parent })
  }

  /** Reads the answer to `session/prompt`. */
  stop(result: Rec, say: Say): void {
    const reason = result.text('stopReason') ?? ''
    const usage = result.record('usage _meta.quota.token_count')
    // A turn without any update begins with its end.
    this.work(say)
    const over = say.turnOver(
      reason === 'end_turn' ? 'well' : reason === 'cancelled' ? 'interrupted' : 'failed',
    )
    // codex-acp ends the turn if a call is rejected.
    const rejected = [...over.answers.values()].includes('reject_once')
    const good = reason === 'end_turn' || (reason === 'cancelled' && rejected && !over.interrupted)
    const head = this.#chunks.takeHead()
    this.#chunks.endMessage(say, { incomplete: !good })
    this.#tools.endAsked(over, good, say)
    const tokens = this.#turnTokens(usage)
    this.#rest()
    say.status(good ? 'turn_completed' : 'turn_failed', { reason, usage: usage?.values, tokens })
    if (good) {
      say.ended(reason)
      // Copilot ends a failed turn like any other, with the error as a message. But it reports tokens for
      // every turn in which the model has answered.
      const failed = this.agent === 'Copilot' ? head.startsWith('Error: ') : errorAnswer(head) !== undefined
      if (!usage && failed) say.error(head, 'fatal')
    } else if (reason === 'max_tokens') say.turn('cut', reason)
    else if (Object.hasOwn(stops, reason)) say.error(stops[reason as keyof typeof stops], 'fatal')
    else say.unknownType(`stopReason ${reason}`)
  }

  /**
   * Reads an error instead of an answer to `method`. Without that it is not known which request failed: a
   * later turn discards it.
   */
  failed(line: Rec, method: string | undefined, say: Say): void {
    const details = line.text('error.data error.data.details error.data.message')
    const message = line.text('error.message') ?? errorText(line.at('error'))
    const words = details === undefined ? message : `${message}: ${details}`
    // Every agent supports prompts, so this is about something else.
    const isOther = method === undefined ? line.at('error.code') === METHOD_NOT_FOUND : !needed.test(method)
    if (isOther) {
      say.error(words)
      return
    }
    this.#chunks.takeHead()
    this.#chunks.endMessage(say, { incomplete: true })
    say.turnOver('failed')
    if (this.#session !== undefined) {
      this.work(say)
      say.status('turn_failed')
      this.#rest()
    }
    say.error(words, 'fatal')
  }

  /**
   * Reads what the Codex adapter reports about its thread. It, too, ends a failed turn like any other, with
   * the error as a message, but passes on the state of the thread.
   */
  codex(update: Rec, say: Say): void {
    const error = update.record('_meta.codex.error')
    const retryable = error?.at('willRetry') === true || undefined
    if (error)
      say.error(error.text('message') ?? 'Codex failed', retryable ? 'warning' : 'error', { retryable })
    if (update.at('_meta.codex.threadStatus.type') !== 'systemError') return
    this.work(say)
    say.error('the Codex thread is in the state systemError', 'fatal')
  }

  #rest(): void {
    this.#busy = this.#fresh = this.#called = this.#counted = false
  }

  /**
   * The tokens of a turn. The protocol leaves open what an agent counts, so only recorded behaviour is
   * trusted: for other agents, a first turn without tools (the model was asked once), in which all ways of
   * counting agree. Empty if the count is of something else.
   */
  #turnTokens(usage: Rec | undefined): Tokens | undefined {
    if (!usage || this.#counted) return undefined
    const way = counted[`${this.agent} ${this.#version?.split('.', 1)[0]}`]
    const tokens = usageTokens(usage.values)
    if (way === 'process') return tokens && this.#sinceStart.soFar(tokens)
    const isWhole = way === 'turn' || (!this.#called && (way === 'request' || this.#fresh))
    return isWhole ? tokens : {}
  }
}

/** Counts with the protocol's names, or Gemini's, whose output lacks thoughts. */
const usageTokens = /* @__PURE__ */ tokensAt({
  input: 'inputTokens input_tokens',
  output: 'outputTokens',
  cached: 'cachedReadTokens',
  cache_write: 'cachedWriteTokens',
  reasoning: 'thoughtTokens',
  total: 'totalTokens',
})

/** Characters of a message to remember, for its error text. */
const MAX_HEAD = 300
/** Maximum number of pieces of one text: short pieces cost more than their text. */
const MAX_PIECES = 65_536

/** Subagents that may speak at the same time. */
const MAX_INNER = 256

/** One reader for each session of a subagent: their pieces may be interleaved. */
export function innerChunks(limits: ReaderOptions) {
  const used = memory<true>(() => 0)
  const readers = new Map<string, ReturnType<typeof chunkReader>>()
  const end = (session: string, say: Say) => {
    const reader = readers.get(session)
    readers.delete(session)
    reader?.endPrompt(say)
    reader?.endThought(say)
    reader?.endMessage(say)
  }
  return {
    of(session: string, say: Say): ReturnType<typeof chunkReader> {
      const reader = readers.get(session) ?? chunkReader(limits, used)
      if (readers.size >= MAX_INNER && !readers.has(session)) end([...readers.keys()][0]!, say)
      readers.set(session, reader)
      return reader
    },
    /** The turn is over. */
    end(say: Say): void {
      for (const session of readers.keys()) end(session, say)
    },
  }
}

/**
 * Joins the chunks of messages and thoughts. The protocol does not say where one ends: it ends where
 * something else begins, or where the `messageId` changes, if the agent sends one. `used`: the ids of the
 * agent that were used; text after a tool call is another message, even with the same id.
 */
export function chunkReader({ maxFrame }: ReaderOptions, used = memory<true>(() => 0)) {
  let message: { readonly id: string; readonly of: string } | undefined
  let thought: typeof message
  let head = ''
  /** Prompts become events when they are complete, so their frames are kept until then. */
  let gathered:
    | {
        of: string
        range: Pick<EngineFrame, 'channel' | 'from' | 'to'>
        size: number
      }
    | undefined
  let pieces: string[] = []

  const take = (id: string | undefined): string | undefined => {
    if (id === undefined || used.get(id)) return undefined
    used.set(id, true)
    return id
  }

  const endMessage = (say: Say, more: MessageFacts = {}) => {
    if (message) say.message(message.id, undefined, more)
    message = undefined
  }

  return {
    /** The beginning of the last message of the turn that ends here. */
    takeHead(): string {
      const last = head
      head = ''
      return last
    },
    endMessage,
    addMessage(session: string, update: Rec, parent: string | undefined, say: Say): void {
      const piece = textIn(update)
      if (!piece) return
      const name = update.text('messageId')
      const of = `${session} ${name ?? ''} ${parent ?? ''}`
      if (message?.of !== of) endMessage(say)
      if (!message) {
        message = { id: take(name) ?? say.newId(), of }
        head = ''
      }
      if (head.length < MAX_HEAD) head += piece.slice(0, MAX_HEAD)
      say.piece('message', message.id, piece, { parent })
    },
    addThought(session: string, update: Rec, parent: string | undefined, say: Say): void {
      const piece = textIn(update)
      if (!piece) return
      const name = update.text('messageId')
      const of = `${session} ${name ?? ''} ${parent ?? ''}`
      if (thought?.of !== of) this.endThought(say)
      thought ??= { id: take(name) ?? say.newId('reasoning'), of }
      say.piece('reasoning', thought.id, piece, { parent })
    },
    endThought(say: Say): void {
      if (thought) say.reasoning(thought.id)
      thought = undefined
    },
    gatherPrompt(session: string, update: Rec, frame: EngineFrame, say: Say): true | 'kept' {
      const piece = textIn(update)
      if (!piece) return true
      const of = `${frame.channel} ${session} ${update.text('messageId') ?? ''}`
      if (
        gathered &&
        (gathered.of !== of || pieces.length >= MAX_PIECES || gathered.size > maxFrame - piece.length)
      )
        this.endPrompt(say, frame)
      const { channel, from } = gathered?.range ?? frame
      gathered = {
        of,
        range: { channel, from, to: frame.to },
        size: (gathered?.size ?? 0) + piece.length,
      }
      pieces.push(piece)
      return 'kept'
    },
    /** Reports the gathered prompt; the next reports are about `frame`. */
    endPrompt(say: Say, frame?: EngineFrame): void {
      if (!gathered) return
      say.about(gathered.range)
      say.user(pieces.join(''))
      gathered = undefined
      pieces = []
      if (frame) say.about(frame)
    },
  }
}
