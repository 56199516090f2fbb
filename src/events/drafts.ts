/** Messages that broke off, one after the other: each retry of the engine may leave one. */
const MAX_DRAFTS = 64

/** A message of the run that broke off. */
export interface Draft {
  readonly text: string
  readonly enveloped: boolean
  readonly done: boolean
}

/** What broke off since the last complete message, about `maxSize` characters of it. It counts at the end, if nothing complete took its place. */
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

  /** A complete message has come. */
  forget(): void {
    this.#drafts = []
    this.#size = 0
  }

  left(): readonly Draft[] {
    return this.#drafts
  }
}
