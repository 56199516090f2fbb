import { Fault, quote } from '../base/fault.ts'
import { comparePlaces, journalLine, MAX_LINE, outOfOrder, type Place } from '../disk/read-journal.ts'
import type { Event } from '../events/event.ts'
import { LF } from '../text/characters.ts'
import type { StoredBlock } from './broker.ts'

/** An event and its line, without LF. */
interface ReadEvent {
  readonly event: Event
  readonly line: string
}

/** Joins the blocks of one run to its events. */
export interface Assembler {
  /**
   * The new events in a block. Throws BROKER_GAP if earlier ones are missing, BROKER_FAILED if it contains
   * something else.
   */
  feed(block: StoredBlock): ReadEvent[]
  /** The position of the block in which the incomplete line begins. */
  readonly open: number | undefined
  /** The last event. */
  readonly last: Omit<Place, 'run_id'> | undefined
}

/** Longer lines are not joined: shippers send none, but redaction can make one longer. */
const MAX_JOINED = MAX_LINE + (1 << 20)

/** `last` is the event that is there already: it and those before it are left out. */
export function assembler(last?: Omit<Place, 'run_id'>): Assembler {
  let parts: Uint8Array[] = []
  let gathered = 0
  let open: number | undefined
  let run: string | undefined

  function drop(): void {
    parts = []
    gathered = 0
    open = undefined
  }

  return {
    feed(block) {
      const { at, bytes, end } = block
      // If a shipper sends a line again from its start, drop what was there.
      if (!end.from) drop()
      else if (gathered !== end.from)
        throw gap(block, `the line that it continues has ${gathered} of ${end.from} bytes`)
      if (end.part) {
        open ??= at
        parts.push(bytes)
        gathered += bytes.length
        if (gathered > MAX_JOINED) throw foreign(block, 'a line of it has no end')
        if (gathered !== end.part.bytes)
          throw gap(block, `it should end at byte ${end.part.bytes} of a line, not at ${gathered}`)
        return []
      }
      const whole =
        parts.length > 0
          ? Buffer.concat([...parts, bytes])
          : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      drop()
      const found: ReadEvent[] = []
      for (let from = 0; from < whole.length; ) {
        const to = whole.indexOf(LF, from)
        if (to < 0) throw foreign(block, 'its last line has no end')
        const line = whole.toString('utf8', from, to)
        from = to + 1
        const { event, place } = readEvent(block, line)
        if (run !== undefined && place.run_id !== run) throw foreign(block, 'it has events of two runs')
        run = place.run_id
        if (last && comparePlaces(place, last) <= 0) continue
        const why = outOfOrder(last && { run_id: run, ...last }, place)
        if (why !== undefined) throw gap(block, why)
        last = { attempt_number: place.attempt_number, seq: place.seq }
        found.push({ event, line })
      }
      return found
    },
    get open() {
      return open
    },
    get last() {
      return last
    },
  }
}

function readEvent(block: StoredBlock, line: string): { event: Event; place: Place } {
  try {
    const event: unknown = JSON.parse(line)
    const place = journalLine(event)
    // Cast: the fields that every event has were checked; the rest is passed on unchanged.
    if (place) return { event: event as Event, place }
  } catch {}
  throw foreign(block, 'one of its lines is not an event')
}

function gap({ at, name }: StoredBlock, why: string): Fault {
  return new Fault('BROKER_GAP', `block ${at} of the run ${shown(name)} does not follow: ${why}`)
}

function foreign({ at, name }: StoredBlock, why: string): Fault {
  return new Fault(
    'BROKER_FAILED',
    `block ${at} of the run ${shown(name)} was not written by agent-sluice: ${why}`,
  )
}

function shown({ tenant, run }: StoredBlock['name']): string {
  return quote(`${tenant}/${run}`, 100)
}
