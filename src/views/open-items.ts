import type { AgentEvent } from '../events/event.ts'

/** Messages, or calls, that may be open at once; another one closes the oldest. */
const MAX_OPEN = 4096

/**
 * The calls that have started and not ended, the oldest first, with what a view remembers of each. Some
 * engines report only the end of a call (`finishCall`), and others lose it (`start`).
 */
export class OpenCalls<T> {
  readonly #open = new Map<string, T>()

  find(id: string): T | undefined {
    return this.#open.get(id)
  }

  all(): T[] {
    return [...this.#open.values()]
  }

  /** Opens a call. Returns those that are forgotten: one with this id, whose end was lost, and the oldest. */
  start(id: string, call: T): T[] {
    const [oldest] = this.#open.size >= MAX_OPEN ? this.#open.keys() : []
    const lost = [oldest ?? id, id].flatMap((key) => this.end(key) ?? [])
    this.#open.set(id, call)
    return lost
  }

  /** Closes a call. Undefined if its start was not reported. */
  end(id: string): T | undefined {
    const call = this.#open.get(id)
    this.#open.delete(id)
    return call
  }

  /** Closes all, because the attempt has ended. */
  takeAll(): T[] {
    const all = this.all()
    this.#open.clear()
    return all
  }
}

/** Closes a call that has ended; if its start was not reported, `begin` opens it first. */
export function finishCall<T>(calls: OpenCalls<T>, id: string, begin: () => T): T {
  const call = calls.find(id) ?? begin()
  calls.end(id)
  return call
}

/** Characters of open messages to hold, to compare them with their final text. */
const MAX_HELD = 16 << 20

/** A text, or a piece of one: of a message, a thought, the input of a call. */
export interface TextOf {
  /** The id of the engine. */
  readonly of: string
  readonly text: string
  /** The call of the subagent that writes it. */
  readonly parent: string | undefined
}

/** A text of which pieces were sent, but not the end. */
export interface OpenText {
  readonly id: string
  /** The call of the subagent that writes it. */
  readonly parent: string | undefined
  /** The text that was sent; undefined if it became too long to hold. */
  sent: string | undefined
  /** Number of characters sent. */
  length: number
}

/**
 * Why a message ends. `superseded`: its final text differs from the pieces, which cannot be taken back, so it
 * is sent as a separate message. `left`: its end was not reported.
 */
export type TextEnd = 'final' | 'superseded' | 'left'

/** How a protocol says that a message begins, goes on and ends. */
export interface TextSink {
  start(event: AgentEvent, open: OpenText): void
  send(event: AgentEvent, open: OpenText, text: string): void
  end(event: AgentEvent, open: OpenText, how: TextEnd): void
}

/** The texts of one kind that are being streamed, the oldest first: protocols of deltas need what is new. */
export class OpenTexts {
  readonly #sink: TextSink
  readonly #unique: UniqueIds
  readonly #open = new Map<string, OpenText>()
  #held = 0

  constructor(unique: UniqueIds, sink: TextSink) {
    this.#unique = unique
    this.#sink = sink
  }

  /** Sends a piece of a text. */
  delta(event: AgentEvent, { of, text, parent }: TextOf): void {
    let open = this.#open.get(of)
    if (!open) {
      const [oldest] = this.#open.size >= MAX_OPEN ? this.#open.keys() : []
      const closed = oldest === undefined ? undefined : this.take(oldest)
      if (closed) this.#sink.end(event, closed, 'left')
      open = this.#start(event, of, parent)
      this.#open.set(of, open)
    }
    this.#sink.send(event, open, text)
    this.#hold(open, text)
  }

  /** What was sent of a text; undefined if nothing was, or if it became too long to hold. */
  sent(of: string): string | undefined {
    return this.#open.get(of)?.sent
  }

  /** Sends what the complete text adds to its pieces, and ends it. Returns its id. */
  final(event: AgentEvent, { of, text, parent }: TextOf): string {
    let open = this.take(of)
    if (open?.sent !== undefined && !text.startsWith(open.sent)) {
      this.#sink.end(event, open, 'superseded')
      open = undefined
    }
    open ??= this.#start(event, of, parent)
    const rest = text.slice(open.length)
    if (rest !== '') this.#sink.send(event, open, rest)
    this.#sink.end(event, open, 'final')
    return open.id
  }

  /** Ends all messages, because the attempt has ended. */
  endAll(event: AgentEvent): void {
    for (const open of this.#open.values()) this.#sink.end(event, open, 'left')
    this.#open.clear()
    this.#held = 0
  }

  /** Forgets a text: something else ends it. */
  take(of: string): OpenText | undefined {
    const open = this.#open.get(of)
    this.#open.delete(of)
    this.#held -= open?.sent?.length ?? 0
    return open
  }

  #start(event: AgentEvent, of: string, parent: string | undefined): OpenText {
    const open = { id: this.#unique(of, event), parent, sent: '', length: 0 }
    this.#sink.start(event, open)
    return open
  }

  #hold(open: OpenText, text: string): void {
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
}

/** Number of ids to remember; after that every id gets its place appended. */
const MAX_IDS = 65_536
/** Longer ids are not remembered. */
const MAX_LENGTH = 256

/** An id of an event, made unique in the whole stream. */
type UniqueIds = (id: string, event: AgentEvent) => string

/** The place of an event in its run: `<attempt>.<seq>`. */
export function eventPlace({ attempt_number, seq }: AgentEvent): string {
  return `${attempt_number}.${seq}`
}

/**
 * Makes ids unique in a whole stream. Engines reuse an id in the next attempt, or for the reasoning and the
 * text of one message, and clients of other protocols would merge the two: the second `item_0` is `item_0#2`.
 */
export function uniqueIds(): UniqueIds {
  const uses = new Map<string, number>()
  return (id, event) => {
    const count = uses.get(id)
    if (count === undefined && (id.length > MAX_LENGTH || uses.size >= MAX_IDS))
      return `${id}#${eventPlace(event)}`
    uses.set(id, (count ?? 0) + 1)
    if (count === undefined) return id
    // An engine may itself use `a#2`.
    let again = `${id}#${count + 1}`
    while (uses.has(again)) again += '#'
    if (uses.size < MAX_IDS) uses.set(again, 1)
    return again
  }
}
