import type { Channel } from '../frames/chunk.ts'
import { shownText } from './lines.ts'
import type { EngineFrame } from './profile.ts'

/** What each line of a record that was put together costs beside its text. */
const LINE_COST = 64

interface UniqueOptions {
  /** A digest of at least 128 bits of a cryptographic hash. */
  readonly hash: (text: string | Uint8Array) => string
  /** Records that may wait for their twin, per channel. */
  readonly window: number
  /** Characters of PTY records that may wait. */
  readonly maxHeld: number
  /** Passes a frame on; `late` says that its twin may have been forgotten. */
  readonly pass: (frame: EngineFrame, how: 'first' | 'pty-only' | 'late') => void
}

/**
 * Lets every record through once, though stdout and the PTY both have it: the kth on one pairs with the
 * kth on the other, two from one channel are never merged. stdout is authoritative; a PTY record waits for
 * its twin, and is emitted from the PTY when a later one pairs, or at the end. Where stderr is there, too, a
 * later one must have paired with each: otherwise stderr might still say that the record is its own, and
 * what was written there must not speak as the agent. Without stdout the PTY speaks at once.
 *
 * Only the difference between the channels is held: digests of what was emitted, text of what waits.
 */
export function unique(options: UniqueOptions) {
  const { hash, window, maxHeld, pass } = options
  const seen = { stdout: false, stderr: false, pty: false }
  /** All channels are known, so that no twin can come from another one. */
  let announced = false
  /** Emitted, twin not seen yet: digest → how many. */
  const emitted = {
    stdout: new Map<string, number>(),
    stderr: new Map<string, number>(),
    pty: new Map<string, number>(),
  }
  /** Digests that were dropped because their window was full. */
  let forgotten = 0
  /** PTY records that wait for their twin, in order. */
  const records = new Map<number, Waiting>()
  /** PTY lines that wait. They may be stderr's, whose order against stdout nobody knows: they wait for the end. */
  const lines = new Map<number, Waiting>()
  const waitingByKey = new Map<string, Queue>()
  const elsewhere = new WeakMap<readonly string[], boolean>()
  let nextId = 0
  let heldSize = 0
  /** Twins that met. */
  let paired = 0
  /** Up to which id of the PTY its channel was heard: who waits before that finds no twin there, as all keep their order. */
  const heard = { stdout: 0, stderr: 0 }

  /**
   * Line ends do not count: those outside of strings may be the document's, or the terminal's. What a pipe has is
   * compared as a terminal shows it.
   */
  const keyOf = ({ channel, text }: EngineFrame) => {
    const shown = channel === 'pty' ? text : shownText(text)
    return hash(shown.includes('\n') ? shown.replaceAll('\n', '') : shown)
  }

  const remember = (channel: Channel, key: string) => {
    const keys = emitted[channel]
    keys.set(key, (keys.get(key) ?? 0) + 1)
    if (keys.size > window) {
      for (const oldest of keys.keys()) {
        keys.delete(oldest)
        break
      }
      forgotten++
    }
  }

  const forget = (channel: Channel, key: string): boolean => {
    const keys = emitted[channel]
    const count = keys.get(key)
    if (count === undefined) return false
    if (count === 1) keys.delete(key)
    else keys.set(key, count - 1)
    return true
  }

  const wait = (key: string, frame: EngineFrame) => {
    const id = nextId++
    const size = frame.text.length + LINE_COST * (frame.pieces?.length ?? 0)
    ;(frame.value === undefined ? lines : records).set(id, { key, frame, size })
    heldSize += size
    const queue = waitingByKey.get(key)
    if (queue) queue.ids.push(id)
    else waitingByKey.set(key, { ids: [id], head: 0 })
  }

  /** Stops waiting. Of equal records it is always the oldest that leaves, so it is the head of its queue. */
  const leave = (id: number): Waiting => {
    const place = records.has(id) ? records : lines
    const waited = place.get(id)!
    place.delete(id)
    heldSize -= waited.size
    const queue = waitingByKey.get(waited.key)!
    if (++queue.head === queue.ids.length) waitingByKey.delete(waited.key)
    return waited
  }

  /** Emits a record from the PTY. If its twin comes after all, that one is silent. */
  const letGo = (id: number, late: boolean) => {
    const { key, frame } = leave(id)
    if (frame.pieces && belongsElsewhere(frame.pieces)) {
      paired++
      return
    }
    remember('pty', key)
    pass(frame, late ? 'late' : 'pty-only')
  }

  /** Whether another channel had the lines that a frame was cut from, where they were no record. All that is cut from them shares the answer. */
  const belongsElsewhere = (pieces: readonly string[]): boolean => {
    const known = elsewhere.get(pieces)
    if (known !== undefined) return known
    const keys = pieces.filter((piece) => piece !== '').map((piece) => hash(piece))
    const found = forgetAll('stdout', keys) || forgetAll('stderr', keys)
    elsewhere.set(pieces, found)
    return found
  }

  /** Takes all of these out, or none. */
  const forgetAll = (channel: Channel, keys: readonly string[]): boolean => {
    const failed = keys.findIndex((key) => !forget(channel, key))
    if (failed < 0) return true
    for (const key of keys.slice(0, failed)) remember(channel, key)
    return false
  }

  /** What the PTY has at `id` met its twin: records that wait before that may not find one any more. */
  const pair = (channel: 'stdout' | 'stderr', id: number) => {
    paired++
    heard[channel] = Math.max(heard[channel], id)
    const settled = seen.stderr ? Math.min(heard.stdout, heard.stderr) : heard.stdout
    for (const earlier of records.keys()) {
      if (earlier >= settled) break
      letGo(earlier, forgotten > 0)
    }
  }

  /** Takes out the twin of a PTY text, if stdout or stderr had one. */
  const cancel = (key: string): boolean => {
    const channel = forget('stdout', key) ? 'stdout' : forget('stderr', key) ? 'stderr' : undefined
    if (channel) pair(channel, nextId)
    return channel !== undefined
  }

  const admitPty = (frame: EngineFrame) => {
    if (alone()) {
      pass(frame, 'first')
      return
    }
    const key = keyOf(frame)
    if (cancel(key)) return
    if (!seen.stdout) {
      remember('pty', key)
      pass(frame, 'first')
      return
    }
    wait(key, frame)
    while (records.size + lines.size > window || heldSize > maxHeld) letGo(oldest(), true)
  }

  const oldest = (): number => {
    const [record = nextId] = records.keys()
    const [line = nextId] = lines.keys()
    return Math.min(record, line)
  }

  const admitOther = (channel: 'stdout' | 'stderr', frame: EngineFrame) => {
    if (alone()) {
      pass(frame, 'first')
      return
    }
    const key = keyOf(frame)
    const queue = waitingByKey.get(key)
    if (queue) {
      const id = queue.ids[queue.head]!
      pair(channel, id)
      leave(id)
      pass(frame, 'first')
    } else if (forget('pty', key)) paired++
    else {
      remember(channel, key)
      pass(frame, 'first')
    }
  }

  /** No twin can come. */
  const alone = () => announced && !(seen.pty && (seen.stdout || seen.stderr))

  return {
    /** Says which channels there are, all of them. */
    announce(channels: readonly Channel[]) {
      announced = true
      for (const channel of channels) seen[channel] = true
    },
    /** Bytes of this channel have come. */
    saw(channel: Channel) {
      if (seen[channel]) return
      seen[channel] = true
      announced = false
    },
    /** True if this PTY line has a twin: both are settled, and the line need not even be decoded. */
    hasTwin(line: Uint8Array): boolean {
      return emitted.stdout.size + emitted.stderr.size > 0 && cancel(hash(line))
    },
    admit(frame: EngineFrame) {
      if (frame.blank) {
        if (frame.channel !== 'pty' || !seen.stdout) pass(frame, 'first')
      } else if (frame.channel === 'pty') admitPty(frame)
      else admitOther(frame.channel, frame)
    },
    end() {
      for (const id of [...records.keys(), ...lines.keys()].sort((a, b) => a - b)) letGo(id, forgotten > 0)
    },
    /** What was paired and what is held: in the tests, the proof of the bound. */
    counts() {
      const { stdout, stderr, pty } = emitted
      return { paired, forgotten, held: records.size + lines.size + stdout.size + stderr.size + pty.size }
    },
  }
}

interface Waiting {
  readonly key: string
  readonly frame: EngineFrame
  /** What it counts against `maxHeld`. */
  readonly size: number
}

interface Queue {
  readonly ids: number[]
  /** Position of the first id that still waits. */
  head: number
}
