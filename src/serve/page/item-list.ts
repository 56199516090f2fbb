import type { Event } from '../../events/event.ts'
import { Conversation, type Item } from '../../views/conversation.ts'
import type { Problem } from '../../views/problems.ts'
import type { RunSummary } from '../../views/summary.ts'

/** All items of a run, in the order of the conversation, with their problems and their places. */
export class ItemList {
  readonly items: Item[] = []
  readonly problems: { readonly problem: Problem; readonly item: Item }[] = []
  readonly #talk = new Conversation((item) => this.items.push(item))
  /** By attempt, then by seq: the index of the item. */
  readonly #places = new Map<number, number[]>()

  summary(): RunSummary {
    return this.#talk.summary()
  }

  /** Takes the next event, and returns its item. */
  take(event: Event): Item {
    const { attempt_number, seq } = event
    const item = this.#talk.take(event)
    const places = this.#places.get(attempt_number) ?? []
    this.#places.set(attempt_number, places)
    places[seq] = item.at
    // What went wrong is the last event of its item.
    if (item.problem) this.problems.push({ problem: item.problem, item })
    return item
  }

  /** The item of an event. */
  find(attempt: number, seq: number): Item | undefined {
    const at = this.#places.get(attempt)?.[seq]
    return at === undefined ? undefined : this.items[at]
  }

  /** The item that was read from this byte. */
  itemAt(attempt: number, stream: string, byte: number): Item | undefined {
    return this.items.find(({ refs }) =>
      refs.some(
        (ref) =>
          ref.stream === stream &&
          ref.attempt_number === attempt &&
          ref.byte_from <= byte &&
          byte < ref.byte_to,
      ),
    )
  }
}
