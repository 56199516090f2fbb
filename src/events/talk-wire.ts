import type { AgentRequest } from './event.ts'

/**
 * How a client speaks with an agent on its stdin and stdout while it works. Nothing here sends anything:
 * records go in, and the records to send come out, one for each line.
 *
 * @example
 * const speaks: Wire['speaks'] = (argv) => argv.includes('--talk')
 * const refuse: Wire['refuse'] = ({ id }) => ({ id, error: 'not here' })
 */
export interface Wire {
  /** Whether an agent speaks it that was started in this way. The first word is the program. */
  speaks(argv: readonly string[]): boolean
  /** To continue a session, a record of `open` names it (`start.session`), and not the command line. */
  readonly loads?: true
  /**
   * The next step that opens a session; called until it gives a `session`. `answers` are the results of its
   * own requests in the steps before, and `id` is for the next one.
   */
  open(start: WireStart, answers: readonly WireRecord[], id: number): WireStep
  /** A prompt, which begins a turn. */
  say(prompt: string, now: WireState): object
  /** What stops the turn; undefined while it is not known which turn that is. */
  interrupt(now: WireState): object | undefined
  /** After an interrupt the agent still waits for answers to its requests, so they are dismissed. */
  readonly waits?: true
  /** The id of the turn that a record of the agent begins. */
  turn?(record: WireRecord): string | undefined
  /** The result of a request of ours, or why it failed; undefined if the record is no such answer. */
  result(record: WireRecord): WireResult | undefined
  /** `answer` knows `choice.answers`. Without it, a question of the agent can only be turned down. */
  readonly questions?: true
  /** What answers a request of the agent. An empty choice means that it was dismissed: it allows nothing. */
  answer(record: WireRecord, choice: WireChoice): object
  /** What refuses a request that is not for the user; undefined if the record is no request. */
  refuse(record: WireRecord): object | undefined
}

/** A JSON object that the agent sent. */
export type WireRecord = Readonly<Record<string, unknown>>

/** What is known before a session is opened. */
export interface WireStart {
  readonly cwd: string
  /** The command line; the first word is the program. */
  readonly argv: readonly string[]
  /** The session to continue, if `open` has to name it. */
  readonly session: string | undefined
}

/**
 * A step of `open`: records to send, of which the last is a request with the given id (`instead`: with the
 * next id, sent if the agent does not know that request); or the session is open (`quiet`: the prompt waits
 * until the agent has sent the history of the session); or it cannot be opened.
 */
export type WireStep =
  | { readonly send: readonly object[]; readonly instead?: readonly object[] }
  | { readonly session: string; readonly quiet?: boolean }
  | { readonly failed: string }

/** What is known in the middle of a conversation. */
export interface WireState {
  readonly session: string
  readonly turn: string | undefined
  /** The id for the next request of ours. */
  readonly id: number
}

/** How a request of ours ended. */
export interface WireResult {
  readonly id: number
  readonly result?: WireRecord
  readonly error?: string
  /** It failed because the agent does not know such a request: `instead` is sent then. */
  readonly unknown?: boolean
}

/** What the user chose: the id of one of the options of the request, or answers to its questions. */
export interface WireChoice {
  readonly option?: string
  /** By the position of the question; a question without an answer is left out. */
  readonly answers?: readonly {
    readonly index: number
    readonly question: NonNullable<AgentRequest['questions']>[number]
    readonly words: readonly string[]
  }[]
}
