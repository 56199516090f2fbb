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
  /** `open` names the session that is continued. Otherwise the command line does. */
  readonly loads?: true
  /** The next step that opens a session. `answers` are the results of the requests of the steps before. */
  open(start: WireStart, answers: readonly WireRecord[], id: number): WireStep
  /** A prompt, which begins a turn. */
  say(prompt: string, now: WireState): object
  /** What stops the turn; undefined while it is not known which turn that is. */
  interrupt(now: WireState): object | undefined
  /** After an interrupt the agent waits until its requests are answered. */
  readonly waits?: true
  /** The turn that a record of the agent begins. */
  turn?(record: WireRecord): string | undefined
  /** The result of a request of ours, or why it failed; undefined if the record is no such answer. */
  result(record: WireRecord): WireResult | undefined
  /** `answer` takes answers to questions, too. Without it, a question can only be turned down. */
  readonly questions?: true
  /** The answer to a request of the agent. With no choice, the user dismissed it: that allows nothing. */
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
 * A step of `open`: records to send, of which the last is a request with the given id (`instead`: what to
 * send with the next id if the agent does not know that request, though it says so); or the session is open
 * (`quiet`: its history may still arrive); or it cannot be opened.
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
  /** The agent does not know such a request. */
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
