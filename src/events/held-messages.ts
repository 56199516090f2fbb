import { isHighSurrogate } from '../text/characters.ts'
import type { MessageFacts } from './engine.ts'
import { isAfter, type Moment } from './position.ts'
import type { Range } from './write.ts'

const MAX_OPEN = 4096
/** Cost of a held piece in addition to its text. */
const PART_COST = 8

/** A message of which only pieces have arrived. */
interface Open {
  readonly parts: string[]
  size: number
  /** It grew past maxFrame: the rest is only in the pieces that were emitted, not here. */
  cut: boolean
  range: Range | undefined
  readonly more: MessageFacts
  /** When its last piece arrived. */
  when: Moment
}

interface MessagePiece {
  readonly text: string
  readonly place: Range | undefined
  readonly more: MessageFacts
  readonly when: Moment
}

/** The messages that have not ended, the oldest first. Together they hold at most `maxFrame`. */
export class OpenMessages {
  readonly #maxFrame: number
  readonly #messages = new Map<string, Open>()
  /** Their total size. */
  #held = 0

  constructor(maxFrame: number) {
    this.#maxFrame = maxFrame
  }

  has(id: string): boolean {
    return this.#messages.has(id)
  }

  ids(): string[] {
    return [...this.#messages.keys()]
  }

  take(id: string): Open | undefined {
    const message = this.#messages.get(id)
    this.#messages.delete(id)
    if (message) this.#held -= id.length + message.size
    return message
  }

  /** Adds a piece; for room, `close` removes the oldest message. True if it just reached the limit. */
  add(id: string, { text, place, more, when }: MessagePiece, close: (oldest: string) => void): boolean {
    let message = this.#messages.get(id)
    if (!message) {
      message = { parts: [], size: 0, cut: false, range: place, more, when }
      this.#messages.set(id, message)
      this.#held += id.length
    }
    message.when = when
    const { range } = message
    if (range && place) message.range = { channel: range.channel, from: range.from, to: place.to }
    if (message.cut) return false
    const room = this.#maxFrame - message.size - PART_COST
    message.cut = text.length > room
    const part = message.cut ? upTo(text, room) : text
    const size = part.length + PART_COST
    for (const oldest of this.#messages.keys()) {
      if (this.#held + size <= this.#maxFrame && this.#messages.size <= MAX_OPEN) break
      if (oldest !== id) close(oldest)
    }
    message.parts.push(part)
    message.size += size
    this.#held += size
    return message.cut
  }
}

/** The beginning of a text, without half a surrogate pair at its end. */
function upTo(text: string, length: number): string {
  const end = Math.max(0, length)
  return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)
}

/** Number of messages that broke off: each retry of the engine may leave one. */
const MAX_DRAFTS = 64

/** A message of the run that broke off. */
export interface Draft {
  readonly text: string
  readonly enveloped: boolean
  readonly done: boolean
  /** When its last piece arrived. */
  readonly when: Moment
}

/**
 * What broke off since the last complete message, about `maxSize` characters of it. It counts at the end, if
 * no complete message replaced it.
 */
export class Drafts {
  readonly #maxSize: number
  #drafts: Draft[] = []
  #size = 0

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  hold(draft: Draft): void {
    this.#drafts.push(draft)
    this.#size += draft.text.length
    while (this.#drafts.length > MAX_DRAFTS || (this.#size > this.#maxSize && this.#drafts.length > 1))
      this.#size -= this.#drafts.shift()!.text.length
  }

  /** A complete message replaces what broke off before it. */
  forget(whole: Moment): void {
    if (this.#drafts.length === 0) return
    this.#drafts = this.#drafts.filter(({ when }) => isAfter(when, whole))
    this.#size = this.#drafts.reduce((size, { text }) => size + text.length, 0)
  }

  /** In the order of the run. */
  left(): readonly Draft[] {
    return this.#drafts.toSorted((a, b) => (isAfter(a.when, b.when) ? 1 : -1))
  }
}
