import { type Code, quote } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { lines } from '../text/lines.ts'

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

/** The field of a key. Spelling is exact: a lookalike in another alphabet is another key. */
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
    const colon = line.search(/[:：]/)
    const key = line.slice(0, Math.max(colon, 0))
    if (colon < 1 || key !== key.trim())
      return broken('WORK_RESULT_BROKEN', `line ${count} is not a header: ${quote(line)}`)
    const field = fieldOf(key)
    if (field === undefined) continue
    if (fields.has(field))
      return broken('WORK_FIELD_TWICE', `the header ${quote(key)} occurs twice (line ${count})`)
    fields.set(field, line.slice(colon + 1).trim())
  }
  return { fields, body: '' }
}

/** Characters of a line that are searched for anchors, and of a value that are kept. */
const MAX_ANCHOR_LINE = 4000
const MAX_VALUE = 1000

//  2026-11-17 10:00 INFO - **RunId:** run-7, Status: ok
//                          ^ key            ^ key
const anchor = /(?<![\p{L}\p{N}_./-])([A-Za-z_]{2,12})\*{0,2} ?(?::(?=\s|\*|$)|：)/gu
/** Bullets, bold and indent: the key is still the first word of its line. */
const decoration = /^[\s*+>#•·-]*$/
/** The end of what a logger writes before a message: a bracket, a bar, a time, a level, `msg="`. */
const logPrefix = /(?:[\]|)>:\d-]|\dZ|="|\b(?:trace|debug|info|notice|warn|warning|error|fatal))$/i
/** Characters that it looks at. */
const MAX_LOG_WORD = 10
/** Fields whose value is one word: another key may follow after a blank. Others need a comma or a bar. */
const oneWord: ReadonlySet<string> = new Set(['issue_ref', 'run_id', 'status', 'pr', 'commit'])

const statuses: ReadonlySet<string> = new Set(['ok', 'fail', 'blocked'])

/**
 * Looks for the same headers in the lines of a worker's output: at the start of a line, behind a bullet, an
 * indent, bold marks or colours, or behind the prefix of a logger; several may be on one line. The first of
 * each counts, and one at the start of a line before one behind a prefix. Nothing found here is enough to
 * advance, it only helps the person who takes over.
 *
 * @example
 * findAnchors('10:02 INFO IssueRef: shop#12, RunId: run-7').get('run_id') // 'run-7'
 */
export function findAnchors(output: string): Map<string, string> {
  const first = new Map<string, string>()
  const behind = new Map<string, string>()
  // The reader of lines removes colours.
  const reader = lines('pty', 1 << 20, ({ text }) => {
    // Records are read as JSON, not by their keys.
    if (!/[:：]/.test(text) || text.startsWith('{')) return
    const line = text.slice(0, MAX_ANCHOR_LINE)
    const found = [...line.matchAll(anchor)].filter(({ 1: key = '' }) => fieldOf(key) !== undefined)
    const isFirst = (index: number) => decoration.test(line.slice(0, index))
    const start = found.findIndex(({ index }) => isFirst(index) || isBehindPrefix(line, index))
    if (start < 0) return
    const { index } = found[start]!
    const into = isFirst(index) ? first : behind
    for (const [field, value] of pairsIn(line, found.slice(start))) {
      // Loggers write `Status: 200`, and printed objects `  status: 1`.
      if (value === '' || (index > 0 && field === 'status' && !statuses.has(value))) continue
      if (!into.has(field)) into.set(field, value)
    }
  })
  reader.write(Bytes.from(output))
  reader.end()
  for (const [field, value] of behind) if (!first.has(field)) first.set(field, value)
  return first
}

function isBehindPrefix(line: string, index: number): boolean {
  let end = index
  while (end > 0 && ' \t*'.includes(line[end - 1]!)) end--
  return logPrefix.test(line.slice(Math.max(0, end - MAX_LOG_WORD), end))
}

/** The fields of a line and their values, each of which ends where the next key begins. */
function pairsIn(line: string, found: readonly RegExpExecArray[]): [string, string][] {
  const pairs: [string, string][] = []
  let from = 0
  for (const { 1: key = '', index, 0: whole } of found) {
    const last = pairs.at(-1)
    if (last) {
      const before = line.slice(from, index)
      // A key in the middle of a free text is part of that text.
      if (!oneWord.has(last[0]) && !/[,;|·][\s*]*$/.test(before)) continue
      last[1] = before
    }
    from = index + whole.length
    pairs.push([fieldOf(key)!, line.slice(from)])
  }
  return pairs.map(([field, value]) => [field, bare(value)])
}

/** Without the marks around it. */
function bare(value: string): string {
  const trimmed = value.slice(0, MAX_VALUE).replace(/^[\s*`]+|[\s*`,;|·]+$/g, '')
  // The closing quote of `msg="RunId: run-7"`.
  return trimmed.endsWith('"') && trimmed.split('"').length === 2 ? trimmed.slice(0, -1) : trimmed
}
