import { type MarkdownBlock, markdownBlocks } from '../../views/markdown/blocks.ts'
import type { MarkdownInline } from '../../views/markdown/inlines.ts'
import { coloured } from './code-nodes.ts'
import { make } from './element.ts'

/** Maximum length of a message to render as Markdown, in characters; a longer one is shown as plain text. */
const MAX_MARKDOWN = 200_000

/** A message as elements. Only elements of a fixed list are created, and text stays text. */
export function markdownNodes(text: string): Node[] {
  if (text.length > MAX_MARKDOWN) return [make('pre', { tabindex: 0 }, text)]
  return markdownBlocks(text).map(blockNode)
}

function blockNode(block: MarkdownBlock): Node {
  switch (block.type) {
    case 'heading':
      // Not a heading element: the headings of an agent are not headings of the page.
      return make('p', `heading level-${block.level}`, ...inlineNodes(block.children))
    case 'paragraph':
      return make('p', {}, ...inlineNodes(block.children))
    case 'code':
      return block.language === 'diff'
        ? diffNodes(block.text)
        : make(
            'pre',
            { tabindex: 0, 'data-language': block.language || undefined },
            ...coloured(block.text, block.language),
          )
    case 'list': {
      const items = block.items.map(({ checked, blocks }) =>
        make(
          'li',
          checked === undefined ? undefined : 'task',
          checked === undefined ? undefined : checked ? '☑ ' : '☐ ',
          ...tight(blocks),
        ),
      )
      if (block.start === undefined) return make('ul', {}, ...items)
      return make('ol', { start: block.start === 1 ? undefined : block.start }, ...items)
    }
    case 'quote':
      return make('blockquote', {}, ...block.blocks.map(blockNode))
    case 'table': {
      const side = (column: number) => ({ class: block.align[column] })
      const head = block.head.map((cell, column) => make('th', side(column), ...inlineNodes(cell)))
      const rows = block.rows.map((row) =>
        make('tr', {}, ...row.map((cell, column) => make('td', side(column), ...inlineNodes(cell)))),
      )
      const table = make('table', {}, make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows))
      return make('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': 'Table' }, table)
    }
    case 'rule':
      return make('hr')
  }
}

/** A single paragraph of an item needs no element of its own. */
function tight(blocks: readonly MarkdownBlock[]): Node[] {
  const [first, ...rest] = blocks
  if (first?.type !== 'paragraph') return blocks.map(blockNode)
  return [...inlineNodes(first.children), ...rest.map(blockNode)]
}

function inlineNodes(inlines: readonly MarkdownInline[]): Node[] {
  return inlines.map(inlineNode)
}

function inlineNode(inline: MarkdownInline): Node {
  switch (inline.type) {
    case 'text':
      return document.createTextNode(inline.text)
    case 'code':
      return make('code', {}, inline.text)
    case 'break':
      return make('br')
    case 'emphasis':
      return make('em', {}, ...inlineNodes(inline.children))
    case 'strong':
      return make('strong', {}, ...inlineNodes(inline.children))
    case 'strike':
      return make('s', {}, ...inlineNodes(inline.children))
    case 'image':
      // Never fetched: requesting a picture would tell its server who reads this.
      return make('span', { class: 'picture', title: inline.target }, `[${inline.alt || inline.target}]`)
    case 'link': {
      const children = inlineNodes(inline.children)
      if (!inline.web) return make('span', { class: 'picture', title: inline.target }, ...children)
      const props = {
        href: inline.target,
        title: inline.target,
        target: '_blank',
        rel: 'noreferrer noopener',
      }
      return make('a', props, ...children)
    }
  }
}

/** A line of Markdown without its paragraph. */
export function lineNodes(line: string): Node[] {
  return tight(markdownBlocks(line))
}

/** Maximum number of lines of a diff to draw; the rest is counted. */
const MAX_LINES = 2000
/** And of lines whose code is coloured. */
const MAX_COLOURED = 500

/** A unified diff, with added and removed lines distinguished by sign and colour. */
export function diffNodes(diff: string, language = ''): HTMLElement {
  const lines = diff.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const shown = lines.slice(0, MAX_LINES).map((line, index) => {
    const kind = kindOf(line)
    const isCode = kind !== 'meta' && kind !== 'hunk' && index < MAX_COLOURED
    const code = isCode ? coloured(line.slice(1), language) : [line.slice(1)]
    return make('span', kind, line.slice(0, 1), ...code, '\n')
  })
  const more = lines.length - shown.length
  if (more > 0) shown.push(make('span', 'meta', `… ${more.toLocaleString()} more lines`))
  return make('pre', { class: 'diff', tabindex: 0 }, ...shown)
}

/** Two texts, the one before and the one after, as a diff of whole lines. */
export function replacedNodes(before: string, after: string, language: string): HTMLElement {
  const signed = (sign: string, text: string) =>
    text === ''
      ? []
      : text
          .slice(0, MAX_TEXT - 1)
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => sign + line)
  return diffNodes([...signed('-', before), ...signed('+', after)].join('\n'), language)
}

const MAX_TEXT = 200_000

/** Whether a text is a unified diff, judging by its first lines. */
export function isDiff(text: string): boolean {
  if (text.startsWith('*** Begin Patch') || text.startsWith('@@ ')) return true
  return text.startsWith('diff --git ') || (text.startsWith('--- ') && text.slice(0, 2000).includes('\n+++ '))
}

function kindOf(line: string): string | undefined {
  if (
    line.startsWith('+++') ||
    line.startsWith('---') ||
    line.startsWith('diff ') ||
    line.startsWith('*** ') ||
    line.startsWith('index ')
  )
    return 'meta'
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : undefined
}
