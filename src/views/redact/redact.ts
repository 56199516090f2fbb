import {
  checkOptions,
  isObject,
  misfit,
  NOT_TAKEN,
  type OptionTable,
  readOptions,
} from '../../base/check-options.ts'
import type { AgentEvent } from '../../events/event.ts'
import { isPasswordFlag } from './commands.ts'
import { apart, findSecrets, type TalkIn } from './find.ts'
import { isLabelName } from './named.ts'
import { afterScheme, familyOf, isOpaqueName, isSecretValue, roleOf } from './names.ts'
import { cutWord, hideNestedPieces, hidePieces, MAX_VALUE_DEPTH } from './pieces.ts'
import type { Secret } from './secret.ts'
import { talkIn } from './secrets-in-prose.ts'
import { kindOf, MAX_JUDGED } from './value.ts'

/** The options of `redact()` and `redactor()`. */
export interface RedactOptions {
  /**
   * More to hide: a string is hidden wherever it occurs (four characters or more), a RegExp (with the flag
   * `g`) wherever it matches within a line; the mark is `[redacted:own]`. A RegExp runs on pieces of at most
   * 16 K characters.
   * @default none
   */
  readonly patterns?: readonly (string | RegExp)[] | undefined
  /** Hide long words that look random, as keys do; their mark is `[redacted:random]`. @default true */
  readonly entropy?: boolean | undefined
  /**
   * Hide a password or token that was recognized by its name (`password=…`) also where it occurs later
   * without that name (`[redacted:known]`); the first 256 of them.
   * @default true
   */
  readonly learn?: boolean | undefined
  /**
   * Secrets to hide from the start on, as if learned: `known()` of a redactor that has read the run before.
   * @default none
   */
  readonly known?: readonly string[] | undefined
}

const REDACT_OPTIONS = {
  patterns: { default: [] },
  entropy: { default: true },
  learn: { default: true },
  known: { default: [] },
} as const satisfies OptionTable<RedactOptions>

/** The number of hidden secrets: `{ total: 3, kinds: { github: 1, password: 2 } }`. */
export interface HiddenSecrets {
  readonly total: number
  readonly kinds: Readonly<Record<string, number>>
}

/** Hides secrets and counts them. */
export interface Redactor {
  /**
   * The text with `[redacted:kind]` instead of each secret. Pass `count: false` for a text that is shown
   * again, and as `after` the lines before it: a name, or the header of a table, can be some lines above.
   */
  text(text: string, options?: { readonly count?: boolean; readonly after?: string }): string
  /** A JSON value with its strings redacted, keys too. Without secrets it is the same object. */
  value(value: unknown): unknown
  /** The event with its `data` redacted. For pieces of one message use `redactStage`. */
  event(event: AgentEvent): AgentEvent
  hidden(): HiddenSecrets
  /** Passwords and tokens that were recognized by their names: keep them as safe as secrets. */
  known(): readonly string[]
}

/** Limits of known values: their number, the longest one, and the shortest that is looked for. */
const MAX_KNOWN = 256
const MAX_KNOWN_LENGTH = 1024
const MIN_KNOWN = 8
/** A user's pattern sees this much at once, and this much overlap. */
const PIECE = 16 * 1024
const OVERLAP = 1024
/** How often a text in which something was hidden is searched again. */
const MAX_PASSES = 4

/**
 * Hides keys, tokens and passwords: by their format (those of about seventy services, private keys, JSON Web
 * Tokens), by their names (`password=…`, `Authorization: …`, cookies, the password of an address), and by
 * their randomness. Redacting twice gives the same result as redacting once. Takes linear time.
 *
 * @example
 * const hide = redactor()
 * console.log(hide.text('export GITHUB_TOKEN=…'), hide.hidden().total)
 */
export function redactor(options: RedactOptions = {}): Redactor {
  return redactorOf(newState(options, undefined, talkIn))
}

/**
 * Two redactors for a run that may be read twice, by the same stage: the first learns its passwords, the
 * second hides them everywhere. What the first found nothing in is not searched again but for these. If it
 * has learned none, it `hidAll` itself; it does not look for the patterns of the caller.
 */
export function redactorsForTwo(options: RedactOptions) {
  const clean = new FoundBefore()
  const first = newState(options, clean, talkIn)
  const scout = redactorOf(first)
  const hidAll = () => first.known.size === 0 && first.own.length === 0
  const again = () => {
    clean.rewind()
    return redactorOf(newState({ ...options, known: scout.known(), learn: false }, clean, talkIn))
  }
  return { scout, hidAll, again }
}

function newState(options: RedactOptions, clean?: FoundBefore, talkIn?: TalkIn): RedactorState {
  const given = readOptions('redactor', options, EXAMPLE, { ...REDACT_OPTIONS, signal: NOT_TAKEN })
  const { patterns, entropy, learn } = given
  const known = new Set(given.known)
  return { own: patterns.map(finderOf), entropy, learn, known, counts: new Map(), clean, talkIn }
}

/** Hides secrets in texts and values. A bundle that only records leaves out what hides them in events. */
export type TextRedactor = Omit<Redactor, 'event'>

export function textRedactor(): TextRedactor {
  const [counts, known] = [new Map<string, number>(), new Set<string>()]
  // Nobody chose anything: what reads and checks options stays out of the bundle.
  return textRedactorOf({
    own: [],
    entropy: true,
    learn: true,
    known,
    counts,
    clean: undefined,
    talkIn: undefined,
  })
}

function redactorOf(state: RedactorState): Redactor {
  return {
    ...textRedactorOf(state),
    event: (event) => {
      const data = hideInData(state, event)
      // Cast: a record keeps its shape, only its texts change.
      return data === event.data ? event : ({ ...event, data } as AgentEvent)
    },
  }
}

function textRedactorOf(state: RedactorState): TextRedactor {
  const { counts, known } = state
  return {
    text: (text, options) => hideIn(state, text, options),
    value: (value) => hideInValue(state, value),
    hidden: () => ({
      total: [...counts.values()].reduce((sum, one) => sum + one, 0),
      kinds: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))),
    }),
    known: () => [...known],
  }
}

/** What a redactor looks for, and what it has found so far. */
interface RedactorState {
  readonly own: readonly Finder[]
  readonly entropy: boolean
  readonly learn: boolean
  readonly known: Set<string>
  readonly counts: Map<string, number>
  readonly clean: FoundBefore | undefined
  readonly talkIn: TalkIn | undefined
}

/**
 * What was found in the texts of a run, in the order in which they came: the first reading notes it, the
 * second asks. A text is told by its length and some of its characters; if one is another, the run has
 * changed, and everything from there on is searched.
 */
class FoundBefore {
  #marks = new Uint32Array(1024)
  /** The secrets of those that have some, as each pass found them, until there are too many. */
  readonly #passes = new Map<number, Passes>()
  #room = MAX_NOTED
  #count = 0
  #next = -1

  note(text: string, passes: Passes): void {
    if (this.#count >= MAX_MARKS) return
    if (this.#count === this.#marks.length) {
      const more = new Uint32Array(this.#count * 2)
      more.set(this.#marks)
      this.#marks = more
    }
    this.#room -= passes[0]!.length === 0 ? 0 : passes.flat().length + 1
    const isKept = this.#room >= 0
    if (isKept && passes[0]!.length > 0) this.#passes.set(this.#count, passes)
    this.#marks[this.#count++] = isKept || passes[0]!.length === 0 ? markOf(text) : 0
  }

  get isFirst(): boolean {
    return this.#next < 0
  }

  rewind(): void {
    this.#next = 0
  }

  ask(text: string): Passes | undefined {
    if (this.#next < 0 || this.#next >= this.#count) return undefined
    const at = this.#next++
    const mark = this.#marks[at]!
    if (mark === 0) return undefined
    if (mark === markOf(text)) return this.#passes.get(at) ?? [[]]
    this.#next = this.#count
    return undefined
  }
}

type Passes = readonly (readonly Secret[])[]
/** Secrets that are kept of a run. */
const MAX_NOTED = 1 << 18
/** Numbers of four bytes that are kept of a run. */
const MAX_MARKS = 1 << 23

function markOf(text: string): number {
  let mark = text.length
  const step = Math.max(1, text.length >> 3)
  for (let at = 0; at < text.length; at += step) mark = (Math.imul(mark, 31) + text.charCodeAt(at)) | 0
  return (mark | 1) >>> 0
}

function findIn(state: RedactorState, text: string, opaque: boolean, before?: readonly Secret[]): Secret[] {
  const { known, own, entropy, clean } = state
  let found = before ? [...before] : findSecrets(text, opaque || !entropy, state.talkIn)
  // `//[redacted:url]@` looks like a name and its password.
  if (!before && found.length > 0 && text.includes('[redacted:'))
    found = found.filter(({ from }) => !insideMark(text, from))
  // What else there is to hide, the second reading hides.
  if (clean?.isFirst === true) return found.length < 2 ? found : apart(found)
  const hide = (kind: string, from: number, to: number) => {
    if (!insideMark(text, from)) found.push({ kind, from, to })
  }
  for (const value of known) eachOf(text, value, (from) => hide('known', from, from + value.length))
  for (const each of own) each(text, (from, to) => hide('own', from, to))
  return found.length < 2 ? found : apart(found)
}

function countOne({ counts }: RedactorState, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1)
}

function remember({ learn, known }: RedactorState, text: string): void {
  if (!learn || known.size >= MAX_KNOWN || !isTelling(text)) return
  known.add(text)
  // The escaped form in JSON text.
  const escaped = JSON.stringify(text).slice(1, -1)
  if (escaped !== text) known.add(escaped)
}

/** The text with a mark for each secret; in an `opaque` one, an id or data, random words are not secrets. */
function hideIn(
  state: RedactorState,
  text: string,
  { opaque = false, count = true, after = '' } = {},
): string {
  let result = after + text
  const passes: Secret[][] = []
  let before = state.clean?.ask(result)
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let found = findIn(state, result, opaque, before?.[pass])
    passes.push(found)
    // What else is hidden makes another text.
    if (before && !isSame(before[pass], found)) before = undefined
    if (after !== '') found = within(found, after.length)
    if (found.length === 0) break
    // What is hidden can show what was not seen before.
    const pieces: string[] = []
    let copied = 0
    for (const { kind, from, to, certain, quote = '' } of found) {
      if (count) countOne(state, kind)
      if (certain) remember(state, result.slice(from, to))
      pieces.push(result.slice(copied, from), `${quote}[redacted:${kind}]${quote}`)
      copied = to
    }
    result = pieces.join('') + result.slice(copied)
  }
  if (state.clean?.isFirst === true) state.clean.note(after + text, passes)
  return result.slice(after.length)
}

function isSame(some: readonly Secret[] | undefined, others: readonly Secret[]): boolean {
  return (
    some?.length === others.length &&
    some.every(({ from, to }, i) => from === others[i]!.from && to === others[i]!.to)
  )
}

/** The secrets from a place on; of one that begins before it, the rest. */
function within(found: readonly Secret[], start: number): Secret[] {
  return found.flatMap((one) => (one.to <= start ? [] : [{ ...one, from: Math.max(one.from, start) }]))
}

/** A JSON value with its strings redacted, as the value of that name. */
function hideInValue(state: RedactorState, given: unknown, name = '', depth = 0): unknown {
  if (typeof given === 'string') return hideNamed(state, given, name)
  if (typeof given === 'number') {
    const family = familyOf(name)
    if (family !== 'password' && (family !== 'code' || given < 1000)) return given
    countOne(state, family)
    return `[redacted:${family}]`
  }
  if (typeof given !== 'object' || given === null) return given
  if (depth >= MAX_VALUE_DEPTH) return '[redacted:nested]'
  let changed = false
  if (Array.isArray(given)) {
    const items = given.map((item: unknown, i) => {
      // `-pletmein` of a command; the others have the name of the list.
      const joined = typeof item === 'string' && /^-[pP]./.test(item)
      const made = joined
        ? hideIn(state, item, { after: `${wordsBefore(given, i)} ` })
        : hideInValue(state, item, flagBefore(given, i) || name, depth + 1)
      changed ||= made !== item
      return made
    })
    return changed ? items : given
  }
  const entries = new Map<string, unknown>()
  const label = labelIn(given)
  for (const [key, item] of Object.entries(given)) {
    const named = label !== undefined && typeof item === 'string' && roleOf(key) === 'field' ? label : key
    const made = hideInValue(state, item, named, depth + 1)
    const hiddenKey = hideIn(state, key)
    changed ||= made !== item || hiddenKey !== key
    let shown = hiddenKey
    // Two hidden keys must stay two keys.
    for (let i = 2; entries.has(shown); i++) shown = `${hiddenKey}#${i}`
    entries.set(shown, made)
  }
  return changed ? Object.fromEntries(entries) : given
}

function hideNamed(state: RedactorState, given: string, name: string): string {
  const family = name === '' ? undefined : familyOf(name)
  const value = family === 'authorization' ? given.slice(afterScheme(given, 0, given.length)) : given
  if (family && isSecretValue(value.slice(0, MAX_JUDGED), { family, quoted: true, sure: 'any' })) {
    const whole = findIn(state, given, true).find(({ from, to }) => from === 0 && to === given.length)
    const kind = whole?.kind ?? kindOf(family)
    countOne(state, kind)
    remember(state, given)
    return `[redacted:${kind}]`
  }
  return hideIn(state, given, { opaque: name !== '' && isOpaqueName(name) })
}

const EXAMPLE = 'redactor({ patterns: [/ACME-[0-9]{8}/g] })'

/** Throws BAD_OPTION for what are neither options nor a redactor. */
export function checkRedacting(who: string, options: RedactOptions | Redactor): void {
  if (isObject(options) && 'event' in options) return
  checkOptions<RedactOptions>(who, options, `${who}({ patterns: [/ACME-[0-9]{8}/g] })`, REDACT_OPTIONS)
}

/** Fields of `data` that identify an event: the agent did not write them. */
const fixed: ReadonlySet<string> = new Set([
  ...['message_id', 'call_id', 'parent_call_id', 'code', 'severity', 'state', 'reason_code', 'status'],
  ...['repair_level', 'warnings', 'tokens', 'failure_class', 'failure_ref', 'outcome', 'ok'],
])
/** The schema's limit for a line. */
const MAX_LINE = 4096

function hideInData(state: RedactorState, event: AgentEvent): object {
  let changed = false
  const data: Record<string, unknown> = {}
  const [raw, tool] = [event.type.startsWith('raw.'), event.type.startsWith('tool.')]
  const clipped = 'truncated' in event.data && event.data.truncated === true
  for (const [key, given] of Object.entries(event.data)) {
    let whole: unknown = tool ? hideNestedPieces(given) : given
    if (raw && key === 'line' && typeof given === 'string') whole = hidePieces(given, { clipped })
    const made = fixed.has(key) ? whole : hideInValue(state, whole)
    changed ||= made !== given
    data[key] = made
  }
  // A secret that was cut with the text cannot be recognized any more.
  const cut = raw && data['truncated'] === true ? 'line' : data['incomplete'] === true ? 'text' : ''
  const text = data[cut]
  const word = typeof text === 'string' ? cutWord(text) : -1
  if (typeof text === 'string' && word >= 0) {
    changed = true
    data[cut] = `${text.slice(0, word)}[redacted:cut]`
  }
  // A mark may be longer than the text it replaces.
  if (typeof data['line'] === 'string' && data['line'].length > MAX_LINE) {
    changed = true
    data['line'] = data['line'].slice(0, MAX_LINE)
    data['truncated'] = true
  }
  return changed ? data : event.data
}

/** What the item before this one says it is: `['--password', 'letmein']`, `['sshpass', '-p', 'letmein']`. */
function flagBefore(items: readonly unknown[], at: number): string {
  const [item, flag] = [items[at], items[at - 1]]
  if (typeof item !== 'string' || typeof flag !== 'string' || !flag.startsWith('-') || flag.length > 70)
    return ''
  if (flag.startsWith('--')) return flag.slice(2)
  return isPasswordFlag(wordsBefore(items, at - 1), flag, false) ? 'password' : ''
}

function wordsBefore(items: readonly unknown[], at: number): string {
  return items
    .slice(Math.max(0, at - 8), at)
    .join(' ')
    .slice(-200)
}

/** The name in an object whose value is in another field: `{ name: 'DB_PASSWORD', value: … }`. */
function labelIn(given: object): string | undefined {
  for (const [key, name] of Object.entries(given).slice(0, MAX_FIELDS))
    if (typeof name === 'string' && roleOf(key) === 'label' && isLabelName(name, key)) return name
  return undefined
}

/** An object with more fields is not just a name with its value. */
const MAX_FIELDS = 20

/** Whether a value is distinctive enough not to match elsewhere by accident. */
function isTelling(text: string): boolean {
  if (text.length < MIN_KNOWN || text.length > MAX_KNOWN_LENGTH) return false
  return !text.includes('\n') && /\d/.test(text) && /\D/.test(text)
}

/** Calls back with each place of a text in another. */
function eachOf(text: string, value: string, at: (from: number) => void): void {
  if (value === '') return
  for (let from = text.indexOf(value); from >= 0; from = text.indexOf(value, from + value.length)) at(from)
}

/** Matches of the user's pattern: line by line, and a long line in pieces. */
function eachMatch(text: string, pattern: RegExp, at: (from: number, to: number) => void): void {
  for (let start = 0; start < text.length; ) {
    const lf = text.indexOf('\n', start)
    const line = lf < 0 ? text.length : lf
    const end = Math.min(line, start + PIECE)
    for (const match of text.slice(start, end).matchAll(pattern)) {
      const from = start + match.index
      if (match[0] !== '') at(from, from + match[0].length)
    }
    start = end === line ? end + 1 : end - OVERLAP
  }
}

/** Whether this position is inside a mark: `[redacted:password]` contains the word. */
function insideMark(text: string, at: number): boolean {
  const first = Math.max(0, at - 40)
  const start = text.slice(first, at + 10).lastIndexOf('[redacted:') + first
  return start >= first && (MARK.exec(text.slice(start, start + 40))?.[0].length ?? 0) > at - start
}

const MARK = /^\[redacted:[a-z-]{2,20}\]/

/** Calls back with each place of what somebody wants hidden. */
type Finder = (text: string, at: (from: number, to: number) => void) => void

function finderOf(given: unknown): Finder {
  const pattern = checkPattern(given)
  return typeof pattern === 'string'
    ? (text, at) => eachOf(text, pattern, (from) => at(from, from + pattern.length))
    : (text, at) => eachMatch(text, pattern, at)
}

function checkPattern(pattern: unknown): string | RegExp {
  if (pattern instanceof RegExp && pattern.global) return pattern
  if (typeof pattern === 'string' && pattern.length >= 4) return pattern
  const wanted = 'a RegExp with the flag g, or a string of four characters or more'
  throw misfit('redactor', wanted, pattern, EXAMPLE)
}
