import { checkOptions, misfit } from '../base/check-options.ts'
import { badOption } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { drive } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { balancedEnd } from '../json/text-balance.ts'
import { BACKTICK, CLOSE_BRACE, GREATER, isBlank, LESS, LF, OPEN_BRACE } from '../text/characters.ts'
import type { Chunk } from '../text/chunk.ts'
import type { Rules } from './attempt.ts'
import { climb, passUnchanged } from './ladder.ts'
import { badOf, goodOf } from './make-outcome.ts'
import type { Outcome } from './outcome.ts'
import type { Schema, SchemaOutput } from './schema/schema.ts'
import { pickedStage, VALUES_OPTIONS, type ValuesOptions, wholeRules } from './values.ts'

/** The options of `values()` that make sense for a complete text. */
export interface ParseOptions<S extends Schema | undefined = undefined>
  extends Omit<ValuesOptions<S>, 'pick' | 'items' | 'where' | 'onDropped' | 'signal'> {
  /** The first payload that passes, or the last one, good or bad. @default 'first' */
  readonly pick?: 'first' | 'last' | undefined
}

/**
 * Parses a text that contains a payload, and returns the first value that passes (or, with `pick: 'last'`,
 * the last). Throws a Fault if there is none.
 *
 * @example
 * const report = parse('Sure: <json>{"issues": [],}</json>', { schema: Report })
 */
export function parse<S extends Schema | undefined = undefined>(
  text: string,
  options: ParseOptions<S> = NO_OPTIONS,
): SchemaOutput<S> {
  const outcome = parsed('parse', text, options)
  if (outcome.ok) return outcome.value
  Error.captureStackTrace(outcome.fault, parse)
  throw outcome.fault
}

/**
 * Like `parse`, but returns the outcome. It is what `values({ pick })` emits for the same text, however that
 * is split into chunks.
 *
 * @example
 * const outcome = tryParse('{"a":1,}')
 * outcome.ok && outcome.repair_level // 'deterministic_generic'
 */
export function tryParse<S extends Schema | undefined = undefined>(
  text: string,
  options: ParseOptions<S> = NO_OPTIONS,
): Outcome<SchemaOutput<S>> {
  return parsed('tryParse', text, options)
}

/** `name` is the called function, for error messages. */
function parsed<S extends Schema | undefined>(
  name: string,
  text: string,
  options: ParseOptions<S>,
): Outcome<SchemaOutput<S>> {
  const example = `${name}(text, { schema })`
  if (typeof text !== 'string') throw misfit(name, 'a text', text, example)
  // Options of `values()` that make no sense here are refused below, each with its own reason.
  if (options !== NO_OPTIONS) checkOptions<ValuesOptions<S>>(name, options, example, VALUES_OPTIONS)
  const { pick = 'first' } = options
  if (pick !== 'first' && pick !== 'last') {
    throw badOption("pick must be 'first' or 'last' here: one text gives one value")
  }
  const whole = wholeObject(text, options)
  if (whole) return whole
  const given = { ...options, pick }
  const chunk: Chunk = { channel: 'stdout', bytes: Bytes.from(text) }
  const [outcome] = drive(pickedStage(given), [chunk])
  // A value stage always emits an outcome, even if nothing was found.
  return outcome!
}

/** Most answers are one object, valid or not, and need no scanner. Undefined for others. */
function wholeObject<S extends Schema | undefined>(
  text: string,
  options: ParseOptions<S>,
): Outcome<SchemaOutput<S>> | undefined {
  const { length } = text
  if (length > MAX_WHOLE) return undefined
  const block = onlyBlock(text)
  const size = Bytes.byteLength(text)
  // Half a surrogate pair does not survive as bytes, but valid JSON is what `JSON.parse` says. ASCII text
  // cannot contain one, and searching for it anyway doubled the time for a valid text.
  const isHalf = size > length && HALF_PAIR.test(text)
  if (!block && !isHalf) return undefined
  if (options !== NO_OPTIONS && Object.keys(options).some((name) => OF_STAGES.has(name))) return undefined
  usual ??= wholeRules(NO_OPTIONS)
  const rules = options === NO_OPTIONS ? usual : wholeRules(options)
  if (!isHalf && block!.body.length < length) return inBlock(block!, text, size, rules)
  const result =
    passUnchanged(text, rules) ?? (!isHalf && isOneDocument(text) ? climb(text, rules) : undefined)
  if (!result) return undefined
  const frame: Frame = { kind: 'object', channel: 'stdout', from: 0, to: size, text, first: true }
  if (!result.ok) return badOf(frame, result, options.label)
  // Cast: a value that passed the schema has the schema's type.
  return goodOf(frame, result, undefined) as Outcome<SchemaOutput<S>>
}

/** The object of a text that has nothing around it but blanks, or one `<json>` block or json fence. */
interface Block {
  readonly kind: 'object' | 'tag' | 'fence'
  readonly from: number
  readonly to: number
  readonly body: string
}

function onlyBlock(text: string): Block | undefined {
  const [from, to] = unblank(text)
  const last = text.charCodeAt(to - 1)
  switch (text.charCodeAt(from)) {
    case OPEN_BRACE:
      return last === CLOSE_BRACE ? { kind: 'object', from, to, body: text.slice(from, to) } : undefined
    case LESS:
      if (last !== GREATER || !text.startsWith(TAG, from) || !text.endsWith(TAG_END, to)) return undefined
      return { kind: 'tag', from, to, body: text.slice(from + TAG.length, to - TAG_END.length) }
    case BACKTICK: {
      if (from > 0 || !text.startsWith(FENCE) || !text.endsWith(FENCE_END, to)) return undefined
      // The line break behind the marks is part of the fence.
      const isLine = text.charCodeAt(to) === LF
      if (to < text.length && !isLine) return undefined
      const body = text.slice(FENCE.length, to - FENCE_END.length)
      return { kind: 'fence', from, to: isLine ? to + 1 : to, body }
    }
    default:
      return undefined
  }
}

/** Where a text begins and ends without the blanks of JSON around it. */
function unblank(text: string): [number, number] {
  let from = 0
  let to = text.length
  while (isBlank(text.charCodeAt(from))) from++
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--
  return [from, to]
}

/** Returns only a value that passes. For any other, the stages say why it does not. */
function inBlock<S extends Schema | undefined>(
  { kind, from, to, body }: Block,
  text: string,
  size: number,
  rules: Rules,
): Outcome<SchemaOutput<S>> | undefined {
  if (Array.isArray(rules.think) || !isOneDocument(body.slice(...unblank(body)))) return undefined
  const result = climb(body, rules)
  if (!result.ok) return undefined
  const place = { channel: 'stdout', from, to: size - text.length + to, text: body } as const
  const frame: Frame = kind === 'object' ? { kind, ...place, first: true } : { kind, ...place, label: 'json' }
  // Cast: as above.
  return goodOf(frame, result, kind === 'fence' ? 'took a fence body' : undefined) as Outcome<SchemaOutput<S>>
}

/**
 * Whether the scanner would cut exactly one frame, the whole text: it begins with a key, its first
 * bracket is closed by the last one, and it has nothing in it that might be a tag, a fence or a terminal
 * sequence.
 */
export function isOneDocument(text: string): boolean {
  if (text.length > MAX_BROKEN) return false
  if (!KEY.test(text) || NOT_PLAIN.test(text)) return false
  return balancedEnd(text, 0) === text.length
}

/** A brace and a key, whatever its quotes. */
const KEY = /^{\s*(?:"|'|[A-Za-z_]\w*\s*:)/
/**
 * A `<`, a backtick, a tilde or a control character. One class of what is allowed, because it takes half of
 * the time of one that names these.
 */
const NOT_PLAIN = /[^\t\n\r -;=-_a-}\u00a0-\uffff]/
const TAG = '<json>'
const TAG_END = '</json>'
const FENCE = '```json\n'
const FENCE_END = '\n```'
const HALF_PAIR = /\p{Cs}/u
const NO_OPTIONS = {}
let usual: Rules | undefined
/** Options about where to look, which the stages check. */
const OF_STAGES: ReadonlySet<string> = /* @__PURE__ */ new Set<keyof ValuesOptions>([
  'tag',
  'lines',
  'items',
  'where',
  'onDropped',
  'maxFrame',
])
/** A text of this size is no longer than `maxFrame`, whatever its characters. */
const MAX_WHOLE = 5_592_405
/** Far below the length from which the scanner gives up the search for the end of a broken object. */
const MAX_BROKEN = 1 << 18
