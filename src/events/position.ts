import type { Channel } from '../text/chunk.ts'

/**
 * The position of a record in the run, whichever channel it came from. stdout defines the order; a record
 * that only the PTY has comes after the last record before it on the PTY that stdout has as well. If the PTY
 * is ahead of stdout, that is known only later, and it can change: so positions are compared when the answer
 * is needed, not when the record arrives.
 */
export interface Position {
  readonly channel: Channel
  /** Index of the record on stdout, or of the last one before it, from 0; -1 before the first. */
  readonly after: number
  /** Its position on the PTY, to order what follows the same record of stdout; -1 for that record. */
  readonly behind: number
}

/** For what is reported after the end of the input. */
export const AT_END: Position = {
  channel: 'stdout',
  after: Number.POSITIVE_INFINITY,
  behind: -1,
}

/** When something was reported: at which record, and as which of its reports. */
export interface Moment {
  readonly at: Position
  readonly nth: number
}

/** Whether `a` comes after `b` in the run. */
export function isAfter(a: Moment, b: Moment): boolean {
  if (a.at.after !== b.at.after) return a.at.after > b.at.after
  if (a.at.behind !== b.at.behind) return a.at.behind > b.at.behind
  return a.nth > b.nth
}

/**
 * Keeps one value for the pipes and one for the PTY. Within each, the order is known when a value arrives;
 * between the two it may become known later.
 */
export class PerSource<T> {
  pipes: T | undefined
  pty: T | undefined

  get({ at }: Moment): T | undefined {
    return at.channel === 'pty' ? this.pty : this.pipes
  }

  set({ at }: Moment, thing: T | undefined): void {
    if (at.channel === 'pty') this.pty = thing
    else this.pipes = thing
  }

  both(): T[] {
    const { pipes, pty } = this
    if (pty === undefined) return pipes === undefined ? [] : [pipes]
    return pipes === undefined ? [pty] : [pipes, pty]
  }
}
