const HUNK = '@@ -'

/** A unified diff, unchanged; undefined for a text without hunks, like a drawing of the changed lines. */
export function unifiedDiff(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return value.startsWith(HUNK) || value.includes(`\n${HUNK}`) ? value : undefined
}
