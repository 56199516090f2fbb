import type { OutputChannel } from '../text/chunk.ts'
import { holdsC1Lead, LINE_COST, shownText } from '../text/lines.ts'
import { type EngineFrame, isRecord } from './engine.ts'
import type { Position } from './position.ts'
import { PtyOrder, PtyPosition } from './pty-order.ts'
import { Fifo, Outstanding, RecentRecords, twinOf } from './same-record.ts'

interface DedupeOptions {
  /** A digest of at least 128 bits of a cryptographic hash. */
  readonly hash: (text: string | Uint8Array) => string
  /** Records that may wait for their twin (the same record on the other channel), per channel. */
  readonly window: number
  /** Characters of PTY records that may wait. */
  readonly maxHeld: number
  /** Passes a frame on; `late` means that its twin may have been forgotten. */
  readonly pass: (frame: EngineFrame, how: 'first' | 'pty-only' | 'late', position: Position) => void
  /** The PTY has shown one more record of stdout. */
  readonly settled?: (() => void) | undefined
}

/**
 * Lets every record through once, though stdout and the PTY both have it: the kth on one pairs with the
 * kth on the other, two from one channel are never merged. stdout is authoritative; a PTY record waits for
 * its twin (the same bytes, or a record that says the same), and is emitted from the PTY when a later record
 * pairs, or at the end. If there is stderr, too, a later record must have paired with each: otherwise the
 * record might still turn out to be stderr's, and what was written there must not count as the agent's.
 * Without stdout, PTY records are emitted at once.
 *
 * Each frame comes with its position in the run, because a record of the PTY can be emitted long after the
 * records that follow it. Only the difference between the channels is held: digests of what was emitted, text
 * of what waits.
 */
export class Dedupe {
  readonly #options: DedupeOptions
  readonly #hash: DedupeOptions['hash']
  readonly #pass: DedupeOptions['pass']
  readonly #seen = { stdout: false, stderr: false, pty: false }
  /** A pipe has written what may be a C1 control, which a terminal does not show. */
  #steers = false
  /** All channels are known, so no twin can come from another one. */
  #announced = false
  /** Emitted, twin not seen yet. */
  readonly #emitted: Readonly<Record<OutputChannel, Outstanding>>
  /** Emitted before there was a PTY: hashed once there is one, or when there are too many of them. */
  readonly #unhashed = new Fifo<Emitted>()
  #unhashedSize = 0
  /** PTY records that wait for their twin, in order. */
  readonly #records = new Map<number, Waiting>()
  /** PTY lines that wait for the end: they may be stderr's, whose order to stdout is unknown. */
  readonly #lines = new Map<number, Waiting>()
  readonly #waitingByKey = new Map<string, Fifo<number>>()
  readonly #elsewhere = new WeakMap<readonly string[], boolean>()
  #nextId = 0
  #heldSize = 0
  /** Number of pairs. */
  #paired = 0
  /**
   * The PTY id up to which each channel was seen: a record that waits before that finds no twin there,
   * because channels keep their order.
   */
  readonly #heard = { stdout: 0, stderr: 0 }
  /** Records before this PTY id were there when all was read the last time. */
  #wereThere = 0
  /** Records of stdout so far. */
  #written = 0
  readonly #ptyOrder: PtyOrder
  /** Records of stdout whose twin on the PTY may differ: in time, in the order of its keys. */
  readonly #recent = new RecentRecords()
  /** The last record on the PTY, if stdout does not have it yet. */
  #lastOwn: Own | undefined

  constructor(options: DedupeOptions) {
    this.#options = options
    this.#hash = options.hash
    this.#pass = options.pass
    this.#emitted = {
      stdout: new Outstanding(options.window),
      stderr: new Outstanding(options.window),
      pty: new Outstanding(options.window),
    }
    // What was emitted is older than what waits.
    this.#ptyOrder = new PtyOrder(options.window, (key, last) => {
      const emitted = this.#emitted.pty.find(key, ({ behind }) => behind > last)
      return emitted?.behind ?? this.#waitingByKey.get(key)?.find((id) => id > last)
    })
  }

  /** Sets the complete list of channels; a later list lacks those that have ended. */
  announce(channels: readonly OutputChannel[]): void {
    this.#announced = true
    for (const channel of channels) this.#see(channel)
    if (!this.#seen.stderr || channels.includes('stderr')) return
    this.#heard.stderr = Number.POSITIVE_INFINITY
    this.#settle()
  }

  /** All input was read and nothing arrived for a while: records that waited last time, too, have no twin. */
  still(): void {
    this.#emitBefore(this.#wereThere)
    this.#wereThere = this.#nextId
  }

  /** Bytes of this channel have arrived. */
  saw(channel: OutputChannel, bytes: Uint8Array): void {
    if (channel !== 'pty') this.#steers ||= holdsC1Lead(bytes)
    if (this.#seen[channel]) return
    this.#see(channel)
    this.#announced = false
  }

  #see(channel: OutputChannel): void {
    this.#seen[channel] = true
    while (this.#seen.pty && this.#unhashed.length > 0) this.#hashOldest()
  }

  /** True if this PTY line has a twin: both are done, and the line need not even be decoded. */
  hasTwin(line: Uint8Array): boolean {
    return this.#emitted.stdout.size + this.#emitted.stderr.size > 0 && this.#cancel(this.#hash(line))
  }

  admit(frame: EngineFrame): void {
    // What we sent to the agent is on no other channel.
    if (frame.channel === 'stdin')
      this.#pass(frame, 'first', { ...this.#pipePosition('stderr'), channel: 'stdin' })
    else if (frame.blank) {
      // It reports nothing, so it gets the position of the record before it.
      const { channel } = frame
      if (channel !== 'pty') this.#pass(frame, 'first', { channel, after: this.#written - 1, behind: -1 })
      else if (!this.#seen.stdout)
        this.#pass(frame, 'first', { channel, after: this.#ptyOrder.shown, behind: this.#nextId - 1 })
    } else if (frame.channel === 'pty') this.#admitPty(frame)
    else this.#admitOther(frame.channel, frame)
  }

  end(): void {
    this.#ptyOrder.end()
    for (const id of [...this.#records.keys(), ...this.#lines.keys()].sort((a, b) => a - b))
      this.#emitFromPty(id, this.#forgotten() > 0)
  }

  /** Whether all records of the PTY before this position are known: it has shown it, or there is no PTY. */
  isSettled({ channel, after }: Position): boolean {
    if (this.#alone() || !this.#seen.pty || channel === 'pty') return true
    return this.#ptyOrder.shown >= after && this.#records.size === 0
  }

  /** Numbers of pairs and of held records; tests check the bound with it. */
  counts(): { paired: number; forgotten: number; held: number } {
    const { stdout, stderr, pty } = this.#emitted
    return {
      paired: this.#paired,
      forgotten: this.#forgotten(),
      held:
        this.#records.size + this.#lines.size + stdout.size + stderr.size + pty.size + this.#unhashed.length,
    }
  }

  #forgotten(): number {
    const { stdout, stderr, pty } = this.#emitted
    return stdout.forgotten + stderr.forgotten + pty.forgotten
  }

  /**
   * Line breaks do not count: those outside strings may be the document's, or the terminal's. The text of a
   * pipe is compared as a terminal shows it.
   */
  #keyOf({ channel, text }: Pick<EngineFrame, 'channel' | 'text'>): string {
    const shown = this.#steers && channel !== 'pty' ? shownText(text) : text
    return this.#hash(shown.includes('\n') ? shown.replaceAll('\n', '') : shown)
  }

  #ptyPosition(): PtyPosition {
    return this.#ptyOrder.position(this.#nextId++, this.#alone())
  }

  #wait(key: string, frame: EngineFrame): void {
    const position = this.#ptyPosition()
    const id = position.behind
    const size = frame.text.length + LINE_COST * (frame.pieces?.length ?? 0)
    // A line between two records does not separate them.
    const own = frame.value === undefined ? undefined : { shared: false, last: false }
    ;(own ? this.#records : this.#lines).set(id, { key, frame, size, position, behind: this.#lastOwn, own })
    this.#lastOwn = own ?? this.#lastOwn
    this.#ptyOrder.claim(id, key)
    this.#heldSize += size
    const queue = this.#waitingByKey.get(key) ?? new Fifo()
    queue.push(id)
    this.#waitingByKey.set(key, queue)
  }

  /** Stops waiting. Of equal records the oldest always leaves first, so it is the head of its queue. */
  #leave(id: number): Waiting {
    const place = this.#records.has(id) ? this.#records : this.#lines
    const waited = place.get(id)!
    place.delete(id)
    this.#heldSize -= waited.size
    const queue = this.#waitingByKey.get(waited.key)!
    queue.shift()
    if (queue.length === 0) this.#waitingByKey.delete(waited.key)
    return waited
  }

  /** Emits a record from the PTY. If its twin arrives after all, that one is dropped. */
  #emitFromPty(id: number, late: boolean): void {
    const { key, frame, position, behind: following, own } = this.#leave(id)
    if (frame.pieces && this.#belongsElsewhere(frame.pieces)) {
      this.#paired++
      return
    }
    this.#emitted.pty.add(key, position)
    const extra = own && { first: !following || following.shared, last: own.last }
    this.#pass(extra ? { ...frame, extra } : frame, late ? 'late' : 'pty-only', position)
  }

  /** Whether another channel had the lines of a frame as plain ones: one answer for all their frames. */
  #belongsElsewhere(pieces: readonly string[]): boolean {
    const known = this.#elsewhere.get(pieces)
    if (known !== undefined) return known
    const keys = pieces.filter((piece) => piece !== '').map((piece) => this.#hash(piece))
    const found = this.#forgetAll('stdout', keys) || this.#forgetAll('stderr', keys)
    this.#elsewhere.set(pieces, found)
    return found
  }

  /** Removes all of these, or none. */
  #forgetAll(channel: OutputChannel, keys: readonly string[]): boolean {
    const wanted = new Map<string, number>()
    for (const key of keys) wanted.set(key, (wanted.get(key) ?? 0) + 1)
    for (const [key, count] of wanted) if (this.#emitted[channel].count(key) < count) return false
    for (const key of keys) this.#emitted[channel].take(key)
    return true
  }

  /** The PTY record at `id` has paired: records that wait before it may have no twin any more. */
  #pair(id: number, twin: Position): void {
    this.#paired++
    const channel = twin.channel === 'stderr' ? 'stderr' : 'stdout'
    this.#heard[channel] = Math.max(this.#heard[channel], id)
    this.#settle()
  }

  #settle(): void {
    const { stdout, stderr } = this.#heard
    this.#emitBefore(this.#seen.stderr ? Math.min(stdout, stderr) : stdout)
  }

  /** Emits the records that wait and are earlier on the PTY. */
  #emitBefore(id: number): void {
    for (const earlier of this.#records.keys()) {
      if (earlier >= id) break
      this.#emitFromPty(earlier, this.#forgotten() > 0)
    }
    this.#options.settled?.()
  }

  /** Removes the twin of a PTY text, if stdout or stderr had one. */
  #cancel(key: string): boolean {
    const twin = this.#emitted.stdout.take(key) ?? this.#emitted.stderr.take(key)
    if (!twin) return false
    if (this.#emitted.stdout.count(key) === 0) this.#recent.delete(key)
    const id = this.#nextId++
    if (twin.channel === 'stdout') {
      this.#ptyOrder.show(id, twin.after, key)
      if (this.#lastOwn) this.#lastOwn.last = true
      this.#lastOwn = undefined
    }
    this.#pair(id, twin)
    return true
  }

  #admitPty(frame: EngineFrame): void {
    if (this.#alone()) {
      this.#pass(frame, 'first', this.#ptyPosition())
      return
    }
    const key = this.#keyOf(frame)
    if (this.#cancel(key)) return
    const other = this.#recent.keyOf(frame)
    if (other !== undefined && this.#cancel(other)) return
    if (!this.#seen.stdout) {
      const position = this.#ptyPosition()
      this.#emitted.pty.add(key, position)
      this.#pass(frame, 'first', position)
      return
    }
    this.#wait(key, frame)
    const { window, maxHeld } = this.#options
    while (this.#records.size + this.#lines.size > window || this.#heldSize > maxHeld)
      this.#emitFromPty(this.#oldest(), true)
  }

  #oldest(): number {
    const [record = this.#nextId] = this.#records.keys()
    const [line = this.#nextId] = this.#lines.keys()
    return Math.min(record, line)
  }

  #pipePosition(channel: 'stdout' | 'stderr'): Position {
    return channel === 'stdout'
      ? { channel, after: this.#written++, behind: -1 }
      : { channel, after: this.#written - 1, behind: Number.POSITIVE_INFINITY }
  }

  #admitOther(channel: 'stdout' | 'stderr', frame: EngineFrame): void {
    const position = this.#pipePosition(channel)
    if (this.#alone()) {
      this.#pass(frame, 'first', position)
      return
    }
    const { text, value } = frame
    if (!this.#seen.pty) {
      this.#unhashed.push({ channel, text, isRecord: isRecord(value), position })
      this.#unhashedSize += text.length
      while (this.#unhashedSize > MAX_UNHASHED) this.#hashOldest()
      this.#pass(frame, 'first', position)
      return
    }
    const key = this.#keyOf(frame)
    // What was emitted is older than what waits.
    const reported = this.#emitted.pty.take(key)
    if (reported) {
      this.#paired++
      if (channel === 'stderr') return
      if (!(reported instanceof PtyPosition)) return
      this.#ptyOrder.write(reported.behind, position.after, key)
      reported.become(position.after)
      return
    }
    const id = this.#waitingByKey.get(key)?.first() ?? this.#waitingTwin(channel, frame)
    if (id === undefined) {
      this.#emit(key, { channel, text, isRecord: isRecord(value), position })
    } else {
      const { behind: following, own } = this.#leave(id)
      if (channel === 'stdout') {
        if (following) following.last = true
        if (own) own.shared = true
        this.#ptyOrder.write(id, position.after, key)
      }
      this.#pair(id, position)
    }
    this.#pass(frame, 'first', position)
  }

  #emit(key: string, { channel, text, isRecord, position }: Emitted): void {
    this.#emitted[channel].add(key, position)
    if (channel === 'stdout' && isRecord) this.#recent.add(key, text)
  }

  #hashOldest(): void {
    const oldest = this.#unhashed.shift()!
    this.#unhashedSize -= oldest.text.length
    this.#emit(this.#keyOf(oldest), oldest)
  }

  /** The record of the PTY that waits and says the same as this one of stdout. */
  #waitingTwin(channel: OutputChannel, frame: EngineFrame): number | undefined {
    if (channel !== 'stdout' || this.#records.size === 0 || frame.value === undefined) return undefined
    return twinOf(frame, framesOf(this.#records))
  }

  /** No twin can come. */
  #alone(): boolean {
    return this.#announced && !(this.#seen.pty && (this.#seen.stdout || this.#seen.stderr))
  }
}

function* framesOf(waiting: ReadonlyMap<number, Waiting>): Generator<readonly [number, EngineFrame]> {
  for (const [id, { frame }] of waiting) yield [id, frame]
}

/** Characters to hold unhashed, in case there is never a PTY: most runs have none. */
const MAX_UNHASHED = 1 << 22

/** A record that a pipe had and the PTY may still show. */
interface Emitted {
  readonly channel: 'stdout' | 'stderr'
  readonly text: string
  readonly isRecord: boolean
  readonly position: Position
}

interface Waiting {
  readonly key: string
  readonly frame: EngineFrame
  /** Its size, counted against `maxHeld`. */
  readonly size: number
  readonly position: Position
  /** The record before it on the PTY, if that waited, too. */
  readonly behind: Own | undefined
  /** For a record. */
  readonly own: Own | undefined
}

/** State of a record that the PTY had before stdout, or alone. */
interface Own {
  /** stdout has it as well. */
  shared: boolean
  /** stdout has what follows it on the PTY. */
  last: boolean
}
