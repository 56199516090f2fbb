import { isObject, misfit } from '../base/check-options.ts'
import { clip, type Note, quote } from '../base/fault.ts'
import { drive } from '../base/stage.ts'
import { duplicateKey } from '../json/silent-losses.ts'
import type { Chunk } from '../text/chunk.ts'
import { valueStage } from '../values/values.ts'
import { findAnchors, readHeaders } from './headers.ts'
import type { WorkOrder } from './order.ts'
import {
  type Checked,
  type ClaimedResult,
  check,
  fieldsOf,
  type RepairedResult,
  repairOf,
  type WorkResult,
} from './result.ts'
import type { FoundResult } from './result-file.ts'

/** The source of a result, best first. */
export type EvidenceSource = 'json' | 'text' | 'conversation' | 'output'

/** How the worker's process ended. */
export interface WorkExit {
  readonly code: number | null
  readonly signal: string | null
  /** Why we ended it, or why it never started. */
  readonly ended?: 'timeout' | 'aborted' | 'not started'
}

/** Everything that the run of a worker left behind, for `settle()`. */
export interface WorkEvidence {
  /** What was found under the name of `work_result.json`. */
  readonly json?: FoundResult | undefined
  /** What was found under the name of `work_result.txt`. */
  readonly text?: FoundResult | undefined
  /** File names for messages. @default work_result.json and work_result.txt */
  readonly names?: { readonly json: string; readonly text: string } | undefined
  /** The payload in the agent's last message, and whether the adapter is configured to trust it. */
  readonly conversation?: { readonly payload: unknown; readonly trusted: boolean } | undefined
  /** Bounded output of the process, only used when there is nothing else. */
  readonly stdout?: string | undefined
  readonly stderr?: string | undefined
  readonly exit?: WorkExit | undefined
  /** Why the process could not be started, if it was not. */
  readonly notStarted?: string | undefined
}

/**
 * `advance`: the result counts, and its comment is posted, though its status may be `fail` or `blocked`.
 * `archive`: it is kept, and does not count. `needs-human`: the comment asks a person to take over.
 */
export type WorkVerdict = 'advance' | 'archive' | 'needs-human'

/** One source that was tried, and its outcome. */
export interface SettleStep {
  readonly source: EvidenceSource
  readonly outcome: 'absent' | 'stale' | 'refused' | 'broken' | 'incomplete' | 'complete' | 'not read'
  readonly message?: string
}

/** The verdict on a run. */
export interface SettledWork {
  readonly verdict: WorkVerdict
  /** Why, if it does not advance. */
  readonly reasons: readonly Note[]
  /** Notes that did not decide. */
  readonly notes: readonly Note[]
  /** The normalized result; only set when every required field is valid. */
  readonly result?: WorkResult
  /** What the worker reported, as far as it can be read. */
  readonly claim: ClaimedResult
  readonly source?: EvidenceSource
  /** What a repair would read in a broken JSON file: only shown to the person who takes over. */
  readonly repaired?: RepairedResult
  /** Every source in the order it was tried. */
  readonly tried: readonly SettleStep[]
}

/**
 * The verdict of `work()` alone: decides what the evidence of a run is worth, and starts and posts nothing.
 * The same evidence always gives the same verdict.
 *
 * - A result of another run than the active one is only archived, whatever else it says.
 * - A missing, invalid or duplicate field, a broken file or no file at all needs a human.
 * - What the worker only said (its output, its last message) is never enough to advance, nor to archive: a
 *   log may name any run.
 *
 * @example
 * settle({ json: { state: 'read', text, bytes: text.length } }, order, 'run-7').verdict // 'advance'
 */
export function settle(evidence: WorkEvidence, order: WorkOrder, activeRunId: string): SettledWork {
  const example = 'settle({ json: { state: "read", text, bytes } }, order, "run-7")'
  for (const part of [evidence, order])
    if (!isObject(part)) throw misfit('settle', 'the evidence and the order, both objects', part, example)
  for (const file of [evidence.json, evidence.text])
    if (file !== undefined && !isObject(file))
      throw misfit('settle', 'files as { state: "read", text, bytes }', file, example)
  const tried: SettleStep[] = []
  const notes: Note[] = []
  const found = best(evidence, tried, notes)
  const reasons = [...found.reasons, ...doubts(found, evidence, order)]
  const late = lateness(found.claim, order, activeRunId)
  if (late) reasons.unshift(late)
  const archived = late !== undefined && (order.run_id !== activeRunId || !found.untrusted)
  const verdict = archived ? 'archive' : reasons.length > 0 || !found.result ? 'needs-human' : 'advance'
  const { code, signal } = evidence.exit ?? { code: 0, signal: null }
  if (found.claim.status === 'ok' && code !== 0 && code !== null && signal === null) {
    const message = `the result says ok, but the worker exited with ${code}`
    notes.push({ code: 'COMPLETION_CONFLICT', message })
  }
  return {
    verdict,
    reasons,
    notes,
    ...(found.result ? { result: found.result } : {}),
    claim: found.claim,
    ...(found.source ? { source: found.source } : {}),
    ...(found.repaired ? { repaired: found.repaired } : {}),
    tried,
  }
}

interface CheckedResult extends Checked {
  readonly repaired?: RepairedResult | undefined
}

interface Best extends CheckedResult {
  readonly source?: EvidenceSource
  /** True if it was only said, not written to a file. */
  readonly untrusted?: boolean
}

/** Takes the first existing source, valid or not: a broken source never falls back to a lesser one. */
function best(evidence: WorkEvidence, tried: SettleStep[], notes: Note[]): Best {
  let taken: Best | undefined
  const files = [
    ['json', evidence.json, fromJson],
    ['text', evidence.text, fromText],
  ] as const
  const names = evidence.names ?? { json: 'work_result.json', text: 'work_result.txt' }
  for (const [source, file, read] of files) {
    const name = clip(names[source], 100)
    if (file === undefined || file.state === 'absent') tried.push({ source, outcome: 'absent' })
    else if (file.state === 'stale') {
      tried.push({ source, outcome: 'stale' })
      notes.push({ code: 'WORK_FILE_STALE', message: `${name} is older than the run` })
    } else if (taken) tried.push({ source, outcome: 'not read', message: `${names.json} comes first` })
    else if (file.state === 'refused') {
      tried.push({ source, outcome: 'refused', message: file.message })
      taken = {
        source,
        claim: {},
        reasons: [{ code: 'WORK_FILE_REFUSED', message: `${name} ${file.message}` }],
      }
    } else taken = note(source, read(file.text, name), tried)
  }
  if (taken) return taken
  return fromConversation(evidence, tried) ?? fromOutput(evidence, tried)
}

function fromJson(text: string, name: string): CheckedResult {
  let value: unknown
  try {
    value = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text)
  } catch (error) {
    const message = `${name} is not JSON: ${quote((error as Error).message, 100)}`
    return { claim: {}, reasons: [{ code: 'WORK_RESULT_BROKEN', message }], repaired: repairOf(text) }
  }
  const { fields, reasons } = fieldsOf(value)
  // JSON.parse silently used the last one, and an earlier reader may have used the first.
  const doubled = duplicateKey(text, RESULT_LEVELS)
  if (doubled !== undefined)
    reasons.push({ code: 'WORK_FIELD_TWICE', message: `the key ${quote(doubled)} occurs twice` })
  return withReasons(check(fields), reasons)
}

/** The result and its `changes`. */
const RESULT_LEVELS = 2

function fromText(text: string): Checked {
  const { fields, body, broken } = readHeaders(text)
  return withReasons(check(fields, body), broken ? [broken] : [])
}

/** With a reason against it there is no result. */
function withReasons(checked: Checked, first: readonly Note[]): Checked {
  if (first.length === 0) return checked
  return { claim: checked.claim, reasons: [...first, ...checked.reasons] }
}

function fromConversation(evidence: WorkEvidence, tried: SettleStep[]): Best | undefined {
  if (evidence.conversation === undefined) {
    tried.push({ source: 'conversation', outcome: 'absent' })
    return undefined
  }
  const { payload, trusted } = evidence.conversation
  const { fields, reasons } = fieldsOf(payload)
  const said = note('conversation', withReasons(check(fields), reasons), tried)
  return trusted ? said : distrust(said, 'the result is only in what the agent said')
}

/** Only a log is left. A few fields found in it help the person who takes over, and nothing more. */
function fromOutput(evidence: WorkEvidence, tried: SettleStep[]): Best {
  const { fields, reasons } = jsonAnchors(evidence.stdout ?? '')
  for (const output of [evidence.stdout, evidence.stderr]) {
    for (const [field, value] of findAnchors(output ?? '')) {
      if (!fields.has(field)) fields.set(field, value)
    }
  }
  if (fields.size === 0) {
    tried.push({ source: 'output', outcome: 'absent' })
    return { claim: {}, reasons: [{ code: 'WORK_NO_RESULT', message: 'there is no result of this run' }] }
  }
  const said = note('output', withReasons(check(fields), reasons), tried)
  return distrust(said, 'the result is only in the output of the process')
}

function distrust(said: Best, message: string): Best {
  const { result: _, ...rest } = said
  return { ...rest, untrusted: true, reasons: [{ code: 'WORK_UNTRUSTED', message }, ...said.reasons] }
}

function note(source: EvidenceSource, checked: CheckedResult, tried: SettleStep[]): Best {
  const first = checked.reasons[0]
  const broken = checked.reasons.some(({ code }) => code === 'WORK_RESULT_BROKEN')
  tried.push({
    source,
    outcome: checked.result ? 'complete' : broken ? 'broken' : 'incomplete',
    ...(first ? { message: first.message } : {}),
  })
  return { ...checked, source }
}

/** Reasons against a result although it is well formed. */
function doubts({ claim }: Best, { exit, notStarted }: WorkEvidence, order: WorkOrder): Note[] {
  const found: Note[] = []
  if (claim.issue_ref !== undefined && claim.issue_ref !== order.issue_ref) {
    const message = `the result is for ${quote(claim.issue_ref)}, the order for ${quote(order.issue_ref)}`
    found.push({ code: 'WORK_ISSUE_MISMATCH', message })
  }
  if (exit?.ended === 'not started') {
    found.push({ code: 'SPAWN_FAILED', message: notStarted ?? 'the worker could not be started' })
  } else if (exit?.ended !== undefined || (exit && exit.signal !== null)) {
    // Whatever it wrote before, it did not report that it was done.
    const how = exit.ended ?? `signal ${exit.signal}`
    found.push({ code: 'WORK_INTERRUPTED', message: `the worker was ended before it was done (${how})` })
  }
  return found
}

/** Whether the run is not the active one; the worker of an old order may have guessed its id. */
function lateness(claim: ClaimedResult, order: WorkOrder, activeRunId: string): Note | undefined {
  const other = [claim.run_id, order.run_id].find((id) => id !== undefined && id !== activeRunId)
  if (other === undefined) return undefined
  const message = `the result is of run ${quote(other)}, the active run is ${quote(activeRunId)}`
  return { code: 'WORK_RUN_MISMATCH', message }
}

/**
 * Looks for a JSON result in the output of a worker: one document, a tag block, a fence or an object in the
 * log. Logs contain objects of any kind, so one counts only if it names the issue or the run; of several, the
 * one with the most anchors (issue, run, status), and of equal ones the last. It never advances.
 *
 * @example
 * jsonAnchors('done: {"run_id":"run-7","status":"ok"}').fields.get('run_id') // 'run-7'
 */
function jsonAnchors(output: string): { fields: Map<string, unknown>; reasons: Note[] } {
  let found: { fields: Map<string, unknown>; reasons: Note[] } = { fields: new Map(), reasons: [] }
  if (!output.includes('{')) return found
  const chunk: Chunk = { channel: 'stdout', bytes: Buffer.from(output) }
  let most = 0
  for (const outcome of drive(valueStage({}), [chunk])) {
    if (!outcome.ok) continue
    const { fields, reasons } = fieldsOf(outcome.value)
    const count = anchors.filter((field) => typeof fields.get(field) === 'string').length
    if (count < most || !(fields.has('run_id') || fields.has('issue_ref'))) continue
    most = count
    found = { fields, reasons }
  }
  return found
}

const anchors = ['issue_ref', 'run_id', 'status']
