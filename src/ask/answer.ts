import { Readable } from 'node:stream'
import { Fault } from '../base/fault.ts'

/** What a call may answer with: the whole text, or a stream of it (a Readable is one). */
export type Answer = string | AsyncIterable<string | Uint8Array>

/** What a call is asked. */
export interface AskRequest {
  readonly prompt: string
  readonly system?: string
  readonly temperature: number
  /** From 1. */
  readonly attempt: number
  readonly signal?: AbortSignal
}

/**
 * Any function that asks a model. If it rejects, so does `ask`, with the same error and without a retry.
 *
 * @example
 * const call: Call = async ({ prompt, signal }) => (await client.complete(prompt, { signal })).text
 */
export type Call = (request: AskRequest) => Answer | Promise<Answer>

/** Whether an answer comes in pieces. Throws for what is no answer at all. */
export function isStream(answer: Answer): answer is AsyncIterable<string | Uint8Array> {
  if (typeof answer === 'string') return false
  // The cast is the door: a call of somebody else may answer with anything.
  const streams = typeof (answer as AsyncIterable<string> | null)?.[Symbol.asyncIterator] === 'function'
  if (streams) return true
  throw new Fault('BAD_OPTION', 'the call must answer with text, a Readable or an async iterable of text')
}

/**
 * Asks somebody, but not if the signal is aborted, and waits no longer than until it is: a call that does not
 * look at its signal must not hold us.
 */
export async function unlessAborted<T>(
  ask: () => T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return ask()
  signal.throwIfAborted()
  const promise = Promise.resolve(ask())
  // It may fail when nobody waits for it any more, and that must not end the process.
  promise.catch(() => {})
  signal.throwIfAborted()
  let onAbort: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}

/** Tells a stream that nobody reads on. */
export function leave(answer: AsyncIterable<unknown>, pieces: AsyncIterator<unknown>): void {
  // A Readable that waits for its next piece hears of a `return` only after it, so it is destroyed.
  if (answer instanceof Readable) answer.destroy()
  // Not waited for, for the same reason.
  Promise.resolve(pieces.return?.()).catch(() => {})
}
