import type { OutputChannel } from './chunk.ts'

/** The terminal shows what goes through the pipes, so it gets a block for each block of theirs. */
const TURNS = ['pty', 'stdout', 'pty', 'stderr'] as const

/**
 * Whose turn it is, of logs that do not say in which order they were written. With a terminal stderr comes
 * before stdout: a record that only the terminal has is then known to be no record of stderr before stdout
 * goes on behind it.
 */
export class Turns {
  #at: number

  constructor(isOnTerminal: boolean) {
    this.#at = isOnTerminal ? TURNS.indexOf('stderr') - 1 : 0
  }

  /** The channels in the order in which they are to be tried. */
  *order(hasMore: (channel: OutputChannel) => boolean): Generator<OutputChannel> {
    for (let tried = 0; tried < TURNS.length; tried++) {
      const channel = TURNS[this.#at]!
      this.#at = (this.#at + 1) % TURNS.length
      if (channel !== 'pty' || hasMore(TURNS[this.#at]!)) yield channel
    }
    yield 'pty'
  }
}
