import { InvalidArgumentError } from 'commander'
import type { Scalar, Where } from '../../values/where/conditions.ts'
import type { Dropped } from '../../values/where/where.ts'

/**
 * Adds one `--where` to those before it. A value that is a JSON number or literal counts both as that
 * and as text, because a shell has no types; in JSON quotes it is only text.
 *
 * @example
 * addCondition('exit_code=1') // { exit_code: ['1', 1] }
 * addCondition('id="1"') // { id: ['1'] }
 */
export function addCondition(option: string, before: Where = {}): Where {
  const split = option.indexOf('=')
  if (split < 1) throw new InvalidArgumentError('Give a key and a value, such as type=turn.completed.')
  const key = option.slice(0, split)
  const wanted = [...valuesOf(before, key), ...scalarsOf(option.slice(split + 1))]
  // Entries, because a key may be `__proto__`.
  return Object.fromEntries([...Object.entries(before).filter(([name]) => name !== key), [key, wanted]])
}

function valuesOf(where: Where, key: string): readonly Scalar[] {
  return Object.hasOwn(where, key) ? ([where[key]].flat() as readonly Scalar[]) : [] // cast: the key exists
}

function scalarsOf(text: string): readonly Scalar[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return [text]
  }
  if (typeof parsed === 'string') return [parsed]
  const isScalar = parsed === null || typeof parsed === 'boolean' || Number.isFinite(parsed)
  return isScalar ? [text, parsed as Scalar] : [text] // cast: checked in the line above
}

/** What was dropped, in words. */
export function droppedWords({ unread, parsed }: Dropped): string {
  const lines = (count: number) => `${count} ${count === 1 ? 'line' : 'lines'}`
  return parsed === 0 ? `${lines(unread)} unread` : `${lines(unread)} unread and ${parsed} after parsing`
}
