import { durationOf } from '../../events/record.ts'
import { hunksText, wholeFile } from '../calls.ts'

/** Duration of a tool call, under the names that different tools use. */
export function claudeDuration(reported: Record<string, unknown>): number | undefined {
  const { durationMs, totalDurationMs, durationSeconds } = reported
  if (typeof durationSeconds === 'number') return durationOf(Math.round(durationSeconds * 1000))
  return durationOf(durationMs ?? totalDurationMs)
}

/**
 * The change that a tool which writes or edits a file reports, as a unified diff. A new file comes as a
 * whole.
 */
export function claudeDiff(reported: Record<string, unknown>): string | undefined {
  const { type, structuredPatch, content } = reported
  return hunksText(structuredPatch) ?? (type === 'create' ? wholeFile('+', content) : undefined)
}
