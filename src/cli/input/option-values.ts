import { InvalidArgumentError, Option } from 'commander'
import { milliseconds } from '../../base/duration.ts'
import type { Row } from '../command-table.ts'

/**
 * Reads a duration: `90` and `90s` are seconds, `500ms`, `5m` and `2h` have a unit. Returns milliseconds.
 *
 * @example
 * duration('5m') // 300000
 */
export function duration(text: string): number {
  const ms = milliseconds(/\d$/.test(text) ? `${text}s` : text)
  if (ms > 0 && ms < 2 ** 31) return ms
  throw new InvalidArgumentError(
    'Give a time such as 500ms, 90s, 5m or 1h, at most 24 days; a bare number is seconds.',
  )
}

/**
 * Reads an age: `12h`, `30d`, `8w`. Returns milliseconds.
 *
 * @example
 * age('1d') // 86400000
 */
export function age(text: string): number {
  const match = /^(\d{1,5})(h|d|w)$/.exec(text)
  const hours = match ? Number(match[1]) * { h: 1, d: 24, w: 168 }[match[2] as 'h'] : 0 // cast: one of them
  if (hours > 0) return hours * 3_600_000
  throw new InvalidArgumentError('Give an age such as 12h, 30d or 8w.')
}

/** Reads a whole number above 0. */
export function positiveInteger(text: string): number {
  return integer(text, 1, 'It must be a whole number above 0.')
}

/** Reads a whole number, or 0. */
export function wholeNumber(text: string): number {
  return integer(text, 0, 'It must be a whole number.')
}

/** Reads an amount of money above 0: `0.50`. */
export function amount(text: string): number {
  const value = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : 0
  if (value > 0) return value
  throw new InvalidArgumentError('Give an amount such as 0.50 or 2.')
}

function integer(text: string, least: number, wrong: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value
  throw new InvalidArgumentError(wrong)
}

/** Adds a text to those before: for an option that can be given again. */
export function oneMore(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** An option that can be given again, each time with one of these words. Without it the list is empty. */
export function listOption(flags: string, about: string, words: readonly string[], none: string): Option {
  return new Option(flags, `${about}; can be given again`)
    .choices(words)
    .argParser((word: string, before: readonly string[]) => {
      if (words.includes(word)) return oneMore(word, before)
      throw new InvalidArgumentError(`It is one of ${words.join(', ')}.`)
    })
    .default([], none)
}

/** The option of every command that repairs payloads. */
export const maxRepair: Row = [
  '--max-repair <characters>',
  'the longest payload to repair, in characters (default: 65536)',
  wholeNumber,
]
