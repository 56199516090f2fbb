import { Fault, quote } from '../base/fault.ts'

/** The place of an event in its run. */
export interface Place {
  readonly run_id: string
  readonly attempt_number: number
  readonly seq: number
}

/** A line of a journal: the place of its event, and its type. */
export interface JournalLine extends Place {
  readonly category: string
  readonly type: string
}

/**
 * Reads a line of `events.jsonl`; undefined if it is not an event.
 *
 * @example
 * readLine('{"run_id":"r","attempt_number":1,"seq":1,"event":{"category":"raw","type":"raw.stdout"}}')
 */
export function readLine(line: string): JournalLine | undefined {
  try {
    return journalLine(JSON.parse(line))
  } catch {
    return undefined
  }
}

/** The same for a line that is parsed already. */
export function journalLine(value: unknown): JournalLine | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // Cast: every field is checked below.
  const { run_id, attempt_number, seq, event } = value as Record<string, unknown>
  if (typeof run_id !== 'string' || !isCount(attempt_number) || !isCount(seq)) return undefined
  const { category, type } = (typeof event === 'object' && event !== null ? event : {}) as typeof value & {
    category?: unknown
    type?: unknown
  }
  if (typeof category !== 'string' || typeof type !== 'string') return undefined
  return { run_id, attempt_number, seq, category, type }
}

/**
 * Why one event cannot follow another, or undefined if it can: a journal has one run, its attempts in order,
 * and the events of each numbered from 1 without a gap.
 */
export function outOfOrder(last: Place | undefined, next: Place): string | undefined {
  if (last && next.run_id !== last.run_id)
    return `it is of run ${quote(next.run_id)}, the one before of ${quote(last.run_id)}`
  const goesOn = last?.attempt_number === next.attempt_number
  const wanted = goesOn ? last.seq + 1 : 1
  if (next.seq === wanted && (goesOn || !last || next.attempt_number > last.attempt_number)) return undefined
  const before = last ? `, the one before is ${last.attempt_number}.${last.seq}` : ', but it is the first'
  return `it is event ${next.attempt_number}.${next.seq} (attempt.seq)${before}`
}

/** The fault for a journal that contains an invalid line. `at` is its byte offset. */
export function damagedJournal(path: string, at: number, why: string): Fault {
  return new Fault(
    'JOURNAL_MISMATCH',
    `${quote(path, 200)} is damaged at byte ${at}: ${why}. The raw logs still have the run: move this file away, then ` +
      'complete it with npx agent-sluice replay --resume',
    { at },
  )
}

export const NO_EVENT = 'the line is not an event'

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}
