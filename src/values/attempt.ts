import type { Code, Note, SchemaError } from '../base/fault.ts'
import { readStrictly } from '../json/strict.ts'
import type { Check } from './schema/schema.ts'

/**
 * What to do with keys that could change a prototype: `remove` drops them and adds a note, `error` fails the
 * payload, `keep` leaves them as own properties, as `JSON.parse` does.
 */
export type ProtoKeys = 'remove' | 'error' | 'keep'

/** Rules for judging a candidate. */
export interface Rules {
  readonly check: Check | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a normalizer declares its own input type
  readonly normalize: readonly ((value: any) => unknown)[]
  readonly root: 'object' | 'any'
  /** Scalars count wherever they are found, because the caller asked for any root. */
  readonly scalars: boolean
  /** The tags around thoughts: the usual ones, none, or those of these names. */
  readonly think: boolean | readonly string[]
  /** Which of several candidates inside one frame is taken. */
  readonly pick: 'first' | 'last'
  /** The field that may hold the payload as text, or as a value. */
  readonly envelope: string
  readonly partial: boolean
  readonly maxRepair: number
  readonly maxDepth: number
  readonly protoKeys: ProtoKeys
  readonly verdict?: RecordFit | undefined
}

/** Whether the record taken from a text is one that the caller wants. */
export interface RecordFit {
  readonly fits: (record: unknown) => boolean
  /** Of the first value that was parsed, which may be an envelope. Undefined before that. */
  wanted: boolean | undefined
}

/** Result for one text: it passed, it is JSON but was rejected, or it is not JSON. */
export type Tried = Passed | Rejected | Broken

export interface Passed {
  readonly kind: 'passed'
  readonly value: unknown
  readonly notes: readonly Note[]
  /** There may be notes about how its text was read. */
  readonly unusual: boolean
}

export interface Rejected {
  readonly kind: 'rejected'
  readonly code: Code
  readonly detail: string
  readonly errors?: readonly SchemaError[]
  readonly cause?: unknown
  /** The value that a normalizer threw on, as it was before any of them. */
  readonly value?: unknown
  /** The field that may hold the payload: text, or an object. */
  readonly envelope?: string | object
  /** Gives the value once more, untouched; set if there are normalizers, which may change it in place. */
  readonly again?: Again
}

type Again = () => unknown

export interface Broken {
  readonly kind: 'broken'
  readonly code: Code
  readonly detail: string
  /** Knows what `JSON.parse` threw. */
  readonly read?: { readonly cause?: unknown } | undefined
}

/** Parses one text strictly and applies the root rule, the normalizers and the schema, in this order. */
export function attempt(text: string, rules: Rules): Tried {
  const { maxDepth, verdict } = rules
  const read = readStrictly(text, maxDepth)
  if (read.kind === 'deep')
    return { kind: 'broken', code: 'MAX_DEPTH', detail: `more than ${maxDepth} levels` }
  if (read.kind === 'broken') return { kind: 'broken', code: 'INVALID_JSON', detail: '', read }
  const { value, unusual } = read
  let notes = NONE
  if (unusual) {
    const removed = rules.protoKeys === 'keep' ? 0 : removeProtoKeys(value)
    if (removed > 0) {
      if (rules.protoKeys === 'error') {
        if (verdict) verdict.wanted ??= verdict.fits(value)
        return { kind: 'rejected', code: 'PROTO_KEY', detail: '' }
      }
      notes = [{ code: 'PROTO_KEY', message: `removed ${removed} key(s) that could change a prototype` }]
    }
  }
  // Checked now, because normalizers may change the value in place.
  if (verdict) verdict.wanted ??= verdict.fits(value)
  return judgeValue(
    value,
    notes,
    unusual,
    rules,
    rules.normalize.length > 0 ? () => reread(text, rules) : undefined,
  )
}

function reread(text: string, { protoKeys }: Rules): unknown {
  const value: unknown = JSON.parse(text)
  if (protoKeys !== 'keep') removeProtoKeys(value)
  return value
}

const NONE: readonly Note[] = []

/**
 * Applies the root rule, the normalizers and the schema to a parsed value. `again` gives that value once
 * more, and is needed if there are normalizers.
 */
export function judgeValue(
  parsed: unknown,
  notes: readonly Note[],
  unusual: boolean,
  rules: Rules,
  again: Again | undefined,
): Passed | Rejected {
  if (rules.root === 'object' && !isRecord(parsed)) {
    const detail = `it is ${nameOf(parsed)}`
    return { kind: 'rejected', code: 'ROOT_NOT_OBJECT', detail, ...envelopeOf(parsed, rules.envelope) }
  }
  // Nearly every value reaches the schema directly: that path allocates nothing it does not need.
  if (again) return judgeNormalized(parsed, notes, unusual, rules, again)
  const checked = rules.check?.(parsed)
  if (!checked) return { kind: 'passed', value: parsed, notes, unusual }
  if ('value' in checked) return { kind: 'passed', value: checked.value, notes, unusual }
  return rejectedBy(checked.errors, envelopeOf(parsed, rules.envelope))
}

function judgeNormalized(
  parsed: unknown,
  notes: readonly Note[],
  unusual: boolean,
  rules: Rules,
  again: Again,
): Passed | Rejected {
  let value = parsed
  for (const [index, normalizer] of rules.normalize.entries()) {
    try {
      value = normalizer(value)
      if (value instanceof Promise) {
        value.catch(() => {})
        throw new TypeError('a normalizer must not be async')
      }
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      const detail = `normalizer ${index + 1}: ${why}`
      const original = again()
      const content = envelopeOf(original, rules.envelope)
      return { kind: 'rejected', code: 'NORMALIZE_FAILED', detail, cause, value: original, ...content, again }
    }
  }
  const checked = rules.check?.(value)
  if (!checked) return { kind: 'passed', value, notes, unusual }
  if ('value' in checked) return { kind: 'passed', value: checked.value, notes, unusual }
  return { ...rejectedBy(checked.errors, envelopeOf(again(), rules.envelope)), again }
}

function rejectedBy(
  errors: readonly SchemaError[],
  envelope: { envelope: string | object } | undefined,
): Rejected {
  const [first, ...more] = errors
  const detail = first
    ? `${first.path || 'the root'} ${first.message}${more.length > 0 ? ` (and ${more.length} more)` : ''}`
    : ''
  return { kind: 'rejected', code: 'SCHEMA_FAILED', detail, errors, ...envelope }
}

/** The content of the envelope's field, if it can be a payload; or the object in a text. */
export function envelopeOf(parsed: unknown, field: string): { envelope: string | object } | undefined {
  if (typeof parsed === 'string') return /^\s{0,99}\{/.test(parsed) ? { envelope: parsed } : undefined
  const inner = isRecord(parsed) && Object.hasOwn(parsed, field) ? parsed[field] : undefined
  return typeof inner === 'string' || (typeof inner === 'object' && inner !== null)
    ? { envelope: inner }
    : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

/**
 * Removes keys that could change a prototype (`__proto__`, and `constructor` with a `prototype` inside) from
 * a parsed value, in place, and returns how many there were. Iterative: the depth of
 * the value does not matter.
 *
 * @example
 * removeProtoKeys(JSON.parse('{"a":1,"__proto__":{}}')) // 1
 */
export function removeProtoKeys(root: unknown): number {
  let removed = 0
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') open.push(item)
      continue
    }
    const record = value as Record<string, unknown>
    for (const key of Object.keys(record)) {
      if (key === '__proto__' || (key === 'constructor' && holdsPrototype(record[key]))) {
        delete record[key]
        removed++
      } else if (typeof record[key] === 'object') open.push(record[key])
    }
  }
  return removed
}

function holdsPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
