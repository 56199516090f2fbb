import { replacedLines } from '../../views/changes.ts'
import { type MarkdownBlock, markdownBlocks } from '../../views/markdown/blocks.ts'
import type { MarkdownInline } from '../../views/markdown/inlines.ts'
import { button, make } from './element.ts'

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
      return make(`p.heading.level-${block.level}`, ...inlineNodes(block.children))
    case 'paragraph':
      return make('p', ...inlineNodes(block.children))
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
          checked === undefined ? 'li' : 'li.task',
          checked === undefined ? undefined : checked ? '☑ ' : '☐ ',
          ...tight(blocks),
        ),
      )
      if (block.start === undefined) return make('ul', ...items)
      return make('ol', { start: block.start === 1 ? undefined : block.start }, ...items)
    }
    case 'quote':
      return make('blockquote', ...block.blocks.map(blockNode))
    case 'table': {
      const side = (column: number) => ({ class: block.align[column] })
      const head = block.head.map((cell, column) => make('th', side(column), ...inlineNodes(cell)))
      const rows = block.rows.map((row) =>
        make('tr', ...row.map((cell, column) => make('td', side(column), ...inlineNodes(cell)))),
      )
      const table = make('table', make('thead', make('tr', ...head)), make('tbody', ...rows))
      return make('div.table', { tabindex: 0, role: 'region', 'aria-label': 'Table' }, table)
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
      return make('code', inline.text)
    case 'break':
      return make('br')
    case 'emphasis':
      return make('em', ...inlineNodes(inline.children))
    case 'strong':
      return make('strong', ...inlineNodes(inline.children))
    case 'strike':
      return make('s', ...inlineNodes(inline.children))
    case 'image':
      // Never fetched: requesting a picture would tell its server who reads this.
      return make('span.picture', { title: inline.target }, `[${inline.alt || inline.target}]`)
    case 'link': {
      const children = inlineNodes(inline.children)
      if (!inline.web) return make('span.picture', { title: inline.target }, ...children)
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
const MAX_COLOURED_LINES = 500

/** A unified diff, with added and removed lines distinguished by sign and colour. */
export function diffNodes(diff: string, language = ''): HTMLElement {
  const lines = diff.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const shown = lines.slice(0, MAX_LINES).map((line, index) => {
    const kind = diffLineKind(line)
    const isCode = kind !== 'meta' && kind !== 'hunk' && index < MAX_COLOURED_LINES
    const code = isCode ? coloured(line.slice(1), language) : [line.slice(1)]
    return make('span', { class: kind }, line.slice(0, 1), ...code, '\n')
  })
  const more = lines.length - shown.length
  if (more > 0) shown.push(make('span.meta', `… ${more.toLocaleString()} more lines`))
  return make('pre.diff', { tabindex: 0 }, ...shown)
}

/** Two texts, the one before and the one after, as a diff of whole lines. */
export function replacedNodes(before: string, after: string, language: string): HTMLElement {
  return diffNodes(replacedLines(before, after), language)
}

/** Whether a text is a unified diff, judging by its first lines. */
export function isDiff(text: string): boolean {
  if (text.startsWith('*** Begin Patch') || text.startsWith('@@ ')) return true
  return text.startsWith('diff --git ') || (text.startsWith('--- ') && text.slice(0, 2000).includes('\n+++ '))
}

function diffLineKind(line: string): string | undefined {
  if (['+++', '---', 'diff ', '*** ', 'index '].some((start) => line.startsWith(start))) return 'meta'
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : undefined
}

/** Characters of one text to draw at once; a button shows the rest. */
const MAX_TEXT = 60_000
/** Characters to colour: more of them would take longer than a frame. */
const MAX_COLOURED = 20_000

/** Words of a dozen languages; a word that another language uses otherwise is coloured all the same. */
const keywords: ReadonlySet<string> = /* @__PURE__ */ new Set(
  'and as async await bool break case catch class const continue def default delete do elif else end enum except export extends false final finally fn for from func function if impl implements import in instanceof int interface is lambda let match mod module mut new nil none not null of or package pass private protected pub public raise readonly return self static string struct super switch then this throw true try type typeof undefined union use using var void where while with yield'.split(
    ' ',
  ),
)
const hashed = new Set('py python rb ruby sh bash zsh shell yaml yml toml pl r'.split(' '))
const slashed = new Set(
  'c cc cpp cs css go h hpp java javascript js json jsonc jsx kt mjs cjs php rs rust scala scss swift ts tsx typescript'.split(
    ' ',
  ),
)

// A comment, a text in quotes, a number or a word. Bounded, so that an open quote is not looked for all day.
const HASHED =
  /(#[^\n]*)|("(?:[^"\\\n]|\\.){0,400}"|'(?:[^'\\\n]|\\.){0,400}')|(\b\d[\w.]{0,40})|[A-Za-z_]\w{0,80}/g
const SLASHED =
  /(\/\/[^\n]*|\/\*[^*]{0,2000}\*\/)|("(?:[^"\\\n]|\\.){0,400}"|'(?:[^'\\\n]|\\.){0,400}'|`(?:[^`\\]|\\.){0,2000}`)|(\b\d[\w.]{0,40})|[A-Za-z_]\w{0,80}/g

/** The language of a file, by its ending. */
export function languageOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase()
}

/** Code with its comments, texts, numbers and keywords coloured; unchanged if the language is not known. */
function coloured(code: string, language: string): (Node | string)[] {
  const pattern = hashed.has(language) ? HASHED : slashed.has(language) ? SLASHED : undefined
  if (!pattern || code.length > MAX_COLOURED) return [code]
  const nodes: (Node | string)[] = []
  let done = 0
  for (const match of code.matchAll(pattern)) {
    const [text, comment, quoted, number] = match
    const literal = (comment && 'comment') || (quoted && 'quoted') || (number && 'number')
    const kind = literal || (keywords.has(text) && 'keyword')
    if (!kind) continue
    nodes.push(code.slice(done, match.index), make('span', { class: kind }, text))
    done = match.index + text.length
  }
  return [...nodes, code.slice(done)]
}

/** A text in a separate box; a very long one only in part, until the reader asks for the rest. */
export function codeText(text: string, language = ''): Node[] {
  const frame = make('pre', { tabindex: 0 }, ...coloured(text.slice(0, MAX_TEXT), language))
  if (text.length <= MAX_TEXT) return [frame]
  const more = button(
    { class: 'more' },
    () => {
      frame.append(text.slice(MAX_TEXT))
      more.remove()
    },
    `Show ${(text.length - MAX_TEXT).toLocaleString()} more characters`,
  )
  return [frame, more]
}
