import { durationOf } from './duration.ts'
import { hunksText, wholeFile } from './patch-text.ts'

/** How long a tool took, in the words that tools have for it. */
export function claudeDuration(told: Record<string, unknown>): number | undefined {
  const { durationMs, totalDurationMs, durationSeconds } = told
  if (typeof durationSeconds === 'number') return durationOf(Math.round(durationSeconds * 1000))
  return durationOf(durationMs ?? totalDurationMs)
}

/** What a tool that writes or edits a file says it changed, as a unified diff. A file that is new comes as a whole. */
export function claudeDiff(told: Record<string, unknown>): string | undefined {
  const { type, structuredPatch, content } = told
  return hunksText(structuredPatch) ?? (type === 'create' ? wholeFile('+', content) : undefined)
}
