import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { diskFault } from '../base/disk-fault.ts'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import type { Place } from '../disk/read-journal.ts'
import { openPlain } from '../disk/plain-file.ts'
import type { Event } from '../events/event.ts'
import { auditPlace } from '../serve/run-place.ts'
import type { BlockEnd, Broker, RunName } from './broker.ts'
import {
  hashOf,
  isLongLine,
  type JournalSource,
  type Portion,
  placeAfter,
  readPortion,
  tailBefore,
} from './journal-portions.ts'
import { tokenOf } from './token.ts'

/** A run that is being shipped. */
export interface ShippedRun {
  readonly dir: string
  /** Sends what the journal has and the broker lacks, one block after the other. */
  pump(): Promise<'waiting' | 'over' | 'gone'>
  /** Called after any error: the broker must be asked again for its position. */
  forget(): void
  /** Size of the journal when it was last checked. */
  readonly size: number
}

export interface ShipRunOptions {
  readonly tenant: string
  readonly redact?: ((event: Event) => Event) | undefined
  /** Called with what the broker has acknowledged. */
  readonly sent: (events: number, bytes: number) => void
  /** Limits lines that are too long for a block to one at a time: each is in memory as a whole. */
  readonly alone: <T>(act: () => Promise<T>) => Promise<T>
}

/** A position in the journal, and the end of the block before it. */
interface Known {
  readonly at: number
  readonly last: Place | undefined
  readonly end: BlockEnd
  /** What is before this place: if that changes, it is another journal. */
  readonly tail: string
}

const CONFLICT_MS = 10
const NOTHING = Buffer.alloc(0)
const NO_EVENT_YET: BlockEnd = { attempt: 0, seq: 0, hash: '' }
const START: Known = { at: 0, last: undefined, end: NO_EVENT_YET, tail: hashOf(NOTHING) }

/**
 * Ships the journal in one directory. The journal is the queue: only the block in flight is held in memory,
 * and the broker says where to continue. `root` is the real path of the directory that must contain the
 * journal.
 */
export function shipRun(broker: Broker, dir: string, root: string, options: ShipRunOptions): ShippedRun {
  const path = join(dir, EVENTS_FILE)
  const place = auditPlace(dir, root)
  let name: RunName | undefined
  /** The position of the broker; undefined if it must be asked. */
  let here: (Known & { readonly after: number }) | undefined
  /**
   * Its likely positions: the last block sent, and the last one acknowledged. Searching the journal takes
   * long.
   */
  let sent: Known | undefined
  let acked: Known | undefined
  let size = 0
  let inode: number | undefined

  async function pump(): Promise<'waiting' | 'over' | 'gone'> {
    const source = open()
    if (!source) return 'gone'
    try {
      for (;;) {
        const { fd } = source
        const stats = fs.fstatSync(fd)
        size = stats.size
        if (stats.ino !== inode || (here && tailBefore(fd, here.at) !== here.tail)) {
          // The journal was cut, or replaced by another one, whose file can have the same number and be
          // longer.
          name = here = sent = acked = undefined
          inode = stats.ino
        }
        name ??= nameIn(source)
        // No event so far.
        if (!name) return place.isRunning() ? 'waiting' : 'over'
        here ??= await ask(source, name)
        const start = here
        const isLong = isLongLine(fd, start.at, broker.maxBlock)
        if (isLong && (await options.alone(() => sendLong(source, start)))) continue
        const portion = isLong ? undefined : readPortion(source, start.at, start.last, broker.maxBlock)
        if (!portion) {
          // First the process, then the size: what it wrote last must not be missed.
          const over = !place.isRunning()
          if (fs.fstatSync(fd).size !== size) continue
          if (!over) return 'waiting'
          const { attempt, seq, hash } = start.end
          if (start.end.over || (await append({ ...start, end: { attempt, seq, hash, over } }, NOTHING)))
            return 'over'
        } else if (portion.bytes.length > broker.maxBlock) {
          // Redaction made it longer.
          await options.alone(() => sendLong(source, start))
        } else {
          const over = portion.next === size && !place.isRunning() && fs.fstatSync(fd).size === size
          if (await append(knownAfter(fd, portion, over), portion.bytes))
            options.sent(portion.events, portion.bytes.length)
        }
      }
    } finally {
      fs.closeSync(source.fd)
    }
  }

  function open(): JournalSource | undefined {
    try {
      const fd = openPlain(path, fs.constants.O_RDONLY, undefined, root)
      return { fd, path, redact: options.redact }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw diskFault('read', path, error)
    }
  }

  function nameIn(source: JournalSource): RunName | undefined {
    const first = readPortion({ ...source, redact: undefined }, 0, undefined, broker.maxBlock)
    return first && { tenant: tokenOf(options.tenant), run: tokenOf(first.last.run_id) }
  }

  async function ask(source: JournalSource, run: RunName): Promise<NonNullable<typeof here>> {
    const there = await broker.last(run)
    if (!there) return { ...START, after: 0 }
    const { at: after, end } = there
    for (const known of [sent, acked])
      if (known && isSame(known.end, end) && tailBefore(source.fd, known.at) === known.tail)
        return { ...known, end, after }
    if (end.seq === 0) return { ...START, end, after }
    const found = placeAfter(source.fd, path, end)
    if (!found) throw refused(dir, run, end)
    return { ...found, end, after, tail: tailBefore(source.fd, found.at) }
  }

  /** True if it was accepted. If not, the broker must be asked. */
  async function append(next: Known, bytes: Uint8Array): Promise<boolean> {
    const { after } = here!
    here = undefined
    sent = next
    const at = await broker.append(name!, next.end, bytes, after)
    if (at === undefined) {
      // A server that lags may still give its old answer.
      await delay(CONFLICT_MS)
      return false
    }
    acked = next
    here = { ...next, after: at }
    return true
  }

  /**
   * Sends a line that is too long for a block. A part of it may be there, of us or of the process before us.
   * False if the line has no end yet. It is read here and not before: other runs can have such lines, too.
   */
  async function sendLong(source: JournalSource, start: Known): Promise<boolean> {
    // Others came first, and meanwhile it may have become another journal.
    if (tailBefore(source.fd, start.at) !== start.tail) return true
    const portion = readPortion(source, start.at, start.last, broker.maxBlock)
    if (!portion) return false
    const { bytes, events } = portion
    const { end, ...known } = knownAfter(source.fd, portion, false)
    const { part } = start.end
    const goesOn = part && part.bytes < bytes.length && hashOf(bytes.subarray(0, part.bytes)) === part.hash
    let from = goesOn ? part.bytes : 0
    const hash = createHash('sha256').update(bytes.subarray(0, from))
    for (; bytes.length - from > broker.maxBlock; from += broker.maxBlock) {
      const piece = bytes.subarray(from, from + broker.maxBlock)
      hash.update(piece)
      const there = { bytes: from + piece.length, hash: hash.copy().digest('hex').slice(0, 32) }
      const { attempt, seq, hash: before } = start.end
      const partEnd = { attempt, seq, hash: before, part: there, ...(from > 0 ? { from } : {}) }
      if (!(await append({ ...start, end: partEnd }, piece))) return true
    }
    if (await append({ ...known, end: from > 0 ? { ...end, from } : end }, bytes.subarray(from)))
      options.sent(events, bytes.length)
    return true
  }

  return {
    dir,
    pump,
    forget() {
      here = undefined
    },
    get size() {
      return size
    },
  }
}

function knownAfter(fd: number, { next, last, hash }: Portion, over: boolean): Known {
  const { attempt_number: attempt, seq } = last
  const end = { attempt, seq, hash, ...(over ? { over } : {}) }
  return { at: next, last, end, tail: tailBefore(fd, next) }
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
