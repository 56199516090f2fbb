/** Milliseconds, if the engine reports them. */
export function durationOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
