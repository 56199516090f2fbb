import { badOption, clip, type Fault, quote } from './fault.ts'

/** What an option may be, and what it is if it is left out. */
interface Option<T> {
  /**
   * Without a rule, the option must have the type of its default; a number must be 0 or more. `false` says
   * nothing about what else it may be: a flag is `OFF`.
   */
  readonly default?: T
  /** The values that it may have. */
  readonly words?: readonly T[]
  /** Or whether a value can be used. The message for one that cannot is in `needs` or `must`. */
  readonly is?: (value: unknown) => boolean
  /** What the call needs: `a path as cwd`. The message adds what was given, and a call that works. */
  readonly needs?: string
  /** What the option must: `be a whole number, but is %`, where `%` stands for the value. */
  readonly must?: string
  /** Or what throws by itself. */
  readonly check?: (value: unknown, who: string, example: string) => void
  /** What `readOptions` makes of a value: the milliseconds of `'10s'`. */
  readonly read?: (value: T) => unknown
  /** The name that it had in an earlier version. */
  readonly was?: string
}

/**
 * All options of a function, beside the interface that documents them. `signal` is known unless the table
 * says `NOT_TAKEN`. A table that lacks an option, has one too many or a default of another type does not
 * compile. Its numbers are written out: a bundler keeps a table with arithmetic in it even if nothing uses
 * it.
 *
 * @example
 * const SSE_OPTIONS = { heartbeat: { default: 15_000 } } as const satisfies OptionTable<SseOptions>
 */
export type OptionTable<O> = {
  readonly [K in Exclude<keyof O, 'signal'>]-?: Option<Exclude<O[K], undefined>>
} & { readonly signal?: typeof NOT_TAKEN }

/** Options after `readOptions`: those with a default are there. */
export type Complete<O, T> = {
  readonly [K in keyof O]-?: K extends keyof T
    ? T[K] extends { readonly default: unknown }
      ? Exclude<Read<O[K], T[K]>, undefined>
      : Read<O[K], T[K]>
    : O[K]
}

type Read<V, Row> = Row extends { readonly read: (value: never) => infer R } ? R | Extract<V, undefined> : V

/**
 * Checks options by their table, and gives them with their defaults. Without this, a wrong argument would
 * fail deep inside, with an error about our code instead of the call.
 *
 * @example
 * const { heartbeat } = readOptions('sse', options, 'sse({ heartbeat: "5s" })', SSE_OPTIONS)
 */
export function readOptions<O extends object, T extends object>(
  who: string,
  options: O | undefined,
  example: string,
  table: T & OptionTable<NoInfer<O>>,
): Complete<O, T> {
  checkOptions(who, options, example, table)
  return completed<O, T>(options, table)
}

/** Options that need no check, because none of them comes from a caller as it is. */
export function completed<O extends object, T extends object>(
  options: O | undefined,
  table: T,
): Complete<O, T> {
  // The casts are the door: a table is read by names here, and its type says which there are.
  const given = options as Record<string, unknown> | undefined
  const rows = table as Record<string, Option<unknown>>
  const complete = { ...defaultsOf(rows) }
  for (const name in given) {
    const value = given[name]
    if (value !== undefined) complete[name] = rows[name]?.read?.(value) ?? value
  }
  return complete as Complete<O, T>
}

/** Made once per table: a copy of it is twenty times as fast. */
function defaultsOf(rows: Record<string, Option<unknown>>): Record<string, unknown> {
  let known = defaults.get(rows)
  if (!known) {
    known = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.default]))
    defaults.set(rows, known)
  }
  return known
}

const defaults = /* @__PURE__ */ new WeakMap<object, Record<string, unknown>>()

/**
 * Throws BAD_OPTION unless the options are undefined or an object with names and values as in the table, and
 * `signal` is an AbortSignal. For a function that passes them on to the one that reads them: the message
 * names the function that was called.
 */
export function checkOptions<O extends object>(
  who: string,
  options: O | undefined,
  example: string,
  table: OptionTable<NoInfer<O>>,
): void {
  if (options === undefined) return
  if (!isObject(options)) throw misfit(who, 'an object of options', options, example)
  // A stream in place of the options has no option that is wrong: the call would wait for ever.
  if (isSource(options))
    throw misfit(who, 'an object of options', options, `${example}; a source is piped: tap(source).pipe(…)`)
  if ('signal' in options && options.signal !== undefined && !isSignal(options.signal))
    throw misfit(who, 'an AbortSignal as signal', options.signal, '{ signal: new AbortController().signal }')
  const rows = table as Record<string, Option<unknown>> // the same door as above
  for (const name in options) {
    if (options[name] === undefined || (name === 'signal' && !rows[name])) continue
    if (!Object.hasOwn(rows, name) || rows[name] === NOT_TAKEN) throw unknownOption(who, name, rows)
    checkValue(who, name, options[name], rows[name]!, example)
  }
}

function checkValue(who: string, name: string, value: unknown, row: Option<unknown>, example: string): void {
  const { words, is, needs, must, check } = row
  check?.(value, who, example)
  if (words ? words.includes(value) : is ? is(value) : check || isLike(value, row.default)) return
  if (needs !== undefined) throw misfit(who, needs, value, example)
  const rule = words ? `be one of ${words.join(', ')}, but is "%"` : (must ?? likeRule(row.default))
  const text = rule.replace(/"%"|%/, (mark) => (mark === '%' ? String(value) : quote(String(value))))
  throw badOption(`${name} must ${text}`)
}

/** Whether a value has the type of the default, if there is one that says it. */
function isLike(value: unknown, usual: unknown): boolean {
  if (usual === undefined || usual === false) return true
  return typeof usual === 'number'
    ? isNumber(value)
    : typeof value === typeof usual && Array.isArray(value) === Array.isArray(usual)
}

const likeRule = (usual: unknown) =>
  `be ${typeof usual === 'number' ? 'a number from 0 on' : kindOf(usual)}, but is "%"`

/** The row of a flag that is off by default. */
export const OFF = { default: false, words: [false, true] } as const

// What a value can be.
export const isText = (value: unknown): value is string => typeof value === 'string'
export const isName = (value: unknown) => isText(value) && value !== ''
/** One line without control characters: an id, say, which is the field of a line elsewhere. */
export const isLine = (value: unknown) =>
  isName(value) && !/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(value as string)
export const LINE = 'be one line that is not empty, but is "%"'
export const areTexts = (value: unknown) => Array.isArray(value) && value.every(isText)
/** Off, on as usual, or on with options of its own. */
export const isFlagOrObject = (value: unknown) => typeof value === 'boolean' || isObject(value)
export const FLAG_OR_OBJECT = 'be true, false or an object of options, but is "%"'
export const isFunction = (value: unknown) => typeof value === 'function'
/** Whether a value is an object with these methods. */
export const hasMethods =
  (...names: readonly string[]) =>
  (value: unknown) =>
    isObject(value) && names.every((name) => isFunction(Reflect.get(value, name)))
export const isWhole = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0
export const isCount = (value: unknown): value is number => isWhole(value) && value !== 0
const isNumber = (value: unknown): value is number => typeof value === 'number' && value >= 0

/** The row of a `signal` that would do nothing: it is refused. */
export const NOT_TAKEN = { is: () => false } as const

function unknownOption(who: string, name: string, rows: Record<string, Option<unknown>>): Fault {
  const now = Object.keys(rows).find((key) => rows[key]!.was === name)
  const known = Object.keys(rows).filter((key) => rows[key] !== NOT_TAKEN)
  const advice = now
    ? `it is called ${now} now`
    : didYouMean(name, rows['signal'] ? known : [...known, 'signal'])
  return badOption(`${who} has no option ${quote(name)}; ${advice}`)
}

/** Advice for a name that is not known: the one that was meant, or all of them. */
export function didYouMean(name: string, known: readonly string[]): string {
  const meant = nearest(name, known)
  return meant ? `did you mean ${meant}?` : `it has ${known.join(', ')}`
}

/** The name that takes the fewest edits, if they are at most two and fewer than half of its characters. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const short = name.slice(0, 40).toLowerCase()
  let best: string | undefined
  let fewest = 3
  for (const other of known) {
    const edits = editsBetween(short, other.toLowerCase())
    if (edits >= fewest || edits * 2 > other.length + 1) continue
    best = other
    fewest = edits
  }
  return best
}

/** Levenshtein distance, one row at a time. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [at, unit] of [...from].entries()) {
    const next = [at + 1]
    for (let index = 0; index < to.length; index++)
      next.push(Math.min(next[index]! + 1, row[index + 1]! + 1, row[index]! + (unit === to[index] ? 0 : 1)))
    row = next
  }
  return row[to.length]!
}

function isSignal(value: unknown): boolean {
  return isObject(value) && 'aborted' in value && 'addEventListener' in value
}

/** The Fault for an argument of the wrong kind: what the function needs, what it got, and an example call. */
export function misfit(who: string, wanted: string, given: unknown, example: string): Fault {
  return badOption(`${who} needs ${wanted}, but got ${kindOf(given)}; call it like this: ${example}`)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return isObject(value) && 'then' in value && typeof value.then === 'function'
}

/**
 * Without the fields that are undefined.
 *
 * @example
 * defined({ model: undefined, cwd: '/repo' }) // { cwd: '/repo' }
 */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  // Cast: what is left has the keys and the values of the type.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
}

/** Throws BAD_OPTION unless the argument is the path of a directory or a file. */
export function checkPath(who: string, path: unknown, example: string): void {
  if (typeof path !== 'string' || path === '') throw misfit(who, 'a path', path, example)
}

/** Whether it is something to read from: a child process, a stream, an iterable, a promise of one. */
function isSource(value: object): boolean {
  if (isPromise(value) || 'getReader' in value || 'on' in value) return true
  return Symbol.asyncIterator in value || Symbol.iterator in value
}

/**
 * What a value is, in a few words.
 *
 * @example
 * kindOf({ id: 'x', choices: [] }) // 'an object with id, choices'
 */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (value === '') return 'an empty string'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return `a ${typeof value}`
  if (value instanceof Uint8Array) return 'bytes'
  if (isPromise(value)) return 'a promise, which must be awaited first'
  if (isSource(value)) return 'stdout' in value ? 'a child process' : 'a stream'
  const { name = '' } = value.constructor ?? {}
  if (name !== '' && name !== 'Object') return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${clip(name, 80)}`
  const keys = Object.keys(value).slice(0, 4).join(', ')
  return keys === '' ? 'an empty object' : `an object with ${clip(keys, 80)}`
}
