import { type MarkdownInline, markdownInlines } from './inlines.ts'

/** A block of Markdown, as plain data for a terminal, a page or an export to render. */
export type MarkdownBlock =
  | { readonly type: 'heading'; readonly level: number; readonly children: readonly MarkdownInline[] }
  | { readonly type: 'paragraph'; readonly children: readonly MarkdownInline[] }
  | {
      readonly type: 'code'
      /** The first word after the fence; empty for none. */
      readonly language: string
      readonly text: string
      /** True while the closing fence is missing. */
      readonly open: boolean
    }
  | {
      readonly type: 'list'
      /** The first number; undefined for bullets. */
      readonly start: number | undefined
      readonly items: readonly MarkdownItem[]
    }
  | { readonly type: 'quote'; readonly blocks: readonly MarkdownBlock[] }
  | {
      readonly type: 'table'
      readonly align: readonly ('left' | 'center' | 'right' | undefined)[]
      readonly head: readonly (readonly MarkdownInline[])[]
      /** Each row has as many cells as the head. */
      readonly rows: readonly (readonly (readonly MarkdownInline[])[])[]
    }
  | { readonly type: 'rule' }

export interface MarkdownItem {
  /** For a task: whether it is done; undefined for an ordinary item. */
  readonly checked: boolean | undefined
  readonly blocks: readonly MarkdownBlock[]
}

/**
 * Maximum nesting of quotes and lists; anything deeper is a paragraph. Each level reads its lines once more.
 */
const MAX_DEPTH = 12
/** Maximum number of columns; a wider table is a paragraph. */
const MAX_COLUMNS = 64

/**
 * The blocks of a Markdown text, in linear time for any input. It reads what agents write and is a little
 * more tolerant than CommonMark: a line end is a break, and an item of a list may be indented by two. HTML,
 * footnotes and reference links are text. A text that is still growing can be read again and again: an open
 * fence is a code block that is `open`.
 *
 * @example
 * for (const block of markdownBlocks('# Done\n\nAll **12** tests pass.')) console.log(block.type) // heading,
 * paragraph
 */
export function markdownBlocks(text: string): MarkdownBlock[] {
  return blocksOf(text.replaceAll('\r\n', '\n').replaceAll('\t', '    ').split('\n'), 0)
}

function blocksOf(lines: readonly string[], depth: number): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = []
  let at = 0
  while (at < lines.length) {
    if (isEmpty(lines[at]!)) {
      at++
      continue
    }
    const [block, end] = blockAt(lines, at, depth)
    blocks.push(block)
    at = end
  }
  return blocks
}

type Read = [block: MarkdownBlock, end: number]

function blockAt(lines: readonly string[], at: number, depth: number): Read {
  const line = lines[at]!
  const found =
    fenceAt(lines, at) ??
    jsonAt(lines, at) ??
    headingAt(line, at) ??
    (isRule(line) ? ([{ type: 'rule' }, at + 1] satisfies Read) : undefined) ??
    (depth < MAX_DEPTH ? (quoteAt(lines, at, depth) ?? listAt(lines, at, depth)) : undefined) ??
    tableAt(lines, at)
  if (found) return found
  return indentOf(line) >= 4 ? indentedAt(lines, at) : paragraphAt(lines, at, depth)
}

/** True if a line begins a new block and so ends the paragraph above it. */
function interrupts(line: string, depth: number): boolean {
  if (isEmpty(line) || fenceOf(line) || headingLevel(line) > 0 || isRule(line) || isJson(line)) return true
  if (depth >= MAX_DEPTH) return false
  if (isQuote(line)) return true
  const marker = markerOf(line)
  // A number begins a list only if it is 1: a wrapped sentence may begin with a year.
  return marker !== undefined && !marker.blank && (marker.number === undefined || marker.number === 1)
}

/** Characters of a JSON document that is shown as it is; a longer one is a paragraph. */
const MAX_JSON = 1 << 16

/** A JSON document without a fence, on one line or up to the next empty one: its marks are not Markdown. */
function jsonAt(lines: readonly string[], at: number): Read | undefined {
  const first = lines[at]!
  if (!mayBeJson(first)) return undefined
  if (isJson(first)) return [{ type: 'paragraph', children: [{ type: 'text', text: first.trim() }] }, at + 1]
  // Only at the start of a paragraph, so that each line is read at most twice.
  if (at > 0 && !isEmpty(lines[at - 1]!)) return undefined
  let end = at + 1
  for (let size = first.length; end < lines.length && !isEmpty(lines[end]!) && size <= MAX_JSON; end++)
    size += lines[end]!.length
  const text = lines.slice(at, end).join('\n')
  return isJson(text) ? [{ type: 'code', language: 'json', text, open: false }, end] : undefined
}

/** `{`, or a list of objects, lists or texts: `[1]` is a footnote. */
function mayBeJson(line: string): boolean {
  return /^ {0,3}(?:\{|\[\s*(?:[{["]|$))/.test(line)
}

function isJson(text: string): boolean {
  if (text.length > MAX_JSON || !mayBeJson(text)) return false
  const last = text.trimEnd().at(-1)
  if (last !== '}' && last !== ']') return false
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

function paragraphAt(lines: readonly string[], at: number, depth: number): Read {
  const text = [lines[at]!.trim()]
  let end = at + 1
  for (; end < lines.length; end++) {
    const line = lines[end]!
    const level = text.length === 1 ? underline(line) : 0
    if (level > 0) return [{ type: 'heading', level, children: markdownInlines(text[0]!) }, end + 1]
    if (interrupts(line, depth) || tableColumns(lines, end)) break
    // Only leading blanks are removed: two trailing ones mean a line break.
    text.push(line.trimStart())
  }
  return [{ type: 'paragraph', children: markdownInlines(text.join('\n').trimEnd()) }, end]
}

/** 1 for a line of `=`, 2 for one of `-`, below a heading of one line. */
function underline(line: string): number {
  const text = line.trim()
  if (text.length < 2 || indentOf(line) > 3) return 0
  if (isAll(text, '=')) return 1
  return isAll(text, '-') ? 2 : 0
}

function headingAt(line: string, at: number): Read | undefined {
  const level = headingLevel(line)
  if (level === 0) return undefined
  let text = line.trim().slice(level).trim()
  let end = text.length
  while (end > 0 && text[end - 1] === '#') end--
  if (end === 0 || text[end - 1] === ' ') text = text.slice(0, end).trimEnd()
  return [{ type: 'heading', level, children: markdownInlines(text) }, at + 1]
}

function headingLevel(line: string): number {
  const indent = indentOf(line)
  if (indent > 3 || line[indent] !== '#') return 0
  let level = 1
  while (line[indent + level] === '#') level++
  const next = line[indent + level]
  return level <= 6 && (next === undefined || next === ' ') ? level : 0
}

function isRule(line: string): boolean {
  if (indentOf(line) > 3) return false
  const text = line.replaceAll(' ', '')
  return text.length >= 3 && '-*_'.includes(text[0]!) && isAll(text, text[0]!)
}

interface Fence {
  readonly char: string
  readonly length: number
  readonly indent: number
  readonly info: string
}

function fenceOf(line: string): Fence | undefined {
  const indent = indentOf(line)
  const char = line[indent]
  if (indent > 3 || (char !== '`' && char !== '~')) return undefined
  let length = 1
  while (line[indent + length] === char) length++
  const info = line.slice(indent + length).trim()
  if (length < 3 || (char === '`' && info.includes('`'))) return undefined
  return { char, length, indent, info }
}

function fenceAt(lines: readonly string[], at: number): Read | undefined {
  const fence = fenceOf(lines[at]!)
  if (!fence) return undefined
  const language = firstWord(fence.info)
  const text: string[] = []
  for (let end = at + 1; end < lines.length; end++) {
    const line = lines[end]!
    const mark = fenceOf(line)
    if (mark && closes(mark, fence))
      return [{ type: 'code', language, text: text.join('\n'), open: false }, end + 1]
    text.push(line.slice(Math.min(indentOf(line), fence.indent)))
  }
  return [{ type: 'code', language, text: text.join('\n'), open: true }, lines.length]
}

function closes(mark: Fence, fence: Fence): boolean {
  return mark.char === fence.char && mark.length >= fence.length && mark.info === ''
}

function firstWord(info: string): string {
  const end = info.indexOf(' ')
  return (end < 0 ? info : info.slice(0, end)).slice(0, 40)
}

function indentedAt(lines: readonly string[], at: number): Read {
  const text: string[] = []
  let end = at
  /** Number of lines to keep: empty lines at the end do not count. */
  let kept = 0
  for (; end < lines.length; end++) {
    const line = lines[end]!
    if (!isEmpty(line) && indentOf(line) < 4) break
    text.push(line.slice(4))
    if (!isEmpty(line)) kept = text.length
  }
  return [{ type: 'code', language: '', text: text.slice(0, kept).join('\n'), open: false }, at + kept]
}

function isQuote(line: string): boolean {
  const indent = indentOf(line)
  return indent <= 3 && line[indent] === '>'
}

function quoteAt(lines: readonly string[], at: number, depth: number): Read | undefined {
  if (!isQuote(lines[at]!)) return undefined
  const inside: string[] = []
  let fence: Fence | undefined
  /** Whether a line without the mark continues the sentence above it. */
  let goesOn = false
  let end = at
  for (; end < lines.length; end++) {
    const line = lines[end]!
    if (!isQuote(line)) {
      if (!goesOn || interrupts(line, depth) || underline(line) > 0) break
      inside.push(line)
      continue
    }
    const marked = line.slice(indentOf(line) + 1)
    const text = marked.startsWith(' ') ? marked.slice(1) : marked
    inside.push(text)
    const mark = fenceOf(text)
    if (fence) fence = mark && closes(mark, fence) ? undefined : fence
    else fence = mark
    goesOn = !fence && !mark && isSentence(text)
  }
  return [{ type: 'quote', blocks: blocksOf(inside, depth + 1) }, end]
}

/** Whether a line is part of a sentence that can go on: not of a heading, a rule, a table or a code block. */
function isSentence(line: string): boolean {
  const other = isEmpty(line) || headingLevel(line) > 0 || isRule(line) || indentOf(line) > 3
  return !other && !line.includes('|')
}

interface Marker {
  /** `-`, `*`, `+`, `.` or `)`; a different one begins a new list. */
  readonly kind: string
  readonly number: number | undefined
  /** Columns before the marker, and before the text after it. */
  readonly indent: number
  readonly content: number
  /** True if nothing follows it on its line. */
  readonly blank: boolean
}

function markerOf(line: string): Marker | undefined {
  const indent = indentOf(line)
  if (indent > 3) return undefined
  let at = indent
  while (at - indent < 9 && isDigit(line[at])) at++
  const number = at > indent ? Number(line.slice(indent, at)) : undefined
  const kind = line[at]
  if (kind === undefined || !(number === undefined ? '-*+' : '.)').includes(kind)) return undefined
  at++
  const rest = line.slice(at)
  const blank = isEmpty(rest)
  if (!blank && rest[0] !== ' ') return undefined
  const gap = blank ? 1 : indentOf(rest)
  return { kind, number, indent, content: at + (gap > 4 ? 1 : gap), blank }
}

function listAt(lines: readonly string[], at: number, depth: number): Read | undefined {
  const first = markerOf(lines[at]!)
  if (!first) return undefined
  const items: MarkdownItem[] = []
  let end = at
  for (let marker: Marker | undefined = first; marker; ) {
    const inside = [lines[end]!.slice(marker.content)]
    end = itemEnd(lines, end + 1, marker, inside, depth)
    items.push(itemOf(inside, depth))
    const next: Marker | undefined = end < lines.length ? markerOf(lines[end]!) : undefined
    marker = next?.kind === first.kind && !isRule(lines[end]!) ? next : undefined
  }
  return [{ type: 'list', start: first.number, items }, end]
}

/** Gathers the lines of an item, and returns the first line that does not belong to it. */
function itemEnd(
  lines: readonly string[],
  from: number,
  marker: Marker,
  inside: string[],
  depth: number,
): number {
  let end = from
  let empty = 0
  for (; end < lines.length; end++) {
    const line = lines[end]!
    if (isEmpty(line)) {
      empty++
      continue
    }
    const indent = indentOf(line)
    const within = indent >= marker.indent + 2
    // A sentence that continues below its marker without an indent still belongs to the item.
    const goesOn = empty === 0 && !interrupts(line, depth) && markerOf(line) === undefined
    if (!within && !goesOn) break
    for (; empty > 0; empty--) inside.push('')
    inside.push(line.slice(Math.min(indent, marker.content)))
  }
  return end
}

function itemOf(inside: string[], depth: number): MarkdownItem {
  const box = inside[0]!.slice(0, 4).toLowerCase()
  const task = box === '[ ] ' || box === '[x] '
  if (task) inside[0] = inside[0]!.slice(4)
  return { checked: task ? box === '[x] ' : undefined, blocks: blocksOf(inside, depth + 1) }
}

/** The head of a table and the alignment of its columns, if a table begins here. */
function tableColumns(
  lines: readonly string[],
  at: number,
): [head: string[], align: Alignment[]] | undefined {
  const below = lines[at + 1]
  if (below === undefined || !lines[at]!.includes('|') || !below.includes('-')) return undefined
  const align = alignments(below)
  const head = align && cellsOf(lines[at]!)
  return head?.length === align?.length && head && align ? [head, align] : undefined
}

function tableAt(lines: readonly string[], at: number): Read | undefined {
  const columns = tableColumns(lines, at)
  if (!columns) return undefined
  const [head, align] = columns
  const rows: MarkdownInline[][][] = []
  let end = at + 2
  for (; end < lines.length && lines[end]!.includes('|') && !isEmpty(lines[end]!); end++) {
    const cells = cellsOf(lines[end]!)
    rows.push(head.map((_, column) => markdownInlines(cells[column] ?? '')))
  }
  return [{ type: 'table', align, head: head.map(markdownInlines), rows }, end]
}

type Alignment = 'left' | 'center' | 'right' | undefined

/** Reads the line below the head of a table; undefined if it is not one. */
function alignments(line: string): Alignment[] | undefined {
  const cells = cellsOf(line)
  if (cells.length > MAX_COLUMNS) return undefined
  const align: Alignment[] = []
  for (const cell of cells) {
    const left = cell.startsWith(':')
    const right = cell.length > 1 && cell.endsWith(':')
    const dashes = cell.slice(left ? 1 : 0, right ? -1 : undefined)
    if (dashes === '' || !isAll(dashes, '-')) return undefined
    align.push(left && right ? 'center' : left ? 'left' : right ? 'right' : undefined)
  }
  return align
}

/** The cells of a row. A pipe after a backslash is text. */
function cellsOf(line: string): string[] {
  let text = line.trim()
  if (text.startsWith('|')) text = text.slice(1)
  if (text.endsWith('|') && !text.endsWith('\\|')) text = text.slice(0, -1)
  const cells: string[] = []
  let cell = ''
  let from = 0
  for (let at = text.indexOf('|'); at >= 0 && cells.length <= MAX_COLUMNS; at = text.indexOf('|', at + 1)) {
    if (text[at - 1] === '\\') {
      cell += `${text.slice(from, at - 1)}|`
    } else {
      cells.push((cell + text.slice(from, at)).trim())
      cell = ''
    }
    from = at + 1
  }
  cells.push((cell + text.slice(from)).trim())
  return cells
}

function indentOf(line: string): number {
  let at = 0
  while (line[at] === ' ') at++
  return at
}

function isEmpty(line: string): boolean {
  return line.trim() === ''
}

function isAll(text: string, char: string): boolean {
  for (const other of text) if (other !== char) return false
  return true
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9'
}
