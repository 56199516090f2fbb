import { type Note, payloadCodes } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import type { Sink } from '../base/stage.ts'
import { NOWHERE } from '../text/byte-search.ts'
import { isBlank, NUL } from '../text/characters.ts'
import type { Channel } from '../text/chunk.ts'
import { Decoder, firstInvalid } from '../text/decode.ts'
import { Places } from '../text/offsets.ts'
import { Tape } from '../text/tape.ts'
import type { Frame } from './frame.ts'
import { keepOffsets, textStart } from './frame-offsets.ts'
import { LineHead } from './line-head.ts'
import type { OpenMembers } from './members.ts'

/** A machine inside a frame, which continues where it stopped. */
export interface Inside {
  /** The first position that must stay in the buffer. (A method: an accessor in a literal costs 10 µs.) */
  keep(): number
  /** Scans what has arrived. False: it waits for more bytes. True: the scan has moved on. */
  look(): boolean
  /** End of input: cuts what there is, or goes back to prose. */
  finish(): void
  /** True if only an LF, or its limit, can end the frame. */
  waitsForLf?(): boolean
  /** Somebody else has read the value: what arrives next is its last bracket. */
  skipToEnd?(): void
}

/** What a machine reports when its frame is complete. Positions are clean ones. */
export interface FrameCut {
  readonly kind: 'line' | 'tag' | 'fence' | 'object'
  readonly from: number
  readonly to: number
  readonly text: string
  /** The range that `text` was decoded from. */
  readonly textFrom: number
  readonly textTo: number
  /** The ranges of its lines, as alternating starts and ends, if something was left out between them. */
  readonly lines?: readonly number[] | undefined
  readonly label?: string | undefined
  readonly open?: boolean | undefined
  /** A fence that ends because another one opens. */
  readonly unclosed?: boolean | undefined
  readonly first?: boolean | undefined
  readonly attached?: boolean | undefined
  readonly aside?: boolean | undefined
  /** The position after an object that shows it to be a piece of something broken. */
  readonly broken?: number | undefined
}

/** What is needed to check a piece whose text was decoded. */
export type PayloadCut = Pick<FrameCut, 'kind' | 'text' | 'textFrom' | 'textTo' | 'lines' | 'unclosed'>

/**
 * Called when something opens, as soon as that is certain: a block with the position of its opener and that
 * of its body, and the info string of a fence; an object or a line with the position of its bracket and one
 * up to which it was read.
 */
export type Opened = (kind: FrameCut['kind'], from: number, body: number, label?: string) => void

/**
 * State shared by the machines of one channel: the tape, where prose continues, and the output. Text is one
 * number, `#textFrom`: what no machine cuts becomes text by default.
 */
export class Scan {
  readonly tape: Tape
  readonly head: LineHead
  readonly maxFrame: number
  /** Where prose continues; while a frame is open, where it began. */
  position = 0
  inside: Inside | undefined
  /** For a reader that cannot wait until a frame is cut. */
  opened: Opened | undefined
  ended = false
  /** Number of frames written. */
  emitted = 0
  /** Set while an unclosed think block is read again: its payloads get a note. */
  unclosedThink = false

  /** Thoughts that are read as prose because their closers did not come soon enough. */
  #openThoughts: OpenThought[] = []
  /** The fence that is read as prose: it watches for its closer, and needs the bytes from `keep` on. */
  proseFence: { keep(): number } | undefined
  /** Set if the input may begin inside an object. */
  members: OpenMembers | undefined
  /** Set when a tag block without payload, never closed, has been read again as prose. */
  rereadTag = false

  readonly channel: Channel
  readonly #decoder: Decoder
  readonly #next: Sink<Frame>
  readonly #withText: boolean
  /** Original offset of the first byte that is in no frame yet. */
  #textFrom = 0
  readonly #textBlank = new BlankText()
  /** The text was checked for blanks up to here; a clean position. */
  #textSeen = 0

  constructor(channel: Channel, next: Sink<Frame>, options: { maxFrame: number; text: boolean }) {
    this.channel = channel
    this.#next = next
    this.maxFrame = options.maxFrame
    this.tape = new Tape(options.maxFrame, channel !== 'pty')
    this.head = new LineHead(this.tape)
    this.#decoder = new Decoder(this.tape)
    this.#withText = options.text
  }

  /** A thought that began at `from` is read as prose, though its closer may still come. */
  openThought(name: string, closer: CloserSearch, from: number): void {
    // One that is open already ends at the same closer: a thousand openers are one thought.
    this.#followThoughts()
    if (this.#openThoughts.some((open) => open.name === name && open.to > from)) return
    this.#openThoughts.push({ name, closer, from, to: NOWHERE })
  }

  enter(inside: Inside): void {
    this.inside = inside
  }

  /** Back to prose, at `position`. */
  leave(position: number): void {
    this.inside = undefined
    this.position = position
  }

  /** The first position that a frame which began at `from` must not reach. */
  limit(from: number): number {
    return this.tape.positionOf(this.tape.origin(from) + this.maxFrame)
  }

  /** The text of a range. Escape sequences inside are part of it in a pipe, and are removed on a PTY. */
  decode(from: number, to: number): string {
    const { tape } = this
    if (tape.isMarked && tape.isInterrupted(from, to)) return tape.original(from, to).toString('utf8')
    return this.#decoder.decode(from, to)
  }

  /** The text of a range without any escape sequence, as the machines see it. */
  decodeClean(from: number, to: number): string {
    return this.#decoder.decode(from, to)
  }

  /** The text of ranges, alternating starts and ends, as lines; `clean`: without escape sequences. */
  decodeLines(ranges: readonly number[], clean: boolean): string {
    const lines: string[] = []
    for (let index = 0; index < ranges.length; index += 2) {
      const from = ranges[index]!
      const to = ranges[index + 1]!
      lines.push(clean ? this.decodeClean(from, to) : this.decode(from, to))
    }
    return lines.join('\n')
  }

  /** Whether what begins at `from` is in the code of a fence, or an object after `//`. */
  isInFence(kind: string, from: number): boolean {
    return this.proseFence !== undefined || (kind === 'object' && this.head.isComment(from))
  }

  byte(position: number): number | undefined {
    return this.tape.view[position - this.tape.base]
  }

  /** Emits a payload frame, preceded by the text before it, and continues in prose after it. */
  cut(cut: FrameCut): void {
    const { tape } = this
    const from = tape.origin(cut.from)
    this.#flushText(from, cut.from)
    const to = tape.origin(cut.to - 1) + 1
    const frame: { -readonly [K in keyof Frame]: Frame[K] } = {
      kind: cut.kind,
      channel: this.channel,
      from,
      to,
      text: cut.text,
    }
    if (cut.label !== undefined) frame.label = cut.label
    if (cut.open) frame.open = true
    if (cut.first) frame.first = true
    if (cut.attached) frame.attached = true
    if (cut.aside) frame.aside = true
    if (this.isInFence(cut.kind, cut.from)) frame.in_fence = true
    if (cut.broken !== undefined) frame.broken = tape.origin(cut.broken)
    const notes = this.notesOf(cut)
    if (notes) frame.notes = notes
    if (cut.kind === 'fence' || cut.lines || notes || this.tape.isMarked) this.#keepOffsets(frame, cut)
    this.#textFrom = to
    this.#textBlank.reset()
    this.#textSeen = cut.to
    this.leave(cut.to)
    this.emitted++
    this.#next.write(frame)
  }

  /** Notes about a piece: bytes that are not UTF-8, NULs before it, a think block around it. */
  notesOf(cut: PayloadCut): Note[] | undefined {
    // Nearly every record is plain ASCII, and the decoder knows that already.
    const plain = !this.tape.isMarked && this.#decoder.isPlain(cut.textFrom, cut.textTo)
    const invalid = plain ? -1 : this.#invalidIn(cut)
    const nul = cut.kind === 'line' && this.head.nul(cut.textFrom)
    const isThought = this.#openThoughts.length > 0 && this.#isThought(cut.textFrom)
    if (invalid < 0 && !nul && !this.unclosedThink && !isThought && !cut.unclosed) return undefined
    const notes: Note[] = []
    if (nul) notes.push({ code: 'NUL_BYTES', message: 'NUL bytes before the record were skipped' })
    if (invalid >= 0) {
      const message = `byte ${invalid} of ${this.channel} is not UTF-8`
      notes.push({ code: 'INVALID_UTF8', message, at: invalid })
    }
    if (this.unclosedThink)
      notes.push({ code: 'THINK_UNCLOSED', message: 'found in a think block that was never closed' })
    else if (isThought)
      notes.push({ code: 'THINK_OPEN', message: 'found in a think block that was still open' })
    if (cut.unclosed) notes.push({ code: 'FENCE_UNCLOSED', message: payloadCodes.FENCE_UNCLOSED })
    return notes
  }

  /** Whether one of the open thoughts goes on at a position. What has ended before it is forgotten. */
  #isThought(position: number): boolean {
    this.#followThoughts()
    this.#openThoughts = this.#openThoughts.filter(({ to }) => to > position)
    return this.#openThoughts.length > 0
  }

  #followThoughts(): void {
    for (const thought of this.#openThoughts)
      if (thought.to === NOWHERE && thought.closer.next(thought.from) !== NOWHERE)
        thought.to = thought.closer.to
  }

  /** Lets `frameOffset` work for a frame whose text is not simply its bytes from the start. */
  #keepOffsets(frame: Frame, cut: FrameCut): void {
    const { tape } = this
    const invalid = frame.notes?.some(({ code }) => code === 'INVALID_UTF8')
    const whole = this.channel !== 'pty' || !tape.isInterrupted(cut.textFrom, cut.textTo)
    if (!invalid && whole && !cut.lines) {
      // A line begins where its frame does.
      const start = cut.textFrom === cut.from ? frame.from : tape.origin(cut.textFrom)
      if (start !== textStart(frame)) keepOffsets(frame, start)
      return
    }
    const ranges = cut.lines ?? [cut.textFrom, cut.textTo]
    const runs: number[] = []
    const pieces: Bytes[] = []
    let size = 0
    for (let index = 0; index < ranges.length; index += 2) {
      const from = ranges[index]!
      const to = ranges[index + 1]!
      runs.push(size, tape.origin(from))
      if (this.channel === 'pty') {
        for (const at of tape.interruptions(from, to)) runs.push(size + at - from, tape.origin(at))
      }
      const bytes = tape.original(from, to)
      pieces.push(bytes, LINE_END)
      size += bytes.length
      if (index + 2 < ranges.length) runs.push(size++, tape.origin(to))
    }
    // A copy, because the tape moves on.
    keepOffsets(frame, new Places(Bytes.concat(pieces, size), runs))
  }

  /** Offset in the channel of the first byte of a piece that is not UTF-8, or -1. */
  #invalidIn(piece: PayloadCut): number {
    const { text, textFrom, textTo, lines } = piece
    const { tape } = this
    const { view, base } = tape
    const interrupted = tape.isInterrupted(textFrom, textTo)
    if (!interrupted && !lines) {
      const index = firstInvalid(text, view, textFrom - base, textTo - base)
      return index < 0 ? -1 : tape.origin(index + base)
    }
    if (!text.includes('\ufffd')) return -1
    const ranges = lines ?? [textFrom, textTo]
    for (let index = 0; index < ranges.length; index += 2) {
      const from = ranges[index]!
      const bytes = tape.original(from, ranges[index + 1]!)
      const invalid = firstInvalid(text, bytes, 0, bytes.length)
      // On a PTY `bytes` are the clean ones, in a pipe those of the channel.
      if (invalid >= 0)
        return this.channel === 'pty' ? tape.origin(from + invalid) : tape.origin(from) + invalid
    }
    return -1
  }

  /** Emits the text before a position separately, because what follows is text for another reason. */
  cutTextBefore(position: number): void {
    const origin = this.tape.origin(position)
    this.#flushText(origin, position)
    this.#textFrom = Math.max(this.#textFrom, origin)
  }

  /** Emits `[from, to)`, original offsets, as a text frame; `position` is the clean one of `to`. */
  cutText(from: number, to: number, position: number, note?: Note): void {
    this.#text(from, to, false, note)
    this.#textFrom = to
    this.#textBlank.reset()
    this.#textSeen = position
  }

  /** Drops the bytes before `position`; they are not needed again. */
  settle(): void {
    const { tape } = this
    let keep = this.inside ? this.inside.keep() : this.position
    // Half a BOM says nothing about its line: keep it until the rest arrives.
    if (this.byte(keep - 1) === 0xef) keep -= 1
    else if (this.byte(keep - 1) === 0xbb && this.byte(keep - 2) === 0xef) keep -= 2
    if (this.proseFence) keep = Math.max(tape.base, Math.min(keep, this.proseFence.keep()))
    if (this.#openThoughts.length > 0) {
      this.#followThoughts()
      // A closer may have arrived in part.
      for (const { closer } of this.#openThoughts)
        keep = Math.max(tape.base, Math.min(keep, closer.partial(), tape.end - closer.longest))
    }
    this.#examine(keep)
    this.head.remember(keep)
    this.members?.read(keep)
    tape.settle(keep)
  }

  /** Skips whole lines, which are text. Only at the start of a line, and outside frames. */
  skip(lines: Bytes): void {
    const { tape, head } = this
    this.position = tape.end
    this.settle()
    this.#textBlank.add(lines, 0, lines.length)
    tape.skip(lines.length)
    this.position = tape.end
    this.#textSeen = tape.end
    head.skip(tape.end)
  }

  /** End of the channel: what is in no frame yet is text. */
  close(): void {
    this.#flushText(this.tape.originEnd, this.tape.end)
  }

  #flushText(to: number, position: number): void {
    if (to <= this.#textFrom) return
    this.#examine(position)
    this.#text(this.#textFrom, to, this.#textBlank.is, undefined)
  }

  #text(from: number, to: number, blank: boolean, note: Note | undefined): void {
    if (!this.#withText && !note) return
    this.emitted++
    const frame: Frame = { kind: 'text', channel: this.channel, from, to, text: '', blank }
    this.#next.write(note ? { ...frame, notes: [note] } : frame)
  }

  /** Checks whether the text up to `position` is blank; stops at the first byte that is not. */
  #examine(position: number): void {
    const { view, base } = this.tape
    this.#textBlank.add(view, this.#textSeen - base, position - base)
    if (position > this.#textSeen) this.#textSeen = position
  }
}

/** Finds the end of a thought. */
interface CloserSearch {
  readonly longest: number
  /** One past what `next` has found. */
  readonly to: number
  next(from: number): number
  partial(): number
}

interface OpenThought {
  readonly name: string
  readonly closer: CloserSearch
  readonly from: number
  /** One past its closer, once that has come. */
  to: number
}

/** Whether a text that comes in parts is nothing but blanks, NULs and BOMs. */
class BlankText {
  #is = true
  /** How many bytes of a BOM it ends with. */
  #begun = 0

  get is(): boolean {
    return this.#is && this.#begun === 0
  }

  reset(): void {
    this.#is = true
    this.#begun = 0
  }

  add(bytes: Bytes, from: number, to: number): void {
    for (let at = from; this.#is && at < to; at++) {
      const byte = bytes[at]
      if (byte === BOM[this.#begun]) this.#begun = (this.#begun + 1) % BOM.length
      else this.#is = this.#begun === 0 && (byte === NUL || isBlank(byte))
    }
  }
}

const BOM = [0xef, 0xbb, 0xbf]
const LINE_END = Bytes.from('\n')
