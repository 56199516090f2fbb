import { type Code, type Note, quote, type SchemaError } from '../../base/fault.ts'
import { balancedEnd, type Gate, type Span, skipBlanks, spans } from '../../json/balanced.ts'
import { closeCut } from '../../json/cut-text.ts'
import { attempt, type Broken, type Passed, type Rejected, type Rules, type Tried } from './attempt.ts'
import { controlsEscaped } from './control.ts'
import { fenceBodies } from './fence-body.ts'
import { inspect } from './inspect.ts'
import { marksDropped } from './marks.ts'
import { mend } from './mend.ts'
import { MAX_GENERAL, repairGenerally } from './repair.ts'
import { withoutThink } from './think.ts'

/** A value that passed. `changes` is empty if the text was taken as it is. */
export interface Pass {
  readonly ok: true
  readonly value: unknown
  readonly changes: readonly string[]
  readonly notes: readonly Note[]
  readonly incomplete?: readonly string[]
}

/** Why no rung passed: what the first one that parsed was rejected for, or that none parsed. */
export interface Miss {
  readonly ok: false
  readonly code: Code
  /** What was found, to be put behind the words of the code. */
  readonly detail: string
  readonly errors?: readonly SchemaError[]
  readonly cause?: unknown
  /** What a normalizer threw on. */
  readonly value?: unknown
  readonly notes: readonly Note[]
  /** The text as it is was JSON. */
  readonly strict: boolean
  /** The text stops inside its value. */
  readonly cut: boolean
}

/**
 * Climbs the ladder: the text as it is, then one deterministic change after the other, until a candidate
 * parses and passes. Each rung works on the text that the rung before it left. A candidate that is JSON
 * but does not pass ends the climb, except for the envelope: `[{"a":1}]` is not its inner object.
 *
 *     as is → envelope → think → fence → first object → control characters → fence marks → repair → closed
 *
 * @example
 * climb('{"a":1,}', rules) // { ok: true, value: { a: 1 }, changes: ['dropped trailing commas (1)'], … }
 */
export function climb(text: string, rules: Rules): Pass | Miss {
  const asIs = attemptTrimmed(text, rules)
  if (asIs.kind === 'passed') return passOf(asIs, text, NONE, NONE)
  if (asIs.kind === 'broken') {
    return asIs.code === 'MAX_DEPTH' ? missOf(asIs, text, false, NONE) : climbOn(text, rules, asIs, [])
  }
  if (asIs.envelope === undefined) return missOf(asIs, text, true, NONE)
  const inner = attemptTrimmed(asIs.envelope, rules)
  const changes = ['took the text in "response"']
  if (inner.kind === 'passed') return passOf(inner, asIs.envelope, changes, NONE)
  if (inner.kind === 'rejected') return missOf(asIs, text, true, NONE)
  return climbOn(asIs.envelope, rules, asIs, changes)
}

/** The first rung alone: is the text JSON as it is, and does it pass? */
export function climbStrictly(text: string, rules: Rules): Pass | Miss {
  const asIs = attemptTrimmed(text, rules)
  return asIs.kind === 'passed'
    ? passOf(asIs, text, NONE, NONE)
    : missOf(asIs, text, asIs.kind === 'rejected', NONE)
}

const NONE: readonly never[] = []

/** Blanks are no matter to JSON; a BOM and NULs around it are trimmed, which is no repair. */
function attemptTrimmed(text: string, rules: Rules): Tried {
  const tried = attempt(text, rules)
  if (tried.kind !== 'broken' || tried.code === 'MAX_DEPTH') return tried
  const trimmed = trim(text)
  return trimmed.length === text.length ? tried : attempt(trimmed, rules)
}

function climbOn(start: string, rules: Rules, first: Rejected | Broken, changes: string[]): Pass | Miss {
  const gate: Gate = { loose: true, arrays: rules.root === 'any' }
  const notes: Note[] = []
  const ambiguous: (() => boolean)[] = []
  let text = trim(start)
  for (const rung of rungs) {
    const step = rung(text, gate, rules, notes)
    if (!step) continue
    text = step.text
    changes.push(...step.changes)
    const tried = attempt(text, rules)
    const others = step.others
    if (others) ambiguous.push(() => anyPasses(others, rules))
    if (tried.kind === 'passed') {
      if (ambiguous.some((more) => more())) notes.push(AMBIGUOUS)
      return {
        ...passOf(tried, text, changes, notes),
        ...(step.incomplete && { incomplete: step.incomplete }),
      }
    }
    if (tried.kind === 'rejected') {
      const why = first.kind === 'rejected' ? first : tried
      return { ...missOf(why, text, first.kind === 'rejected', notes), cut: step.incomplete !== undefined }
    }
  }
  return missOf(first, text, first.kind === 'rejected', notes)
}

const AMBIGUOUS: Note = {
  code: 'AMBIGUOUS',
  message: 'more than one candidate inside the frame passes; the first was taken',
}

/** What a rung makes of the text, or undefined if it has nothing to change. */
interface Step {
  readonly text: string
  readonly changes: readonly string[]
  /** The candidates it passed over. */
  readonly others?: Iterable<string>
  readonly incomplete?: readonly string[]
}

type Rung = (text: string, gate: Gate, rules: Rules, notes: Note[]) => Step | undefined

const rungs: readonly Rung[] = [
  dropThink,
  takeFenceBody,
  takeFirstObject,
  escapeControls,
  dropMarks,
  repairSyntax,
  closeEnd,
]

function dropThink(text: string, gate: Gate): Step | undefined {
  const left = withoutThink(text, gate)
  return left === text ? undefined : { text: trim(left), changes: ['dropped the think block'] }
}

function takeFenceBody(text: string, gate: Gate): Step | undefined {
  const bodies = fenceBodies(text, gate)
  const body = bodies.next()
  if (body.done) return undefined
  return { text: trim(body.value), changes: ['took the body of a fence'], others: bodies }
}

function takeFirstObject(text: string, gate: Gate): Step | undefined {
  const found = spans(text, gate)
  const span = found.next().value
  if (!span) return undefined
  const object = text.slice(span.from, span.to < 0 ? text.length : span.to)
  if (object.length === text.length) return undefined
  return { text: object, changes: ['took the first object'], others: textsOf(text, found) }
}

function* textsOf(text: string, found: Iterable<Span>): Generator<string> {
  for (const { from, to } of found) if (to >= 0) yield text.slice(from, to)
}

/** Whether one of the next candidates passes, too. Only some are tried: a frame may be made of nothing but candidates. */
function anyPasses(candidates: Iterable<string>, rules: Rules): boolean {
  let tried = 0
  for (const text of candidates) {
    if (attempt(text, rules).kind === 'passed') return true
    if (++tried === MAX_OTHERS) return false
  }
  return false
}

const MAX_OTHERS = 64

function escapeControls(text: string): Step | undefined {
  const escaped = controlsEscaped(text)
  if (escaped.count === 0) return undefined
  return { text: escaped.text, changes: [`escaped control characters in strings (${escaped.count})`] }
}

function dropMarks(text: string): Step | undefined {
  const dropped = marksDropped(text)
  if (dropped.count === 0) return undefined
  return { text: dropped.text, changes: [`dropped fence marks inside the JSON (${dropped.count})`] }
}

function repairSyntax(text: string, _gate: Gate, rules: Rules, notes: Note[]): Step | undefined {
  if (text[0] !== '{' && text[0] !== '[') return undefined
  if (text.length > rules.maxRepair) {
    notes.push(skipped(`${text.length} characters are more than maxRepair, ${rules.maxRepair}`))
    return undefined
  }
  const mended = mend(text)
  if (mended) return mended
  if (text.length > MAX_GENERAL) {
    notes.push(
      skipped(`${text.length} characters need general repair, which is tried for at most ${MAX_GENERAL}`),
    )
    return undefined
  }
  return repairGenerally(text)
}

function skipped(message: string): Note {
  return { code: 'REPAIR_SKIPPED', message }
}

function closeEnd(text: string, _gate: Gate, rules: Rules): Step | undefined {
  if (!rules.partial || (text[0] !== '{' && text[0] !== '[')) return undefined
  const closed = closeCut(text)
  if (closed) return { ...closed, changes: ['closed what the input left open'] }
  if (text.length > rules.maxRepair) return undefined
  const mended = mend(text, true)
  const closedAfter = mended && closeCut(mended.text)
  if (!closedAfter) return undefined
  return { ...closedAfter, changes: [...mended.changes, 'closed what the input left open'] }
}

function passOf(passed: Passed, text: string, changes: readonly string[], notes: readonly Note[]): Pass {
  const found = passed.unusual ? inspect(text) : NONE
  const all =
    passed.notes.length + notes.length + found.length === 0 ? NONE : [...notes, ...passed.notes, ...found]
  return { ok: true, value: passed.value, changes, notes: all }
}

function missOf(tried: Rejected | Broken, text: string, strict: boolean, notes: readonly Note[]): Miss {
  const cut = tried.kind === 'broken' && isCut(text)
  if (tried.kind === 'rejected') {
    const { kind, envelope, ...why } = tried
    return { ok: false, ...why, notes, strict, cut }
  }
  const { code, cause } = tried
  const detail = tried.detail || (text === '' ? 'it is blank' : `it starts with ${quote(text)}`)
  return { ok: false, code, detail, cause, notes, strict, cut }
}

function isCut(text: string): boolean {
  const from = skipBlanks(text, 0)
  return (text[from] === '{' || text[from] === '[') && balancedEnd(text, from) < 0
}

/** Without blanks, BOMs and NULs around it. */
function trim(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isMargin(text.charCodeAt(from))) from++
  while (to > from && isMargin(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

function isMargin(unit: number): boolean {
  return unit === 32 || unit === 10 || unit === 13 || unit === 9 || unit === 0xfeff || unit === 0
}
