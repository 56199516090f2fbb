import { defined, isObject, type OptionTable, readOptions } from '../base/check-options.ts'
import type { SchemaError } from '../base/fault.ts'
import { checkTag } from '../frames/frame-options.ts'
import { tryParse } from '../values/parse.ts'
import { type Check, checkOf, type JsonSchema, plainSchemaOf, type Schema } from '../values/schema/schema.ts'
import { VALUES_OPTIONS } from '../values/values.ts'
import { type Branch, type Completed, type GrowingValue, NOTHING, pointer, valueAt } from './growing-value.ts'
import { PayloadSearch } from './payload-search.ts'

/** The options of `snapshots()`. */
export interface SnapshotOptions {
  /** Look only inside this tag: `json` for `<json>…`. @default anywhere outside think blocks */
  readonly tag?: string | undefined
  /** Look only at NDJSON lines. @default false */
  readonly lines?: boolean | 'strict' | undefined
  /** The schema of the whole value: with it more counts as the beginning of one. @default none */
  readonly schema?: Schema | undefined
  /** What a value may be at its root. @default 'any' with a schema, 'object' without */
  readonly root?: 'object' | 'any' | undefined
  /** Levels a value may be nested; a deeper one gives no further snapshots. @default 512 */
  readonly maxDepth?: number | undefined
}

const SNAPSHOT_OPTIONS = {
  tag: { check: checkTag },
  lines: { default: false, words: [true, false, 'strict'] },
  schema: {},
  root: { words: ['object', 'any'] },
  maxDepth: { default: 512 },
} as const satisfies OptionTable<SnapshotOptions>

/** A snapshot, as `push` returns it: the value so far, and what was completed since the previous one. */
export interface SnapshotProgress {
  /** One value that grows: snapshots share it, so copy what must not change. */
  readonly value: unknown
  /** JSON pointers of the completed values, in order; `` for the root. */
  readonly complete: readonly string[]
}

/** What `snapshots()` makes: it finds the payload in a text while that arrives, and shows it growing. */
export interface Snapshots {
  /** Takes text; returns a snapshot if the value has begun, and may have changed. */
  push(text: string): SnapshotProgress | undefined
  /**
   * True when more text will not change the value: the payload is complete, and `tryParse` takes it, if its
   * schema is a JSON Schema. An array waits while it may be a citation (`[1]`). Until a line has ended behind
   * it, more text may show that it is a piece of something else; an empty one, or one that does not pass,
   * gives way to another. What only the end decides is never done: a last resort (`LOOSE_MATCH`), a thought
   * that was not closed.
   */
  done(): boolean
}

/**
 * Creates a reader of growing text. Its work is proportional to the text, whatever the size of the
 * pieces: 1 MB in 64-byte deltas costs the same as 1 MB at once, plus a constant for each delta. It holds
 * the text for `done`.
 *
 * It finds the payload where `parse` does, and reads it strictly: a payload that needs repair gives no
 * further snapshots; repair is for `tryParse`, with the whole text at the end.
 *
 * @example
 * const seen = snapshots()
 * seen.push('Sure: {"name": "Al')?.value // { name: 'Al' }
 * seen.push('ex", "age": 1')?.complete   // ['/name']
 */
export function snapshots(options: SnapshotOptions = {}): Snapshots {
  return heldSnapshots(options)
}

/** Two judges would not agree on every text: where the search is done, `done` asks the one of `tryParse`. */
export function heldSnapshots(options: SnapshotOptions): Snapshots & { text(): string } {
  const seen = checkedSnapshots(options)
  const { tag, lines, schema, root, maxDepth } = options
  const given = defined({ tag, lines, schema: isPlain(schema) ? schema : ANY, root, maxDepth })
  let text = ''
  let isTooLong = false
  /** The last verdict: of which value, in a text of which length. */
  let about: GrowingValue | undefined
  let length = 0
  let is = false
  /** Number of characters that were judged. */
  let judged = 0
  return {
    push(piece) {
      text += isTooLong ? '' : piece
      isTooLong ||= text.length > VALUES_OPTIONS.maxFrame.default
      if (isTooLong) text = ''
      return seen.push(piece)
    },
    done() {
      const value = seen.settled()
      if (value === undefined || isTooLong) return false
      const isAfforded = judged <= AFFORDED + AGAIN * text.length
      if (about === value && (length === text.length || !isAfforded)) return is
      const json = JSON.stringify(value.root)
      const isTaken = (text: string) => {
        const outcome = tryParse(text, given)
        const isLast = outcome.notes.some(({ code }) => code === 'LOOSE_MATCH')
        return outcome.ok && !isLast && JSON.stringify(outcome.value) === json
      }
      is = isTaken(text) && (!Array.isArray(value.root) || isTaken(text + CITING))
      about = value
      length = text.length
      judged += length
      return is
    },
    text: () => text,
  }
}

/** What may follow on its line, if an array is a citation: `[2, 3] and [1] say so`. */
const CITING = ' and [1]'

/** Asked after every delta, it answers exactly that long; then again when the text has grown by a part. */
const AFFORDED = 1 << 20
const AGAIN = 8

type CheckedSnapshots = ReturnType<typeof checkedSnapshots>

export function checkedSnapshots(options: SnapshotOptions) {
  const read = readOptions('snapshots', options, 'snapshots({ tag: "json" })', SNAPSHOT_OPTIONS)
  const { tag, lines, schema, root = schema ? 'any' : 'object', maxDepth } = read
  const search = new PayloadSearch({
    tag,
    lines: lines !== false,
    root,
    loose: schema !== undefined,
    passes: passesOf(schema),
    maxDepth,
  })
  /** What the last push completed. */
  let completed = NOTHING

  return {
    push(text: string): SnapshotProgress | undefined {
      completed = NOTHING
      const value = search.push(text)
      if (value === undefined || value.failed()) return undefined
      completed = value.takeCompleted()
      return new LazyProgress(value.root, completed)
    },
    /** What the last push completed: containers and keys, of the outermost two levels. */
    finished() {
      const found: { branch: Branch | undefined; key: string | number }[] = []
      for (const [n, branch] of completed.branches.entries()) {
        if (branch === undefined || branch.depth < CHECKED_LEVELS)
          found.push({ branch, key: completed.keys[n]! })
      }
      return found
    },
    /** The value, if it is complete and passes, and nothing was seen that may make it a piece of another. */
    settled: () => search.settled(),
  }
}

/** Any other schema is applied at the end: it may ask somebody, or wait. */
function isPlain(schema: Schema | undefined): boolean {
  const plain = schema && plainSchemaOf(schema)
  return schema === undefined || (plain !== undefined && plain['$async'] !== true)
}

const ANY: Schema = {
  '~standard': { version: 1, vendor: 'agent-sluice', validate: (value) => ({ value }) },
}

function passesOf(schema: Schema | undefined): (value: unknown) => boolean {
  if (!schema || !isPlain(schema)) return () => true
  const check = checkOf(schema)
  return (value) => !('errors' in check(value))
}

/** Each part of a value is then checked at most three times: alone, in its parent, in the whole. */
const CHECKED_LEVELS = 2

/** A snapshot that computes its paths only when they are read. */
class LazyProgress implements SnapshotProgress {
  readonly value: unknown
  readonly #completed: Completed

  constructor(value: unknown, completed: Completed) {
    this.value = value
    this.#completed = completed
  }

  get complete(): readonly string[] {
    const { branches, keys } = this.#completed
    return branches.map((branch, n) => pointer(branch, keys[n]!))
  }
}

/**
 * Checks the parts of a growing value, each when it is finished and never before: a list that is still
 * growing has not broken its `minItems`. Only a plain JSON Schema can check parts; any other
 * schema is applied at the end.
 */
export function subtreeCheck(schema: Schema | undefined): (seen: CheckedSnapshots) => readonly SchemaError[] {
  if (schema === undefined || '~standard' in schema) return () => NONE
  const root = schema as JsonSchema // cast: it is a Standard Schema or a JSON Schema
  const checks = new Map<JsonSchema, Check | undefined>()
  /** Errors of a part that were reported, so that they are not reported again for the whole. */
  const reported = new Set<string>()

  /** Compiled once for each part of the schema, with the definitions that it may refer to. */
  function checkFor(part: JsonSchema): Check | undefined {
    if (!checks.has(part)) {
      const { $schema, $defs, definitions } = root
      try {
        checks.set(part, checkOf({ ...part, ...defined({ $schema, $defs, definitions }) }))
      } catch {
        checks.set(part, undefined) // it refers to a place that only the whole schema has
      }
    }
    return checks.get(part)
  }

  return (seen) => {
    const errors: SchemaError[] = []
    for (const { branch, key } of seen.finished()) {
      // The ladder checks the whole value, because it may also have to repair it.
      if (branch === undefined) continue
      const part = partAt(root, branch, key)
      const result = part && checkFor(part)?.(valueAt(branch, key))
      if (!result || !('errors' in result)) continue
      const path = pointer(branch, key)
      for (const error of result.errors) {
        const found = { ...error, path: path + error.path }
        const name = `${found.rule} ${found.path}`
        if (!reported.has(name)) errors.push(found)
        reported.add(name)
      }
    }
    return errors
  }
}

const NONE: readonly SchemaError[] = []

/** The part of the schema for a place, if it can be found directly. */
function partAt(root: JsonSchema, branch: Branch, key: string | number): JsonSchema | undefined {
  const parent = branch.parent === undefined ? root : partAt(root, branch.parent, branch.key)
  const holder = parent && resolve(root, parent)
  if (!holder) return undefined
  if (typeof key === 'number') {
    const { prefixItems, items } = holder
    return asSchema(Array.isArray(prefixItems) && key < prefixItems.length ? prefixItems[key] : items)
  }
  const properties = asSchema(holder['properties'])
  if (properties && Object.hasOwn(properties, key)) return asSchema(properties[key])
  return holder['patternProperties'] === undefined ? asSchema(holder['additionalProperties']) : undefined
}

/** Follows `#/$defs/name` and `#/definitions/name`, a few times. */
function resolve(root: JsonSchema, schema: JsonSchema): JsonSchema | undefined {
  let found: JsonSchema | undefined = schema
  for (let hops = 0; found && typeof found['$ref'] === 'string'; hops++) {
    const match = /^#\/(\$defs|definitions)\/([^/~%]{1,200})$/.exec(found['$ref'])
    const shelf: JsonSchema | undefined = match ? asSchema(root[match[1]!]) : undefined
    found = hops < 10 && shelf && Object.hasOwn(shelf, match![2]!) ? asSchema(shelf[match![2]!]) : undefined
  }
  return found
}

function asSchema(value: unknown): JsonSchema | undefined {
  return isObject(value) ? (value as JsonSchema) : undefined // cast: any object is read as a schema
}
