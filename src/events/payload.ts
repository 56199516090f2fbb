import type { Code } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { drive, type Stage } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { opensAs, opensInProse } from '../frames/opening-bracket.ts'
import type { Chunk } from '../text/chunk.ts'
import type { Outcome, RepairLevel } from '../values/outcome.ts'
import { pickStage } from '../values/pick.ts'
import type { Schema } from '../values/schema/schema.ts'
import { pickedStage, valueParts } from '../values/values.ts'
import type { ResultData } from './event.ts'
import { isAfter, type Moment, PerSource } from './position.ts'

/** What was found in one assistant message. */
interface Payload {
  readonly value: unknown
  readonly repair_level: RepairLevel
  /** It may say that the run is done: it is marked as the answer, or nothing but punctuation follows it. */
  readonly final: boolean
}

/** The payloads of one message, and the fault of the last candidate, if it failed. */
export interface Found {
  readonly payloads: readonly Payload[]
  readonly fault: Code | undefined
}

interface PayloadOptions {
  readonly schema: Schema | undefined
  readonly maxFrame: number
}

/** Rank of a candidate: one that was marked as the answer, valid or not, outranks an object in a sentence. */
const EXPLICIT = 2
const PASSED_IN_PROSE = 1
const FAILED_IN_PROSE = 0

/** A candidate in a message for the result of the run. */
interface Candidate {
  readonly rank: number
  readonly outcome: Outcome<unknown>
}

interface Held extends Candidate {
  readonly enveloped: boolean
  readonly when: Moment
}

/**
 * Looks for payloads in assistant text, and nowhere else. A message is searched when it is complete: its
 * pieces are joined first, so a tag that is split over two of them is found.
 */
export function payloadFinder({ schema, maxFrame }: PayloadOptions) {
  const each = pickedStage({ maxFrame, maxComment: 0 })
  const judged = schema && valueParts({ schema, pick: 'last', maxFrame, maxComment: 0 })
  /** With a schema: the last candidate of the highest rank. */
  const last = new PerSource<Held>()

  return {
    /**
     * `when`: set for a message that may hold the result: one of the run itself, not of a subagent.
     * `enveloped`: the engine put the text into a document of its own; unwrapping it is a repair.
     */
    find(text: string, when: Moment | undefined, enveloped: boolean): Found {
      if (!mayHoldPayload(text, judged !== undefined)) return NOTHING
      const chunks = [{ channel: 'stdout' as const, bytes: Bytes.from(text) }]
      if (judged && when) {
        const found = candidate(judged, chunks)
        if (found && found.rank >= (last.get(when)?.rank ?? 0)) last.set(when, { ...found, enveloped, when })
      }
      const outcomes = drive(each, chunks).filter(isCandidate)
      const fault = outcomes.at(-1)
      const payloads = outcomes
        .filter((outcome) => outcome.ok)
        .map(({ value, repair_level, frame }) => ({
          value,
          repair_level: enveloped ? ('deterministic_generic' as const) : repair_level,
          final: isFinal(frame, chunks[0]!.bytes),
        }))
      return { payloads, fault: fault && !fault.ok ? fault.fault.code : undefined }
    },
    /** The result of the run; undefined without a schema. `whole` is false for a run that broke off. */
    result(whole: boolean): ResultData | undefined {
      if (!judged) return undefined
      const [chosen] = last.both().sort((a, b) => b.rank - a.rank || (isAfter(a.when, b.when) ? -1 : 1))
      if (!chosen) return { status: 'failed', repair_level: 'none', warnings: ['NO_MATCH'], cacheable: false }
      const { outcome, enveloped } = chosen
      const warnings = new Set(outcome.notes.map((note) => note.code))
      if (!outcome.ok) {
        const { code, errors } = outcome.fault
        const failed = { status: 'failed' as const, repair_level: 'none' as const, cacheable: false }
        return { ...failed, warnings: [...new Set([code, ...warnings])], ...(errors && { errors }) }
      }
      if (enveloped) warnings.add('OUTPUT_REPAIRED_GENERIC')
      const repair_level = enveloped ? 'deterministic_generic' : outcome.repair_level
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

function isFinal({ kind, label, to }: Frame, message: Bytes): boolean {
  if (kind === 'tag') return true
  if (kind === 'fence') return label === undefined || label === '' || /^json/i.test(label)
  return !/[\p{L}\p{N}]/u.test(message.toString('utf8', to))
}

/**
 * The last payload that is marked as one (a tag, a fence, or the whole message), valid or not: an earlier
 * draft never replaces a later one that is broken. Without any, the last object in prose that passes.
 */
function candidate(parts: ReturnType<typeof valueParts>, chunks: readonly Chunk[]): Candidate | undefined {
  const prose = new Set<Outcome<unknown>>()
  const stage: Stage<Chunk, Outcome<unknown>> = (next) =>
    parts.stage(next, undefined, (outcome) => void prose.add(outcome))
  const outcomes = drive(stage, chunks).filter(isCandidate)
  for (const rank of [EXPLICIT, PASSED_IN_PROSE, FAILED_IN_PROSE]) {
    const equals = outcomes.filter((outcome) => rankOf(outcome, prose.has(outcome)) === rank)
    const [outcome] = drive(pickStage('last'), equals)
    if (outcome) return { rank, outcome }
  }
  return undefined
}

function rankOf(outcome: Outcome<unknown>, inProse: boolean): number {
  if (!inProse) return EXPLICIT
  return outcome.ok ? PASSED_IN_PROSE : FAILED_IN_PROSE
}

/**
 * Nearly all messages are prose, some with braces (`{cmd}`, `fn() { }`), and setting up the scanner
 * costs more than reading them. Every payload has an opening brace, or a mark around it.
 */
function mayHoldPayload(text: string, loose: boolean): boolean {
  // A schema may want any root.
  if (loose && /[{[]|^[\s\0]{0,99}["\d+.tfnTFN'“-]/.test(text.slice(0, MAX_LOOK))) return true
  let brace = text.indexOf('{')
  if (brace < 0) return false
  if (MARKS.some((mark) => text.includes(mark))) return true
  // A bracket that comes first may open the whole message, which is then its payload, valid or not.
  let first = 0
  while (first < brace && /[\s\0]/.test(text[first]!)) first++
  if ((first === brace || text[first] === '[') && !beginsWithLabel(text.slice(first, first + 100)))
    return true
  for (; brace >= 0; brace = text.indexOf('{', brace + 1)) {
    if (opensInProse(text.slice(brace), loose)) return true
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
/** The whole message may also begin after a think block. */
const MARKS = ['<json>', '<think', '```', '~~~', '\u001b']

const NOTHING: Found = { payloads: [], fault: undefined }

function isCandidate(outcome: Outcome<unknown>): boolean {
  return outcome.ok || (outcome.fault.code !== 'NO_MATCH' && outcome.fault.code !== 'EMPTY')
}
