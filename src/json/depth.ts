import { CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../text/characters.ts'
import { stringEnd } from './balanced.ts'

/**
 * Whether the text is nested deeper than `max`. Checked before every parse, so the common answer must be
 * cheap: a text with at most `max` opening brackets cannot be deep, and those are counted natively.
 *
 * It walks the text itself, because it also runs on broken texts, before a repair that recurses. As a handler
 * of the tokenizer it took 2.3 times as long for a document of 900 KB, and 160 times for one long string.
 *
 * @example
 * isDeeper('[[1]]', 1) // true
 */
export function isDeeper(text: string, max: number): boolean {
  if (text.length <= max) return false
  if (count(text, '{', max) + count(text, '[', max) <= max) return false
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = stringEnd(text, i)
        if (i < 0) return false
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > max) return true
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (depth > 0) depth--
        break
    }
  }
  return false
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

/** Occurrences of the needle, counted up to `max + 1`. */
export function count(text: string, needle: string, max: number): number {
  let found = 0
  for (let at = text.indexOf(needle); at >= 0 && found <= max; at = text.indexOf(needle, at + 1)) found++
  return found
}
