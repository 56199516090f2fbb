import { isRecord } from './profile.ts'

/** A field that is missing, or null, has every kind. */
export type Kind = 'text' | 'number' | 'flag' | 'record' | 'list'

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
    return isRecord(value) && fits(value, conditions) ? new Rec(value) : undefined
  }

  /** The value, of any kind. Of several, the first that is neither missing nor null. */
  at(paths: string): unknown {
    let found: unknown
    for (const path of pathsIn(paths)) {
      found = valueAt(this.values, path)
      if (found !== undefined && found !== null) break
    }
    return found
  }

  text(paths: string): string | undefined {
    for (const path of pathsIn(paths)) {
      const found = valueAt(this.values, path)
      if (typeof found === 'string') return found
    }
    return undefined
  }

  /** The text; '' if there is none, and undefined if there is something else. */
  words(path: string): string | undefined {
    return this.text(path) ?? ((this.at(path) ?? undefined) === undefined ? '' : undefined)
  }

  number(paths: string): number | undefined {
    for (const path of pathsIn(paths)) {
      const found = valueAt(this.values, path)
      if (typeof found === 'number') return found
    }
    return undefined
  }

  /** Milliseconds, if the engine reports them. */
  duration(paths: string): number | undefined {
    return durationOf(this.number(paths))
  }

  flag(path: string): boolean | undefined {
    const found = this.at(path)
    return typeof found === 'boolean' ? found : undefined
  }

  record(paths: string): Rec | undefined {
    for (const path of pathsIn(paths)) {
      const found = valueAt(this.values, path)
      if (isRecord(found)) return new Rec(found)
    }
    return undefined
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
}

/** The records in a list. */
export function recordsIn(list: readonly unknown[]): Rec[] {
  return list.flatMap((value) => Rec.of(value) ?? [])
}

/** Milliseconds that can be a duration. */
export function durationOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

type Path = readonly string[]

function valueAt(values: Values, path: Path): unknown {
  let here: unknown = values
  for (const key of path) {
    if (!isRecord(here)) return undefined
    here = here[key]
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

const pathsIn = cached((list): readonly Path[] => wordsIn(list).map((path) => path.split('.')))

/**
 * What is known of one field: `name`, `name:kind`, `name:kind|other`, `name=one|another`, `!name` for one that
 * must not be there. A field with two names is `name|other:kind`.
 */
interface Field {
  readonly paths: readonly Path[]
  readonly absent: boolean
  readonly kinds: readonly string[] | undefined
  readonly values: ReadonlySet<unknown> | undefined
}

const kinds: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  flag: (value) => typeof value === 'boolean',
  record: isRecord,
  list: Array.isArray,
}

function fieldOf(word: string): Field {
  const absent = word.startsWith('!')
  const [, path, mark, rest] = /^!?([^:=]+)([:=]?)(.*)$/.exec(word)!
  const any = mark === ':' ? rest!.split('|') : undefined
  // No kind of ours, so the name of a field.
  if (any?.every((kind) => Object.hasOwn(kinds, kind)) === false) return plain(word)
  const values = mark === '=' ? new Set<unknown>(rest!.split('|')) : undefined
  return { paths: path!.split('|').map((one) => one.split('.')), absent, kinds: any, values }
}

const plain = (name: string): Field => ({
  paths: [[name]],
  absent: false,
  kinds: undefined,
  values: undefined,
})

function isKnown(value: unknown, { kinds: any, values }: Field): boolean {
  if (values) return values.has(value)
  return any === undefined || any.some((kind) => kinds[kind as Kind](value))
}

const conditionsIn = cached((list) => {
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
  for (const field of fields) {
    const fitting = field.paths.some((path) => {
      const value = valueAt(values, path)
      return value !== undefined && isKnown(value, field)
    })
    if (fitting === field.absent) return false
  }
  return true
}

/** The fields of a record by name, and those of records in it (`state.status=completed|error`). */
interface Known {
  readonly own: ReadonlyMap<string, Field>
  readonly inner: readonly { readonly path: Path; readonly field: Field }[]
  /** The list has a `*`: a record may have any other field, too. */
  readonly open: boolean
}

const knownIn = cached((list): Known => {
  const all = wordsIn(list).flatMap((word) => {
    const field = fieldOf(word)
    return field.paths.map((path) => ({ path, field }))
  })
  // The keys of an engine may have dots and colons of their own.
  const own = new Map(wordsIn(list).map((word) => [word, plain(word)]))
  for (const { path, field } of all) if (path.length === 1) own.set(path[0]!, field)
  return { own, inner: all.filter(({ path }) => path.length > 1), open: own.has('*') }
})

/**
 * Reports every field of a record that is not in the list (unless `*` is), and every one that is of another
 * kind than the list says, or has another value.
 */
export function checkFields(
  record: Values,
  list: string,
  report: { unknown(name: string): void; odd(name: string): void },
): void {
  const { own, inner, open } = knownIn(list)
  for (const key in record) {
    if (!Object.hasOwn(record, key)) continue
    const field = own.get(key)
    if (field === undefined) {
      if (!open) report.unknown(key)
    } else if (isOdd(record[key], field)) report.odd(oddName(key, record[key], field))
  }
  for (const { path, field } of inner) {
    const value = valueAt(record, path)
    if (isOdd(value, field)) report.odd(oddName(path.join('.'), value, field))
  }
}

function isOdd(value: unknown, field: Field): boolean {
  return value !== undefined && value !== null && !isKnown(value, field)
}

/** A value that is not a plain word may contain anything, including a secret. */
const MAX_WORD = 24

/** The field and what was found in it, without any content: `text: list`, `status: paused`. */
function oddName(name: string, value: unknown, { values }: Field): string {
  const kind = Object.entries(kinds).find(([, is]) => is(value))?.[0] ?? typeof value
  const word = typeof value === 'string' && value.length <= MAX_WORD && /^[\w.-]+$/.test(value)
  return `${name}: ${values && word ? value : kind}`
}
