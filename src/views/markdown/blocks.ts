import { jsonValue } from '../../json/strict.ts'
import { type LinkTargets, linkLabel, type MarkdownInline, markdownInlines } from './inlines.ts'

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

/** Maximum nesting of quotes and lists, as each level reads its lines again; then a paragraph. */
const MAX_DEPTH = 12
/** Maximum number of columns; a wider table is a paragraph. */
const MAX_COLUMNS = 64

/**
 * The blocks of a Markdown text, in linear time for any input. It reads what agents write and is a little
 * more tolerant than CommonMark: a line end is a break, and an item of a list may be indented by two. HTML
 * and footnotes are text. A text that is still growing can be read again and again: an open
 * fence is a code block that is `open`.
 *
 * @example
 * for (const block of markdownBlocks('# Done\n\nAll **12** tests pass.')) console.log(block.type) // heading,
 * paragraph
 */
export function markdownBlocks(text: string): MarkdownBlock[] {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\t', '    ').split('\n')
  return blocksOf(lines, { depth: 0, targets: text.includes(']:') ? targetsIn(text, lines) : new Map() })
}

/** The targets that a text defines and names: a definition that no link names stays text, and is not lost. */
function targetsIn(text: string, lines: readonly string[]): LinkTargets {
  const named = new Set(Array.from(text.matchAll(NAMED), ([, label]) => linkLabel(label!)))
  const targets = new Map<string, string>()
  for (const line of lines) {
    const [label, target] = definitionOf(line)
    if (named.has(label) && !targets.has(label)) targets.set(label, target)
  }
  return targets
}

const NAMED = /\[([^[\]]{1,999})\](?!:)/g

/** The label and the target of `[label]: target "title"`; both are empty for any other line. */
function definitionOf(line: string): [label: string, target: string] {
  const [, label = '', target = ''] = DEFINITION.exec(line) ?? []
  return [linkLabel(label), target]
}

/** Whether a line is a definition that links name: it is not shown. */
function isDefinition(line: string, targets: LinkTargets): boolean {
  const [label, target] = definitionOf(line)
  return target !== '' && targets.get(label) === target
}

const DEFINITION = /^ {0,3}\[([^[\]]{1,999})\]: *<?([^\s<>]+)>?(?: +(?:"[^"]*"|'[^']*'|\([^()]*\)))? *$/

/** What the blocks of a quote or a list share with those around it. */
interface Around {
  /** Number of quotes and lists around a block. */
  readonly depth: number
  readonly targets: LinkTargets
}

function blocksOf(lines: readonly string[], around: Around): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = []
  let at = 0
  while (at < lines.length) {
    if (isEmpty(lines[at]!) || (around.targets.size > 0 && isDefinition(lines[at]!, around.targets))) {
      at++
      continue
    }
    const [block, end] = blockAt(lines, at, around)
    blocks.push(block)
    at = end
  }
  return blocks
}

type BlockAndEnd = [block: MarkdownBlock, end: number]

function blockAt(lines: readonly string[], at: number, around: Around): BlockAndEnd {
  const line = lines[at]!
  const found =
    fenceAt(lines, at) ??
    jsonAt(lines, at) ??
    headingAt(line, at, around) ??
    (isRule(line) ? ([{ type: 'rule' }, at + 1] satisfies BlockAndEnd) : undefined) ??
    (around.depth < MAX_DEPTH ? (quoteAt(lines, at, around) ?? listAt(lines, at, around)) : undefined) ??
    tableAt(lines, at, around)
  if (found) return found
  return indentOf(line) >= 4 ? indentedAt(lines, at) : paragraphAt(lines, at, around)
}

/** True if a line begins a new block and so ends the paragraph above it. */
function interrupts(line: string, { depth }: Around): boolean {
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
function jsonAt(lines: readonly string[], at: number): BlockAndEnd | undefined {
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
  return (last === '}' || last === ']') && jsonValue(text) !== undefined
}

function paragraphAt(lines: readonly string[], at: number, around: Around): BlockAndEnd {
  const text = [lines[at]!.trim()]
  let end = at + 1
  for (; end < lines.length; end++) {
    const line = lines[end]!
    const level = text.length === 1 ? underline(line) : 0
    if (level > 0)
      return [{ type: 'heading', level, children: markdownInlines(text[0]!, around.targets) }, end + 1]
    if (interrupts(line, around) || tableColumns(lines, end)) break
    // Only leading blanks are removed: two trailing ones mean a line break.
    text.push(line.trimStart())
  }
  return [{ type: 'paragraph', children: markdownInlines(text.join('\n').trimEnd(), around.targets) }, end]
}

/** 1 for a line of `=`, 2 for one of `-`, below a heading of one line. */
function underline(line: string): number {
  if (!/^ {0,3}(?:={2,}|-{2,})\s*$/.test(line)) return 0
  return line.includes('=') ? 1 : 2
}

function headingAt(line: string, at: number, { targets }: Around): BlockAndEnd | undefined {
  const level = headingLevel(line)
  if (level === 0) return undefined
  let text = line.trim().slice(level).trim()
  let end = text.length
  while (end > 0 && text[end - 1] === '#') end--
  if (end === 0 || text[end - 1] === ' ') text = text.slice(0, end).trimEnd()
  return [{ type: 'heading', level, children: markdownInlines(text, targets) }, at + 1]
}

function headingLevel(line: string): number {
  const [, marks = ''] = /^ {0,3}(#{1,6})(?: |$)/.exec(line) ?? []
  return marks.length
}

function isRule(line: string): boolean {
  return indentOf(line) < 4 && /^(?:-{3,}|\*{3,}|_{3,})$/.test(line.replaceAll(' ', ''))
}

export interface Fence {
  readonly char: string
  readonly length: number
  readonly indent: number
  readonly info: string
}

/** The fence on a line, whether it opens or closes a block. */
export function fenceOf(line: string): Fence | undefined {
  const [, indent, marks] = /^( {0,3})(`{3,}|~{3,})/.exec(line) ?? []
  if (indent === undefined || marks === undefined) return undefined
  const info = line.slice(indent.length + marks.length).trim()
  if (marks[0] === '`' && info.includes('`')) return undefined
  return { char: marks[0]!, length: marks.length, indent: indent.length, info }
}

function fenceAt(lines: readonly string[], at: number): BlockAndEnd | undefined {
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

/** The fence that is open after a line with this mark, given the one before it. */
export function fenceAfter(open: Fence | undefined, mark: Fence | undefined): Fence | undefined {
  if (!open || !mark) return open ?? mark
  return closes(mark, open) ? undefined : open
}

function closes(mark: Fence, fence: Fence): boolean {
  return mark.char === fence.char && mark.length >= fence.length && mark.info === ''
}

function firstWord(info: string): string {
  const end = info.indexOf(' ')
  return (end < 0 ? info : info.slice(0, end)).slice(0, 40)
}

function indentedAt(lines: readonly string[], at: number): BlockAndEnd {
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
  return /^ {0,3}>/.test(line)
}

function quoteAt(lines: readonly string[], at: number, around: Around): BlockAndEnd | undefined {
  if (!isQuote(lines[at]!)) return undefined
  const inside: string[] = []
  let fence: Fence | undefined
  /** Whether a line without the mark continues the sentence above it. */
  let goesOn = false
  let end = at
  for (; end < lines.length; end++) {
    const line = lines[end]!
    if (!isQuote(line)) {
      if (!goesOn || interrupts(line, around) || underline(line) > 0) break
      inside.push(line)
      continue
    }
    const marked = line.slice(indentOf(line) + 1)
    const text = marked.startsWith(' ') ? marked.slice(1) : marked
    inside.push(text)
    const mark = fenceOf(text)
    fence = fenceAfter(fence, mark)
    goesOn = !fence && !mark && isSentence(text)
  }
  return [{ type: 'quote', blocks: blocksOf(inside, deeper(around)) }, end]
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
  const [mark, digits] = /^ {0,3}(?:[-*+]|(\d{1,9})[.)])(?= |\s*$)/.exec(line) ?? []
  if (mark === undefined) return undefined
  const rest = line.slice(mark.length)
  const blank = isEmpty(rest)
  const gap = blank ? 1 : indentOf(rest)
  return {
    kind: mark.at(-1)!,
    number: digits === undefined ? undefined : Number(digits),
    indent: indentOf(mark),
    content: mark.length + (gap > 4 ? 1 : gap),
    blank,
  }
}

function listAt(lines: readonly string[], at: number, around: Around): BlockAndEnd | undefined {
  const first = markerOf(lines[at]!)
  if (!first) return undefined
  const items: MarkdownItem[] = []
  let end = at
  for (let marker: Marker | undefined = first; marker; ) {
    const inside = [lines[end]!.slice(marker.content)]
    end = itemEnd(lines, end + 1, marker, inside, around)
    items.push(itemOf(inside, around))
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
  around: Around,
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
    const goesOn = empty === 0 && !interrupts(line, around) && markerOf(line) === undefined
    if (!within && !goesOn) break
    for (; empty > 0; empty--) inside.push('')
    inside.push(line.slice(Math.min(indent, marker.content)))
  }
  return end
}

function itemOf(inside: string[], around: Around): MarkdownItem {
  const box = inside[0]!.slice(0, 4).toLowerCase()
  const task = box === '[ ] ' || box === '[x] '
  if (task) inside[0] = inside[0]!.slice(4)
  return { checked: task ? box === '[x] ' : undefined, blocks: blocksOf(inside, deeper(around)) }
}

function deeper({ depth, targets }: Around): Around {
  return { depth: depth + 1, targets }
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

function tableAt(lines: readonly string[], at: number, { targets }: Around): BlockAndEnd | undefined {
  const columns = tableColumns(lines, at)
  if (!columns) return undefined
  const [head, align] = columns
  const rows: MarkdownInline[][][] = []
  let end = at + 2
  for (; end < lines.length && lines[end]!.includes('|') && !isEmpty(lines[end]!); end++) {
    const cells = cellsOf(lines[end]!)
    rows.push(head.map((_, column) => markdownInlines(cells[column] ?? '', targets)))
  }
  return [{ type: 'table', align, head: head.map((cell) => markdownInlines(cell, targets)), rows }, end]
}

type Alignment = 'left' | 'center' | 'right' | undefined

/** Reads the line below the head of a table; undefined if it is not one. */
function alignments(line: string): Alignment[] | undefined {
  const cells = cellsOf(line)
  if (cells.length > MAX_COLUMNS) return undefined
  if (!cells.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  return cells.map((cell) => {
    const [left, right] = [cell.startsWith(':'), cell.endsWith(':')]
    return left && right ? 'center' : left ? 'left' : right ? 'right' : undefined
  })
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
