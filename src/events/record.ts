import { isRecord } from './engine.ts'

/** A field that is missing, or null, has every kind. */
type Kind = 'text' | 'number' | 'flag' | 'record' | 'list'

type Values = Readonly<Record<string, unknown>>

/**
 * A record of JSON, and its fields by path: `record.text('error.message')`. Several paths, separated by
 * blanks, are tried in order. What is missing, or of another kind, is undefined.
 */
export class Rec {
  readonly values: Values

  constructor(values: Values) {
    this.values = values
  }

  /** A record that fits these conditions; undefined for anything else. */
  static of(value: unknown, conditions = ''): Rec | undefined {
    if (!isRecord(value)) return undefined
    return conditions === '' || fits(value, conditions) ? new Rec(value) : undefined
  }

  /** The value, of any kind. Of several, the first that is neither missing nor null. */
  at(paths: string): unknown {
    const own = this.values[paths]
    return own === undefined ? this.#find(paths, isGiven) : own
  }

  text(paths: string): string | undefined {
    const own = this.values[paths]
    // cast: what is found is of that kind; so it is below
    return typeof own === 'string' ? own : (this.#find(paths, kinds.text) as string | undefined)
  }

  number(paths: string): number | undefined {
    const own = this.values[paths]
    return typeof own === 'number' ? own : (this.#find(paths, kinds.number) as number | undefined)
  }

  /** Milliseconds, if the engine reports them. */
  duration(paths: string): number | undefined {
    return durationOf(this.number(paths))
  }

  flag(paths: string): boolean | undefined {
    const own = this.values[paths]
    return typeof own === 'boolean' ? own : (this.#find(paths, kinds.flag) as boolean | undefined)
  }

  /** Whether a flag is set. One that cannot be read counts as set: a failure must not pass for a success. */
  isSet(path: string): boolean {
    return (this.at(path) ?? false) !== false
  }

  record(paths: string): Rec | undefined {
    const own = this.values[paths]
    const found = isRecord(own) ? own : this.#find(paths, kinds.record)
    return found === undefined ? undefined : new Rec(found as Values)
  }

  /** The list; an empty one if there is none. */
  list(path: string): readonly unknown[] {
    const found = this.at(path)
    return Array.isArray(found) ? found : []
  }

  /** The records in a list. */
  records(path: string): Rec[] {
    return recordsIn(this.list(path))
  }

  has(key: string): boolean {
    return key in this.values
  }

  /** Nearly every path is a key: then it was looked up before, and there is nothing else to find. */
  #find(paths: string, is: (value: unknown) => boolean): unknown {
    let found: unknown
    for (const path of pathsIn(paths)) {
      found = valueAt(this.values, path)
      if (is(found)) return found
    }
    return is === isGiven ? found : undefined
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** The records in a list. */
export function recordsIn(list: readonly unknown[]): Rec[] {
  const records: Rec[] = []
  for (const value of list) if (isRecord(value)) records.push(new Rec(value))
  return records
}

/** Milliseconds that can be a duration. */
export function durationOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

type Path = readonly string[]

function valueAt(values: Values, path: Path): unknown {
  let here: unknown = values[path[0]!]
  for (let nth = 1; nth < path.length; nth++) {
    if (!isRecord(here)) return undefined
    here = here[path[nth]!]
  }
  return here
}

/** Lists are literals in the engines, so there are only a few of them to cache. */
function cached<Value>(make: (list: string) => Value): (list: string) => Value {
  const known = new Map<string, Value>()
  return (list) => {
    let value = known.get(list)
    if (value === undefined) {
      value = make(list)
      known.set(list, value)
    }
    return value
  }
}

const wordsIn = (list: string): string[] => list.split(' ').filter((word) => word !== '')

const NONE: readonly Path[] = []

/** The paths in a list; none if the list is a single key. */
const pathsIn = /* @__PURE__ */ cached((list): readonly Path[] => {
  const paths = wordsIn(list).map((path) => path.split('.'))
  return paths.length === 1 && paths[0]!.length === 1 ? NONE : paths
})

/**
 * What is known of one field: `name`, `name:kind`, `name:kind|other`, `name=one|another`, `!name` for one
 * that must not be there. A field with two names is `name|other:kind`.
 */
interface Field {
  readonly paths: readonly Path[]
  /** The field must not be there. */
  readonly absent: boolean
  /** Whether it is a value of this field; undefined if any is. */
  readonly is: ((value: unknown) => boolean) | undefined
  /** The value is one of some words. */
  readonly listed: boolean
}

const kinds: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  flag: (value) => typeof value === 'boolean',
  record: isRecord,
  list: Array.isArray,
}

function fieldOf(word: string): Field {
  const [, not, path, mark, rest] = /^(!?)([^:=]+)([:=]?)(.*)$/.exec(word)!
  const words = rest!.split('|')
  // No kind of ours, so the name of a field.
  if (mark === ':' && !words.every((kind) => Object.hasOwn(kinds, kind))) return plain(word)
  const listed = mark === '='
  const is = listed ? isOneOf(words) : mark === '' ? undefined : isOfKind(words)
  return { paths: path!.split('|').map((one) => one.split('.')), absent: not === '!', is, listed }
}

function isOneOf(words: readonly string[]): (value: unknown) => boolean {
  const set = new Set<unknown>(words)
  return (value) => set.has(value)
}

function isOfKind(names: readonly string[]): (value: unknown) => boolean {
  const [first, second] = names.map((name) => kinds[name as Kind])
  return second ? (value) => first!(value) || second(value) : first!
}

const plain = (name: string): Field => ({ paths: [[name]], absent: false, is: undefined, listed: false })

const conditionsIn = /* @__PURE__ */ cached((list) => {
  const words = wordsIn(list)
  const count = words.find((word) => word.startsWith('#'))
  const fields = words.filter((word) => word !== count).map(fieldOf)
  return { count: count === undefined ? undefined : Number(count.slice(1)), fields }
})

/**
 * Whether a record has all of these fields: `toolName:text role=user !uuid`. Null is a value, but of no kind.
 * `#3` stands for a record of 3 fields.
 */
export function fits(values: unknown, conditions: string): boolean {
  if (!isRecord(values)) return false
  if (conditions === '') return true
  const { count, fields } = conditionsIn(conditions)
  if (count !== undefined && Object.keys(values).length !== count) return false
  for (const field of fields) if (isThere(values, field) === field.absent) return false
  return true
}

function isThere(values: Values, field: Field): boolean {
  for (const path of field.paths) {
    const value = valueAt(values, path)
    if (value !== undefined && (field.is === undefined || field.is(value))) return true
  }
  return false
}

/** A field by one of its names. */
interface Named {
  readonly key: string
  readonly field: Field
}

/** The fields of a record by name, and those of records in it (`state.status=completed|error`). */
interface KnownFields {
  readonly own: ReadonlyMap<string, Named>
  /** The fields in the order of the last record. The next one mostly has the same: no lookup is needed. */
  readonly order: Named[]
  readonly inner: readonly { readonly path: Path; readonly field: Field }[]
  /** The list has a `*`: a record may have any other field, too. */
  readonly open: boolean
}

const knownIn = /* @__PURE__ */ cached((list): KnownFields => {
  const own = new Map<string, Named>()
  const inner: { path: Path; field: Field }[] = []
  // The keys of an engine may have dots and colons of their own.
  for (const key of wordsIn(list)) own.set(key, { key, field: plain(key) })
  for (const field of wordsIn(list).map(fieldOf))
    for (const path of field.paths) {
      if (path.length > 1) inner.push({ path, field })
      else own.set(path[0]!, { key: path[0]!, field })
    }
  return { own, order: [], inner, open: own.has('*') }
})

/**
 * Reports every field of a record that is not in the list (unless `*` is), and every one that is of another
 * kind than the list says, or has another value.
 */
export function checkFields(given: object, list: string, report: (name: string, odd: boolean) => void): void {
  const record = given as Values // cast: any object has keys and values
  const { own, order, inner, open } = knownIn(list)
  let nth = 0
  // No list of the keys: every record of a run comes by here.
  for (const key in record) {
    let named = order[nth]
    if (named?.key !== key) {
      named = own.get(key)
      if (named && nth <= order.length) order[nth] = named
    }
    nth++
    if (named === undefined) {
      if (!open) report(key, false)
    } else if (named.field.is !== undefined && isOdd(record[key], named.field))
      report(oddName(key, record[key], named.field), true)
  }
  for (const { path, field } of inner) {
    const value = valueAt(record, path)
    if (isOdd(value, field)) report(oddName(path.join('.'), value, field), true)
  }
}

function isOdd(value: unknown, { is }: Field): boolean {
  return is !== undefined && isGiven(value) && !is(value)
}

/** A value that is not a plain word may contain anything, including a secret. */
const MAX_WORD = 24

/** The field and what was found in it, without any content: `text: list`, `status: paused`. */
function oddName(name: string, value: unknown, { listed }: Field): string {
  const kind = Object.entries(kinds).find(([, is]) => is(value))?.[0] ?? typeof value
  const word = typeof value === 'string' && value.length <= MAX_WORD && /^[\w.-]+$/.test(value)
  return `${name}: ${listed && word ? value : kind}`
}
