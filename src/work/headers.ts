import { type Code, quote } from '../base/fault.ts'

/** The version of the rules below. It is in every audit, so that old audits stay readable. */
export const headerParser = 'work-headers/1'

/** A parsed file of headers: its fields, the free text after them, and what is wrong with it. */
export interface Headers {
  /** Values by the snake_case name of the field. They are trimmed and may be blank. */
  readonly fields: ReadonlyMap<string, string>
  readonly body: string
  /** Why the file cannot be trusted, if anything is wrong. */
  readonly broken?: { readonly code: Code; readonly message: string }
}

const spellings = new Map<string, string>([
  ['IssueRef', 'issue_ref'],
  ['RunId', 'run_id'],
  ['Status', 'status'],
  ['PR', 'pr'],
  ['Commit', 'commit'],
  ['Tests', 'tests'],
  ['Summary', 'summary'],
  ['BlockedBy', 'blocked_by'],
  ['Questions', 'questions'],
])
for (const snake of [...spellings.values()]) spellings.set(snake, snake)

/**
 * The field of a key, or undefined. Spelling is exact: a key in another alphabet that looks
 * the same is another key.
 */
export function fieldOf(key: string): string | undefined {
  return spellings.get(key)
}

/** Maximum number of lines of a header block. */
const MAX_LINES = 100

/**
 * Reads `work_result.txt`: `Key: value` lines up to the first blank line, then free text.
 * Lines end in LF or CRLF. A folded line, a line without a colon, or a field given twice makes the whole
 * block unreliable: guessing which line was meant could advance a state by mistake.
 *
 * @example
 * readHeaders('RunId: 7\nStatus: ok\n\nDone.').fields.get('run_id') // '7'
 */
export function readHeaders(text: string): Headers {
  const fields = new Map<string, string>()
  const start = text.startsWith('\ufeff') ? 1 : 0
  const broken = (code: Code, message: string): Headers => ({ fields, body: '', broken: { code, message } })
  let at = start
  for (let count = 1; at < text.length; count++) {
    const lf = text.indexOf('\n', at)
    const end = lf < 0 ? text.length : lf
    const line = text.slice(at, text[end - 1] === '\r' && end > at ? end - 1 : end)
    at = end + 1
    if (line.trim() === '') return { fields, body: text.slice(at).trim() }
    if (count > MAX_LINES)
      return broken('WORK_RESULT_BROKEN', `no blank line in the first ${MAX_LINES} lines`)
    const colon = line.indexOf(':')
    const key = line.slice(0, Math.max(colon, 0))
    if (colon < 1 || key !== key.trim()) {
      return broken('WORK_RESULT_BROKEN', `line ${count} is not a header: ${quote(line)}`)
    }
    const field = fieldOf(key)
    if (field === undefined) continue
    if (fields.has(field)) {
      return broken('WORK_FIELD_TWICE', `the header ${quote(key)} occurs twice (line ${count})`)
    }
    fields.set(field, line.slice(colon + 1).trim())
  }
  return { fields, body: '' }
}

/**
 * Looks for the same headers at line starts anywhere in the output of a worker. The first of each counts.
 * Nothing found here is enough to advance, it only helps the person who takes over.
 */
export function findAnchors(output: string): Map<string, string> {
  const found = new Map<string, string>()
  let colon = -1
  for (let at = 0; at < output.length; ) {
    const lf = output.indexOf('\n', at)
    const end = lf < 0 ? output.length : lf
    // The next colon may be many lines away: search for it once, not once per line.
    if (colon < at) colon = output.indexOf(':', at)
    if (colon < 0) break
    if (colon < end && colon - at <= 20) {
      const field = fieldOf(output.slice(at, colon))
      if (field !== undefined && !found.has(field)) {
        const value = output.slice(colon + 1, Math.min(end, colon + 1000)).trim()
        if (value !== '') found.set(field, value)
      }
    }
    at = end + 1
  }
  return found
}
