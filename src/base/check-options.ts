import { Fault, quote } from './fault.ts'

/**
 * The name of every option of a function. `signal` is always known. A list that lacks a name, or has a wrong
 * one, does not compile.
 */
export type OptionNames<O> = Readonly<Record<Exclude<keyof O, 'signal'>, 1>>

/**
 * Throws BAD_OPTION unless the options are undefined or an object with known names, and `signal` is an
 * AbortSignal. Without this check a wrong argument would fail deep inside, with an error about our code
 * instead of the call.
 *
 * @example
 * checkOptions('sse', options, 'sse({ heartbeat: 5000 })', { heartbeat: 1 })
 */
export function checkOptions<O extends object>(
  who: string,
  options: O | undefined,
  example: string,
  names: OptionNames<NoInfer<O>>,
): void {
  if (options === undefined) return
  if (!isObject(options)) throw misfit(who, 'an object of options', options, example)
  if ('signal' in options && options.signal !== undefined && !isSignal(options.signal))
    throw misfit(who, 'an AbortSignal as signal', options.signal, '{ signal: new AbortController().signal }')
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && name !== 'signal' && !Object.hasOwn(names, name))
      throw unknownOption(who, name, Object.keys(names))
}

function unknownOption(who: string, name: string, known: readonly string[]): Fault {
  const meant = nearest(name, known)
  const advice = meant ? `did you mean ${meant}?` : `it has ${known.join(', ')}`
  return new Fault('BAD_OPTION', `${who} has no option ${quote(name)}; ${advice}`)
}

/** The name that takes the fewest edits, if they are at most two and fewer than half of its characters. */
function nearest(name: string, known: readonly string[]): string | undefined {
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
  return new Fault(
    'BAD_OPTION',
    `${who} needs ${wanted}, but got ${kindOf(given)}; call it like this: ${example}`,
  )
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws BAD_OPTION unless the argument is the path of a directory or a file. */
export function checkPath(who: string, path: unknown, example: string): void {
  if (typeof path !== 'string' || path === '') throw misfit(who, 'a path', path, example)
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
