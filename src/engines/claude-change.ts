import { durationOf } from './duration.ts'
import { hunksText, wholeFile } from './patch-text.ts'

/** Duration of a tool call, under the names that different tools use. */
export function claudeDuration(told: Record<string, unknown>): number | undefined {
  const { durationMs, totalDurationMs, durationSeconds } = told
  if (typeof durationSeconds === 'number') return durationOf(Math.round(durationSeconds * 1000))
  return durationOf(durationMs ?? totalDurationMs)
}

/** The change that a tool which writes or edits a file reports, as a unified diff. A new file comes as a whole. */
export function claudeDiff(told: Record<string, unknown>): string | undefined {
  const { type, structuredPatch, content } = told
  return hunksText(structuredPatch) ?? (type === 'create' ? wholeFile('+', content) : undefined)
}
