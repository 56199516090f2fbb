import type { Event } from '../../events/event.ts'
import { Conversation, type Item, type RequestItem } from '../../views/conversation.ts'
import type { Problem } from '../../views/problems.ts'
import type { RunSummary } from '../../views/summary.ts'

/** All items of a run, in the order of the conversation, with their problems and their places. */
export class ItemList {
  readonly items: Item[] = []
  readonly problems: { readonly problem: Problem; readonly item: Item }[] = []
  readonly #talk: Conversation
  /** By attempt, then by seq: the index of the item. */
  readonly #places = new Map<number, number[]>()

  /** `task` is what the agent was asked, if the events may not tell it. */
  constructor(task?: string | null) {
    this.#talk = new Conversation((item) => {
      this.items.push(item)
      this.#put(item.attempt, item.seq, item)
    }, task ?? undefined)
  }

  /** The requests without an answer, the oldest first. */
  get asked(): readonly RequestItem[] {
    return this.#talk.asked
  }

  summary(): RunSummary {
    return this.#talk.summary()
  }

  /** Takes the next event, and returns its item. */
  take(event: Event): Item {
    const { attempt_number, seq } = event
    const item = this.#talk.take(event)
    this.#put(attempt_number, seq, item)
    // What went wrong is the last event of its item.
    if (item.problem) this.problems.push({ problem: item.problem, item })
    // What a reader looks for is open from the start: what failed, and short changes.
    if (item.kind === 'tool') item.open ||= item.state === 'failed'
    if (item.kind === 'artifact') item.open = isShort(item.diff ?? '')
    return item
  }

  #put(attempt: number, seq: number, item: Item): void {
    const places = this.#places.get(attempt) ?? []
    this.#places.set(attempt, places)
    places[seq] = item.at
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

const SHORT_LINES = 30

function isShort(diff: string): boolean {
  return diff.length < SHORT_LINES * 120 && diff.split('\n').length <= SHORT_LINES
}
