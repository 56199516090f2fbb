import type { Engine, EngineFrame, EngineReader, ReaderOptions } from './engine.ts'
import type { Position } from './position.ts'

interface Placed {
  readonly frame: EngineFrame
  readonly position: Position
}

/** Cost of a line in addition to its text. */
const LINE_COST = 16

/**
 * Plain text that is shown before `auto` has picked an engine: the fallback reads it as it comes, from the
 * second line on, because one line before the records of an engine is noise. It only shows deltas, which can
 * be taken back if an engine is picked after all.
 */
export class Preview {
  readonly fallback: Engine
  readonly #limits: ReaderOptions
  #reader: EngineReader | undefined
  #waiting: Placed[] = []
  readonly #shown = new Set<EngineFrame>()
  #size = 0
  #lines = 0
  #channel: EngineFrame['channel'] | undefined
  /** Something else than text came: it and what follows waits for an engine. */
  #over = false

  constructor(fallback: Engine, limits: ReaderOptions) {
    this.fallback = fallback
    this.#limits = limits
  }

  /** The fallback's reader, if it has read something. */
  get reader(): EngineReader | undefined {
    return this.#reader
  }

  hasShown(frame: EngineFrame): boolean {
    return this.#shown.has(frame)
  }

  /** What can be shown now, after this frame. */
  next(frame: EngineFrame, position: Position): readonly Placed[] {
    const { channel, value, label, open, blank, text, blanks = '' } = frame
    if (this.fallback.cut[channel] !== 'text') return []
    this.#channel ??= channel
    this.#size += text.length + blanks.length + LINE_COST
    const isText = value === undefined && label === undefined && !open
    const fits = this.#size <= this.#limits.maxFrame && channel === this.#channel
    this.#over ||= !isText || !fits
    if (this.#over) return []
    this.#waiting.push({ frame, position })
    if (!blank) this.#lines++
    if (this.#lines < 2) return []
    this.#reader ??= this.fallback.open(this.#limits)
    const shown = this.#waiting
    this.#waiting = []
    for (const one of shown) this.#shown.add(one.frame)
    return shown
  }
}
