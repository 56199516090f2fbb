import type { Channel } from '../frames/chunk.ts'

/**
 * Where a record is in the run, whichever channel it came from. stdout gives the order; a record that only the PTY has
 * is behind the last record before it on the PTY that stdout has as well. With the PTY ahead of stdout that is known only
 * later, and it can change: so positions are compared when the answer is needed, not when the record comes.
 */
export interface Position {
  readonly channel: Channel
  /** The record of stdout that it is, or that it is behind, counted from 0; -1 before the first. */
  readonly after: number
  /** Its place on the PTY, to order what is behind the same record of stdout; -1 for that record itself. */
  readonly behind: number
}

/** What is said once the input is over. */
export const AT_END: Position = {
  channel: 'stdout',
  after: Number.POSITIVE_INFINITY,
  behind: -1,
}

/** When something was said: at which record, and as the how manieth thing, because one record can say several. */
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
 * Keeps one thing for the pipes and one for the PTY. Within each the order is known when a thing comes; between the two
 * it may become known later.
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
    return [this.pipes, this.pty].filter((thing) => thing !== undefined)
  }
}
