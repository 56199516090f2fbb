import type { EngineFrame } from './engine.ts'
import { isRecord } from './engine.ts'

/** Characters of records of stdout that are remembered until the PTY has shown them. */
const MAX_RECENT = 1 << 17
/** Records of the PTY that are compared with one of stdout. */
const MAX_COMPARED = 256
/** Fields deeper than this are content. */
const MAX_LEVEL = 2

const times = new Set(['timestamp', 'timestamp_ms', 'ts', 'time', 'created_at', 'createdAt', 'emittedAtMs'])
const ids = new Set(['id', 'uuid', 'message_id', 'messageId', 'call_id', 'callID', 'tool_id', 'toolCallId'])

/**
 * What a record says, whatever the order of its keys: two copies of one record are equal. If it has an id,
 * its time does not count either. Without one, two records that differ only in their time may be two.
 * Undefined for what is no record.
 */
function meaningOf({ value }: EngineFrame): string | undefined {
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

/**
 * The last records of stdout that the PTY has not shown, by their key: bounded, the oldest is forgotten
 * first.
 */
export class RecentRecords {
  readonly #frames = new Map<string, EngineFrame>()
  #size = 0

  add(key: string, frame: EngineFrame): void {
    if (!isRecord(frame.value) || frame.text.length > MAX_RECENT || this.#frames.has(key)) return
    this.#frames.set(key, frame)
    this.#size += frame.text.length
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
    return this.#frames.size === 0 ? undefined : twinOf(frame, this.#frames)
  }
}

/** The oldest of these records that says the same as `frame`. */
export function twinOf<Key>(
  frame: EngineFrame,
  others: Iterable<readonly [Key, EngineFrame]>,
): Key | undefined {
  if (!isRecord(frame.value)) return undefined
  const meaning = meaningOf(frame)
  let compared = 0
  for (const [key, other] of others) {
    if (++compared > MAX_COMPARED) return undefined
    // The time may have another form, but hardly another length.
    const near = Math.abs(other.text.length - frame.text.length) <= 64
    if (near && meaningOf(other) === meaning) return key
  }
  return undefined
}
