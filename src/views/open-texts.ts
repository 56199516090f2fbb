import type { MessageData } from '../events/event.ts'

/** Messages that may be open at once; another one closes the oldest. */
const MAX_OPEN = 4096
/** Characters of open messages to hold, to compare them with their final text. */
const MAX_HELD = 16 << 20

/** A message of which pieces were sent, but not the end. */
export interface OpenText {
  readonly id: string
  /** The call of the subagent that writes it. */
  readonly parent: string | undefined
  /** The text that was sent; undefined if it became too long to hold. */
  sent: string | undefined
  /** Number of characters sent. */
  length: number
}

/** What a final text adds to the pieces of its message. */
export interface Completion {
  readonly open: OpenText
  /** Text that no piece had. */
  readonly rest: string
  /**
   * The final text differs from the pieces. They cannot be taken back, so it must be sent as a separate
   * message.
   */
  readonly contradicts: boolean
}

/**
 * The messages that are being streamed, the oldest first: protocols that only have deltas need what is new.
 */
export class OpenTexts {
  readonly #open = new Map<string, OpenText>()
  #held = 0

  /** The message of this piece, if it is open. */
  find(id: string): OpenText | undefined {
    return this.#open.get(id)
  }

  /** Opens a message. Returns the oldest if there are too many: it must be closed. */
  start({ message_id, parent_call_id }: MessageData, id: string): { open: OpenText; oldest?: OpenText } {
    const open: OpenText = { id, parent: parent_call_id, sent: '', length: 0 }
    const [first] = this.#open.size >= MAX_OPEN ? this.#open.keys() : []
    const oldest = first === undefined ? undefined : this.#take(first)
    this.#open.set(message_id, open)
    return { open, ...(oldest && { oldest }) }
  }

  /** A piece of it was sent. */
  add(open: OpenText, text: string): void {
    open.length += text.length
    if (open.sent === undefined) return
    if (this.#held + text.length > MAX_HELD) {
      this.#held -= open.sent.length
      open.sent = undefined
      return
    }
    open.sent += text
    this.#held += text.length
  }

  /** Closes a message whose complete text is known now. Undefined if no piece of it was sent. */
  complete({ message_id, text }: MessageData): Completion | undefined {
    const open = this.#take(message_id)
    if (!open) return undefined
    const contradicts = open.sent !== undefined && !text.startsWith(open.sent)
    return { open, rest: contradicts ? '' : text.slice(open.length), contradicts }
  }

  /** Closes all, because the attempt has ended. */
  takeAll(): OpenText[] {
    const all = [...this.#open.values()]
    this.#open.clear()
    this.#held = 0
    return all
  }

  #take(id: string): OpenText | undefined {
    const open = this.#open.get(id)
    this.#open.delete(id)
    this.#held -= open?.sent?.length ?? 0
    return open
  }
}
