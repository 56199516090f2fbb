import type { Code } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { drive, type Stage } from '../base/stage.ts'
import type { Chunk } from '../frames/chunk.ts'
import { opensAs, opensInProse } from '../frames/gate.ts'
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
}

/** The payloads of one message, and what the last candidate failed with, if it did. */
export interface Found {
  readonly payloads: readonly Payload[]
  readonly fault: Code | undefined
}

interface PayloadOptions {
  readonly schema: Schema | undefined
  readonly maxFrame: number
}

/** How much a candidate counts: one that was marked as the answer, good or bad, more than an object in a sentence. */
const EXPLICIT = 2
const PASSED_IN_PROSE = 1
const FAILED_IN_PROSE = 0

/** What a message has to offer as the result of the run. */
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
 * pieces are joined first, so a tag that is split over two of them is one tag.
 */
export function payloadFinder({ schema, maxFrame }: PayloadOptions) {
  const each = pickedStage({ maxFrame, maxComment: 0 })
  const judged = schema && valueParts({ schema, pick: 'last', maxFrame, maxComment: 0 })
  /** With a schema: the last candidate of the highest rank. */
  const last = new PerSource<Held>()

  return {
    /**
     * `when`: the moment of a message that may hold the result: the run's own words, not a subagent's. `enveloped`:
     * the engine put the text into a document of its own; taking it out is a repair.
     */
    find(text: string, when: Moment | undefined, enveloped: boolean): Found {
      if (!mayHoldPayload(text, judged !== undefined)) return NOTHING
      const chunks: Chunk[] = [{ channel: 'stdout', bytes: Bytes.from(text) }]
      if (judged && when) {
        const found = candidate(judged, chunks)
        if (found && found.rank >= (last.get(when)?.rank ?? 0)) last.set(when, { ...found, enveloped, when })
      }
      const outcomes = drive(each, chunks).filter(isCandidate)
      const fault = outcomes.at(-1)
      const payloads = outcomes
        .filter((outcome) => outcome.ok)
        .map(({ value, repair_level }) => ({
          value,
          repair_level: enveloped ? ('deterministic_generic' as const) : repair_level,
        }))
      return { payloads, fault: fault && !fault.ok ? fault.fault.code : undefined }
    },
    /** What became of the run's payload; undefined without a schema. `whole` is false for a run that broke off. */
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

/**
 * The last payload that is marked as one (a tag, a fence, or all of the message), good or bad: an earlier draft is never
 * put in the place of a later one that is broken. Without any, the last object in prose that passes.
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
 * Nearly all messages are prose, some of them with braces in it (`{cmd}`, `fn() { }`), and to set the scanner up
 * costs more than to read them. No payload is without a brace that opens one, or a mark around it.
 */
function mayHoldPayload(text: string, loose: boolean): boolean {
  // A schema may want any root.
  if (loose && /[{[]|^[\s\0]{0,99}["\d+.tfnTFN'“-]/.test(text.slice(0, MAX_LOOK))) return true
  let brace = text.indexOf('{')
  if (brace < 0) return false
  if (MARKS.some((mark) => text.includes(mark)) || holdsC1(text)) return true
  // A bracket that comes first may open the whole message, and is then its payload, good or bad.
  let first = 0
  while (first < brace && /[\s\0]/.test(text[first]!)) first++
  if ((first === brace || text[first] === '[') && !beginsWithLabel(text.slice(first, first + 100)))
    return true
  for (; brace >= 0; brace = text.indexOf('{', brace + 1)) {
    if (opensInProse(text.slice(brace), loose)) return true
  }
  return false
}

/** `{cmd} about it` and `[INFO] about it` open no document. */
function beginsWithLabel(head: string): boolean {
  return (
    /^(?:\{[\w.-]{1,64}\}|\[[\w.-]{1,64}\])\s{1,9}[A-Za-z]/.test(head) && opensAs('document', head) === false
  )
}

const MAX_LOOK = 1 << 16
/** Behind a think block, too, the whole message may begin. */
const MARKS = ['<json>', '<think', '```', '~~~', '\u001b']

/** Nearly every text is ASCII, and that is found out natively. */
function holdsC1(text: string): boolean {
  return Bytes.byteLength(text) !== text.length && /[\u0080-\u009f]/.test(text)
}

const NOTHING: Found = { payloads: [], fault: undefined }

function isCandidate(outcome: Outcome<unknown>): boolean {
  return outcome.ok || (outcome.fault.code !== 'NO_MATCH' && outcome.fault.code !== 'EMPTY')
}
