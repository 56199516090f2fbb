import { type Code, withoutStack } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { drive } from '../base/stage.ts'
import { opensAs, opensInProse } from '../frames/opening-bracket.ts'
import { thoughtIn } from '../frames/thought-dialects.ts'
import { isOnlyStructure } from '../json/after-value.ts'
import { isOrdinary } from '../json/plain-value.ts'
import { isJson } from '../json/strict.ts'
import { isFewWords } from '../repair/bare-words.ts'
import type { Chunk } from '../text/chunk.ts'
import type { Rules } from '../values/attempt.ts'
import { cutOpener, endsInTag } from '../values/cut-opener.ts'
import { callbackArgument } from '../values/envelope.ts'
import { climb } from '../values/ladder.ts'
import { opensBeforeQuote } from '../values/last-resort.ts'
import type { Outcome, RepairLevel } from '../values/outcome.ts'
import { isOneDocument } from '../values/parse.ts'
import { EXPLICIT, isCut, rankOf } from '../values/pick.ts'
import type { Schema } from '../values/schema/schema.ts'
import { pickedStage, valueParts, wholeRules } from '../values/values.ts'
import type { ResultData } from './event.ts'
import { isAfter, type Moment, PerSource } from './position.ts'

/** What was found in one assistant message. */
interface Payload {
  readonly value: unknown
  readonly repair_level: RepairLevel
  /** It may say that the run is done: it is marked as the answer, or nothing but punctuation follows it. */
  readonly final: boolean
}

/**
 * The payloads of one message, at least those that may be its answer, and the fault of the last candidate, if
 * it failed.
 */
export interface FoundPayloads {
  readonly payloads: readonly Payload[]
  readonly fault: Code | undefined
}

interface PayloadOptions {
  readonly schema: Schema | undefined
  readonly pick: 'first' | 'last'
  readonly maxFrame: number
  readonly maxRepair: number
}

/** A candidate in a message for the result of the run. */
interface Held {
  readonly rank: number
  readonly outcome: Outcome<unknown>
  readonly enveloped: boolean
  readonly when: Moment
}

/**
 * Looks for payloads in assistant text, and nowhere else. A message is searched when it is complete: its
 * pieces are joined first, so a tag that is split over two of them is found.
 */
export function payloadFinder({ schema, pick, maxFrame, maxRepair }: PayloadOptions) {
  const each = valueParts({ maxFrame, maxRepair }, undefined, undefined, true).stage
  const rules = wholeRules({ maxRepair })
  const last = schema && pickedStage({ schema, pick, maxFrame, maxRepair })
  /** With a schema: the last candidate of the highest rank. */
  const results = new PerSource<Held>()
  /** The first answer that passed, as JSON, and whether another message has another one. */
  let answer: string | undefined
  let ambiguous = false
  /** What was cut in the last message with a candidate: what was before it is a draft. */
  let cut: { readonly code: Code; readonly when: Moment } | undefined

  return {
    /**
     * `when`: set for a message that may hold the result: one of the run itself, not of a subagent.
     * `enveloped`: the engine put the text into a document of its own; unwrapping it is a repair.
     */
    find(text: string, when: Moment | undefined, enveloped: boolean): FoundPayloads {
      const isDraft = answer !== undefined && when !== undefined && endsAtOpener(text)
      if (isDraft) cut = { code: 'TRUNCATED', when }
      if (!mayHoldPayload(text, last !== undefined)) return NOTHING
      const only = last || text.length * 3 > maxFrame ? undefined : onlyPayload(text, enveloped, rules)
      if (only) return { payloads: [only], fault: undefined }
      const bytes = Bytes.from(last ? text : text.slice(lastPart(text, maxRepair)))
      const chunks: Chunk[] = [{ channel: 'stdout', bytes }]
      if (last && when) {
        const [outcome] = drive(last, chunks)
        if (outcome?.ok) {
          const json = JSON.stringify(outcome.value)
          answer ??= json
          ambiguous ||= answer !== json
          cut = undefined
        } else if (outcome && isCut(outcome)) cut = { code: outcome.fault.code, when }
        const rank = outcome && isCandidate(outcome) ? rankInRun(outcome) : -1
        if (outcome && rank >= (results.get(when)?.rank ?? 0))
          results.set(when, { rank, outcome, enveloped, when })
      }
      const outcomes = driveEach(each, chunks).filter(
        (outcome) => isCandidate(outcome) && rankOf(outcome) > 0,
      )
      const fault = outcomes.at(-1)
      const good = outcomes.filter((outcome) => outcome.ok)
      const endsAt = endCheck(bytes)
      const payloads = good.reverse().map((outcome) => ({
        value: outcome.value,
        repair_level: enveloped ? UNWRAPPED : outcome.repair_level,
        final: isFinal(outcome, endsAt),
      }))
      return { payloads: payloads.reverse(), fault: fault && !fault.ok ? fault.fault.code : undefined }
    },
    /** The result of the run; undefined without a schema. `whole` is false for a run that broke off. */
    result(whole: boolean): ResultData | undefined {
      if (!last) return undefined
      const [chosen] = results.both().sort((a, b) => b.rank - a.rank || (isAfter(a.when, b.when) ? -1 : 1))
      if (!chosen) return { status: 'failed', repair_level: 'none', warnings: ['NO_MATCH'], cacheable: false }
      const { outcome, enveloped } = chosen
      if (outcome.ok && cut && isAfter(cut.when, chosen.when))
        return { status: 'failed', repair_level: 'none', warnings: [cut.code], cacheable: false }
      const warnings = new Set(outcome.notes.map((note) => note.code))
      if (!outcome.ok) {
        const { code, errors } = outcome.fault
        const failed = { status: 'failed' as const, repair_level: 'none' as const, cacheable: false }
        return { ...failed, warnings: [...new Set([code, ...warnings])], ...(errors && { errors }) }
      }
      if (enveloped) warnings.add('OUTPUT_REPAIRED_GENERIC')
      if (ambiguous) warnings.add('AMBIGUOUS')
      const repair_level = enveloped ? UNWRAPPED : outcome.repair_level
      return {
        status: 'success',
        value: outcome.value,
        repair_level,
        warnings: [...warnings],
        cacheable: whole,
      }
    },
  }
}

/** All outcomes of a message, but for those that turned out to be thoughts. */
function driveEach(each: ReturnType<typeof valueParts>['stage'], chunks: readonly Chunk[]) {
  let outcomes: Outcome<unknown>[] = []
  const sink = each({
    write: (outcome) => void outcomes.push(outcome),
    end() {},
    forget() {
      outcomes = []
    },
  })
  for (const chunk of chunks) sink.write(chunk)
  sink.end()
  return outcomes
}

/** Taking a payload out of a fence, or out of the engine's own document, is a repair. */
const UNWRAPPED = 'deterministic_generic'

/**
 * Fast path: the payload of a message that is one object, valid or easily repaired, in a `<json>` tag or a
 * fence, with nothing but plain words and a thought around it, or nothing but the object. Setting up the
 * scanner costs a hundred times as much as parsing it. Undefined for all else, which the scanner reads.
 */
function onlyPayload(message: string, enveloped: boolean, rules: Rules): Payload | undefined {
  const thought = THOUGHT.exec(message)?.[0].length ?? 0
  const text = message.slice(thought)
  const brace = text.indexOf('{')
  // A document after a thought is a repair.
  if (thought > 0 && brace === 0) return undefined
  const end = text.lastIndexOf('}') + 1
  const repair_level = end === 0 ? undefined : levelOf(text.slice(0, brace), text.slice(end), enveloped)
  if (repair_level === undefined) return undefined
  const body = text.slice(brace, end)
  // Marks in a string of the object may be read as marks; half a surrogate pair is replaced.
  if (/[`~\ud800-\udfff]|<\/?(?:json|think|reason|scratch)/i.test(body)) return undefined
  let value: unknown
  try {
    value = withoutStack(JSON.parse, body)
  } catch {
    const mended = isOneDocument(body) ? climb(body, rules) : undefined
    return mended?.ok ? { value: mended.value, repair_level: UNWRAPPED, final: true } : undefined
  }
  return isOrdinary(value, body, MAX_DEPTH) ? { value, repair_level, final: true } : undefined
}

/**
 * Where the search for the last payload begins: between objects with words around them, of which none is
 * final, only what follows the last but one counts. A log in one message may have thousands.
 */
function lastPart(text: string, maxRepair: number): number {
  // A number in brackets may begin a short text that is one broken document.
  const first = text.length > maxRepair ? (/^\[\d{1,9}\] /.exec(text)?.[0].length ?? 0) : 0
  if (!/^\p{L}/u.test(text.slice(first, first + 2))) return 0
  let [before, from] = [0, first]
  for (let end = pastObject(text, from); end > 0; end = pastObject(text, end)) {
    before = from
    from = end
  }
  return before
}

/** The next object with words before it, which begin at `from`, and behind it: where those begin, or -1. */
function pastObject(text: string, from: number): number {
  PLAIN_WORDS.lastIndex = from
  UP_TO_OBJECT.lastIndex = PLAIN_WORDS.test(text) ? PLAIN_WORDS.lastIndex : from
  if (!UP_TO_OBJECT.test(text)) return -1
  const start = text.lastIndexOf('{', UP_TO_OBJECT.lastIndex)
  REST_OF_OBJECT.lastIndex = UP_TO_OBJECT.lastIndex
  if (!REST_OF_OBJECT.test(text)) return -1
  const end = REST_OF_OBJECT.lastIndex
  UP_TO_WORDS.lastIndex = end
  return UP_TO_WORDS.test(text) && isJson(text.slice(start, end)) ? UP_TO_WORDS.lastIndex : -1
}

/** Nearly all words: their letters need no table of Unicode's. */
const PLAIN_WORDS = /[A-Za-z][\w \n.;!?]*/y

/** The other words, then a small flat object. */
const UP_TO_OBJECT = /[\p{L}\p{N}_ \n.;!?。]*(?<=[\p{L}\p{N};.!?] )\{\s?"/uy
const REST_OF_OBJECT = /[^{}[\]<`~\p{Cc}\p{Cs}]*\}/uy

/** The space or the number in brackets before the next words. */
const UP_TO_WORDS = / (?:\[\d{1,9}\] )?(?=\p{L})/uy

/** A closed block, whatever is in it. */
const THOUGHT = /^<(think|thinking|reasoning|scratchpad)>[^\u001b]*?<\/\1>\s*/

/** Depth that is certainly within the limits of every reader. */
const MAX_DEPTH = 64

/** The level of an object that is marked as the answer by what is around it, or has nothing around it. */
function levelOf(before: string, behind: string, enveloped: boolean): RepairLevel | undefined {
  const level = enveloped ? UNWRAPPED : 'none'
  if (before === '') return behind === '' || behind === '\n' ? level : undefined
  if (/^[\p{L}\p{N}_ \n.,:;!?。]*<json>\n?$/u.test(before))
    return /^\n?<\/json>[\p{L}\p{N}_ \n.,:;!?。]*$/u.test(behind) ? level : undefined
  const fence =
    /^(?:[\p{L}\p{N}_ \n.,:;!?。]*\n)?```json\n$/u.test(before) &&
    /^\n```(?:\n[\p{L}\p{N}_ \n.,:;!?。]*)?$/u.test(behind)
  return fence ? UNWRAPPED : undefined
}

/** Never in code, and never by the last resort. */
function isFinal(outcome: Outcome<unknown>, endsAt: (offset: number) => boolean): boolean {
  const { frame, notes } = outcome
  if (frame.in_fence || notes.some(({ code }) => code === 'LOOSE_MATCH')) return false
  if (rankOf(outcome) === EXPLICIT) return true
  return frame.kind === 'object' && endsAt(frame.to)
}

/** Whether only punctuation follows an offset. Called for the last offset first, it reads each byte once. */
function endCheck(message: Bytes): (offset: number) => boolean {
  let punctuationFrom = message.length
  let wordsAfter = -1
  return (offset) => {
    if (offset >= punctuationFrom) return true
    if (offset <= wordsAfter) return false
    const ends = /^[\s\p{P}]*$/u.test(message.toString('utf8', offset, punctuationFrom))
    if (ends) punctuationFrom = offset
    else wordsAfter = offset
    return ends
  }
}

/** Whether a message ends where a payload begins. */
function endsAtOpener(text: string): boolean {
  return cutOpener(text.slice(-64), 'json', true) !== undefined || endsInTag(text, 'json')
}

/** A candidate that is marked as the answer, valid, cut or not, outranks an object in a sentence. */
function rankInRun(outcome: Outcome<unknown>): number {
  const rank = rankOf(outcome)
  return rank === EXPLICIT || outcome.ok || isCut(outcome) ? rank : 0
}

/**
 * Nearly all messages are prose, some with braces (`{cmd}`, `fn() { }`), and setting up the scanner
 * costs more than reading them. Every payload has an opening brace, or a mark around it.
 */
function mayHoldPayload(text: string, loose: boolean): boolean {
  // A schema may want any root.
  if (
    loose &&
    (isFewWords(text.trim()) || /[{[]|^[\s\0]{0,99}["\d+.tfnTFN'“-]/.test(text.slice(0, MAX_LOOK)))
  )
    return true
  let brace = text.indexOf('{')
  if (brace < 0) return false
  if (hasMark(text)) return true
  if (isOnlyStructure(text) || callbackArgument(text)) return true
  // A bracket that comes first may open the whole message, which is then its payload, valid or not.
  let first = 0
  while (first < brace && /[\s\0]/.test(text[first]!)) first++
  if ((first === brace || text[first] === '[') && !beginsWithLabel(text.slice(first, first + 100)))
    return true
  for (; brace >= 0; brace = text.indexOf('{', brace + 1)) {
    if (opensInProse(text.slice(brace), loose) || opensBeforeQuote(text, brace)) return true
  }
  return false
}

/** `{cmd} about it` and `[INFO] about it` do not open a document. */
function beginsWithLabel(head: string): boolean {
  return (
    /^(?:\{[\w.-]{1,64}\}|\[[\w.-]{1,64}\])\s{1,9}[A-Za-z]/.test(head) && opensAs('document', head) === false
  )
}

const MAX_LOOK = 1 << 16
const MARKS = ['```', '~~~', '\u001b', '<json>']

/** The whole message may also begin after a thought. */
function hasMark(text: string): boolean {
  return MARKS.some((mark) => text.includes(mark)) || thoughtIn(text) >= 0
}

const NOTHING: FoundPayloads = { payloads: [], fault: undefined }

function isCandidate(outcome: Outcome<unknown>): boolean {
  return outcome.ok || (outcome.fault.code !== 'NO_MATCH' && outcome.fault.code !== 'EMPTY')
}
