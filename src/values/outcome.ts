import type { Fault, Note } from '../base/fault.ts'
import type { Frame } from '../frames/frame.ts'

/** `none`: it was JSON as it came. Else fixed rules mended it, or took it out of Markdown: docs/repair.md. */
export type RepairLevel = 'none' | 'deterministic_generic'

/** What came instead of a payload, to show it to a person: the start of the input, up to `maxComment`. */
export interface CommentText {
  readonly text: string
  readonly truncated: boolean
  /** Which bytes of the channel it is: `[from, to)`. */
  readonly from: number
  readonly to: number
}

/** A value that passed the schema. */
export interface GoodOutcome<T> {
  readonly ok: true
  readonly value: T
  readonly repair_level: RepairLevel
  readonly notes: readonly Note[]
  readonly frame: Frame
  /** With `partial`: paths (JSON pointers) of the values that the input did not finish. */
  readonly incomplete?: readonly string[]
}

/** A payload that could not be used, and why. */
export interface BadOutcome {
  readonly ok: false
  readonly fault: Fault
  readonly repair_level: 'none'
  readonly notes: readonly Note[]
  readonly frame: Frame
  /** With NO_MATCH: the text that was there instead. */
  readonly comment?: CommentText
}

/**
 * The result for one payload of `values()` and `tryParse()`. (How a run ended is a `RunOutcome`.)
 *
 * @example
 * if (outcome.ok) use(outcome.value)
 * else console.warn(outcome.fault.code)
 */
export type Outcome<T> = GoodOutcome<T> | BadOutcome
