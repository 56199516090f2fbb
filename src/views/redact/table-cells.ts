import { classTable } from '../../text/characters.ts'
import { familyOf, type NameFamily } from './names.ts'
import { backslashesBefore, endsLine, type Secret } from './secret.ts'
import { type Span, secretIn } from './value.ts'

/** Words in the header of a table that has secrets, or in a line that says what the next one is. */
const HINT = /pass|assw|pwd|secret|token|key|cred|jwt|login/gi
/** A longer line is not a row. */
const MAX_ROW = 2000
/** Lines before a line that can say what it is, and the longest that are kept. */
const MAX_LINES = 4
const MAX_KEPT = 1000

/** A table with a column of secrets. */
interface Table {
  /** Header and rule. */
  readonly head: TableLine
  readonly secrets: readonly Secret[]
  readonly end: number
}

/**
 * Secrets in tables, where the header says what a cell is: Markdown, psql and mysql, CSV, TSV. `names` are
 * the places of the names that say secret.
 */
export function cellSecrets(text: string, names: readonly number[]): Secret[] {
  return tablesIn(text, names).flatMap(({ secrets }) => secrets)
}

/**
 * The lines of a text that the search in the next lines needs: those that name a value further down, and the
 * head of the table that goes on.
 */
export function linesBefore(given: string): string {
  const text = given.replace(CODES, '')
  let from = text.length
  for (let lines = 0; lines < MAX_LINES && from > 0; lines++) from = text.lastIndexOf('\n', from - 2) + 1
  const names = [...text.matchAll(HINT)].map(({ index }) => index)
  const last = tablesIn(text, names).at(-1)
  const head = last && last.end >= text.trimEnd().length && last.head.from < from ? last.head : undefined
  const lines = text.slice(from)
  const says = lines.length <= MAX_KEPT && (lines.search(HINT) >= 0 || CODE.test(lines))
  return `${head ? `${text.slice(head.from, head.to)}\n` : ''}${says ? lines : ''}`
}

const CODE = /(?:recovery|backup) code/i
/** The items of a list of codes: what names them is above the first. */
const CODES =
  /^[ \t]{0,8}(?:[-*•] |\d{1,2}[.)] )?(?:(?=[a-z-]{0,80}\d)[\w-]{4,80}(?: {1,4}|(?=\n))){1,10}\n/gim

function tablesIn(text: string, names: readonly number[]): Table[] {
  const tables: Table[] = []
  /** What is before was read: no character is walked over twice. */
  let done = 0
  for (const index of names) {
    if (index < done) continue
    let [from, to] = [index, index]
    while (from > done && levelAt(text, from) === undefined && isHeaderUnit(text, from - 1)) from--
    const level = levelAt(text, from)
    if (level !== undefined) while (isHeaderUnit(text, to) && !endsLine(text, to, level)) to++
    done = to
    if (level === undefined || !endsLine(text, to, level) || to - from > MAX_ROW) continue
    const table = tableAt(text, { from: prefixEnd(text, from), to, level })
    if (!table) continue
    tables.push(table)
    done = table.end
  }
  return tables
}

interface TableLine {
  readonly from: number
  readonly to: number
  /** Backslashes before the quote that ends the JSON string it is in; -1 in plain text. */
  readonly level: number
}

/** The start of a line after what tools write before it: its number, the sign of a diff or a quotation. */
function prefixEnd(text: string, from: number): number {
  const prefix = /^(?:\s|\\{1,8}t){0,9}(?:\d{1,6}(?:\t|→|: ))?[+>-]?/.exec(text.slice(from, from + 40))
  return from + (prefix?.[0].length ?? 0)
}

/** Whether a header can have this: names, and what separates them. */
function isHeaderUnit(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return HEADER[unit] === 1 || unit === ARROW
}

const ARROW = 0x2192
const HEADER = classTable([
  1,
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ .,;|\t"`*+>\\-',
])

/** The level of the line that begins here; undefined if none does. */
function levelAt(text: string, at: number): number | undefined {
  const before = text[at - 1]
  if (at === 0 || before === '\n' || before === '\r') return -1
  // A quoted cell begins no line.
  const escapes = backslashesBefore(text, at - 1)
  if (before === '"')
    return /[:[] ?$/.test(text.slice(Math.max(0, at - 3 - escapes), at - 1 - escapes)) ? escapes : undefined
  return before === 'n' && escapes > 0 ? escapes - 1 : undefined
}

interface Column {
  readonly index: number
  readonly family: NameFamily
}

function tableAt(text: string, line: TableLine): Table | undefined {
  const header = text.slice(line.from, line.to)
  const separator = ['|', '\t', '\\t', ';'].find((sign) => header.includes(sign)) ?? ','
  const isPiped = separator === '|'
  // `a, b` is a list of arguments.
  if (!header.includes(separator) || (!isPiped && /[,;] /.test(header))) return undefined
  const cells = cellsOf(text, line, separator)
  const names = cells.map(({ from, to }) => text.slice(from, to).replace(/[ *`+]/g, '_'))
  if (cells.length < 2 || !names.every((name) => (name === '' ? isPiped : name.length <= 40)))
    return undefined
  const columns = names.flatMap((name, index): Column[] => {
    const family = familyOf(name)
    return family === 'password' || family === 'secret' ? [{ index, family }] : []
  })
  const rule = isPiped ? nextLine(text, line) : undefined
  if (isPiped && !(rule && RULE.test(text.slice(rule.from, rule.to))))
    return pairRow(text, line, cells, columns)
  const secrets: Secret[] = []
  const head = rule ? { ...line, to: rule.to } : line
  let last: TableLine = head
  for (let row = nextLine(text, head); row && columns.length > 0; row = nextLine(text, row)) {
    const values = cellsOf(text, row, separator)
    if (values.length !== cells.length && !RULE.test(text.slice(row.from, row.to))) break
    for (const { index, family } of columns) {
      const secret = values[index] && secretIn(text, values[index], { family, sure: 'any' })
      if (secret) secrets.push(secret)
    }
    last = row
  }
  return last === line ? undefined : { head, secrets, end: last.to }
}

/** The rule under a header: `| --- |`, `----+----`. */
const RULE = /^[\s|+:=-]{3,}$/

/** `| Password | letmein1 |` under another header. */
function pairRow(
  text: string,
  line: TableLine,
  cells: readonly Span[],
  columns: readonly Column[],
): Table | undefined {
  const [first] = columns
  const value = first && first.index <= 1 ? cells[first.index + 1] : undefined
  const secret = value && secretIn(text, { ...value, quoted: false }, { family: first!.family, sure: 'code' })
  return secret && { head: line, secrets: [secret], end: line.to }
}

function nextLine(text: string, { to, level }: TableLine): TableLine | undefined {
  const end = /^(?:\r?\n|\\{1,16}(?:r\\{1,16})?n)/.exec(text.slice(to, to + 40))?.[0] ?? ''
  if (end === '' || (level < 0 && end.startsWith('\\'))) return undefined
  const from = to + end.length
  let last = from
  while (!endsLine(text, last, level)) if (++last - from > MAX_ROW) return undefined
  return last === from ? undefined : { from: Math.min(last, prefixEnd(text, from)), to: last, level }
}

/** The cells of a row, without blanks, quotes and the signs of a diff around them. */
function cellsOf(text: string, { from, to }: TableLine, separator: string): Span[] {
  const cells: Span[] = []
  let start = from
  let inQuotes = false
  for (let at = from; at <= to; at++) {
    if (text[at] === '"' && separator !== '|') inQuotes = !inQuotes
    if (at < to && (inQuotes || !text.startsWith(separator, at))) continue
    let [first, last] = [start, at]
    while (first < last && AROUND.includes(text[first]!)) first++
    while (last > first && AROUND.includes(text[last - 1]!)) last--
    cells.push({ from: first, to: last, quoted: true })
    start = at + separator.length
    at = start - 1
  }
  return cells
}

const AROUND = ' \t"`\'\\*'
