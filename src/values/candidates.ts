import { Bytes } from '../base/platform.ts'
import { drive } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { frameStage } from '../frames/frames.ts'
import { opensAs } from '../frames/opening-bracket.ts'
import { endsInString } from '../json/after-value.ts'
import { type Change, changeOf } from '../repair/change.ts'
import { skipBlanks } from '../repair/syntax.ts'
import { BACKTICK, isBracket, TILDE } from '../text/characters.ts'
import type { Rules } from './attempt.ts'

/** A part of a text that may be its payload. */
export interface Candidate {
  readonly text: string
  /** Where it begins, in units of the text. */
  readonly at: number
  /** How it was found. */
  readonly changes: readonly Change[]
}

/**
 * The candidates in a text that begins like prose: its `<json>` blocks, or else the bodies of its payload
 * fences, or else its objects, without think blocks. The frame scanner cuts them, so a tag body is searched
 * like the whole input. `undefined` for a text that begins with a bracket: its value is the only candidate.
 */
export function candidatesIn(text: string, rules: Rules): readonly Candidate[] | undefined {
  // Comments may precede the first bracket, and the text may be nothing but a bracket.
  const first = text.charCodeAt(0)
  const start = first === BACKTICK || first === TILDE ? 0 : skipBlanks(text, 0)
  const opens = start === text.length - 1 || opensAs('document', text.slice(start))
  if (isBracket(text.charCodeAt(start)) && opens) return undefined
  if (!rules.check && !mayHoldPayload(text)) return []
  const bytes = Bytes.from(text)
  const stage = frameStage({
    tags: ['json'],
    needsPayload: true,
    lines: false,
    text: false,
    loose: rules.check !== undefined,
    // No limit here: the text is one payload.
    maxFrame: bytes.length + 1024,
  })
  const frames = drive(stage, [{ channel: 'stdout', bytes }]).filter(({ kind }) => kind !== 'text')
  const fences = frames.filter((frame) => frame.kind === 'fence' && isPayloadFence(frame.label, frame.text))
  const tags = frames.filter((frame) => frame.kind === 'tag')
  const objects = frames.filter((frame) => frame.kind === 'object' && mayBePayload(frame, rules))
  const found = [tags, fences, objects].find((some) => some.length > 0) ?? []
  const thinks = found.length > 0 && text.includes('<think') ? [thinkDropped(text)] : []
  return found.slice(0, MAX_CANDIDATES).map((frame) => candidateOf(frame, text, bytes, thinks))
}

/**
 * Most log lines that begin with a bracket, `{cmd} failed`, have no quoted key, no tag and no fence: they
 * need no scan.
 */
function mayHoldPayload(text: string): boolean {
  return (
    (text.includes('"') && /[{[]\s*"/.test(text)) ||
    text.includes('<json>') ||
    text.includes('```') ||
    text.includes('~~~')
  )
}

/** Limit, because a text may consist of nothing but candidates. */
const MAX_CANDIDATES = 64

/**
 * As in prose: not part of something broken and, without a schema, only if it begins with a key in double
 * quotes.
 */
function mayBePayload({ text, broken, attached }: Frame, rules: Rules): boolean {
  if (broken !== undefined || attached || (rules.root === 'object' && text[0] === '[')) return false
  if (endsInString(text)) return false
  return rules.check !== undefined || hasQuotedKey(text)
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
  return (
    /^[{[][\s[]{0,4096}(?:\{\s{0,4096})?"/.test(text.slice(0, 8300)) &&
    /^\[?[\s[]*\{/.test(text.slice(0, 4200))
  )
}

function thinkDropped(text: string): Change {
  const at = text.indexOf('<think')
  return changeOf('dropped a think block', at, text.slice(at, at + 80), '')
}

const TAKEN = {
  tag: 'took a tag block',
  fence: 'took a fence body',
  object: 'took an object from prose',
} as const

function candidateOf(frame: Frame, text: string, bytes: Bytes, thinks: readonly Change[]): Candidate {
  const start = bytes.toString('utf8', 0, frame.from).length
  const body = frame.text.trim()
  const at = frame.kind === 'object' ? start : Math.max(start, text.indexOf(body, start))
  const kind = TAKEN[frame.kind as 'tag' | 'fence' | 'object']
  return { text: body, at, changes: [...thinks, changeOf(kind, start, text.slice(start, start + 80), '')] }
}

/**
 * Whether a fence with this info string and body is a payload: it is labelled json, json5 or jsonc, or it has
 * no label and its body begins with a bracket.
 *
 * @example
 * isPayloadFence('JSON title=x', '') // true
 */
export function isPayloadFence(info = '', body = ''): boolean {
  if (info === '') return /^[\s\ufeff]{0,4096}[{[]/.test(body.slice(0, 4100))
  const blank = info.search(/[ \t]/)
  const word = (blank < 0 ? info : info.slice(0, blank)).toLowerCase()
  return word === 'json' || word === 'json5' || word === 'jsonc'
}
