import { type Note, payloadCodes } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { drive } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { scanStage } from '../frames/frames.ts'
import { endsInString, isStructureAt } from '../json/after-value.ts'
import type { ChangeKind } from '../repair/change.ts'
import { mend } from '../repair/search.ts'
import type { Channel } from '../text/chunk.ts'
import { attempt, type Rules } from './attempt.ts'

/** The note on what the last resort found. */
export const looseMatch = (): Note => ({ code: 'LOOSE_MATCH', message: payloadCodes.LOOSE_MATCH })

/**
 * The last resort, for a text in which no candidate was found, good or bad: objects as people and models
 * write them without a schema, in Python, in JavaScript or with curly quotes.
 *
 *     Here you are: {'a': 1}      ok\n{k: 2}      x = {k: 2}      use {cmd} or a { color: red }
 *                   ^ a key in quotes ^ a bare key, where a value may begin  ^ prose
 *
 * Only outermost brackets outside of thoughts count. If one of them looks like a value but is not one, none
 * of them counts: the text is code, or a template.
 */
export function looseFrames(bytes: Bytes, channel: Channel, given: Rules): readonly Frame[] {
  // The verdict (is this a wanted record?) is asked for later, of the record that is taken.
  const rules = { ...given, verdict: undefined }
  // Most texts without a candidate have no such place, and a scan costs more than this.
  const text = bytes.toString('utf8')
  if (!mayOpenLoosely(text) && !(rules.check && /\{\}|\[\]/.test(text))) return []
  const stage = scanStage({
    tags: [],
    fences: false,
    lines: false,
    text: false,
    everyBracket: true,
    patient: true,
    think: rules.think,
    maxFrame: bytes.length + 1024,
  })
  let found: Frame[] = []
  let past = 0
  for (const cut of drive(stage, [{ channel, bytes }])) {
    if (isLateThought(cut)) found = []
    if (cut.from < past) continue
    const opens = cut.kind === 'object' ? opensLoosely(cut, before(cut, bytes), found.length > 0) : 'no'
    const frame = opens === 'yes' ? untilItsEnd(cut, bytes, rules) : cut
    past = frame.to
    if (opens === 'another' && isValue(frame, rules)) found.push(frame)
    if (opens === 'yes' && !isValue(frame, rules)) return []
    // Among other brackets, an empty pair may be what is left of something.
    const isEmpty = opens === 'empty' && rules.check && !/[{}[\]]/.test(text.replace(/\{\}|\[\]/, ''))
    if (opens === 'yes' || (isEmpty && passes(frame.text, rules))) found.push(frame)
  }
  return found
}

/** Whether a frame is a lone closer: what is before it was a thought. */
export function isLateThought({ kind, notes }: Frame): boolean {
  return kind === 'text' && notes?.some(({ code }) => code === 'THINK_LATE') === true
}

/** Whether a text has a key in quotes, or a bare key or an element where a value may begin. */
export function mayOpenLoosely(text: string): boolean {
  for (let brace = text.indexOf('{'); brace >= 0; brace = text.indexOf('{', brace + 1))
    if (opensBeforeQuote(text, brace)) return true
  return BARE_PLACE.test(text)
}

/** Whether a brace is before a quote, or before what may precede one: a comment, a backslash, a prefix. */
export function opensBeforeQuote(text: string, brace: number): boolean {
  beforeQuote.lastIndex = brace
  return beforeQuote.test(text)
}

const beforeQuote = /\{(?:\s|\\[nrt])*(?:u?["'“”‘’„«「『\u001b\\]|\/[/*]|#)/y
const BARE_PLACE = /(?:^|[\n:：=])[ \t\r]*(?:\{\s*[\p{L}\p{N}_$-]{1,256}\s*:|\[\s*["'“‘{[\d+.tfnTFN-])/u

/** The end of the text before a frame, long enough to see what it follows. */
function before({ from }: Frame, bytes: Bytes): string {
  return bytes.toString('utf8', Math.max(0, from - MAX_BEFORE), from)
}

const MAX_BEFORE = 400

/**
 * Whether a bracket looks like the start of a value; `empty` for `{}` and `[]`, which only a schema wants,
 * and `another` for an array in prose after a value: `[1, 2] and [3, 4]`.
 */
function opensLoosely(
  { text, aside }: Frame,
  before: string,
  hasValue: boolean,
): 'yes' | 'no' | 'empty' | 'another' {
  // The value of a quoted key is a piece of something.
  if (aside || /["'”’`]\s{0,99}(?:[:：]|=>)\s{0,99}$/.test(before)) return 'no'
  const head = text.slice(0, MAX_HEAD).replace(FIRST_COMMENTS, '$1')
  const startsLine = /(?:^|\n)[ \t\r]*$/.test(before)
  const isAfterColon = /[:：]\s{0,99}$/.test(before)
  if (head[0] === '[') {
    if (head === '[]') return startsLine || isAfterColon ? 'empty' : 'no'
    if (!FIRST_ELEMENT.test(head)) return 'no'
    return startsLine || isAfterColon ? 'yes' : hasValue ? 'another' : 'no'
  }
  if (QUOTED_KEY.test(head)) return 'yes'
  // `fn() { }` and `() => {}` are code.
  if (head === '{}') return /[)>]\s{0,99}$/.test(before) ? 'no' : 'empty'
  const mayBegin = startsLine || isAfterColon || /[\w$]\s{0,99}:?=\s{0,99}$/.test(before)
  return mayBegin && BARE_KEY.test(head) ? 'yes' : 'no'
}

const MAX_HEAD = 4096
const FIRST_COMMENTS = /^([{[])(?:\s|\/\/.*\n|#.*\n|\/\*[^*]*\*\/)+/
/** The quote may have the prefix of Python 2, or a backslash if all of them have one. */
const QUOTED_KEY = /^\{(?:\s|\\[nrt])*(?:[u\\]?["'“”‘’„«「『])/
const BARE_KEY = /^\{\s*[\p{L}\p{N}_$-]{1,256}\s*:/u
const FIRST_ELEMENT =
  /^\[\s*(?:["'“‘{[]|[-+]?[\d.][\d._eE+-]*\s*[,\]]|(?:true|false|null|True|False|None)\s*[,\]])/

//  Here: {'a': 'x}'} and more
//                ^ cut  ^ its end
/**
 * The whole value, if brackets in strings that are not in double quotes have misled the scanner. Read in
 * pieces that double, because many values may follow.
 */
function untilItsEnd(frame: Frame, bytes: Bytes, { maxRepair }: Rules): Frame {
  if (!frame.open && !endsInString(frame.text)) return frame
  const most = Math.min(bytes.length - frame.from, maxRepair)
  for (let size = Math.min(most, FIRST_PIECE); ; size = Math.min(most, 2 * size)) {
    const rest = bytes.toString('utf8', frame.from, frame.from + size)
    const made = mend(rest)
    if (made.kind !== 'followed' && size < most) continue
    const end = made.kind === 'followed' ? made.at : made.kind === 'mended' ? rest.trimEnd().length : 0
    if (end === 0 || isStructureAt(rest, end, 'prose')) return frame
    const text = rest.slice(0, end)
    const { open, broken, ...whole } = frame
    return { ...whole, text, to: frame.from + Bytes.byteLength(text) }
  }
}

const FIRST_PIECE = 256

/** Whether repair reads it in exactly one way, without taking a word for a text. */
function isValue(frame: Frame, rules: Rules): boolean {
  const { text, open, broken, attached } = frame
  if (open || broken !== undefined || attached || endsInString(text)) return false
  const asIs = attempt(text, rules)
  // An object that is valid JSON was refused because of the text around it.
  if (asIs.kind !== 'broken') return asIs.kind === 'passed' && text[0] === '['
  if (text.length > rules.maxRepair) return false
  const mended = mend(text)
  if (mended.kind !== 'mended' || mended.changes.some(({ kind }) => GUESSES.has(kind as ChangeKind)))
    return false
  return passes(mended.text, rules)
}

function passes(text: string, rules: Rules): boolean {
  return attempt(text, rules).kind === 'passed'
}

/** Changes that do more than write the same value in another way. */
const GUESSES: ReadonlySet<ChangeKind> = new Set<ChangeKind>([
  'added a missing bracket',
  'added a missing colon',
  'added a missing comma',
  'added a missing quote',
  'dropped a cut word',
  'dropped a fence mark',
  'quoted a word',
  'replaced a bracket',
  'skipped what is not JSON',
])
