import { setTimeout as delay } from 'node:timers/promises'
import { Fault, quote } from '../base/fault.ts'
import { digestOf } from '../disk/cache.ts'
import { comparePlaces, type EventPlace, MAX_LINE, outOfOrder, readLine } from '../disk/read-journal.ts'
import { isRecord } from '../events/engine.ts'
import type { AgentEvent } from '../events/event.ts'
import { jsonValue } from '../json/strict.ts'
import { type Order, refused } from '../run/orders.ts'
import { LF } from '../text/characters.ts'

/** A run at the broker. Both names are tokens (`tokenOf`), valid in a subject and in a file name. */
export interface RunName {
  readonly tenant: string
  readonly run: string
}

/** The state of a run after a block. */
export interface BlockEnd {
  /** The last complete event up to here; 0.0 if there is none yet. */
  readonly attempt: number
  readonly seq: number
  /** Hash of its line in the host's journal, before redaction; empty if there is none yet. */
  readonly hash: string
  /** What was sent of the next line, which is too long for one block. `hash` is of these bytes. */
  readonly part?: { readonly bytes: number; readonly hash: string } | undefined
  /** The block begins this many bytes into a line; earlier blocks have what is before. @default 0 */
  readonly from?: number | undefined
  /** The run had ended when this was sent. It can continue with another attempt. */
  readonly over?: boolean | undefined
  /** The run took orders when this was sent, and its shipper passes them on. */
  readonly control?: boolean | undefined
}

/** A block with its position at the broker. Later blocks, of any run, have higher positions. */
export interface StoredBlock {
  readonly at: number
  readonly name: RunName
  readonly end: BlockEnd
  /** Whole lines, a part of one, or nothing. */
  readonly bytes: Uint8Array
  /** The broker has put it there for somebody who may not write there: it is of another run, if of any. */
  readonly copied?: boolean | undefined
}

/** Which runs to read. @default all */
export interface BlockFilter {
  readonly tenant?: string | undefined
  readonly run?: string | undefined
}

/**
 * What shipping needs from a broker. `ship`, `subscribe` and `mirror` use nothing else, so that another
 * broker can replace NATS; `test/nats/broker.slow.test.ts` is its contract.
 *
 * A Fault is thrown for errors that a retry cannot fix; any other error means that it is unknown whether
 * something was done, and that the broker must be asked.
 */
export interface Broker {
  /** Maximum size of one block in bytes. */
  readonly maxBlock: number
  /** Appends after the run's block at `after` (0: as its first); undefined if the run has moved on. */
  append(name: RunName, end: BlockEnd, bytes: Uint8Array, after: number): Promise<number | undefined>
  /** The last block of a run, without its bytes; undefined if there is none. It may be outdated. */
  last(name: RunName): Promise<Pick<StoredBlock, 'at' | 'end'> | undefined>
  /** The storage and its last position. If it is lost, the id differs or the position is lower. */
  state(): Promise<{ readonly id: string; readonly last: number }>
  /** How many of these blocks are after a position. Throws while that cannot be said for certain. */
  pending(after: number, filter: BlockFilter): Promise<number>
  /** All blocks from a position on, until the signal. Waits while the broker is unreachable. */
  read(from: number, filter: BlockFilter, signal: AbortSignal): AsyncGenerator<StoredBlock, void>
  /**
   * Asks the shipper of a run to give it an order; undefined if nobody is there who could. The broker stores
   * nothing, so that no order is acted on when it is out of date.
   */
  order(name: RunName, order: Uint8Array): Promise<Uint8Array | undefined>
  /**
   * Answers such requests for the runs of a tenant, until the signal; those that `take` has no answer for are
   * left to another shipper. `fail` is called if that is forbidden.
   */
  takeOrders(
    tenant: string,
    take: (run: string, order: Uint8Array) => Uint8Array | undefined,
    fail: (fault: Fault) => void,
    signal: AbortSignal,
  ): void
  /** Waits until the broker is reachable. */
  reachable(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Thrown by `read` if the broker has lost or replaced something: read it from the start. */
export class Rewound extends Error {}

/** Tells a block from another one that is at its place since the broker lost it. */
export function blockMark({ name, end }: StoredBlock): string {
  const { attempt, seq, hash, part, over, control } = end
  const state = `${part?.bytes ?? ''} ${over ?? ''}${control ? ' control' : ''}`
  return `${name.tenant}.${name.run} ${attempt}.${seq} ${hash} ${state}`
}

const RETRY_MS = 200

/** Asks the broker until it answers. Throws a Fault, and when the signal is aborted. */
export async function untilAnswered<T>(
  broker: Broker,
  signal: AbortSignal,
  ask: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (Fault.is(error)) throw error
    }
    await delay(RETRY_MS, undefined, { signal })
    await broker.reachable(signal)
  }
}

/** A longer token is cut and gets a hash: a file name may have 255 bytes. */
const MAX_TOKEN = 200
const KEPT = 160

/**
 * A name as a token of a subject and as a folder: percent-encoded, with `.` and `*`, which are special.
 *
 * @example
 * tokenOf('shop/run.7') // 'shop%2Frun%2E7'
 */
export function tokenOf(name: string): string {
  // A lone surrogate becomes U+FFFD here; encodeURIComponent would throw on it.
  const plain = Buffer.from(name).toString()
  const token = encodeURIComponent(plain).replaceAll('.', '%2E').replaceAll('*', '%2A')
  if (token.length > 0 && token.length <= MAX_TOKEN && plain === name) return token
  return `${token.slice(0, KEPT)}-${digestOf(name).slice(0, 32)}`
}

/** Whether `tokenOf` may have made it. Others may publish what leads to another folder: a `/`. */
export function isToken(text: string): boolean {
  return text.length <= MAX_TOKEN && /^[\w\-!~'()%]+$/.test(text)
}

/** An event and its line, without LF. */
interface ReadEvent {
  readonly event: AgentEvent
  readonly line: string
}

/** Longer lines are not joined: shippers send none, but redaction can make one longer. */
const MAX_JOINED = MAX_LINE + (1 << 20)

export type Assembler = ReturnType<typeof assembler>

/**
 * Joins the blocks of one run to its events. `last` is the event that is there already: it and those before
 * it are left out.
 */
export function assembler(last?: Omit<EventPlace, 'run_id'>) {
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
    /** The new events in a block. Throws BROKER_GAP for a gap, BROKER_FAILED for something else. */
    feed(block: StoredBlock): ReadEvent[] {
      const { at, bytes, end } = block
      // If a shipper sends a line again from its start, drop what was there.
      if (!end.from) drop()
      else if (gathered !== end.from)
        throw gap(block, `the line that it continues has ${gathered} of ${end.from} bytes`)
      if (end.part) {
        open ??= at
        parts.push(bytes)
        gathered += bytes.length
        if (gathered > MAX_JOINED) throw notOurs(block, 'a line of it has no end')
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
        if (to < 0) throw notOurs(block, 'its last line has no end')
        const line = whole.toString('utf8', from, to)
        from = to + 1
        const { value, place } = readLine(line)
        if (!place) throw notOurs(block, 'one of its lines is not an event')
        if (run !== undefined && place.run_id !== run) throw notOurs(block, 'it has events of two runs')
        run = place.run_id
        if (last && comparePlaces(place, last) <= 0) continue
        const why = outOfOrder(last && { run_id: run, ...last }, place)
        if (why !== undefined) throw gap(block, why)
        last = { attempt_number: place.attempt_number, seq: place.seq }
        // Cast: the fields that every event has were checked; the rest is passed on unchanged.
        found.push({ event: value as AgentEvent, line })
      }
      return found
    },
    /** The position of the block in which the incomplete line begins. */
    get open(): number | undefined {
      return open
    },
    get last(): Omit<EventPlace, 'run_id'> | undefined {
      return last
    },
  }
}

function gap({ at, name }: StoredBlock, why: string): Fault {
  return new Fault('BROKER_GAP', `block ${at} of the run ${shown(name)} does not follow: ${why}`)
}

function notOurs({ at, name }: StoredBlock, why: string): Fault {
  return new Fault(
    'BROKER_FAILED',
    `block ${at} of the run ${shown(name)} was not written by agent-sluice: ${why}`,
  )
}

function shown({ tenant, run }: StoredBlock['name']): string {
  return quote(`${tenant}/${run}`, 100)
}

/** What a shipper answers to an order. `given`: it is in the orders of the run; false if it was before. */
export type OrderAnswer = { readonly given: boolean } | { readonly why: string }

/** How long to try to reach a host: it, the broker or this process may just have been started again. */
const TRY_MS = 8000

/**
 * Gives an order to a run of another host, as `giveOrder` does to one of this machine. The host is asked
 * until it answers: the id of the order sees to it that the run gets it once. Throws BROKER_FAILED if it does
 * not.
 */
export async function giveRemote(broker: Broker, name: RunName, order: Order): Promise<boolean> {
  const text = Buffer.from(JSON.stringify(order))
  const until = performance.now() + TRY_MS
  for (let isUnheard = true; ; await delay(RETRY_MS)) {
    try {
      const answer = await broker.order(name, text)
      if (answer) return isGiven(answer, isUnheard)
    } catch (error) {
      if (Fault.is(error)) throw error
      // It may have arrived, and the answer was lost.
      isUnheard = false
    }
    if (performance.now() > until) throw notHeard(isUnheard)
  }
}

function isGiven(answer: Uint8Array, isFirst: boolean): boolean {
  const told = jsonValue(Buffer.from(answer).toString())
  if (isRecord(told) && typeof told['given'] === 'boolean') return told['given'] || !isFirst
  throw refused(isRecord(told) ? String(told['why']) : 'its host gave no answer that can be read')
}

function notHeard(isUnheard: boolean): Fault {
  const why = isUnheard
    ? 'the order was not delivered: its host passes on no orders now (sluice ship --control)'
    : `its host did not answer in ${TRY_MS / 1000} s; if the order was delivered all the same, the run tells it`
  return new Fault('BROKER_FAILED', why)
}
