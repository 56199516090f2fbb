import {
  type Breakage,
  type Code,
  Fault,
  type FaultDetails,
  meaningOf,
  type Note,
  payloadCodes,
  withoutStack,
} from '../base/fault.ts'
import type { Frame } from '../frames/frame.ts'
import { frameOffset, risingOffsets } from '../frames/frame-offsets.ts'
import { balancedEnd } from '../json/text-balance.ts'
import type { ChangeKind, RepairChange } from '../repair/change.ts'
import type { Channel } from '../text/chunk.ts'
import type { Miss, Pass } from './ladder.ts'
import type { BadOutcome, GoodOutcome } from './outcome.ts'
import type { UnmatchedText } from './unmatched-text.ts'

/** The outcome of a value that passed. `how` its frame was found, if that counts as a repair. */
export function goodOf(frame: Frame, pass: Pass, how: ChangeKind | undefined): GoodOutcome<unknown> {
  // Most payloads are clean and need no further allocation.
  if (!how && pass.changes.length + pass.notes.length === 0 && !frame.notes && !frame.open) {
    return { ok: true, value: pass.value, repair_level: 'none', notes: NONE, frame }
  }
  const changes: RepairChange[] = []
  const notes: Note[] = []
  const isUnclosedTag = frame.open && frame.kind === 'tag' && !pass.incomplete
  if (isUnclosedTag) changes.push(foundAt('added a missing closing tag', frame.to))
  if (frame.notes?.some(({ code }) => code === 'THINK_UNCLOSED' || code === 'THINK_OPEN'))
    changes.push(foundAt('read an unclosed think block', frame.from))
  if (how) changes.push(foundAt(how, frame.from))
  if (pass.changes.length > 0) {
    const place = risingOffsets(frame)
    // Written out: a spread takes as long as the repair of a small text.
    for (const { kind, at, before, after } of pass.changes)
      changes.push({ kind, at: place(at), before, after })
  }
  if (changes.length > 0) {
    notes.push({ code: 'OUTPUT_REPAIRED_GENERIC', message: payloadCodes.OUTPUT_REPAIRED_GENERIC, changes })
  }
  if (frame.open && pass.incomplete)
    notes.push({ code: 'TRUNCATED', message: payloadCodes.TRUNCATED, at: frame.to })
  if (isUnclosedTag) notes.push({ code: 'TAG_UNCLOSED', message: payloadCodes.TAG_UNCLOSED, at: frame.to })
  for (const note of pass.notes) {
    notes.push(note.places ? { ...note, places: note.places.map((at) => frameOffset(frame, at)) } : note)
  }
  if (frame.notes) notes.push(...frame.notes)
  const repair_level = changes.length > 0 ? 'deterministic_generic' : 'none'
  const good = { ok: true, value: pass.value, repair_level, notes, frame } as const
  return pass.incomplete ? { ...good, incomplete: pass.incomplete } : good
}

/** How a frame was found, as a change: it has no text. */
function foundAt(kind: ChangeKind, at: number): RepairChange {
  return { kind, at, before: '', after: '' }
}

/** The outcome of a payload that could not be used, with the place where it broke. */
export function badOf(frame: Frame, miss: Miss, label: string | undefined): BadOutcome {
  // If the input ended inside a block with open brackets, the payload was cut, whatever else is wrong.
  const cut = frame.open && frame.kind !== 'object' && miss.code === 'INVALID_JSON' && isOpen(frame.text)
  const code = cut ? 'TRUNCATED' : miss.code
  const at = miss.place ?? (miss.at === undefined ? frame.from : frameOffset(frame, miss.at))
  // One assignment after the other: a literal with a spread for each takes several times as long.
  const details: { -readonly [K in keyof FaultDetails]: FaultDetails[K] } = { at }
  if (miss.errors) details.errors = miss.errors
  if (miss.broken) details.broken = breakageOf(frame.text, miss.at ?? 0, miss.broken)
  const cause = miss.cause ?? miss.read?.cause
  if (cause !== undefined) details.cause = cause
  if ('value' in miss) details.value = miss.value
  const fault = faultOf(code, miss.detail, label, details)
  const notes = frame.notes ? [...miss.notes, ...frame.notes] : miss.notes
  return { ok: false, fault, repair_level: 'none', notes, frame }
}

/** What is broken at a place in a text, with its line and its column. */
function breakageOf(text: string, at: number, { found, expected }: NonNullable<Miss['broken']>): Breakage {
  let line = 1
  let start = 0
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', start)) {
    line++
    start = end + 1
  }
  return { line, column: at - start + 1, found, expected }
}

/** The outcome of a block that reached its limit before its end was found. */
export function tooLongOf(frame: Frame, note: Note, label: string | undefined): BadOutcome {
  const fault = faultOf('FRAME_TOO_LONG', note.message, label, { at: frame.from })
  return { ok: false, fault, repair_level: 'none', notes: frame.notes ?? NONE, frame }
}

/** The only outcome of an input without any payload. */
export function nothingOf(
  code: 'EMPTY' | 'NO_MATCH',
  channel: Channel,
  unmatched: UnmatchedText | undefined,
  label: string | undefined,
): BadOutcome {
  const frame: Frame = {
    kind: 'text',
    channel,
    from: 0,
    to: unmatched?.size() ?? 0,
    text: '',
    blank: code === 'EMPTY',
  }
  const fault = faultOf(code, '', label, {})
  const bad: BadOutcome = { ok: false, fault, repair_level: 'none', notes: NONE, frame }
  return code === 'EMPTY' || !unmatched ? bad : { ...bad, comment: unmatched.comment() }
}

function isOpen(text: string): boolean {
  const from = text.search(/[{[]/)
  return from >= 0 ? balancedEnd(text, from) < 0 : text.trim() === ''
}

const NONE: readonly Note[] = []

function faultOf(code: Code, detail: string, label: string | undefined, details: FaultDetails): Fault {
  const words = detail ? `${meaningOf(code)}: ${detail}` : meaningOf(code)
  // Not thrown here; `parse`, which throws it, gives it the stack of its caller.
  return label
    ? withoutStack((message) => new Fault(code, message, { ...details, label }), `${label}: ${words}`)
    : withoutStack((message) => new Fault(code, message, details), words)
}
