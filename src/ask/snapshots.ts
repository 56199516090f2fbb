import { type Branch, type Completed, NOTHING, pointer } from './branch.ts'
import { GrowingValue } from './growing-value.ts'
import { seeker } from './seek.ts'

export interface SnapshotOptions {
  /** Look only inside this tag: `json` for `<json>…`. @default anywhere outside of think blocks */
  readonly tag?: string | undefined
  /** What a value may be at its root. @default 'object' */
  readonly root?: 'object' | 'any' | undefined
  /** Levels a value may be nested; a deeper one gives no further snapshots. @default 512 */
  readonly maxDepth?: number | undefined
}

/** The value as far as it is known, and what of it has become complete since the snapshot before. */
export interface Progress {
  /** One value that grows: snapshots share it, so copy what must not change. */
  readonly value: unknown
  /** JSON pointers of the values that became complete, in order; `` for the root. */
  readonly complete: readonly string[]
}

/** Finds the payload in the text of a model while it comes, and shows it growing. */
export interface Snapshots {
  /** Takes text; a snapshot if the value has begun, and something of it may have changed. */
  push(text: string): Progress | undefined
  /** The values that the last push completed, but for the deepest ones: containers and keys, outermost two levels. */
  finished(): readonly { readonly branch: Branch | undefined; readonly key: string | number }[]
  /** The payload is complete. */
  done(): boolean
}

/**
 * Makes a reader of growing text. All its work is proportional to the text, whatever the size of the
 * pieces: 1 MB in 64-byte deltas costs what 1 MB at once costs, plus a constant for each delta.
 *
 * It reads strictly: a brace in prose is passed over, and a payload that turns out to need repair gives no
 * further snapshots; the whole text is for the ladder to judge.
 *
 * @example
 * const seen = snapshots()
 * seen.push('Sure: {"name": "Al')?.value // { name: 'Al' }
 * seen.push('ex", "age": 1')?.complete   // ['/name']
 */
export function snapshots(options: SnapshotOptions = {}): Snapshots {
  const { maxDepth = 512 } = options
  const seek = seeker(options)
  let reading: GrowingValue | undefined
  /** What the last push completed. */
  let completed = NOTHING

  return {
    push(piece) {
      completed = NOTHING
      let text = piece
      let at = 0
      let sought = reading === undefined
      if (sought) text = seek.take(piece)
      while (at < text.length) {
        if (reading === undefined) {
          at = seek.from(at)
          if (at < 0) break
          reading = new GrowingValue(maxDepth)
        }
        at = reading.push(text, at)
        if (reading.begun() || !reading.failed()) break
        // A brace in prose. If it came with an earlier piece, the seeker has not seen this one yet.
        reading = undefined
        if (!sought) text = seek.take(text)
        sought = true
      }
      if (reading === undefined || reading.failed() || !reading.begun()) return undefined
      completed = reading.takeCompleted()
      return new Known(reading.root, completed)
    },
    finished() {
      const found: { branch: Branch | undefined; key: string | number }[] = []
      for (const [n, branch] of completed.branches.entries()) {
        if (branch === undefined || branch.depth < CHECKED_LEVELS)
          found.push({ branch, key: completed.keys[n]! })
      }
      return found
    },
    done: () => reading?.done() ?? false,
  }
}

/** Each part of a value is then looked at no more than three times: alone, in its parent, in the whole. */
const CHECKED_LEVELS = 2

/** A snapshot. The paths are spelled out only if somebody asks for them. */
class Known implements Progress {
  readonly value: unknown
  readonly #completed: Completed

  constructor(value: unknown, completed: Completed) {
    this.value = value
    this.#completed = completed
  }

  get complete(): readonly string[] {
    const { branches, keys } = this.#completed
    return branches.map((branch, n) => pointer(branch, keys[n]!))
  }
}
