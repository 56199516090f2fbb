import { type Code, type Note, quote, type SchemaError } from '../base/fault.ts'
import { isCitation } from '../frames/citations.ts'
import { endsInBraces, endsInString, isOnlyStructure, isRestOfWhole } from '../json/after-value.ts'
import { closeCut } from '../json/cut-text.ts'
import { inspect } from '../json/silent-losses.ts'
import { whereBroken } from '../json/tokenizer.ts'
import { isFewWords, isScalarWord } from '../repair/bare-words.ts'
import { changeOf, type RepairChange } from '../repair/change.ts'
import { controlsEscaped, withoutSequences } from '../repair/control-characters.ts'
import type { Edited } from '../repair/edits.ts'
import { isQuote } from '../repair/quotes.ts'
import { mend } from '../repair/search.ts'
import { skipBlanks } from '../repair/tolerant-reader.ts'
import { isBracket } from '../text/characters.ts'
import {
  attempt,
  type Broken,
  envelopeOf,
  judgeValue,
  type Passed,
  type Rejected,
  type Rules,
  type Tried,
} from './attempt.ts'
import { type Candidate, candidatesIn, candidatesOf, endOfBroken, hasQuotedKey } from './candidates.ts'
import { callbackArgument, envelopePlaces } from './envelope.ts'
import { IN_FENCE, isBetter } from './pick.ts'

/** A value that passed. `changes` is empty for an unchanged text; their `at` counts its units. */
export interface Pass {
  readonly ok: true
  readonly value: unknown
  readonly changes: readonly RepairChange[]
  readonly notes: readonly Note[]
  readonly incomplete?: readonly string[]
}

/** Why no rung passed: why the first one that parsed was rejected, or that none parsed. */
export interface Miss {
  readonly ok: false
  readonly code: Code
  /** What was found, appended to the text of the code. */
  readonly detail: string
  /** Where in the text it broke, in units, if known. */
  readonly at?: number | undefined
  /** The same as a byte offset in the channel, if that is known instead. */
  readonly place?: number
  /** What is there, at most 20 characters, and what JSON allows there. */
  readonly broken?: { readonly found: string; readonly expected: string } | undefined
  readonly errors?: readonly SchemaError[]
  readonly cause?: unknown
  readonly read?: Broken['read']
  /** The value that a normalizer threw on, as it was before any of them. */
  readonly value?: unknown
  readonly notes: readonly Note[]
  /** The unchanged text was JSON. */
  readonly strict: boolean
  /** It was JSON after a repair, and then rejected. */
  readonly repaired: boolean
}

/**
 * Tries the rungs of the ladder: the text as it is, then one deterministic change after the other, until a
 * candidate parses and passes. A candidate that is JSON but does not pass ends the search, except for the
 * envelope: `[{"a":1}]` is not its inner object. If the text begins with a bracket, that bracket's value is
 * the only candidate.
 *
 *     as is → envelope → escape sequences → think, fence, first object
 *       → syntax repair → control characters → closed
 *
 * @example
 * climb('{"a":1,}', rules) // { ok: true, value: { a: 1 }, changes: [{ kind: 'dropped a comma', … }], … }
 */
export function climb(text: string, rules: Rules): Pass | Miss {
  return climbInto(text, rules, MAX_ENVELOPES)
}

/** The value of a text that is JSON as it is, and passes; undefined otherwise, without saying why. */
export function passUnchanged(text: string, rules: Rules): Pass | undefined {
  const asIs = attemptTrimmed(text, rules)
  return asIs.kind === 'passed' ? passOf(asIs, text, NONE, NONE) : undefined
}

/** Only the first rung: whether the text is JSON as it is, and passes. */
export function climbStrictly(text: string, rules: Rules): Pass | Miss {
  const asIs = attemptTrimmed(text, rules)
  if (asIs.kind === 'passed') return passOf(asIs, text, NONE, NONE)
  return missOf(asIs, { strict: asIs.kind === 'rejected', repaired: false, text, notes: NONE })
}

const NONE: readonly never[] = []
/** Maximum number of places listed when more than one candidate passes. */
const MAX_PLACES = 16
/** Maximum nesting of envelopes. */
const MAX_ENVELOPES = 8

/** JSON ignores blanks; a BOM and NULs around it are trimmed, which does not count as repair. */
function attemptTrimmed(text: string, rules: Rules): Tried {
  const tried = attempt(text, rules)
  if (tried.kind !== 'broken' || tried.code === 'MAX_DEPTH') return tried
  const [from, to] = margins(text)
  return to - from === text.length ? tried : attempt(text.slice(from, to), rules)
}

/** The rungs after the first. `asIs` says why the unchanged text failed. */
function climbOn(text: string, asIs: Rejected | Broken, rules: Rules, envelopes: number): Pass | Miss {
  if (asIs.kind === 'rejected') {
    const opened = openEnvelope(asIs, { text, changes: NONE, notes: NONE, rules, envelopes })
    if (opened?.ok) return opened
    const why = { strict: true, repaired: false }
    return opened ? { ...opened, ...why } : missOf(asIs, { ...why, text, notes: NONE })
  }
  // Terminal sequences contain brackets, too.
  if (asIs.code === 'MAX_DEPTH' && !text.includes('\u001b'))
    return missOf(asIs, { strict: false, repaired: false, text, notes: NONE })
  const [from, to] = margins(text)
  // The blanks at the end of a cut text may be inside a string.
  const trimmed = text.slice(from, rules.partial ? text.length : to)
  const shown = withoutSequences(trimmed)
  if (shown) {
    const { text: plain, changes } = shown.done()
    const result = climbFurther(plain, NONE, rules, envelopes)
    const placed = moved(result, (at) => shown.origin(at))
    return moved(
      placed.ok ? { ...placed, changes: [...changes, ...placed.changes] } : placed,
      (at) => at + from,
    )
  }
  const result = beyond(trimmed, asIs, NONE, rules, envelopes)
  return from === 0 ? result : moved(result, (at) => at + from)
}

/** A text after a change: tried unchanged first, then on the remaining rungs. */
function climbFurther(
  text: string,
  changes: readonly RepairChange[],
  rules: Rules,
  envelopes: number,
): Pass | Miss {
  const tried = attempt(text, rules)
  if (tried.kind === 'broken' && tried.code !== 'MAX_DEPTH')
    return beyond(text, tried, changes, rules, envelopes)
  return settle(tried, { text, changes, notes: NONE, rules, envelopes })
}

/** A text that is not JSON: one like prose is searched, one like a document is repaired. */
function beyond(
  text: string,
  broken: Broken,
  changes: readonly RepairChange[],
  rules: Rules,
  envelopes: number,
): Pass | Miss {
  if (rules.root === 'any') {
    const scalar =
      mendScalar(text) ??
      listedWord(text, rules) ??
      (rules.partial && text[0] === '"' ? closeEnd(text, false) : undefined)
    const tried = scalar && attempt(scalar.text, rules)
    if (tried && tried.kind !== 'broken') {
      const incomplete = 'incomplete' in scalar ? (scalar.incomplete as readonly string[]) : undefined
      const all = [...changes, ...scalar.changes]
      return settle(tried, { text: scalar.text, changes: all, notes: NONE, rules, envelopes }, incomplete)
    }
  }
  const called = takeArgument(text, changes, rules, envelopes)
  if (called) return called
  const candidates = candidatesIn(text, rules)
  if (!candidates) return repair(text, broken, changes, rules, envelopes)
  const chosen = choose(candidates, text, broken, changes, rules, envelopes)
  return chosen.ok ? chosen : (fencedWithin(text, broken, changes, rules, envelopes) ?? chosen)
}

//  ```⏎{"a":⏎```⏎1}⏎```
//           ^ no closer: the value goes on after it
/** The value of a text that is one fence with stray marks inside its JSON. */
function fencedWithin(
  text: string,
  broken: Broken,
  changes: readonly RepairChange[],
  rules: Rules,
  envelopes: number,
): Pass | undefined {
  const opener = /^(?:`{3,16}|~{3,16})[^`\n]{0,64}\n\s{0,64}(?=[{[])/.exec(text)?.[0]
  if (opener === undefined || text.length > rules.maxRepair) return undefined
  const inner = text.slice(opener.length).replace(/[}\]]\s{0,64}(?:`{3,16}|~{3,16})$/, (end) => end[0]!)
  const result = repair(
    inner,
    broken,
    [...changes, changeOf('took a fence body', 0, opener, '')],
    rules,
    envelopes,
  )
  const isWhole = result.ok && result.changes.some(({ kind }) => kind === 'dropped a fence mark')
  return isWhole && result.ok && !result.changes.some(({ kind }) => kind === 'took an object from prose')
    ? (moved(result, (at) => at + opener.length) as Pass) // cast: it passed
    : undefined
}

/** The argument of a JSONP callback. A scalar argument counts only where a bare scalar would. */
function takeArgument(
  text: string,
  changes: readonly RepairChange[],
  rules: Rules,
  envelopes: number,
): Pass | Miss | undefined {
  const argument = callbackArgument(text)
  if (!argument) return undefined
  const { from, to } = argument
  const inner = text.slice(from, to)
  const isScalar = rules.root === 'any' && attempt(inner, rules).kind !== 'broken'
  if (!isScalar && !isBracket(inner.charCodeAt(0))) return undefined
  const result = moved(climbFurther(inner, NONE, rules, envelopes), (at) => at + from)
  const dropped = changeOf('dropped a call', 0, text.slice(0, from), '')
  return result.ok ? { ...result, changes: [...changes, dropped, ...result.changes] } : result
}

/** A string, number, literal or tuple of another language. Words without quotes are prose. */
function mendScalar(text: string): Edited | undefined {
  const opens = isQuote(text.charCodeAt(0)) || text[0] === '\\' || text[0] === '('
  const word = text.endsWith(',') ? text.slice(0, -1).trimEnd() : text
  if (text.length > MAX_SCALAR || !(opens || isScalarWord(word))) return undefined
  // Read as a member, since in an array a quote in a string may be its neighbour's; not if all are escaped.
  const before = text[0] === '\\' ? '[' : '{"":'
  const mended = mend(before + text + (before === '[' ? ']' : '}'))
  if (mended.kind !== 'mended') return undefined
  const inner = mended.text.slice(before.length, -1)
  const changes = mended.changes.map((change) => ({ ...change, at: change.at - before.length }))
  // Two strings, side by side or on two lines, are not one value; one without its last quote was cut.
  const isDoubtful = ({ kind, before }: RepairChange): boolean =>
    kind === 'added a missing quote' || (kind === 'joined two strings' && !before.includes('+'))
  if (mended.changes.some(isDoubtful)) return undefined
  return Object.keys(JSON.parse(mended.text) as object).length === 1 ? { text: inner, changes } : undefined
}

const MAX_SCALAR = 16 * 1024

/**
 * A text without quotes that is the whole payload, if it is one of those that the schema lists: `approve`, or
 * `**approve**`. A schema that takes other texts, too, would take any prose.
 */
function listedWord(text: string, rules: Rules): Edited | undefined {
  if (!isFewWords(text) || !rules.check) return undefined
  const passes = (word: string) => attempt(JSON.stringify(word), rules).kind === 'passed'
  const plain = EMPHASIS.exec(text)?.[2] ?? text
  const others = ['\0'.repeat(plain.length), `${plain} ${plain}`, `a ${plain}`]
  if (!passes(plain) || others.some(passes)) return undefined
  const word = JSON.stringify(plain)
  return { text: word, changes: [changeOf('quoted a word', 0, text, word)] }
}

/** A word in Markdown's emphasis, or in backticks. */
const EMPHASIS = /^([*_]{1,3}|`)([^*_`\s][^*`\n]{0,254})\1$/

/** A candidate in a text like prose: the first that passes or, if requested, the last. */
function choose(
  candidates: readonly Candidate[],
  text: string,
  broken: Broken,
  changes: readonly RepairChange[],
  rules: Rules,
  envelopes: number,
): Pass | Miss {
  // Most log lines that begin with a bracket have none.
  if (candidates.length === 0) return missOf(broken, { strict: false, repaired: false, text, notes: NONE })
  const { verdict } = rules
  // Each candidate has its own verdict: only the verdict of the chosen one counts.
  const verdicts = candidates.map(() => verdict && { ...verdict, wanted: undefined })
  const results = candidates.map((candidate, n) => {
    const all = [...changes, ...candidate.changes]
    const own = verdict ? { ...rules, verdict: verdicts[n] } : rules
    const tried = attempt(candidate.text, own)
    const found =
      tried.kind === 'broken' && tried.code !== 'MAX_DEPTH'
        ? repair(candidate.text, tried, NONE, own, envelopes)
        : settle(tried, { text: candidate.text, changes: NONE, notes: NONE, rules: own, envelopes })
    const result = moved(found, (at) => at + candidate.at)
    if (!result.ok) return result
    if (candidate.rank === IN_FENCE && hasVariables(result))
      return missOf(broken, { strict: false, repaired: false, text, notes: NONE })
    return { ...result, changes: [...all, ...result.changes], notes: [...result.notes, ...candidate.notes] }
  })
  const choices = results.map((result, n) => {
    const cut = !result.ok && result.code === 'TRUNCATED'
    return { ok: result.ok, cut, rank: candidates[n]!.rank }
  })
  let best = 0
  for (const [n, choice] of choices.entries()) if (isBetter(rules.pick, choice, choices[best]!)) best = n
  const chosen = results[best]!
  const passed = candidates.filter((_, n) => choices[n]!.ok || (n > best && choices[n]!.cut))
  const places = passed.map(({ at }) => at).slice(0, MAX_PLACES)
  if (verdict) verdict.wanted ??= verdicts[best]?.wanted
  if (!chosen.ok || passed.length < 2) return chosen
  const note: Note = {
    code: 'AMBIGUOUS',
    message: `${passed.length} candidates inside one payload pass or are cut off; the ${rules.pick} was taken`,
    places,
  }
  return { ...chosen, notes: [...chosen.notes, note] }
}

//  payload = {"user": user.id, "n": n}
/** Whether words were read as texts: in code they are variables. */
export function hasVariables(result: Pass | Miss): boolean {
  return result.ok && result.changes.some(({ kind }) => kind === 'quoted a word')
}

/** Repairs a text that begins with a bracket and is not JSON. */
function repair(
  text: string,
  broken: Broken,
  before: readonly RepairChange[],
  rules: Rules,
  envelopes: number,
): Pass | Miss {
  const notes: Note[] = []
  const settled = (
    tried: Passed | Rejected,
    { text, changes, origin }: Edited,
    incomplete?: readonly string[],
  ) => settle(tried, { text, origin, changes: before.concat(changes), notes, rules, envelopes }, incomplete)
  const small = text.length <= rules.maxRepair
  // With `partial`, the beginning of JSON is a cut text, not one that lacks a quote.
  const isCut = rules.partial && closeCut(text) !== undefined
  const mended = small && !isCut ? mend(text) : undefined
  if (mended?.kind === 'mended') {
    const tried = attempt(mended.text, rules)
    if (tried.kind !== 'broken') return settled(tried, mended)
    if (tried.code === 'MAX_DEPTH') return missOf(tried, { strict: false, repaired: false, text, notes })
  }
  const end = mended?.kind === 'followed' ? mended.at : mended ? endOfBroken(text) : -1
  if (end >= 0) return takeFirst(text, end, broken, before, rules, envelopes)
  if (!small) {
    // Raw control characters are by far the most common error, and escaping them takes one pass.
    const escaped = controlsEscaped(text)
    const tried = escaped.changes.length > 0 ? attempt(escaped.text, rules) : broken
    if (tried.kind !== 'broken') return settled(tried, escaped)
    notes.push(skipped(`${text.length} characters are more than maxRepair, ${rules.maxRepair}`))
  }
  if (rules.partial) {
    const closed = closeEnd(text, small)
    const tried = closed ? attempt(closed.text, rules) : broken
    if (closed && tried.kind !== 'broken') return settled(tried, closed, closed.incomplete)
  }
  return missOf(broken, {
    strict: false,
    repaired: false,
    text,
    notes,
    mended: mended?.kind,
    at: mended && 'at' in mended ? mended.at : undefined,
  })
}

/** The value at the start of a text ends at `end`, and something follows: more structure, or prose. */
function takeFirst(
  text: string,
  end: number,
  broken: Broken,
  before: readonly RepairChange[],
  rules: Rules,
  envelopes: number,
): Pass | Miss {
  const first = text.slice(0, end)
  if (endsInBraces(text, end) && !endsInString(first)) {
    const dropped = changeOf('dropped a brace', end, text.slice(end), '')
    return climbFurther(first, [...before, dropped], rules, envelopes)
  }
  if (isRestOfWhole(text, end) || endsInString(first) || isOnlyStructure(text))
    return { ...brokenAround(text, end), read: broken.read }
  // As in prose: without a schema, only a first key in double quotes distinguishes an object from code.
  const rest = text.slice(end, end + 256)
  const isBeforeObject = rules.scalars && /^\s*\{\s*"/.test(rest)
  if (rules.check || isBeforeObject ? isUsedInProse(first, rest) : !hasQuotedKey(first))
    return missOf(broken, { strict: false, repaired: false, text, notes: NONE })
  const changes = [...before, changeOf('took an object from prose', end, text.slice(end, end + 80), '')]
  const taken = climbFurther(first, changes, rules, envelopes)
  // `{"a":1}⏎{"a":2}` in a tag, a fence or a line has two values, as it has for the whole input.
  const mayHoldMore = taken.ok && (rules.check ? /[{[]/ : /\{\s*["\u001b]/).test(text.slice(end))
  const all = mayHoldMore ? candidatesOf(text, rules) : NONE
  const areAlike = all[0]?.at === 0 && all[0].text === first && all.every(({ rank }) => rank === all[0]!.rank)
  return areAlike && all.length > 1 ? choose(all, text, broken, before, rules, envelopes) : taken
}

//  {"a": ["x"}, "y"]}
//            ^      ^ end: the first bracket seems to close here, but the text breaks earlier
/** The same, but for a text that breaks before `end`, beyond repair. */
export function brokenAround(text: string, end: number): Miss {
  const first = text.slice(0, end)
  const place = whereBroken(first)
  const made = mend(first)
  const isOfWrongType =
    made.kind === 'mended' && made.changes.some(({ kind }) => kind === 'replaced a bracket')
  return place && (made.kind === 'broken' || isOfWrongType)
    ? brokenAt(text, place.at, place.expected)
    : continuesAt(text, end)
}

/** Whether an array is the text of a link, or a citation: `[1] as it says`. */
function isUsedInProse(array: string, rest: string): boolean {
  return (array[0] === '[' && rest[0] === '(') || isCitation(array, rest)
}

/** The value at the start of a text ends at `end`, and what follows belongs to a larger one. */
export function continuesAt(text: string, end: number): Miss {
  return brokenAt(text, end, 'the end of the value')
}

function brokenAt(text: string, at: number, expected: string): Miss {
  const found = text.slice(at, at + 20)
  const detail = `at ${quote(found, 20)}, expected ${expected}`
  const place = { at, broken: { found, expected } }
  return { ok: false, code: 'INVALID_JSON', detail, ...place, notes: NONE, strict: false, repaired: false }
}

interface Settling {
  readonly text: string
  /** Where a position in the text was before the changes. */
  readonly origin?: ((at: number) => number) | undefined
  readonly changes: readonly RepairChange[]
  readonly notes: readonly Note[]
  readonly rules: Rules
  readonly envelopes: number
}

/** A text that is now JSON: it passed, its envelope is opened, or it was rejected. */
function settle(tried: Tried, settling: Settling, incomplete?: readonly string[]): Pass | Miss {
  const { text, changes, notes } = settling
  if (tried.kind === 'passed') {
    const pass = passOf(tried, text, changes, notes)
    return incomplete ? { ...pass, incomplete } : pass
  }
  const opened = tried.kind === 'rejected' ? openEnvelope(tried, settling) : undefined
  if (opened?.ok) return opened
  const why = { strict: false, repaired: tried.kind === 'rejected' }
  const miss = opened ? { ...opened, ...why } : missOf(tried, { ...why, text, notes })
  // What is missing may be in the part that was cut off.
  const cut = incomplete && tried.kind === 'rejected' && tried.code !== 'PROTO_KEY'
  return cut ? { ...miss, code: 'TRUNCATED', at: changes.at(-1)?.at } : miss
}

/**
 * The content of an envelope: valid JSON was rejected, so the payload may be in its field. If that passes, it
 * is the value; if the schema rejects it for no more reasons than the envelope, these are the reasons.
 */
function openEnvelope(rejected: Rejected, settling: Settling): Pass | Miss | undefined {
  const { rules, envelopes, text, changes, origin = same } = settling
  const { envelope, again } = rejected
  if (envelope === undefined || envelopes === 0) return undefined
  const inner =
    typeof envelope === 'string'
      ? climbInto(envelope, rules, envelopes - 1)
      : settle(
          judgeValue(
            envelope,
            NONE,
            false,
            rules,
            again && (() => envelopeOf(again(), rules.envelope)?.envelope),
          ),
          { text: '', changes: NONE, notes: NONE, rules, envelopes: envelopes - 1 },
        )
  if (!inner.ok && !isJudged(inner, rejected)) return undefined
  const field = envelopePlaces(text, rules.envelope)
  if (!inner.ok) {
    const detail = `in the field ${quote(rules.envelope)}: ${inner.detail}`
    return { ...inner, detail, at: origin(inner.at === undefined ? field.at : field.origin(inner.at)) }
  }
  const taken = changeOf('took the text of an envelope', 0, rules.envelope, '')
  const placed = moved(inner, (at) => origin(field.origin(at))) as Pass // cast: it passed above
  return { ...placed, changes: [...changes, taken, ...placed.changes] }
}

/** Whether the content of an envelope was rejected, and the envelope for at least as many reasons. */
function isJudged({ code, errors }: Miss, outer: Rejected): boolean {
  if (code !== 'SCHEMA_FAILED' && code !== 'NORMALIZE_FAILED') return false
  return (errors?.length ?? 1) <= (outer.errors?.length ?? 1)
}

const same = (at: number) => at

function climbInto(text: string, rules: Rules, envelopes: number): Pass | Miss {
  const tried = attemptTrimmed(text, rules)
  return tried.kind === 'passed' ? passOf(tried, text, NONE, NONE) : climbOn(text, tried, rules, envelopes)
}

function closeEnd(
  text: string,
  small: boolean,
): (Edited & { readonly incomplete: readonly string[] }) | undefined {
  const close = (edited: Edited) => {
    const closed = closeCut(edited.text)
    if (!closed) return undefined
    const changes = [...edited.changes, changeOf('closed what the input left open', text.length, '', '')]
    return { ...closed, changes }
  }
  const closed = close({ text, changes: NONE })
  if (closed || !small) return closed
  const mended = mend(text, true)
  return mended.kind === 'mended' ? close(mended) : undefined
}

function skipped(message: string): Note {
  return { code: 'REPAIR_SKIPPED', message }
}

/** Maps positions in a part of a text to positions in the text. */
function moved(result: Pass | Miss, place: (at: number) => number): Pass | Miss {
  if (!result.ok) return result.at === undefined ? result : { ...result, at: place(result.at) }
  const changes = result.changes.map((change) => ({ ...change, at: place(change.at) }))
  const notes = result.notes.map((note) => (note.places ? { ...note, places: note.places.map(place) } : note))
  return { ...result, changes, notes }
}

function passOf(
  passed: Passed,
  text: string,
  changes: readonly RepairChange[],
  notes: readonly Note[],
): Pass {
  const found = passed.unusual && text !== '' ? inspect(text) : NONE
  const all =
    passed.notes.length + notes.length + found.length === 0 ? NONE : [...notes, ...passed.notes, ...found]
  return { ok: true, value: passed.value, changes, notes: all }
}

interface Why {
  readonly strict: boolean
  readonly repaired: boolean
  readonly text: string
  readonly notes: readonly Note[]
  readonly mended?: string | undefined
  readonly at?: number | undefined
}

function missOf(tried: Rejected | Broken | Passed, why: Why): Miss {
  const { strict, repaired, text, notes } = why
  if (tried.kind === 'rejected') {
    const { kind, envelope, again, ...reason } = tried
    return { ok: false, ...reason, notes, strict, repaired }
  }
  if (tried.kind === 'broken' && tried.code === 'INVALID_JSON') {
    // Written out: a log may have thousands of such lines, and a spread takes as long as all else.
    const { code, detail, at, broken } = whyBroken(text, why)
    return { ok: false, code, detail, at, broken, read: tried.read, notes, strict, repaired }
  }
  const detail = tried.kind === 'broken' ? tried.detail : ''
  return { ok: false, code: 'MAX_DEPTH', detail, notes, strict, repaired }
}

/** Where a text stops being JSON, and what JSON allows there. */
function whyBroken(text: string, why: Why): Pick<Miss, 'code' | 'detail' | 'at' | 'broken'> {
  const [first] = margins(text)
  // Comments may precede the first bracket.
  const opened = skipBlanks(text, first)
  const from = isBracket(text.charCodeAt(opened)) ? opened : first
  const start = { found: text.slice(from, from + 20), expected: 'an object or an array' }
  if (from === text.length) return { code: 'INVALID_JSON', detail: 'it is blank', broken: start }
  const place = whereBroken(text.slice(from))
  if (!place || !isBracket(text.charCodeAt(from))) {
    return { code: 'INVALID_JSON', detail: `it starts with ${quote(text)}`, broken: start }
  }
  const { expected } = place
  const at = from + place.at
  if (place.cut || why.mended === 'cut')
    return {
      code: 'TRUNCATED',
      detail: `expected ${expected}`,
      at: text.length,
      broken: { found: '', expected },
    }
  const found = text.slice(at, at + 20)
  const ambiguous = why.mended === 'ambiguous' ? '; it can be read in more than one way' : ''
  return {
    code: 'INVALID_JSON',
    detail: `at ${quote(found, 20)}, expected ${expected}${ambiguous}`,
    at,
    broken: { found, expected: `${expected}${ambiguous}` },
  }
}

/** Start and end of a text without the blanks, BOMs and NULs around it. */
function margins(text: string): [number, number] {
  let from = 0
  let to = text.length
  while (from < to && isMargin(text.charCodeAt(from))) from++
  while (to > from && isMargin(text.charCodeAt(to - 1))) to--
  return [from, to]
}

function isMargin(unit: number): boolean {
  return unit === 32 || unit === 10 || unit === 13 || unit === 9 || unit === 0xfeff || unit === 0
}
