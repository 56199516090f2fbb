import { Bytes } from '../base/platform.ts'
/**
 * The bytes of one channel that are still needed, escape sequences already removed, in one piece.
 *
 * Positions are absolute: the number of clean bytes since the channel began. Only what the scanner asks to
 * keep is held; a chunk that meets an empty tape is scanned as it is, without a copy, and a growing frame is
 * gathered in one doubling buffer (an array of pieces would cost more than it holds).
 */
export class Tape {
  /** The bytes at hand; `view[0]` stands at the absolute position `base`. */
  view: Bytes = EMPTY
  base = 0
  /** One past the last clean byte. */
  end = 0
  /** Bytes removed so far, over the whole channel. */
  #removed = 0
  /** Bytes removed before `view[0]`. */
  #removedAtBase = 0
  /** From the clean position `at` on, `removed` bytes had been taken out before. */
  #marks: Mark[] = []
  /** Where the last search among the marks ended. */
  #near = 0
  /** The buffer that `view` looks into, if it is ours to write to. */
  #own: Bytes | undefined
  /** The bytes that were removed, one behind the other, if the tape was asked to keep them. */
  #taken: Taken | undefined

  /** So many bytes will be held at most: the limit of a frame and the chunk that reaches it. */
  readonly #roof: number
  readonly #maxFrame: number

  /** `keepsRemoved`: the original bytes of a range can be asked for. */
  constructor(maxFrame: number, keepsRemoved = false) {
    this.#roof = maxFrame + MAX_CHUNK
    this.#maxFrame = maxFrame
    this.#taken = keepsRemoved ? new Taken() : undefined
  }

  /** Adds clean bytes. They may be looked at in place until the next `settle`. */
  append(chunk: Bytes): void {
    const live = this.end - this.base
    if (live === 0) this.view = chunk
    else {
      const own = this.#own
      // While a frame grows it stays where it is: only a tape that was let go of moves to a smaller buffer.
      const fits = own && own.buffer === this.view.buffer && own.length >= live + chunk.length
      const room = fits ? own : this.#roomFor(live + chunk.length)
      if (this.view.buffer !== room.buffer) room.set(this.view)
      room.set(chunk, live)
      this.view = room.subarray(0, live + chunk.length)
    }
    this.end += chunk.length
  }

  /** Lets go of everything before `keep`, and of the caller's chunk: what is left is a copy of our own. */
  settle(keep: number): void {
    // What was removed further back than a frame is long belongs to no frame that is still to come.
    this.#taken?.forget(Math.max(this.#removedAtBase, this.#removed - this.#maxFrame))
    const left = this.view.subarray(keep - this.base)
    if (left.length === 0) {
      this.view = EMPTY
      if (this.#own && this.#own.length > SMALL) this.#own = undefined
    } else if (keep > this.base || left.buffer !== this.#own?.buffer) {
      // In our own buffer the bytes move only when half of it is behind us, so moving stays linear.
      if (left.buffer === this.#own?.buffer && keep - this.base < left.length) return
      // A line that goes on after its first piece was let go will need all of the buffer again.
      const own = this.#own
      const room = own && left.buffer === own.buffer ? own : this.#roomFor(left.length)
      room.set(left)
      this.view = room.subarray(0, left.length)
    }
    this.base = keep
    if (this.#marks.length > 0) this.#forgetMarks()
  }

  /** Passes over bytes that no one will look at. Only while nothing is held. */
  skip(size: number): void {
    this.base += size
    this.end += size
  }

  /** Says that these bytes of the original were taken out here. */
  remove(chunk: Bytes, from: number, to: number): void {
    const last = this.#marks.at(-1)
    this.#removed += to - from
    this.#taken?.add(chunk, from, to)
    if (last?.at === this.end) last.removed = this.#removed
    else this.#marks.push({ at: this.end, removed: this.#removed })
  }

  /** Where the clean byte at `position` stood in the original channel. */
  origin(position: number): number {
    if (this.#marks.length === 0) return position + this.#removed
    const mark = this.#marks[this.#markBefore(position)]
    return position + (mark ? mark.removed : this.#removedAtBase)
  }

  /** Whether something was taken out of the bytes at hand, or right before them. */
  get isMarked(): boolean {
    return this.#marks.length > 0
  }

  /** The original length of everything taken so far. */
  get originEnd(): number {
    return this.end + this.#removed
  }

  /** The first clean position that stood at or after `origin`; past the end if it is not here yet. */
  positionOf(origin: number): number {
    // Past the end, where the limit of nearly every frame is, all that was removed is before it.
    if (origin >= this.originEnd || this.#marks.length === 0) return origin - this.#removed
    const index = this.#lastMark((m) => m.at + m.removed <= origin)
    const mark = this.#marks[index]
    const position = origin - (mark ? mark.removed : this.#removedAtBase)
    const next = this.#marks[index + 1]
    return next ? Math.min(position, next.at) : position
  }

  /** Whether something was taken out between the first and the last byte of a range. */
  isInterrupted(from: number, to: number): boolean {
    if (this.#marks.length === 0) return false
    const mark = this.#marks[this.#markBefore(from) + 1]
    return mark !== undefined && mark.at < to
  }

  /** The positions in a range before which something was taken out. */
  interruptions(from: number, to: number): number[] {
    const positions: number[] = []
    for (let index = this.#markBefore(from) + 1; index < this.#marks.length; index++) {
      const { at } = this.#marks[index]!
      if (at >= to) break
      positions.push(at)
    }
    return positions
  }

  /** The bytes of a range as they were, if the tape keeps what it removes; otherwise, or if nothing was, as they are. */
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

  /** A buffer of ours with room for `size` bytes. It may be the one in use. */
  #roomFor(size: number): Bytes {
    const own = this.#own
    if (own && own.length >= size && (own.length <= SMALL || size > own.length >> 5)) return own
    // A frame that outgrows a few chunks may go on to the limit: room for all of it at once spares the copies,
    // and costs nothing before it is filled, because untouched pages are not memory yet.
    const large = Math.max(2 * size, Math.min(this.#roof, LARGE))
    const capacity = size <= SHORT ? Math.max(2 * size, LEAST) : size <= SMALL ? SMALL : large
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
    // Without marks `origin` answers by one addition; a mark at the base is worth that, too.
    if (this.#marks.length === 0) this.#removedAtBase = this.#removed
  }

  /** Index of the last mark at or before a position. Positions are asked for in order, so it is near the last one. */
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
 * The removed bytes of a channel that may still be asked for, in one growing buffer: an array of pieces would cost
 * more than it holds. Places are numbers of removed bytes since the channel began.
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
    // A loop: nearly every sequence is shorter than the call of a native copy is long.
    for (let index = from; index < to; index++) this.#bytes[at++] = chunk[index]!
    this.#to += to - from
  }

  forget(before: number): void {
    if (before >= this.#to) {
      this.#from = this.#to
      if (this.#bytes.length > SMALL) this.#bytes = EMPTY
      return
    }
    // The bytes move only when half of them are behind us, so moving stays linear.
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
/** What one portion of a flow brings at most. */
const MAX_CHUNK = 1 << 20
/** A caller that parses many short texts makes a buffer for each, so it should be no larger than needed. */
const LEAST = 1 << 10
const SHORT = 1 << 14
/** A few chunks of a pipe. Larger buffers are given back when they are empty. */
const SMALL = 1 << 18
/** The most that is set aside in advance. */
const LARGE = 1 << 25
