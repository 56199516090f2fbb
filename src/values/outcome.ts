import type { Fault, Note } from '../base/fault.ts'
import type { Frame } from '../frames/frame.ts'

/** How much repair a value needed: none, or rules that never add meaning. */
export type RepairLevel = 'none' | 'deterministic_generic'

/** The start of an input in which no payload was found, kept so that it can be shown as a comment. */
export interface CommentText {
  readonly text: string
  readonly truncated: boolean
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
 * The result for one payload.
 *
 * @example
 * if (outcome.ok) use(outcome.value)
 * else console.warn(outcome.fault.code)
 */
export type Outcome<T> = GoodOutcome<T> | BadOutcome
