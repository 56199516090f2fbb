import { Bytes } from '../base/platform.ts'
/**
 * The bytes of one channel that are still needed, escape sequences already removed, in one piece.
 *
 * Positions are absolute: the number of clean bytes since the channel began. Only what the scanner wants to
 * keep is held; a chunk that arrives on an empty tape is scanned in place, without a copy, and a growing
 * frame is gathered in one doubling buffer (an array of pieces would cost more than it holds).
 */
export class Tape {
  /** The bytes in the buffer; `view[0]` is at the absolute position `base`. */
  view: Bytes = EMPTY
  base = 0
  /** One past the last clean byte. */
  end = 0
  /** Bytes removed so far, over the whole channel. */
  #removed = 0
  /** Bytes removed before `view[0]`. */
  #removedAtBase = 0
  /** Before the clean position `at`, `removed` bytes of the channel were removed. */
  #marks: Mark[] = []
  /** Where the last search among the marks ended. */
  #near = 0
  /** A buffer that is ours to write to. */
  #own: Bytes | undefined
  /** Whether `view` is the start of it. */
  #isOwn = false
  /** The bytes that were removed, in order, if the tape was asked to keep them. */
  #taken: Taken | undefined

  /** Maximum number of bytes to hold: the limit of a frame and the chunk that reaches it. */
  readonly #roof: number
  readonly #maxFrame: number

  /** `keepsRemoved`: the original bytes of a range can be read back. */
  constructor(maxFrame: number, keepsRemoved = false) {
    this.#roof = maxFrame + MAX_CHUNK
    this.#maxFrame = maxFrame
    this.#taken = keepsRemoved ? new Taken() : undefined
  }

  /** Adds clean bytes. They are read in place until the next `settle`. */
  append(chunk: Bytes): void {
    const live = this.end - this.base
    if (live === 0) this.view = chunk
    else {
      const own = this.#isOwn ? this.#own : undefined
      // While a frame grows, its buffer stays: only a tape that was emptied moves to a smaller one.
      const room = own && own.length >= live + chunk.length ? own : this.#roomFor(live + chunk.length)
      if (room !== own) room.set(this.view)
      room.set(chunk, live)
      this.#isOwn = true
      this.view = room.subarray(0, live + chunk.length)
    }
    this.end += chunk.length
  }

  /** Drops everything before `keep`, and the reference to the caller's chunk: what is left is copied. */
  settle(keep: number): void {
    // What was removed further back than the length of a frame belongs to no frame that can still come.
    this.#taken?.forget(Math.max(this.#removedAtBase, this.#removed - this.#maxFrame))
    const left = this.end - keep
    if (left === 0) {
      this.view = EMPTY
      this.#isOwn = false
      if (this.#own && this.#own.length > MEDIUM) this.#own = undefined
    } else if (this.#isOwn && keep - this.base < left) {
      // In our own buffer the bytes move only after half of it was consumed, so moving stays linear.
      if (keep > this.base) return
    } else {
      // A line that continues after its first piece was dropped will need all of the buffer again.
      const room = this.#isOwn ? this.#own! : this.#roomFor(left)
      room.set(this.view.subarray(keep - this.base))
      this.#isOwn = true
      this.view = room.subarray(0, left)
    }
    this.base = keep
    if (this.#marks.length > 0) this.#forgetMarks()
  }

  /** Skips bytes without reading them. Only while nothing is held. */
  skip(size: number): void {
    this.base += size
    this.end += size
  }

  /** Records that these bytes of the original were removed here. */
  remove(chunk: Bytes, from: number, to: number): void {
    const last = this.#marks.at(-1)
    this.#removed += to - from
    this.#taken?.add(chunk, from, to)
    if (last?.at === this.end) last.removed = this.#removed
    else this.#marks.push({ at: this.end, removed: this.#removed })
  }

  /** Offset of the clean byte at `position` in the original channel. */
  origin(position: number): number {
    if (this.#marks.length === 0) return position + this.#removed
    const mark = this.#marks[this.#markBefore(position)]
    return position + (mark ? mark.removed : this.#removedAtBase)
  }

  /** Whether something was removed from the bytes in the buffer, or right before them. */
  get isMarked(): boolean {
    return this.#marks.length > 0
  }

  /** The original length of everything read so far. */
  get originEnd(): number {
    return this.end + this.#removed
  }

  /** The first clean position that was at or after `origin`; past the end if it has not arrived yet. */
  positionOf(origin: number): number {
    // Past the end, where the limit of nearly every frame is, everything removed is before it.
    if (origin >= this.originEnd || this.#marks.length === 0) return origin - this.#removed
    const index = this.#lastMark((m) => m.at + m.removed <= origin)
    const mark = this.#marks[index]
    const position = origin - (mark ? mark.removed : this.#removedAtBase)
    const next = this.#marks[index + 1]
    return next ? Math.min(position, next.at) : position
  }

  /** Whether something was removed between the first and the last byte of a range. */
  isInterrupted(from: number, to: number): boolean {
    if (this.#marks.length === 0) return false
    const mark = this.#marks[this.#markBefore(from) + 1]
    return mark !== undefined && mark.at < to
  }

  /** The positions in a range before which something was removed. */
  interruptions(from: number, to: number): number[] {
    const positions: number[] = []
    for (let index = this.#markBefore(from) + 1; index < this.#marks.length; index++) {
      const { at } = this.#marks[index]!
      if (at >= to) break
      positions.push(at)
    }
    return positions
  }

  /** The original bytes of a range, if the tape keeps what it removes; else the clean ones. */
  original(from: number, to: number): Bytes {
    const clean = this.view.subarray(from - this.base, to - this.base)
    const taken = this.#taken
    if (!taken || !this.isInterrupted(from, to)) return clean
    const first = this.#markBefore(from)
    let removed = first < 0 ? this.#removedAtBase : this.#marks[first]!.removed
    let at = from
    const pieces: Bytes[] = []
    for (let index = first + 1; index < this.#marks.length; index++) {
      const mark = this.#marks[index]!
      if (mark.at >= to) break
      pieces.push(clean.subarray(at - from, mark.at - from), taken.slice(removed, mark.removed))
      removed = mark.removed
      at = mark.at
    }
    pieces.push(clean.subarray(at - from))
    return Bytes.concat(pieces)
  }

  /** An own buffer with room for `size` bytes. It may be the current one. */
  #roomFor(size: number): Bytes {
    const own = this.#own
    if (own && own.length >= size && (own.length <= MEDIUM || size > own.length >> 5)) return own
    // A frame larger than a few chunks may grow to the limit: reserving all of it at once saves the copies,
    // and costs no memory before it is filled. V8 counts all of it, though, and starts a full garbage
    // collection after two of them, so that records of tool output, mostly under 1 MiB, get less.
    const large = Math.max(2 * size, Math.min(this.#roof, LARGE))
    const usual = size <= SMALL ? SMALL : size <= MEDIUM ? MEDIUM : large
    const capacity = size <= SHORT ? Math.max(2 * size, LEAST) : usual
    this.#own = Bytes.allocUnsafeSlow(capacity)
    return this.#own
  }

  /** Marks before the base only matter as a sum. */
  #forgetMarks(): void {
    const index = this.#markBefore(this.base)
    const mark = this.#marks[index]
    if (!mark) return
    this.#removedAtBase = mark.removed
    this.#marks.splice(0, index + 1)
    this.#near = 0
    // Without marks `origin` is one addition; that is worth dropping a mark at the base, too.
    if (this.#marks.length === 0) this.#removedAtBase = this.#removed
  }

  /** Index of the last mark at or before a position. Queries come in order, so it is near the last one. */
  #markBefore(position: number): number {
    const marks = this.#marks
    let index = this.#near
    if (index >= marks.length || marks[index]!.at > position) index = this.#lastMark((m) => m.at <= position)
    for (let steps = 0; index + 1 < marks.length && marks[index + 1]!.at <= position; index++) {
      if (++steps > 4) {
        index = this.#lastMark((m) => m.at <= position)
        break
      }
    }
    this.#near = Math.max(0, index)
    return index
  }

  /** Index of the last mark for which `holds` is true; it is true for a prefix of the list. */
  #lastMark(holds: (mark: Mark) => boolean): number {
    let low = 0
    let high = this.#marks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (holds(this.#marks[middle]!)) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}

/**
 * The removed bytes of a channel that may still be needed, in one growing buffer: an array of pieces would
 * cost more than it holds. Positions count removed bytes since the channel began.
 */
class Taken {
  #bytes = EMPTY
  #from = 0
  #to = 0

  add(chunk: Bytes, from: number, to: number): void {
    let at = this.#to - this.#from
    if (at + to - from > this.#bytes.length) {
      const grown = Bytes.allocUnsafeSlow(2 * (at + to - from) + LEAST)
      grown.set(this.#bytes.subarray(0, at))
      this.#bytes = grown
    }
    // A loop: nearly every sequence is too short for a native copy to pay off.
    for (let index = from; index < to; index++) this.#bytes[at++] = chunk[index]!
    this.#to += to - from
  }

  forget(before: number): void {
    if (before >= this.#to) {
      this.#from = this.#to
      if (this.#bytes.length > SMALL) this.#bytes = EMPTY
      return
    }
    // The bytes move only after half of them were consumed, so moving stays linear.
    if (before - this.#from <= this.#to - before) return
    this.#bytes.copyWithin(0, before - this.#from, this.#to - this.#from)
    this.#from = before
  }

  /** A view, to be copied at once. */
  slice(from: number, to: number): Bytes {
    return this.#bytes.subarray(from - this.#from, to - this.#from)
  }
}

interface Mark {
  readonly at: number
  removed: number
}

const EMPTY = Bytes.alloc(0)
/** Maximum size of one portion of a flow. */
const MAX_CHUNK = 1 << 20
/** A caller that parses many short texts creates a buffer for each, so it should be small. */
const LEAST = 1 << 10
const SHORT = 1 << 14
/** A few chunks of a pipe. */
const SMALL = 1 << 18
/** Larger buffers are released when they are empty. */
const MEDIUM = 1 << 20
/** Maximum to reserve in advance. */
const LARGE = 1 << 25
