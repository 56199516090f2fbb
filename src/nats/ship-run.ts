import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault, quote } from '../base/fault.ts'
import { codeOf, diskFault } from '../base/system-error-code.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { openPlain, readBlock } from '../disk/plain-file.ts'
import { type EventPlace, type JournalEvent, JournalReader, MAX_LINE } from '../disk/read-journal.ts'
import type { AgentEvent } from '../events/event.ts'
import { isRunning } from '../run/is-running.ts'
import { giveOrder, type Order, type OrderedRun, orderedRun, takesOrders } from '../run/orders.ts'
import { jsonLine } from '../streams/jsonl.ts'
import { LF } from '../text/characters.ts'
import { type BlockEnd, type Broker, type RunName, tokenOf } from './broker.ts'

export interface ShipRunOptions {
  readonly tenant: string
  readonly redact?: ((event: AgentEvent) => AgentEvent) | undefined
  /** Whether orders are passed on to the run. */
  readonly control: boolean
  /** Called with what has arrived at the broker. */
  readonly sent: (events: number, bytes: number) => void
  /** Limits lines that are too long for a block to one at a time: each is in memory as a whole. */
  readonly alone: <T>(act: () => Promise<T>) => Promise<T>
}

/** A position in the journal, and the end of the block before it. */
interface KnownPosition {
  readonly at: number
  readonly last: EventPlace | undefined
  readonly end: BlockEnd
  /** What is before this place: if that changes, it is another journal. */
  readonly tail: string
}

/** What a block completes: a long line counts with its last part. */
interface Load {
  readonly events: number
  readonly bytes: number
}

const CONFLICT_MS = 10
const NO_LOAD: Load = { events: 0, bytes: 0 }
const NOTHING = Buffer.alloc(0)
const NO_EVENT_YET: BlockEnd = { attempt: 0, seq: 0, hash: '' }
const START: KnownPosition = { at: 0, last: undefined, end: NO_EVENT_YET, tail: hashOf(NOTHING) }

/**
 * Ships the journal in one directory. The journal is the queue: only the block in flight is held in memory,
 * and the broker says where to continue. `root` is the real path that must contain the journal.
 */
export class ShippedRun {
  readonly dir: string
  readonly #broker: Broker
  readonly #root: string
  readonly #options: ShipRunOptions
  readonly #path: string
  #name: RunName | undefined
  /** Size of the journal when it was last checked. */
  #size = 0
  /** The position of the broker; undefined if it must be asked. */
  #here: (KnownPosition & { readonly after: number }) | undefined
  /** Its likely positions: the last block sent, and acknowledged. Searching the journal takes long. */
  #sent: (KnownPosition & Load) | undefined
  #acked: KnownPosition | undefined
  #inode: number | undefined

  constructor(broker: Broker, dir: string, root: string, options: ShipRunOptions) {
    this.dir = dir
    this.#broker = broker
    this.#root = root
    this.#options = options
    this.#path = join(dir, EVENTS_FILE)
  }

  /** Gives it an order, as `giveOrder`. Undefined if it is not the run of this name, or takes none. */
  order(run: string, order: Order): boolean | undefined {
    const ordered = this.#name?.run === run ? this.#ordered() : undefined
    return ordered && giveOrder(ordered, order)
  }

  /** Whether the journal is not as it was when it was last checked. */
  hasChanged(): boolean {
    const journal = fs.lstatSync(this.#path, { throwIfNoEntry: false })
    return journal?.size !== this.#size || journal.ino !== this.#inode
  }

  /** Whether the broker has yet to learn that the run is over, or that it takes orders, or takes none. */
  isUntold(): boolean {
    if (!isRunning(this.dir, this.#root)) return true
    return this.#here !== undefined && !this.#ordered() !== !this.#here.end.control
  }

  /** Called after any error: the broker must be asked again for its position. */
  forget(): void {
    this.#here = undefined
  }

  /** Sends what the journal has and the broker lacks, one block after the other. */
  async pump(): Promise<'waiting' | 'over' | 'gone'> {
    const journal = this.#open()
    if (!journal) return 'gone'
    try {
      for (;;) {
        this.#check(journal)
        this.#name ??= this.#nameIn(journal)
        // No event so far.
        if (!this.#name) return isRunning(this.dir, this.#root) ? 'waiting' : 'over'
        this.#here ??= await this.#ask(journal, this.#name)
        const state = await this.#sendNext(journal, this.#here)
        if (state) return state
      }
    } finally {
      journal.close()
    }
  }

  #open(): JournalReader | undefined {
    try {
      const fd = openPlain(this.#path, fs.constants.O_RDONLY, undefined, this.#root)
      // A larger event would have to be held in memory as a whole. The server's page leaves it out, too.
      return new JournalReader(fd, this.#path, (at) => tooLong(this.#path, at))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw diskFault('read', this.#path, error)
    }
  }

  /** The journal may have been cut, or replaced by one whose file has the same number and is longer. */
  #check({ fd }: JournalReader): void {
    const { size, ino } = fs.fstatSync(fd)
    this.#size = size
    if (ino === this.#inode && (!this.#here || tailBefore(fd, this.#here.at) === this.#here.tail)) return
    this.#name = this.#here = this.#sent = this.#acked = undefined
    this.#inode = ino
  }

  #nameIn(journal: JournalReader): RunName | undefined {
    const first = readPortion(journal, 0, undefined, this.#broker.maxBlock)
    return first && { tenant: tokenOf(this.#options.tenant), run: tokenOf(first.last.run_id) }
  }

  async #ask(journal: JournalReader, run: RunName): Promise<KnownPosition & { readonly after: number }> {
    const there = await this.#broker.last(run)
    if (!there) return { ...START, after: 0 }
    const { at: after, end } = there
    const sent = this.#sent
    for (const known of [sent, this.#acked]) {
      if (!known || !isSame(known.end, end) || tailBefore(journal.fd, known.at) !== known.tail) continue
      // Only the answer was lost.
      if (known === sent) this.#arrived(sent)
      return { ...known, end, after }
    }
    if (end.seq === 0) return { ...START, end, after }
    const found = placeAfter(journal, end)
    if (!found) throw refused(this.dir, run, end)
    return { ...found, end, after, tail: tailBefore(journal.fd, found.at) }
  }

  /** Sends one block; undefined if there may be more. */
  async #sendNext(journal: JournalReader, start: KnownPosition): Promise<'waiting' | 'over' | undefined> {
    const { fd } = journal
    const { maxBlock } = this.#broker
    const { alone, redact } = this.#options
    const isLong = isLongLine(fd, start.at, maxBlock)
    if (isLong && (await alone(() => this.#sendLong(journal, start)))) return undefined
    const portion = isLong ? undefined : readPortion(journal, start.at, start.last, maxBlock, redact)
    if (!portion) {
      // First the process, then the size: what it wrote last must not be missed.
      const over = !isRunning(this.dir, this.#root)
      if (fs.fstatSync(fd).size !== this.#size) return undefined
      const { attempt, seq, hash } = start.end
      const isTold = over ? start.end.over : !this.#ordered() === !start.end.control
      if (isTold) return over ? 'over' : 'waiting'
      const end = { attempt, seq, hash, over: over || undefined }
      await this.#append({ ...start, end }, NOTHING, NO_LOAD)
      return undefined
    }
    if (portion.bytes.length > maxBlock) {
      // Redaction made it longer.
      await alone(() => this.#sendLong(journal, start))
    } else {
      const over =
        portion.next === this.#size &&
        !isRunning(this.dir, this.#root) &&
        fs.fstatSync(fd).size === this.#size
      await this.#append(knownAfter(fd, portion, over), portion.bytes, loadOf(portion))
    }
    return undefined
  }

  /** The attempt that takes orders now. */
  #ordered(): OrderedRun | undefined {
    const ordered = this.#options.control ? orderedRun(this.dir, this.#root) : undefined
    return ordered && takesOrders(ordered) ? ordered : undefined
  }

  /** True if it was accepted. If not, the broker must be asked. */
  async #append({ end, ...more }: KnownPosition, bytes: Uint8Array, load: Load): Promise<boolean> {
    const { after } = this.#here!
    const control = !end.over && this.#ordered() !== undefined
    const next = { ...more, end: control ? { ...end, control } : end }
    this.#here = undefined
    this.#sent = { ...next, ...load }
    const at = await this.#broker.append(this.#name!, next.end, bytes, after)
    if (at === undefined) {
      // What is there now is of another shipper.
      this.#sent = { ...next, ...NO_LOAD }
      // A server that lags may still give its old answer.
      await delay(CONFLICT_MS)
      return false
    }
    this.#arrived(this.#sent)
    this.#here = { ...next, after: at }
    return true
  }

  #arrived({ events, bytes, ...known }: KnownPosition & Load): void {
    this.#acked = known
    this.#sent = undefined
    if (bytes > 0) this.#options.sent(events, bytes)
  }

  /**
   * Sends a line that is too long for a block. A part of it may be there, of ours or of the process before.
   * False if the line has no end yet. It is read here and not before: other runs can have such lines, too.
   */
  async #sendLong(journal: JournalReader, start: KnownPosition): Promise<boolean> {
    const { fd } = journal
    const { maxBlock } = this.#broker
    const { redact } = this.#options
    // Others came first, and meanwhile it may have become another journal.
    if (tailBefore(fd, start.at) !== start.tail) return true
    const portion = readPortion(journal, start.at, start.last, maxBlock, redact)
    if (!portion) return false
    const { bytes } = portion
    const { end, ...known } = knownAfter(fd, portion, false)
    const { part } = start.end
    const goesOn = part && part.bytes < bytes.length && hashOf(bytes.subarray(0, part.bytes)) === part.hash
    let from = goesOn ? part.bytes : 0
    const hash = createHash('sha256').update(bytes.subarray(0, from))
    for (; bytes.length - from > maxBlock; from += maxBlock) {
      const piece = bytes.subarray(from, from + maxBlock)
      hash.update(piece)
      const there = { bytes: from + piece.length, hash: hash.copy().digest('hex').slice(0, 32) }
      const { attempt, seq, hash: before } = start.end
      const partEnd = { attempt, seq, hash: before, part: there, ...(from > 0 ? { from } : {}) }
      if (!(await this.#append({ ...start, end: partEnd }, piece, NO_LOAD))) return true
    }
    const last = { ...known, end: from > 0 ? { ...end, from } : end }
    await this.#append(last, bytes.subarray(from), loadOf(portion))
    return true
  }
}

function knownAfter(fd: number, { next, last, hash }: Portion, over: boolean): KnownPosition {
  const { attempt_number: attempt, seq } = last
  const end = { attempt, seq, hash, ...(over ? { over } : {}) }
  return { at: next, last, end, tail: tailBefore(fd, next) }
}

function loadOf({ events, bytes }: Portion): Load {
  return { events, bytes: bytes.length }
}

/** Whether the broker's last block is exactly this one. A part or an end may follow the same event. */
function isSame(a: BlockEnd, b: BlockEnd): boolean {
  return a.attempt === b.attempt && a.seq === b.seq && a.hash === b.hash
}

function refused(dir: string, { tenant, run }: RunName, { attempt, seq }: BlockEnd): Fault {
  return new Fault(
    'RUN_REFUSED',
    `the broker has the run ${quote(`${tenant}/${run}`, 100)} up to event ${attempt}.${seq} (attempt.seq), and that event is not in ` +
      `${quote(dir, 160)}: another host or a later attempt wrote it. Ship this one under another tenant, or under another run id`,
  )
}

function tooLong(path: string, at: number): Fault {
  return new Fault(
    'RUN_REFUSED',
    `${quote(path, 200)} has an event of more than ${MAX_LINE >> 20} MiB at byte ${at}, which is not shipped`,
    { at },
  )
}

type Portion = NonNullable<ReturnType<typeof readPortion>>

/**
 * Whole lines from a position in a journal on, about `limit` bytes of them or one that is longer; undefined
 * if there is none yet. `last` is the event before it.
 */
function readPortion(
  journal: JournalReader,
  at: number,
  last: EventPlace | undefined,
  limit: number,
  redact?: (event: AgentEvent) => AgentEvent,
) {
  const lines = journal.lines(at, limit)
  if (!lines) return undefined
  const out: Buffer[] = []
  let size = 0
  let end: JournalEvent | undefined
  for (const found of journal.events(lines, last)) {
    const sent = redact ? Buffer.from(jsonLine(redact(found.event))) : found.bytes
    // Redaction can make lines longer.
    if (end && size + sent.length > limit) break
    out.push(sent)
    size += sent.length
    end = found
  }
  if (!end) return undefined
  // Above the limit only if it is one line.
  const bytes = redact ? Buffer.concat(out) : lines.bytes.subarray(0, end.next - at)
  return { bytes, events: out.length, next: end.next, last: end.place, hash: hashOf(end.bytes) }
}

const STEP = 1 << 20

/** The position in a journal right after an event, or undefined if the event is missing or differs. */
function placeAfter(
  journal: JournalReader,
  { attempt, seq, hash }: BlockEnd,
): { at: number; last: EventPlace } | undefined {
  for (const { place, bytes, next } of journal.entries(0, STEP)) {
    if (!place || place.attempt_number > attempt) return undefined
    if (place.attempt_number === attempt && place.seq === seq)
      return hashOf(bytes) === hash ? { at: next, last: place } : undefined
  }
  return undefined
}

/** The hash of a line or of a part of one: it distinguishes writers, and 128 bits are enough for that. */
function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

/** Events are told apart by fewer bytes. */
const TAIL = 4096

/** The hash of the last bytes before a place in a journal. */
function tailBefore(fd: number, at: number): string {
  const length = Math.min(TAIL, at)
  return hashOf(readBlock(fd, at - length, length))
}

const LOOK = 16 * 1024

/** Whether the line that begins at this place has more than `limit` bytes, whole or not. */
function isLongLine(fd: number, at: number, limit: number): boolean {
  if (fs.fstatSync(fd).size - at <= limit) return false
  for (let seen = 0; seen < limit; ) {
    const bytes = readBlock(fd, at + seen, Math.min(LOOK, limit - seen))
    if (bytes.length === 0 || bytes.includes(LF)) return false
    seen += bytes.length
  }
  return true
}
