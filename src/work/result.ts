import { defined, isObject } from '../base/check-options.ts'
import { type Code, clip, type Note, quote } from '../base/fault.ts'
import { tryParse } from '../values/parse.ts'
import { fieldOf } from './headers.ts'

/** How the work went, as the worker itself reports it; whether that counts is the verdict. */
export type WorkStatus = 'ok' | 'fail' | 'blocked'

/** The normalized result of every worker. */
export interface WorkResult {
  readonly issue_ref: string
  readonly run_id: string
  readonly status: WorkStatus
  /** At least one of the two, but for a worker that is blocked. */
  readonly changes: { readonly pr?: string; readonly commit?: string }
  /** The outcome of the tests; `n/a` is a valid answer. */
  readonly tests: string
  readonly summary: string
  readonly blocked_by?: string
  readonly questions?: readonly string[]
}

/** What a worker reported, as far as it can be read: any field may be missing. */
export type ClaimedResult = Partial<WorkResult>

/** A checked claim: `result` is set only when every required field is valid. */
export interface Checked {
  readonly claim: ClaimedResult
  readonly result?: WorkResult
  readonly reasons: readonly Note[]
}

const MAX_LINE = 500
const MAX_TEXT = 16 * 1024
const MAX_QUESTIONS = 20

/**
 * Checks raw fields (by snake_case name) and makes a result of them.
 *
 * `none`, `n/a` and `-` mean "there is none": `pr` and `commit` are missing then, `tests` are answered.
 */
export function check(fields: ReadonlyMap<string, unknown>, body = ''): Checked {
  const reasons: Note[] = []
  const say = (code: Code, message: string): undefined => {
    reasons.push({ code, message })
  }
  const line = (key: string): string | undefined => {
    const value = fields.get(key)
    if (value === undefined || value === null || value === '') return undefined
    if (typeof value !== 'string') return say('WORK_FIELD_INVALID', `${key} must be a string`)
    if (value.trim() === '') return undefined
    if (value.length > MAX_LINE || /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(value))
      return say('WORK_FIELD_INVALID', `${key} must be one line of at most ${MAX_LINE} characters`)
    return value
  }
  const required = (key: string): string | undefined => {
    const count = reasons.length
    const value = line(key)
    if (value === undefined && reasons.length === count) say('WORK_FIELD_MISSING', `${key} is missing`)
    return value
  }

  const issue_ref = required('issue_ref')
  const run_id = required('run_id')
  const word = required('status')
  const status = word === 'ok' || word === 'fail' || word === 'blocked' ? word : undefined
  if (word !== undefined && status === undefined)
    say('WORK_FIELD_INVALID', `status must be ok, fail or blocked, but is ${quote(word)}`)
  const before = reasons.length
  const pr = meant(line('pr'))
  const commit = meant(line('commit'))
  const isWithoutChanges = pr === undefined && commit === undefined
  if (isWithoutChanges && status !== 'blocked' && reasons.length === before)
    say('WORK_FIELD_MISSING', 'neither pr nor commit is given')
  const tests = required('tests')
  const summary = prose(fields.get('summary')) ?? prose(body) ?? ''
  const blocked_by = prose(fields.get('blocked_by'))
  const questions = list(fields.get('questions'))

  const changes = defined({ pr, commit })
  // The order of the fields is part of the digest of a result.
  const claim: ClaimedResult = defined({
    issue_ref,
    run_id,
    status,
    changes,
    tests,
    summary,
    blocked_by,
    questions,
  })
  return { claim, reasons, ...(reasons.length === 0 && complete(claim) ? { result: claim } : {}) }
}

/**
 * The fields of a `work_result.json`. `pr` and `commit` are at the top or in `changes`. A field that is
 * given in two spellings, or in both places, is refused, like a duplicate header.
 */
export function fieldsOf(value: unknown): { fields: Map<string, unknown>; reasons: Note[] } {
  const fields = new Map<string, unknown>()
  const reasons: Note[] = []
  if (!isObject(value)) {
    reasons.push({ code: 'WORK_RESULT_BROKEN', message: 'the result is not a JSON object' })
    return { fields, reasons }
  }
  const gather = (from: object, only?: readonly string[]): void => {
    for (const [key, found] of Object.entries(from)) {
      const field = fieldOf(key)
      if (field === undefined || (only && !only.includes(field))) continue
      if (fields.has(field)) reasons.push({ code: 'WORK_FIELD_TWICE', message: `${field} is given twice` })
      else fields.set(field, field === 'tests' ? flat(found) : found)
    }
  }
  gather(value)
  for (const [key, found] of Object.entries(value)) {
    if (key !== 'changes' && key !== 'Changes') continue
    if (isObject(found)) gather(found, ['pr', 'commit'])
    else if (found !== null) {
      reasons.push({ code: 'WORK_FIELD_INVALID', message: 'changes must be an object with pr or commit' })
    }
  }
  return { fields, reasons }
}

/** Which key fields a claim has, for the audit. */
export function presence(claim: ClaimedResult): Record<string, boolean> {
  return {
    issue_ref: claim.issue_ref !== undefined,
    run_id: claim.run_id !== undefined,
    status: claim.status !== undefined,
    changes: claim.changes?.pr !== undefined || claim.changes?.commit !== undefined,
    tests: claim.tests !== undefined,
    summary: claim.summary !== undefined && claim.summary !== '',
  }
}

function complete(claim: ClaimedResult): claim is WorkResult {
  const there = presence(claim)
  const evidence = claim.status === 'blocked' ? [] : ['changes']
  return ['issue_ref', 'run_id', 'status', 'tests', ...evidence].every((key) => there[key])
}

function meant(value: string | undefined): string | undefined {
  return value !== undefined && ['none', 'n/a', '-'].includes(value.trim().toLowerCase()) ? undefined : value
}

/** A test report may be structured: `{"passed": 12}`. It is kept as JSON on one line. */
function flat(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Object.keys(value).length === 0) return undefined
  try {
    return clip(JSON.stringify(value), MAX_LINE)
  } catch {
    return value // nested too deep to serialize: not a string, so it is refused later
  }
}

function prose(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? clip(value.trim(), MAX_TEXT) : undefined
}

function list(value: unknown): readonly string[] | undefined {
  const all = typeof value === 'string' ? [value] : Array.isArray(value) ? value : []
  const found = all.slice(0, MAX_QUESTIONS).flatMap((item) => prose(item) ?? [])
  return found.length > 0 ? found : undefined
}

/** What a repair would read in a broken result, and its changes. */
export interface RepairedResult {
  /** Empty if the repair finds nothing; the notes say why. */
  readonly claim: ClaimedResult
  /** The first changes, in words: `dropped a comma at 41`. */
  readonly changes: readonly string[]
  /** Other reasons against this reading: a key that occurs twice, a file that was cut. */
  readonly notes: readonly Note[]
}

const MAX_CHANGES = 5
const MAX_NOTES = 5

/**
 * Reads a result that is not JSON as `parse` would, to show it: a repaired result never counts.
 *
 * @example
 * repairOf('{"run_id":"run-7","status":"ok",}').claim.status // 'ok'
 */
export function repairOf(text: string): RepairedResult {
  const outcome = tryParse(text)
  if (!outcome.ok) return nothing(outcome.fault)
  const { fields, reasons } = fieldsOf(outcome.value)
  if (fields.size === 0)
    return nothing({ code: 'WORK_FIELD_MISSING', message: 'there is no field of a result' })
  const changes = outcome.notes.flatMap((note) => note.changes ?? [])
  // The changes are listed one by one, so the general note is left out.
  const others = outcome.notes.filter(({ code }) => code !== 'OUTPUT_REPAIRED_GENERIC')
  return {
    claim: check(fields).claim,
    changes: changes.slice(0, MAX_CHANGES).map(({ kind, at }) => `${kind} at ${at}`),
    notes: [...others, ...reasons].slice(0, MAX_NOTES).map(({ code, message }) => ({ code, message })),
  }
}

function nothing({ code, message }: Pick<Note, 'code' | 'message'>): RepairedResult {
  return { claim: {}, changes: [], notes: [{ code, message }] }
}
