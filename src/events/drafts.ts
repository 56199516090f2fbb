import { isAfter, type Moment } from './position.ts'

/** Number of messages that broke off: each retry of the engine may leave one. */
const MAX_DRAFTS = 64

/** A message of the run that broke off. */
export interface Draft {
  readonly text: string
  readonly enveloped: boolean
  readonly done: boolean
  /** When its last piece arrived. */
  readonly when: Moment
}

/**
 * What broke off since the last complete message, about `maxSize` characters of it. It counts at the end, if
 * no complete message replaced it.
 */
export class Drafts {
  readonly #maxSize: number
  #drafts: Draft[] = []
  #size = 0

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  hold(draft: Draft): void {
    this.#drafts.push(draft)
    this.#size += draft.text.length
    while (this.#drafts.length > MAX_DRAFTS || (this.#size > this.#maxSize && this.#drafts.length > 1))
      this.#size -= this.#drafts.shift()!.text.length
  }

  /** A complete message replaces what broke off before it. */
  forget(whole: Moment): void {
    if (this.#drafts.length === 0) return
    this.#drafts = this.#drafts.filter(({ when }) => isAfter(when, whole))
    this.#size = this.#drafts.reduce((size, { text }) => size + text.length, 0)
  }

  /** In the order of the run. */
  left(): readonly Draft[] {
    return this.#drafts.toSorted((a, b) => (isAfter(a.when, b.when) ? 1 : -1))
  }
}
