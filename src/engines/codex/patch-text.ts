import { isRecord } from '../../events/engine.ts'

/** Of longer texts the event has only the beginning anyway. */
const MAX_TEXT = 65_536

/**
 * A whole file as a unified diff: each line added, or each line removed. Undefined for a file without text.
 */
export function wholeFile(sign: '+' | '-', content: unknown): string | undefined {
  if (typeof content !== 'string' || content === '') return undefined
  const ends = content.endsWith('\n')
  const count = content.split('\n').length - (ends ? 1 : 0)
  const lines = content.slice(0, MAX_TEXT).split('\n')
  if (lines.at(-1) === '') lines.pop()
  const head = sign === '+' ? `@@ -0,0 +1,${count} @@` : `@@ -1,${count} +0,0 @@`
  const tail = ends ? '' : '\\ No newline at end of file\n'
  return `${head}\n${lines.map((line) => `${sign}${line}\n`).join('')}${tail}`
}

/** A patch of Claude Code, a list of hunks with their lines, as a unified diff. */
export function hunksText(patch: unknown): string | undefined {
  if (!Array.isArray(patch)) return undefined
  const hunks = patch.map(hunkText)
  return hunks.length > 0 && hunks.every((hunk) => hunk !== undefined) ? hunks.join('') : undefined
}

function hunkText(hunk: unknown): string | undefined {
  if (!isRecord(hunk) || !Array.isArray(hunk['lines'])) return undefined
  const { oldStart, oldLines, newStart, newLines, lines } = hunk
  if (![oldStart, oldLines, newStart, newLines].every(Number.isInteger)) return undefined
  if (!lines.every((line) => typeof line === 'string')) return undefined
  return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n${lines.map((line) => `${line}\n`).join('')}`
}
