import { clip } from '../base/fault.ts'
import { isRecord } from '../events/engine.ts'

/** Names under which errors have their words, the best first. */
const NAMES = 'message detail details error_description description reason title msg error errors data cause'
const names = NAMES.split(' ')

/**
 * The words of an error: a text, or what a record says under one of the usual names, at any level. A record
 * without words is told as its JSON, because that is all that is known of why the run failed.
 *
 * @example
 * errorWords({ detail: 'quota' }) // 'quota'
 * errorWords({ code: 7 }) // '{"code":7}'
 * errorWords({}) // undefined
 */
export function errorWords(error: unknown): string | undefined {
  const words = wordsIn(error, 0)
  if (words !== undefined || !isRecord(error)) return words
  return Object.keys(error).every((key) => key === 'type') ? undefined : clip(JSON.stringify(error), 300)
}

/** The same for an error that must have some. */
export function errorText(error: unknown): string {
  return errorWords(error) ?? 'an error without a message'
}

function wordsIn(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (depth > 3) return undefined
  const inner = Array.isArray(value)
    ? value.slice(0, 3)
    : isRecord(value)
      ? names.map((key) => value[key])
      : []
  for (const one of inner) {
    const words = wordsIn(one, depth + 1)
    if (words !== undefined) return words
  }
  return undefined
}
