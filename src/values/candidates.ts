import type { Note } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { drive } from '../base/stage.ts'
import { isJsonLabel } from '../frames/fence.ts'
import type { Frame } from '../frames/frame.ts'
import { scanStage } from '../frames/frames.ts'
import { opensAs } from '../frames/opening-bracket.ts'
import { thoughtIn } from '../frames/thought-dialects.ts'
import { endsInString, isStructureAt } from '../json/after-value.ts'
import { changeOf, type RepairChange } from '../repair/change.ts'
import { withoutSequences } from '../repair/control-characters.ts'
import { mend } from '../repair/search.ts'
import { skipBlanks } from '../repair/tolerant-reader.ts'
import { BACKTICK, isBracket, TILDE } from '../text/characters.ts'
import type { Rules } from './attempt.ts'
import { isLateThought, looseFrames, looseMatch, mayOpenLoosely } from './last-resort.ts'
import { EXPLICIT, IMPLICIT, IN_FENCE } from './pick.ts'

/** A part of a text that may be its payload. */
export interface Candidate {
  readonly text: string
  /** Where it begins, in units of the text. */
  readonly at: number
  /** How it was found. */
  readonly changes: readonly RepairChange[]
  readonly rank: number
  readonly notes: readonly Note[]
}

/**
 * The candidates in a text that begins like prose, without its thoughts: its `<json>` blocks, fences and
 * objects, or what the last resort finds. The frame scanner cuts them, so a tag body is searched like the
 * whole input. `undefined` for a text that begins with a bracket: its value is the only candidate.
 */
export function candidatesIn(text: string, rules: Rules): readonly Candidate[] | undefined {
  // Comments may precede the first bracket, and the text may be nothing but a bracket.
  const first = text.charCodeAt(0)
  const start = first === BACKTICK || first === TILDE ? 0 : skipBlanks(text, 0)
  const opens = start === text.length - 1 || opensAs('document', text.slice(start))
  if (isBracket(text.charCodeAt(start)) && opens) return undefined
  if (IS_INSIDE.test(text.slice(0, 512)) || (!rules.check && !mayHoldPayload(text))) return []
  return candidatesOf(text, rules)
}

/** The same for a text that need not begin like prose. */
export function candidatesOf(text: string, rules: Rules): readonly Candidate[] {
  const bytes = Bytes.from(text)
  const stage = scanStage({
    tags: ['json'],
    needsPayload: true,
    keepUnclosed: true,
    lines: false,
    text: false,
    loose: rules.check !== undefined,
    readFences: rules.root === 'any' ? 'any' : 'object',
    patient: true,
    endOfBroken,
    think: rules.think,
    // No limit here: the text is one payload.
    maxFrame: bytes.length + 1024,
  })
  const frames = drive(stage, [{ channel: 'stdout', bytes }])
  const cut = frames
    .slice(frames.findLastIndex(isLateThought) + 1)
    .filter(
      (frame) => frame.kind !== 'text' && (frame.kind !== 'object' || mayBePayload(frame, bytes, rules)),
    )
  const loose = cut.length === 0 ? looseFrames(bytes, 'stdout', rules) : []
  const found = cut.length > 0 ? cut : loose
  const thought = found.length > 0 ? thoughtIn(text) : -1
  const thoughts = thought < 0 ? [] : [thoughtDropped(text, thought)]
  return found.slice(0, MAX_CANDIDATES).map((frame) => {
    const rank = rules.root === 'object' && frame.kind === 'object' && frame.text[0] === '[' ? 0 : undefined
    return candidateOf(frame, text, bytes, thoughts, loose.length > 0, rank)
  })
}

/** A text that begins with a key or an element is the inside of a value that lost its bracket. */
const IS_INSIDE = /^\s{0,99}"(?:[^"\\]|\\.){0,256}"\s{0,99}[:,]/s

/** Most log lines with a bracket first, `{cmd} failed`, have no key, tag or fence: no scan. */
function mayHoldPayload(text: string): boolean {
  return (
    mayOpenLoosely(text) ||
    /\[\s*["'“‘\u001b]/.test(text) ||
    text.includes('<json>') ||
    text.includes('```') ||
    text.includes('~~~')
  )
}

/** Limit, because a text may consist of nothing but candidates. */
const MAX_CANDIDATES = 64

/** As in prose: not part of something broken and, without a schema, only with a quoted key first. */
function mayBePayload({ text, from, broken, attached, aside }: Frame, bytes: Bytes, rules: Rules): boolean {
  if (broken !== undefined || attached || aside || isTorn(text)) return false
  if (hasQuotedKey(text)) return true
  // Told as a fault, if there is nothing else.
  if (rules.root === 'object' && text[0] === '[') return false
  return rules.check !== undefined && !isInside(bytes.toString('latin1', Math.max(0, from - 4096), from))
}

//  {"a": 'x}      {"a":1]
//           ^          ^
/** Whether the last bracket of a text is in a string, or of the wrong type: what cut it there was misled. */
export function isTorn(text: string): boolean {
  return endsInString(text) || text.endsWith(text[0] === '{' ? ']' : '}')
}

//  {"size": "24" wide", "n": 1}⏎⏎Done.
//                             ^ here
/**
 * Where an object in prose ends that would never close because its quotes or brackets do not match: at the
 * brace before prose up to which repair reads it in one way. -1 if there is none, or more than one, or if the
 * text may just be cut.
 */
export function endOfBroken(text: string): number {
  if (text[0] !== '{' || !hasQuotedKey(text)) return -1
  const ends: number[] = []
  for (let end = text.indexOf('}') + 1; end > 0 && end < text.length; end = text.indexOf('}', end) + 1)
    if (!isStructureAt(text, end, 'prose') && ends.push(end) > MAX_ENDS) return -1
  if (ends.length === 0) return -1
  const { kind } = mend(text)
  if (kind !== 'broken' && kind !== 'ambiguous') return -1
  const found = ends.filter((end) => isMended(text.slice(0, end)))
  return found.length === 1 ? found[0]! : -1
}

/** Each of them costs a repair. */
const MAX_ENDS = 8

/** Whether repair reads a text in one way. A quote that is missing at its end may be anywhere after it. */
function isMended(text: string): boolean {
  const made = mend(text)
  if (made.kind !== 'mended') return false
  const isLast = ({ kind, at }: RepairChange) =>
    kind === 'added a missing quote' && /^[\s}\]]*$/.test(text.slice(at))
  return !made.changes.some(isLast)
}

/**
 * Whether an object without quotes of its own, after this text, is part of something else: of a string, if a
 * quote precedes it on its line, or an odd number of backticks that are not its own; of an object, after a
 * bare key that is indented under an open brace.
 */
export function isInside(before: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1).replaceAll('```', '')
  if (line.includes('"') || (!line.endsWith('`') && line.split('`').length % 2 === 0)) return true
  return /^[ \t][^{}]*:$/.test(line.trimEnd()) && before.split('{').length > before.split('}').length
}

/**
 * Whether a text begins with an object, or an array of objects, whose first key is in double quotes. Without
 * a schema only that distinguishes a payload in prose from code or a template.
 *
 * @example
 * hasQuotedKey('{"a": 1}') // true
 * hasQuotedKey('{a: 1}') // false
 */
export function hasQuotedKey(text: string): boolean {
  const head = text.slice(0, 8300)
  const plain = head.includes('\u001b') ? (withoutSequences(head)?.done().text ?? head) : head
  return /^[{[][\s[]{0,4096}(?:\{\s{0,4096})?"/.test(plain) && /^\[?[\s[]*\{/.test(plain.slice(0, 4200))
}

function thoughtDropped(text: string, at: number): RepairChange {
  return changeOf('dropped a think block', at, text.slice(at, at + 80), '')
}

const TAKEN = {
  tag: 'took a tag block',
  fence: 'took a fence body',
  object: 'took an object from prose',
} as const

function candidateOf(
  frame: Frame,
  text: string,
  bytes: Bytes,
  thoughts: readonly RepairChange[],
  loose: boolean,
  rank = rankOfFrame(frame),
): Candidate {
  const start = bytes.toString('utf8', 0, frame.from).length
  const body = frame.text.trim()
  const at = frame.kind === 'object' ? start : Math.max(start, text.indexOf(body, start))
  const kind = TAKEN[frame.kind as 'tag' | 'fence' | 'object']
  const changes = [...thoughts, changeOf(kind, start, text.slice(start, start + 80), '')]
  return { text: body, at, changes, rank, notes: loose ? [looseMatch()] : [] }
}

/** How clearly a frame is marked as the answer. */
function rankOfFrame({ kind, label, text, in_fence }: Frame): number {
  if (kind === 'fence' ? isPayloadFence(label, text) : kind !== 'object') return EXPLICIT
  return in_fence ? IN_FENCE : IMPLICIT
}

/**
 * Whether a fence with this info string and body is a payload: it is labelled json, json5 or jsonc, or it has
 * no label and its body begins with a bracket.
 *
 * @example
 * isPayloadFence('JSON title=x', '') // true
 */
export function isPayloadFence(info = '', body = ''): boolean {
  return info === '' ? /^[\s\ufeff]{0,4096}[{[]/.test(body.slice(0, 4100)) : isJsonLabel(info)
}
