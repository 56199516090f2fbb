import { meaningOf, runCodes } from '../../base/fault.ts'
import { isHighSurrogate } from '../../text/characters.ts'
import { isRecord, type MessageFacts } from '../engine.ts'
import type { MessageData } from '../event.ts'
import type { FoundPayloads } from '../payload.ts'
import { isAfter, type Moment, PerSource } from '../position.ts'
import { checkText, checkWord, LOW, type Report, type Writable } from '../report.ts'
import type { Range } from '../write.ts'
import type { Turns } from './turns.ts'

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

interface MessagesOptions {
  readonly doneMarker: string
  readonly maxFrame: number
  /**
   * Finds the payloads of a message. `when` is set if the message is one of the run's own and complete: the
   * last of them is its result.
   */
  readonly payloads: (text: string, when: Moment | undefined, enveloped: boolean) => FoundPayloads
}

/** What pieces are of. */
type Whole = 'message' | 'reasoning'

const nameOf = (of: Whole) => (of === 'message' ? 'message' : 'thought')

/** What the agent says and thinks: pieces become whole messages, which are searched for payloads. */
export class Messages {
  readonly #report: Report
  readonly #turns: Turns
  readonly #options: MessagesOptions
  readonly #open: OpenMessages
  readonly #thoughts: OpenMessages
  readonly #drafts: Drafts
  /** The last complete message of the run itself, and its text. */
  readonly #whole = new PerSource<Moment>()
  #lastText = ''
  readonly #nextNumber: () => number

  constructor(report: Report, turns: Turns, options: MessagesOptions, nextNumber: () => number) {
    this.#report = report
    this.#turns = turns
    this.#options = options
    this.#open = new OpenMessages(options.maxFrame)
    this.#thoughts = new OpenMessages(options.maxFrame)
    this.#drafts = new Drafts(options.maxFrame)
    this.#nextNumber = nextNumber
  }

  newId(of: Whole = 'message'): string {
    for (;;) {
      const id = `${of}-${this.#nextNumber()}`
      if (!this.#openOf(of).has(id)) return id
    }
  }

  piece(of: Whole, id: string, text: string, more: MessageFacts): void {
    const report = this.#report
    checkWord('piece', of, 'message', 'reasoning')
    if (of === 'reasoning' && report.frame?.extra) return
    checkText('the id of say.piece', id)
    checkText('the text of say.piece', text)
    if (text === '') return
    report.write(
      of === 'message' ? 'agent.message.delta' : 'agent.reasoning.delta',
      messageData(id, text, more.parent),
    )
    const piece = { text, place: report.writer.place(), more, when: this.#turns.work() }
    const cut = this.#openOf(of).add(id, piece, (oldest) => this.#closeOldest(of, oldest))
    if (cut) report.warn('FRAME_TOO_LONG', `a ${nameOf(of)} grew past maxFrame; its final text is cut`)
  }

  reasoning(id: string | undefined, text: string | undefined, more: MessageFacts): void {
    if (id !== undefined) checkText('the id of say.reasoning', id)
    if (text === undefined) {
      if (id !== undefined) this.#closeThought(id, more)
      return
    }
    checkText('the text of say.reasoning', text)
    const open = id === undefined ? undefined : this.#thoughts.take(id)
    const words = text || (open?.parts.join('') ?? '')
    if (words === '') return
    this.#turns.work()
    const data = messageData(id ?? this.newId('reasoning'), words, more.parent)
    this.#report.write('agent.reasoning.summary', data)
  }

  message(id: string | undefined, text: string | undefined, more: MessageFacts): void {
    if (id !== undefined) checkText('the id of say.message', id)
    if (text === undefined) {
      if (id !== undefined && more.withdrawn) this.#open.take(id)
      else if (id !== undefined) this.#closeOpen(id, more)
      return
    }
    checkText('the text of say.message', text)
    const open = id === undefined ? undefined : this.#open.take(id)
    // An end without words does not take back the pieces.
    const words = text || (open?.parts.join('') ?? '')
    // A record without words says nothing. An aborted attempt leaves one.
    if (words === '') return
    this.#final(id ?? this.newId(), words, more, this.#turns.work())
  }

  /** Takes back the messages of which only pieces were reported. */
  withdraw(): void {
    for (const id of this.#open.ids()) this.#open.take(id)
  }

  /** The answer of the run, in a field of its own. */
  payload(value: unknown): void {
    const when = this.#report.now()
    this.#options.payloads(JSON.stringify(value), when, false)
    if (this.#isDone(value)) this.#turns.evidence.done(when)
  }

  /** The words of the engine's result: mostly its last message again, or the last of all its messages. */
  result(text: string): void {
    const when = this.#report.now()
    this.#turns.evidence.told('answer', when, text)
    if (this.#lastText !== '' && text.trimEnd().endsWith(this.#lastText)) return
    const { payloads } = this.#options.payloads(text, when, false)
    if (payloads.some(({ value, final }) => final && this.#isDone(value))) this.#turns.evidence.done(when)
  }

  /** End of input: closes what is still open. */
  end(): void {
    for (const id of this.#thoughts.ids()) this.#closeThought(id, { incomplete: true })
    for (const id of this.#open.ids()) this.#closeOpen(id, { incomplete: true })
    for (const { text, enveloped, done, when } of this.#drafts.left()) {
      if (!this.#isLast(when)) continue
      this.#options.payloads(text, when, enveloped)
      if (done) this.#turns.evidence.done(when)
    }
  }

  #openOf(of: Whole): OpenMessages {
    return of === 'message' ? this.#open : this.#thoughts
  }

  #closeThought(id: string, more: MessageFacts): void {
    const thought = this.#thoughts.take(id)
    if (!thought) return
    const incomplete = more.incomplete === true || thought.cut
    const data = messageData(id, thought.parts.join(''), more.parent ?? thought.more.parent, incomplete)
    this.#report.aside(thought.range, () => this.#report.write('agent.reasoning.summary', data))
  }

  #closeOpen(id: string, more: MessageFacts): void {
    const message = this.#open.take(id)
    if (!message) return
    const cut = message.cut ? { incomplete: true } : undefined
    const speaker = { ...message.more, ...more, ...cut }
    // Its position is that of its pieces: the record that closes it may be anywhere.
    this.#report.aside(message.range, () => this.#final(id, message.parts.join(''), speaker, message.when))
  }

  /** Closes the oldest message or thought, to make room for another. */
  #closeOldest(of: Whole, id: string): void {
    const { warnings, confidence } = this.#report
    const message = `the open ${nameOf(of)}s grew past maxFrame; the oldest is closed`
    warnings.warn(`open ${nameOf(of)}s`, 'FRAME_TOO_LONG', confidence, message)
    if (of === 'message') this.#closeOpen(id, { incomplete: true })
    else this.#closeThought(id, { incomplete: true })
  }

  #final(id: string, text: string, more: MessageFacts, when: Moment): void {
    const report = this.#report
    // A subagent's words are not the run's: they end nothing and are not a result.
    const own = more.parent === undefined
    const complete = own && !more.incomplete
    if (own) this.#turns.wrote(when, complete)
    if (complete) this.#lastText = text.trimEnd()
    const enveloped = more.enveloped === true
    const { payloads, fault } = this.#options.payloads(text, complete ? when : undefined, enveloped)
    const last = payloads.at(-1)
    const done = own && payloads.some(({ value, final }) => final && this.#isDone(value))
    if (complete) {
      if (done) this.#turns.evidence.done(when)
      this.#whole.set(when, when)
      this.#drafts.forget(when)
    } else if (own && this.#isLast(when)) this.#drafts.hold({ text, enveloped, done, when })
    const before = report.confidence
    // A JSON block that parses makes a guess about prose more certain.
    if (last && before < LOW) report.confidence = 0.8
    report.write('agent.message.final', messageData(id, text, more.parent, more.incomplete, last))
    // The reader of a guess gets a warning, and the raw text next to it.
    if (report.confidence < LOW) {
      report.warn('LOW_CONFIDENCE_PARSE', runCodes.LOW_CONFIDENCE_PARSE)
      report.raw(text)
    }
    const broken = fault && !done && text.includes(`"${this.#options.doneMarker}"`)
    const why = broken ? 'the done marker does not count: ' : ''
    if (fault) report.warn(fault, `${why}the last payload of the message ${id}: ${meaningOf(fault)}`)
    report.confidence = before
  }

  #isDone(value: unknown): boolean {
    const { doneMarker } = this.#options
    return isRecord(value) && Object.hasOwn(value, doneMarker) && value[doneMarker] === true
  }

  /** Whether no complete message of the run came after this moment. */
  #isLast(when: Moment): boolean {
    return this.#whole.both().every((other) => isAfter(when, other))
  }
}

function messageData(
  message_id: string,
  text: string,
  parent: string | undefined,
  incomplete?: boolean,
  payload?: FoundPayloads['payloads'][number],
): MessageData {
  const data: Writable<MessageData> = { message_id, text }
  if (payload) {
    data.structured_payload = payload.value
    data.repair_level = payload.repair_level
  }
  if (incomplete) data.incomplete = true
  if (parent !== undefined) data.parent_call_id = parent
  return data
}
