import {
  type Fence,
  fenceAfter,
  fenceOf,
  type MarkdownBlock,
  type MarkdownItem,
  markdownBlocks,
} from '../../views/markdown/blocks.ts'
import { type MarkdownInline, markdownText } from '../../views/markdown/inlines.ts'
import { cutTo, widthOf } from './width.ts'
import { type Paint, type Span, type Style, styles, wrap } from './wrap.ts'

/** Minimum width of a line, however deep a list is. */
const MIN_COLUMNS = 16

/** Draws Markdown as lines of at most `columns`. The text must be `safe()` already. */
export function drawMarkdown(text: string, columns: number, paint: Paint): string[] {
  return linesOf(markdownBlocks(text), columns, paint)
}

function linesOf(blocks: readonly MarkdownBlock[], columns: number, paint: Paint): string[] {
  const width = Math.max(MIN_COLUMNS, columns)
  return blocks.flatMap((block, index) => [...(index > 0 ? [''] : []), ...drawn(block, width, paint)])
}

function drawn(block: MarkdownBlock, width: number, paint: Paint): string[] {
  switch (block.type) {
    case 'heading':
      return wrap(spansOf(block.children, block.level < 3 ? [1, 4] : styles.bold), width, paint)
    case 'paragraph':
      return wrap(spansOf(block.children), width, paint)
    case 'code':
      return framed(block.text, block.language, width, paint)
    case 'list':
      return block.items.flatMap((item, index) => [
        ...(index > 0 && isLoose(block.items) ? [''] : []),
        ...itemLines(item, block.start === undefined ? '•' : `${block.start + index}.`, width, paint),
      ])
    case 'quote': {
      const bar = paint(styles.dim, '▌ ')
      return linesOf(block.blocks, width - 2, paint).map((line) => bar + line)
    }
    case 'table':
      return tableLines(block, width, paint)
    case 'rule':
      return [paint(styles.dim, '─'.repeat(Math.min(width, 40)))]
  }
}

/** True if the items have more than a line and a list below it. */
function isLoose(items: readonly MarkdownItem[]): boolean {
  return items.some(({ blocks }) => blocks.some(({ type }, at) => at > 0 && type !== 'list'))
}

function itemLines({ checked, blocks }: MarkdownItem, mark: string, width: number, paint: Paint): string[] {
  const shown = checked === undefined ? mark : checked ? '☑' : '☐'
  const indent = widthOf(shown) + 1
  const [first, ...rest] = blocks
  const lines = [
    ...(first ? linesOf([first], width - indent, paint) : ['']),
    // A list follows the line above it without a gap.
    ...rest.flatMap((block) => [
      ...(block.type === 'list' ? [] : ['']),
      ...linesOf([block], width - indent, paint),
    ]),
  ]
  const blanks = ' '.repeat(indent)
  return lines.map((line, at) =>
    at === 0 ? `${paint(styles.cyan, shown)} ${line}` : line === '' ? '' : blanks + line,
  )
}

/** Code with a frame on its left. A line that is too long continues below: nothing is cut off. */
function framed(text: string, language: string, width: number, paint: Paint): string[] {
  const dim = (line: string) => paint(styles.dim, line)
  const lines = text
    .split('\n')
    .flatMap((line) => cutTo(line, width - 2).map((piece) => `${dim('│')} ${piece}`.trimEnd()))
  return [dim(`┌─${language === '' ? '' : ` ${language}`}`), ...lines, dim('└─')]
}

function tableLines(
  { align, head, rows }: MarkdownBlock & { type: 'table' },
  width: number,
  paint: Paint,
): string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => plain(cell)))
  const widths = align.map((_, column) => Math.max(1, ...cells.map((row) => widthOf(row[column] ?? ''))))
  const total = widths.reduce((sum, columns) => sum + columns + 3, -3)
  if (total > width) return records(head, rows, width, paint)
  const line = (row: readonly string[], style: Style) =>
    row
      .map((cell, column) => paint(style, padded(cell, widths[column]!, align[column])))
      .join(paint(styles.dim, ' │ '))
      .trimEnd()
  const rule = paint(styles.dim, widths.map((columns) => '─'.repeat(columns)).join('─┼─'))
  return [line(cells[0]!, styles.bold), rule, ...cells.slice(1).map((row) => line(row, styles.plain))]
}

/** A table that is too wide, drawn as one record after the other. */
function records(
  head: readonly (readonly MarkdownInline[])[],
  rows: readonly (readonly (readonly MarkdownInline[])[])[],
  width: number,
  paint: Paint,
): string[] {
  return rows.flatMap((row, index) => [
    ...(index > 0 ? [''] : []),
    ...row.flatMap((cell, column) =>
      wrap([{ text: `${plain(head[column] ?? [])}: `, style: styles.bold }, ...spansOf(cell)], width, paint),
    ),
  ])
}

function plain(cell: readonly MarkdownInline[]): string {
  return spansOf(cell)
    .map(({ text }) => text)
    .join('')
    .replaceAll('\n', ' ')
}

function padded(text: string, width: number, align: 'left' | 'center' | 'right' | undefined): string {
  const missing = Math.max(0, width - widthOf(text))
  const before = align === 'right' ? missing : align === 'center' ? missing >> 1 : 0
  return ' '.repeat(before) + text + ' '.repeat(missing - before)
}

function spansOf(inlines: readonly MarkdownInline[], style: Style = styles.plain): Span[] {
  return inlines.flatMap((inline) => spansOfOne(inline, style))
}

function spansOfOne(inline: MarkdownInline, style: Style): Span[] {
  switch (inline.type) {
    case 'text':
      return [{ text: inline.text, style }]
    case 'break':
      return [{ text: '\n', style }]
    case 'code':
      // With its marks, so that it is recognizable without colours, too.
      return [{ text: `\`${inline.text}\``, style: join(style, styles.cyan) }]
    case 'emphasis':
      return spansOf(inline.children, join(style, styles.italic))
    case 'strong':
      return spansOf(inline.children, join(style, styles.bold))
    case 'strike':
      return spansOf(inline.children, join(style, styles.strike))
    case 'link': {
      const inside = spansOf(inline.children, join(style, styles.underline))
      const same = markdownText(inline.children) === inline.target
      return same ? inside : [...inside, { text: ` (${inline.target})`, style: styles.dim }]
    }
    case 'image':
      return [{ text: `[image: ${inline.alt || inline.target.slice(0, 60)}]`, style: styles.dim }]
  }
}

/** Returns the same list for the same styles, so that spans of one style are painted as one. */
function join(outer: Style, inner: Style): Style {
  if (outer.length === 0) return inner
  return outer.includes(inner[0]!) ? outer : [...outer, ...inner]
}

export type MarkdownPieces = ReturnType<typeof markdownPieces>

/**
 * Splits a growing Markdown text where blocks end: at an empty line outside a fence, if the next line is not
 * indented. The pieces are the same however the text arrives.
 */
export function markdownPieces() {
  /** The incomplete line, and the whole lines of this piece. */
  let rest: string[] = []
  let lines: string[] = []
  let fence: Fence | undefined
  let gap = false

  const take = (line: string): string[] => {
    const empty = line.trim() === ''
    const begins = gap && !empty && line[0] !== ' ' && line[0] !== '\t'
    const done = begins ? flush() : []
    if (!empty) gap = false
    if (empty && !fence) gap = true
    lines.push(line)
    fence = fenceAfter(fence, fenceOf(line.trim()))
    return done
  }
  const flush = (): string[] => {
    const text = lines.join('\n')
    lines = []
    gap = false
    return text.trim() === '' ? [] : [text]
  }

  return {
    /** The pieces that are complete now. */
    write(text: string): string[] {
      const done: string[] = []
      let from = 0
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        const line = rest.join('') + text.slice(from, at)
        rest = []
        done.push(...take(line.endsWith('\r') ? line.slice(0, -1) : line))
        from = at + 1
      }
      if (from < text.length) rest.push(text.slice(from))
      return done
    },
    /** The rest, at the end of the message. */
    end(): string[] {
      const line = rest.join('')
      rest = []
      const done = [...(line === '' ? [] : take(line)), ...flush()]
      fence = undefined
      return done
    },
  }
}
