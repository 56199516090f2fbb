import { Fault } from './fault.ts'

/**
 * Throws BAD_OPTION unless the options are left out or an object: what is no object would fail somewhere inside, with a
 * message about us and not about the call.
 *
 * @example
 * checkOptions('values', options, 'values({ tag: "json" })')
 */
export function checkOptions(who: string, options: unknown, example: string): void {
  if (options === undefined || isObject(options)) return
  throw new Fault(
    'BAD_OPTION',
    `${who} takes its options as an object, such as ${example}; got ${kindOf(options)}`,
  )
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a value is, in a word or two: `a number`, `null`, `an array`. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
