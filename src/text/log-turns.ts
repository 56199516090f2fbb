import type { OutputChannel } from './chunk.ts'

/** The terminal shows what goes through the pipes, so it gets a block for each block of theirs. */
const TURNS = ['pty', 'stdout', 'pty', 'stderr'] as const

/**
 * Decides which log to read next, if the logs do not say in which order they were written. With a terminal,
 * stderr is read before stdout: so it is known that a record that only the terminal has is not from stderr
 * before the records of stdout after it are read.
 */
export class Turns {
  #at: number

  constructor(isOnTerminal: boolean) {
    this.#at = isOnTerminal ? TURNS.indexOf('stderr') - 1 : 0
  }

  /** The channels in the order to try them. */
  *order(hasMore: (channel: OutputChannel) => boolean): Generator<OutputChannel> {
    for (let tried = 0; tried < TURNS.length; tried++) {
      const channel = TURNS[this.#at]!
      this.#at = (this.#at + 1) % TURNS.length
      if (channel !== 'pty' || hasMore(TURNS[this.#at]!)) yield channel
    }
    yield 'pty'
  }
}
