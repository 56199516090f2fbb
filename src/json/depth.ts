import { isBracket } from '../text/characters.ts'
import { walk } from './walk.ts'

/**
 * Whether the text is nested deeper than `max`. Checked before every parse, so the common answer must be
 * cheap: a text with at most `max` opening brackets cannot be deep, and those are counted natively.
 *
 * @example
 * isDeeper('[[1]]', 1) // true
 */
export function isDeeper(text: string, max: number): boolean {
  if (text.length <= max) return false
  if (count(text, '{', max) + count(text, '[', max) <= max) return false
  const stop = walk(text, undefined, max)
  return stop < text.length && isBracket(text.charCodeAt(stop))
}

/**
 * Whether a parsed value is nested deeper than `max`. Cheaper than checking its text, but a text of brackets
 * alone becomes many times its size when parsed, so check the text first if it is large.
 *
 * @example
 * isNested([[1]], 1) // true
 */
export function isNested(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (max === 0) return true
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (isNested(value[index], max - 1)) return true
    return false
  }
  for (const key in value) if (isNested((value as Record<string, unknown>)[key], max - 1)) return true
  return false
}

/** Occurrences of `part`, counted up to `max + 1`. */
export function count(text: string, part: string, max: number): number {
  let found = 0
  for (let at = text.indexOf(part); at >= 0 && found <= max; at = text.indexOf(part, at + 1)) found++
  return found
}
