import { Readable } from 'node:stream'
import { Fault } from '../base/fault.ts'

/** The answer of a call: the whole text, or a stream of it (a Readable is one). */
export type Answer = string | AsyncIterable<string | Uint8Array>

/** The request passed to a call. */
export interface AskRequest {
  readonly prompt: string
  readonly system?: string
  readonly temperature: number
  /** From 1. */
  readonly attempt: number
  readonly signal?: AbortSignal
}

/**
 * Any function that calls a model. If it rejects, so does `ask`, with the same error and without a retry.
 *
 * @example
 * const call: AskCall = async ({ prompt, signal }) => (await client.complete(prompt, { signal })).text
 */
export type Call = (request: AskRequest) => Answer | Promise<Answer>

/** Whether an answer is a stream. Throws if it is not a valid answer. */
export function isStream(answer: Answer): answer is AsyncIterable<string | Uint8Array> {
  if (typeof answer === 'string') return false
  // Cast: the call is the caller's code, and may return anything.
  const streams = typeof (answer as AsyncIterable<string> | null)?.[Symbol.asyncIterator] === 'function'
  if (streams) return true
  throw new Fault('BAD_OPTION', 'the call must return text, a Readable or an async iterable of text')
}

/** Closes an answer that arrived too late, if it is a stream. */
export function leaveLate(answer: Answer): void {
  if (isStream(answer)) leave(answer, answer[Symbol.asyncIterator]())
}

/** Tells a stream that we stop reading, and ignores its errors. */
export function leave(answer: AsyncIterable<unknown>, pieces: AsyncIterator<unknown>): void {
  // A Readable that waits for its next piece handles `return` only after it, so it is destroyed.
  if (answer instanceof Readable) answer.on('error', () => {}).destroy()
  // Not awaited, for the same reason.
  const left = async () => pieces.return?.()
  left().catch(() => {})
}
