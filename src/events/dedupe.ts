import type { Channel } from '../text/chunk.ts'
import { shownText } from '../text/lines.ts'
import { Anchors, PtyPosition } from './anchors.ts'
import type { EngineFrame } from './engine.ts'
import { Fifo } from './fifo.ts'
import { Outstanding } from './outstanding.ts'
import type { Position } from './position.ts'

/** Cost of each line of a joined record in addition to its text. */
const LINE_COST = 64

interface UniqueOptions {
  /** A digest of at least 128 bits of a cryptographic hash. */
  readonly hash: (text: string | Uint8Array) => string
  /** Records that may wait for their twin (the same record on the other channel), per channel. */
  readonly window: number
  /** Characters of PTY records that may wait. */
  readonly maxHeld: number
  /** Passes a frame on; `late` means that its twin may have been forgotten. */
  readonly pass: (frame: EngineFrame, how: 'first' | 'pty-only' | 'late', position: Position) => void
}

/**
 * Lets every record through once, though stdout and the PTY both have it: the kth on one pairs with the
 * kth on the other, two from one channel are never merged. stdout is authoritative; a PTY record waits for
 * its twin, and is emitted from the PTY when a later record pairs, or at the end. If there is stderr, too, a
 * later record must have paired with each: otherwise the record might still turn out to be stderr's, and
 * what was written there must not count as the agent's. Without stdout, PTY records are emitted at once.
 *
 * Each frame comes with its position in the run, because a record of the PTY can be emitted long after the
 * records that follow it. Only the difference between the channels is held: digests of what was emitted, text
 * of what waits.
 */
export function dedupe(options: UniqueOptions) {
  const { hash, window, maxHeld, pass } = options
  const seen = { stdout: false, stderr: false, pty: false }
  /** All channels are known, so no twin can come from another one. */
  let announced = false
  /** Emitted, twin not seen yet. */
  const emitted = {
    stdout: new Outstanding(window),
    stderr: new Outstanding(window),
    pty: new Outstanding(window),
  }
  const forgotten = () => emitted.stdout.forgotten + emitted.stderr.forgotten + emitted.pty.forgotten
  /** PTY records that wait for their twin, in order. */
  const records = new Map<number, Waiting>()
  /**
   * PTY lines that wait. They may be stderr's, whose order relative to stdout is unknown: they wait for the
   * end.
   */
  const lines = new Map<number, Waiting>()
  const waitingByKey = new Map<string, Fifo<number>>()
  const elsewhere = new WeakMap<readonly string[], boolean>()
  let nextId = 0
  let heldSize = 0
  /** Number of pairs. */
  let paired = 0
  /**
   * The PTY id up to which each channel was seen: a record that waits before that finds no twin there,
   * because channels keep their order.
   */
  const heard = { stdout: 0, stderr: 0 }
  /** Records of stdout so far. */
  let written = 0
  const anchors = new Anchors(window)
  /** The last record on the PTY, if stdout does not have it yet. */
  let lastOwn: Own | undefined

  /**
   * Line breaks do not count: those outside strings may be the document's, or the terminal's. The text of a
   * pipe is compared as a terminal shows it.
   */
  const keyOf = ({ channel, text }: EngineFrame) => {
    const shown = channel === 'pty' ? text : shownText(text)
    return hash(shown.includes('\n') ? shown.replaceAll('\n', '') : shown)
  }

  const ptyPosition = () => anchors.position(nextId++, alone())

  const wait = (key: string, frame: EngineFrame) => {
    const position = ptyPosition()
    const id = position.behind
    const size = frame.text.length + LINE_COST * (frame.pieces?.length ?? 0)
    // A line between two records does not separate them.
    const own = frame.value === undefined ? undefined : { shared: false, last: false }
    ;(own ? records : lines).set(id, { key, frame, size, position, behind: lastOwn, own })
    lastOwn = own ?? lastOwn
    anchors.claim(id, key)
    heldSize += size
    const queue = waitingByKey.get(key) ?? new Fifo()
    queue.push(id)
    waitingByKey.set(key, queue)
  }

  /** Stops waiting. Of equal records the oldest always leaves first, so it is the head of its queue. */
  const leave = (id: number): Waiting => {
    const place = records.has(id) ? records : lines
    const waited = place.get(id)!
    place.delete(id)
    heldSize -= waited.size
    const queue = waitingByKey.get(waited.key)!
    queue.shift()
    if (queue.length === 0) waitingByKey.delete(waited.key)
    return waited
  }

  /** Emits a record from the PTY. If its twin arrives after all, that one is dropped. */
  const emitFromPty = (id: number, late: boolean) => {
    const { key, frame, position, behind: following, own } = leave(id)
    if (frame.pieces && belongsElsewhere(frame.pieces)) {
      paired++
      return
    }
    emitted.pty.add(key, position)
    const extra = own && { first: !following || following.shared, last: own.last }
    pass(extra ? { ...frame, extra } : frame, late ? 'late' : 'pty-only', position)
  }

  /**
   * Whether another channel had the lines that a frame was cut from, as plain lines. All frames cut from them
   * share the answer.
   */
  const belongsElsewhere = (pieces: readonly string[]): boolean => {
    const known = elsewhere.get(pieces)
    if (known !== undefined) return known
    const keys = pieces.filter((piece) => piece !== '').map((piece) => hash(piece))
    const found = forgetAll('stdout', keys) || forgetAll('stderr', keys)
    elsewhere.set(pieces, found)
    return found
  }

  /** Removes all of these, or none. */
  const forgetAll = (channel: Channel, keys: readonly string[]): boolean => {
    const wanted = new Map<string, number>()
    for (const key of keys) wanted.set(key, (wanted.get(key) ?? 0) + 1)
    for (const [key, count] of wanted) if (emitted[channel].count(key) < count) return false
    for (const key of keys) emitted[channel].take(key)
    return true
  }

  /** The PTY record at `id` has paired: records that wait before it may have no twin any more. */
  const pair = (id: number, twin: Position) => {
    paired++
    const channel = twin.channel === 'stderr' ? 'stderr' : 'stdout'
    heard[channel] = Math.max(heard[channel], id)
    const settled = seen.stderr ? Math.min(heard.stdout, heard.stderr) : heard.stdout
    for (const earlier of records.keys()) {
      if (earlier >= settled) break
      emitFromPty(earlier, forgotten() > 0)
    }
  }

  /** Removes the twin of a PTY text, if stdout or stderr had one. */
  const cancel = (key: string): boolean => {
    const twin = emitted.stdout.take(key) ?? emitted.stderr.take(key)
    if (!twin) return false
    const id = nextId++
    if (twin.channel === 'stdout') {
      anchors.show(id, twin.after, key)
      if (lastOwn) lastOwn.last = true
      lastOwn = undefined
    }
    pair(id, twin)
    return true
  }

  const admitPty = (frame: EngineFrame) => {
    if (alone()) {
      pass(frame, 'first', ptyPosition())
      return
    }
    const key = keyOf(frame)
    if (cancel(key)) return
    if (!seen.stdout) {
      const position = ptyPosition()
      emitted.pty.add(key, position)
      pass(frame, 'first', position)
      return
    }
    wait(key, frame)
    while (records.size + lines.size > window || heldSize > maxHeld) emitFromPty(oldest(), true)
  }

  const oldest = (): number => {
    const [record = nextId] = records.keys()
    const [line = nextId] = lines.keys()
    return Math.min(record, line)
  }

  const pipePosition = (channel: 'stdout' | 'stderr'): Position =>
    channel === 'stdout'
      ? { channel, after: written++, behind: -1 }
      : { channel, after: written - 1, behind: Number.POSITIVE_INFINITY }

  const admitOther = (channel: 'stdout' | 'stderr', frame: EngineFrame) => {
    const position = pipePosition(channel)
    if (alone()) {
      pass(frame, 'first', position)
      return
    }
    const key = keyOf(frame)
    // What was emitted is older than what waits.
    const reported = emitted.pty.take(key)
    if (reported) {
      paired++
      if (channel === 'stderr') return
      if (!(reported instanceof PtyPosition)) return
      anchors.write(reported.behind, position.after, key, waitingByKey.get(key)?.first())
      reported.become(position.after)
      return
    }
    const id = waitingByKey.get(key)?.first()
    if (id === undefined) emitted[channel].add(key, position)
    else {
      const { behind: following, own } = leave(id)
      if (channel === 'stdout') {
        if (following) following.last = true
        if (own) own.shared = true
        anchors.write(id, position.after, key, waitingByKey.get(key)?.first())
      }
      pair(id, position)
    }
    pass(frame, 'first', position)
  }

  /** No twin can come. */
  const alone = () => announced && !(seen.pty && (seen.stdout || seen.stderr))

  return {
    /** Sets the complete list of channels. */
    announce(channels: readonly Channel[]) {
      announced = true
      for (const channel of channels) seen[channel] = true
    },
    /** Bytes of this channel have arrived. */
    saw(channel: Channel) {
      if (seen[channel]) return
      seen[channel] = true
      announced = false
    },
    /** True if this PTY line has a twin: both are done, and the line need not even be decoded. */
    hasTwin(line: Uint8Array): boolean {
      return emitted.stdout.size + emitted.stderr.size > 0 && cancel(hash(line))
    },
    admit(frame: EngineFrame) {
      if (frame.blank) {
        // It reports nothing, so it gets the position of the record before it.
        const [after, following] = frame.channel === 'pty' ? [anchors.shown, nextId - 1] : [written - 1, -1]
        const { channel } = frame
        if (channel !== 'pty' || !seen.stdout) pass(frame, 'first', { channel, after, behind: following })
      } else if (frame.channel === 'pty') admitPty(frame)
      else admitOther(frame.channel, frame)
    },
    end() {
      anchors.end()
      for (const id of [...records.keys(), ...lines.keys()].sort((a, b) => a - b))
        emitFromPty(id, forgotten() > 0)
    },
    /** Numbers of pairs and of held records; tests check the bound with it. */
    counts() {
      const { stdout, stderr, pty } = emitted
      return {
        paired,
        forgotten: forgotten(),
        held: records.size + lines.size + stdout.size + stderr.size + pty.size,
      }
    },
  }
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
