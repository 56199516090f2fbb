/**
 * How long: milliseconds, or a text with a unit.
 *
 * @example
 * run('codex', ['exec', '--json', task], { timeout: '10m', idleTimeout: '90s', killGrace: 2000 })
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h'}`

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/**
 * The milliseconds of a duration; NaN if it is none.
 *
 * @example
 * milliseconds('90s') // 90_000
 */
export function milliseconds(duration: unknown): number {
  if (typeof duration === 'number') return duration
  const [, amount, unit = ''] = /^(\d{1,10}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(String(duration)) ?? []
  return Number(amount) * UNITS[unit]!
}

/** Whether a timer can wait that long. */
const isDuration = (value: unknown) => milliseconds(value) >= 0 && milliseconds(value) < 2 ** 31

/** The row of an option that is a time: `readOptions` makes milliseconds of it. */
export const DURATION = {
  is: isDuration,
  must: 'be milliseconds or a time such as "500ms", "90s", "5m" or "1h", at most 24 days, but is %',
  read: milliseconds,
} as const

/** The same for a time that must pass: 0 would be over at once. */
export const DURATION_ABOVE_0 = {
  ...DURATION,
  is: (value: unknown) => isDuration(value) && milliseconds(value) > 0,
  must: 'be milliseconds above 0 or a time such as "500ms", "90s", "5m" or "1h", but is %',
} as const
