import type { Say } from '../events/engine.ts'
import { memory } from '../events/memory.ts'

interface Open {
  readonly id: string
  /** Its id in the records of the engine, once one of them has it. */
  readonly name: string | undefined
}

/** The message or thought whose pieces are arriving, per speaker: a subagent may write in between. */
export class OpenPieces {
  readonly #open = memory<Open>(({ id }) => id.length)
  readonly #kind: 'message' | 'reasoning'

  constructor(kind: 'message' | 'reasoning') {
    this.#kind = kind
  }

  has(speaker: string): boolean {
    return this.#open.get(speaker) !== undefined
  }

  /** A piece without an id belongs to what is open, and so does the first id after it. */
  piece(speaker: string, given: string | undefined, words: string, say: Say, parent?: string): void {
    let open = this.#open.get(speaker)
    const { name } = open ?? {}
    // The model was asked again: what came before will not get any longer.
    if (name !== undefined && given !== undefined && name !== given) {
      this.leave(speaker, say)
      open = undefined
    }
    const id = open?.id ?? given ?? say.newId(this.#kind)
    for (const other of this.#open.set(speaker, { id, name: given ?? open?.name })) this.#cut(other, say)
    say.piece(this.#kind, id, words, { parent })
  }

  /** A message or thought is complete. Returns the id of its pieces, if they came before it. */
  end(speaker: string, given: string | undefined): string | undefined {
    const open = this.#open.get(speaker)
    if (!open || (open.name !== undefined && given !== undefined && open.name !== given)) return given
    this.#open.take(speaker)
    return open.id
  }

  /** What has no end was cut off. */
  leave(speaker: string, say: Say): void {
    const open = this.#open.take(speaker)
    if (open) this.#cut(open, say)
  }

  #cut({ id }: Open, say: Say): void {
    say[this.#kind](id, undefined, { incomplete: true })
  }
}
