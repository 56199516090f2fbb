import { Fault } from './fault.ts'

/**
 * Throws BAD_OPTION unless the options are undefined or an object, and `signal` is an AbortSignal. Without this check a
 * wrong argument would fail deep inside, with an error about our code instead of the call.
 *
 * @example
 * checkOptions('values', options, 'values({ tag: "json" })')
 */
export function checkOptions(who: string, options: unknown, example: string): void {
  if (options === undefined) return
  if (!isObject(options)) throw misfit(who, 'an object of options', options, example)
  if ('signal' in options && options.signal !== undefined && !isSignal(options.signal))
    throw misfit(who, 'an AbortSignal as signal', options.signal, '{ signal: new AbortController().signal }')
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
