import type { AgentEvent } from '../../events/event.ts'
import type { Problem } from '../../events/problems.ts'
import { Conversation, type Item, type RequestItem, type ToolItem } from '../../views/conversation.ts'
import type { RunSummary } from '../../views/summary.ts'

/** All items of a run, in the order of the conversation, with their problems and their places. */
export class ItemList {
  readonly items: Item[] = []
  readonly problems: { readonly problem: Problem; readonly item: Item }[] = []
  readonly #talk: Conversation
  /** By attempt, then by seq: the index of the item. */
  readonly #places = new Map<number, number[]>()
  /** By the index of the item that ended it: how long nothing happened, in milliseconds. */
  readonly #gaps = new Map<number, number>()
  #last = Number.NaN

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
  take(event: AgentEvent): Item {
    const { attempt_number, seq } = event
    const { length } = this.items
    const item = this.#talk.take(event)
    const now = Date.parse(event.ts)
    if (this.items.length > length && now - this.#last >= LONG_MS) this.#gaps.set(length, now - this.#last)
    this.#last = now
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

  /** Milliseconds from the first item to this one; undefined if its time is not known. */
  timeOf(item: Item): number | undefined {
    const at = Date.parse(item.ts)
    return at > 0 ? at - Date.parse(this.items[0]!.ts) : undefined
  }

  /** How long nothing happened before a row, hidden items between it and the row before included. */
  gapBefore(row: Row, before: Row | undefined): number {
    if (this.#gaps.size === 0) return 0
    let sum = 0
    for (let at = (before ? lastAt(before) : -1) + 1; at <= firstAt(row); at++) sum += this.#gaps.get(at) ?? 0
    return sum
  }

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

/** A shorter time without an event is how agents work. */
const LONG_MS = 30_000

function firstAt(row: Row): number {
  return row.kind === 'group' ? row.items[0]!.at : row.at
}

/** Those of an open group follow as rows of their own. */
function lastAt(row: Row): number {
  return row.kind === 'group' && !row.open ? row.items.at(-1)!.at : firstAt(row)
}

const SHORT_LINES = 30

function isShort(diff: string): boolean {
  return diff.length < SHORT_LINES * 120 && diff.split('\n').length <= SHORT_LINES
}

/** Calls in a row that all went well, as one row. */
export interface Group {
  readonly kind: 'group'
  /** Just before its first item. */
  readonly at: number
  items: readonly ToolItem[]
  /** Its calls follow as rows of their own. */
  open: boolean
  version: number
}

export type Row = Item | Group

/** Fewer calls than this are not worth folding. */
const LEAST = 3
/** A call is no longer folded once this many items arrived while it was open. */
const MAX_BEHIND = 64

/** The rows of a conversation: its visible items, with good calls in a row folded into groups. */
export class ItemRows {
  readonly rows: Row[] = []
  folds = true
  readonly #isVisible: (item: Item) => boolean
  /** By the index of their first item: an open group stays open. */
  readonly #groups = new Map<number, Group>()
  /** The items from here on are not in rows yet, or their rows may change. */
  #from = 0

  constructor(isVisible: (item: Item) => boolean) {
    this.#isVisible = isVisible
  }

  rebuild(items: readonly Item[]): void {
    if (items.length === 0) this.#groups.clear()
    this.rows.length = 0
    this.#from = 0
    this.add(items)
  }

  /** Takes what was added or settled since. Returns the index of the first row that is another one now. */
  add(items: readonly Item[]): number | undefined {
    const made: Row[] = []
    let calls: ToolItem[] = []
    let next = items.length
    for (let looked = this.#from; looked < items.length; looked++) {
      const item = items[looked]!
      if (!this.#isVisible(item)) continue
      if (item.kind === 'tool' && item.state === 'running' && looked > items.length - MAX_BEHIND)
        next = Math.min(next, calls[0]?.at ?? looked)
      if (!this.folds || !isGood(item) || (calls[0] && calls[0].nested !== item.nested)) {
        this.#close(calls, made)
        calls = []
      }
      if (this.folds && isGood(item)) calls.push(item)
      else made.push(item)
    }
    next = Math.min(next, calls[0]?.at ?? next)
    // Raw lines are added to the last item, and may make it visible.
    if (items.at(-1)?.kind === 'raw') next = Math.min(next, items.length - 1)
    this.#close(calls, made)
    const start = this.#lowerBound(this.#from - 0.5)
    this.#from = next
    return this.#replaceFrom(start, made)
  }

  /** Replaces the rows from this index on. Returns the index of the first one that is another one now. */
  #replaceFrom(start: number, made: readonly Row[]): number | undefined {
    let same = 0
    while (same < made.length && this.rows[start + same] === made[same]) same++
    const at = start + same
    const changed = at < this.rows.length ? at : undefined
    this.rows.length = at
    for (const row of made.slice(same)) this.rows.push(row)
    return changed
  }

  /** The index of the row that shows an item, or -1. */
  indexOf(item: Item): number {
    const at = this.#lowerBound(item.at)
    if (this.rows[at] === item) return at
    const before = this.rows[at - 1]
    return before?.kind === 'group' && holds(before, item) ? at - 1 : -1
  }

  groupOf(item: Item): Group | undefined {
    const at = this.#lowerBound(item.at)
    // In an open group the items before this one are rows, too.
    for (let index = at - 1; index >= 0; index--) {
      const row = this.rows[index]!
      if (row.kind === 'group') return holds(row, item) ? row : undefined
      if (!isGood(row)) return undefined
    }
    return undefined
  }

  #close(calls: readonly ToolItem[], made: Row[]): void {
    const [first] = calls
    if (!first || calls.length < LEAST) {
      made.push(...calls)
      return
    }
    const known = this.#groups.get(first.at)
    const group = known ?? { kind: 'group', at: first.at - 0.5, items: calls, open: false, version: 0 }
    this.#groups.set(first.at, group)
    if (group.items.length !== calls.length) group.version++
    group.items = calls
    made.push(group)
    if (group.open) for (const call of calls) made.push(call)
  }

  #lowerBound(at: number): number {
    return countFirst(this.rows, (row) => row.at < at)
  }
}

/** How many of a list, its first ones, are so; the others are not. */
export function countFirst<T>(list: readonly T[], isSo: (one: T) => boolean): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isSo(list[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}

function holds({ items }: Group, item: Item): boolean {
  return items[0]!.at <= item.at && item.at <= items.at(-1)!.at
}

/** A call that went well, and changed nothing that a reader would look for. */
function isGood(item: Row): item is ToolItem {
  return item.kind === 'tool' && item.state === 'completed' && !changes.has(item.does)
}

const changes: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])
