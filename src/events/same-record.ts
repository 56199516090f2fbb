import { recordIn } from './cut.ts'
import { type EngineFrame, isRecord } from './engine.ts'
import type { Position } from './position.ts'

/** Several equal records, the oldest first. */
interface Equals {
  readonly positions: Fifo<Position>
  /** Number of newer ones, whose positions were not kept. */
  more: number
}

/** What one channel emitted and the other one has not shown yet: digest → position in the run. */
export class Outstanding {
  readonly #window: number
  /** Nearly every record is unique, and then only its position is stored. */
  readonly #byKey = new Map<string, Position | Equals>()
  /** Number of positions that are kept. */
  #kept = 0
  /** Number of digests that were dropped because the window was full. */
  forgotten = 0

  constructor(window: number) {
    this.#window = window
  }

  get size(): number {
    return this.#byKey.size
  }

  count(key: string): number {
    const known = this.#byKey.get(key)
    if (known === undefined) return 0
    return 'more' in known ? known.positions.length + known.more : 1
  }

  /** The oldest of these whose position passes. */
  find(key: string, passes: (position: Position) => boolean): Position | undefined {
    const known = this.#byKey.get(key)
    if (known && 'more' in known) return known.positions.find(passes)
    return known && passes(known) ? known : undefined
  }

  add(key: string, position: Position): void {
    const known = this.#byKey.get(key)
    if (known === undefined) {
      this.#byKey.set(key, position)
      this.#kept++
      if (this.#byKey.size > this.#window) this.#dropOldest()
      return
    }
    const equals = 'more' in known ? known : several(known)
    if (equals !== known) this.#byKey.set(key, equals)
    // Any number of equal records may wait, but the number of positions is limited.
    if (equals.more > 0 || (equals.positions.length > 0 && this.#kept >= this.#window)) equals.more++
    else {
      equals.positions.push(position)
      this.#kept++
    }
  }

  /** Removes the oldest of these. If its position was not kept, it gets one before all others. */
  take(key: string): Position | undefined {
    const known = this.#byKey.get(key)
    if (known === undefined) return undefined
    if (!('more' in known)) {
      this.#byKey.delete(key)
      this.#kept--
      return known
    }
    const position = known.positions.shift()
    if (position) this.#kept--
    else known.more--
    if (known.positions.length + known.more === 0) this.#byKey.delete(key)
    return position ?? { channel: 'stdout', after: -1, behind: -1 }
  }

  #dropOldest(): void {
    for (const [key, known] of this.#byKey) {
      this.#byKey.delete(key)
      this.#kept -= 'more' in known ? known.positions.length : 1
      break
    }
    this.forgotten++
  }
}

function several(first: Position): Equals {
  const positions = new Fifo<Position>()
  positions.push(first)
  return { positions, more: 0 }
}

/** Characters of records of stdout that are remembered until the PTY has shown them. */
const MAX_RECENT = 1 << 17
/** Records of the PTY that are compared with one of stdout. */
const MAX_COMPARED = 256

/**
 * The last records of stdout that the PTY has not shown, by their key: bounded, the oldest is forgotten
 * first. Only their text is kept: hardly one is ever asked for, and long-lived values slow the collector.
 */
export class RecentRecords {
  readonly #frames = new Map<string, Kept>()
  #size = 0

  add(key: string, text: string): void {
    if (text.length > MAX_RECENT || this.#frames.has(key)) return
    this.#frames.set(key, { text })
    this.#size += text.length
    if (this.#size <= MAX_RECENT) return
    for (const oldest of this.#frames.keys()) {
      this.delete(oldest)
      if (this.#size <= MAX_RECENT) break
    }
  }

  delete(key: string): void {
    const known = this.#frames.get(key)
    if (!known) return
    this.#frames.delete(key)
    this.#size -= known.text.length
  }

  /** The key of the oldest record that says the same as this one. */
  keyOf(frame: EngineFrame): string | undefined {
    return twinOf(frame, this.#frames)
  }
}

/** A record, whose value may have to be read again. */
type Kept = Pick<EngineFrame, 'text' | 'value'>

/** The oldest of these records that says the same as `frame`. */
export function twinOf<Key>(frame: EngineFrame, others: Iterable<readonly [Key, Kept]>): Key | undefined {
  if (!isRecord(frame.value)) return undefined
  let meaning: string | undefined
  let compared = 0
  for (const [key, other] of others) {
    if (++compared > MAX_COMPARED) return undefined
    // The time may have another form, but hardly another length.
    if (Math.abs(other.text.length - frame.text.length) > 64) continue
    meaning ??= meaningOf(frame.value)
    if (meaningOf(other.value ?? recordIn(other.text)) === meaning) return key
  }
  return undefined
}

/** Fields deeper than this are content. */
const MAX_LEVEL = 2

const times = new Set(['timestamp', 'timestamp_ms', 'ts', 'time', 'created_at', 'createdAt', 'emittedAtMs'])
const ids = new Set(['id', 'uuid', 'message_id', 'messageId', 'call_id', 'callID', 'tool_id', 'toolCallId'])

/**
 * What a record says, whatever the order of its keys: two copies of one record are equal. If it has an id,
 * its time does not count either. Without one, two records that differ only in their time may be two.
 * Undefined if it is not a record.
 */
function meaningOf(value: unknown): string | undefined {
  return isRecord(value) ? written(value, hasId(value, 0), 0) : undefined
}

function hasId(record: Readonly<Record<string, unknown>>, level: number): boolean {
  for (const key in record) {
    const inner = record[key]
    if (ids.has(key) && (typeof inner === 'string' || typeof inner === 'number')) return true
    if (level < 1 && isRecord(inner) && hasId(inner, level + 1)) return true
  }
  return false
}

function written(value: unknown, timeless: boolean, level: number): string {
  if (Array.isArray(value)) return `[${value.map((one) => written(one, timeless, level + 1)).join()}]`
  if (!isRecord(value)) return JSON.stringify(value)
  const keys = Object.keys(value).sort()
  const kept = timeless && level < MAX_LEVEL ? keys.filter((key) => !times.has(key)) : keys
  return `{${kept.map((key) => `${JSON.stringify(key)}:${written(value[key], timeless, level + 1)}`).join()}}`
}

/** Gap at the front that is released in one step, so that it costs little. */
const MAX_GAP = 1024

/** First in, first out, in constant time. */
export class Fifo<T> {
  readonly #items: T[] = []
  /** Position of the first remaining item. */
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  first(): T | undefined {
    return this.#items[this.#head]
  }

  /** The first item that passes, by a binary search: all items after it must pass, too. */
  find(passes: (item: T) => boolean): T | undefined {
    let low = this.#head
    let high = this.#items.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (passes(this.#items[middle]!)) high = middle
      else low = middle + 1
    }
    return this.#items[low]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head++]
    if (this.#head === this.#items.length || (this.#head > MAX_GAP && this.#head * 2 > this.#items.length)) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }
}
