import { outcomeOf } from '../../events/run-outcome.ts'
import type { FileItem, Item, NoteItem, RequestItem, StatusItem, ToolItem } from '../../views/conversation.ts'
import { answerWords, askWords, choiceLines } from '../../views/request-text.ts'
import { button, make } from './element.ts'
import { firstLine, pretty, summaryOf } from './item-text.ts'
import { diffNodes, isDiff, markdownNodes, replacedNodes } from './markdown-nodes.ts'
import { countWords, outcomeLine, spanWords, spentWords, visible, whyEnded } from './words.ts'

/** Characters of one text to draw at once; a button shows the rest. */
const MAX_TEXT = 60_000

/** Draws an item. Folded content is drawn when it is unfolded. */
export function drawItem(item: Item): HTMLElement {
  const element = make(
    'article',
    {
      tabindex: -1,
      'data-id': item.id,
      'data-kind': item.kind,
      'data-outcome': item.kind === 'tool' && item.state !== 'running' ? item.state : undefined,
      'data-problem': item.problem ? '' : undefined,
      class: 'nested' in item && item.nested ? 'nested' : undefined,
      'aria-label': labelOf(item),
      title: titleOf(item),
    },
    item.heading === undefined ? undefined : make('p', 'attempt', item.heading),
    make('span', { class: 'seq', 'aria-hidden': 'true' }, String(item.seq)),
    make('div', 'body', safeBody(item)),
  )
  return element
}

/** The label that a screen reader reads first. */
function labelOf(item: Item): string {
  const name = {
    message: 'Message',
    prompt: 'Prompt',
    reasoning: 'Thoughts',
    tool: 'Tool',
    request: 'Request',
    artifact: 'File',
    diagnostic: 'Note',
    status: 'Status',
    result: 'Result',
    end: 'End',
    raw: 'Raw output',
  }[item.kind]
  const more = item.kind === 'tool' ? ` ${item.name}, ${outcomeWord(item)}` : ''
  return `${name} ${item.id}${more}`
}

function titleOf(item: Item): string {
  const sure = item.confidence < 0.7 ? ` · confidence ${item.confidence}` : ''
  const time = Date.parse(item.ts) > 0 ? ` · ${item.ts.slice(11, 23)}` : ''
  return `${item.type}${time}${sure}`
}

/** If one item cannot be drawn, the others must still be drawn. */
function safeBody(item: Item): Node {
  try {
    return bodyOf(item)
  } catch (error) {
    return make('div', 'note', `this ${item.kind} does not have the shape of its type: ${error}`)
  }
}

function bodyOf(item: Item): Node {
  switch (item.kind) {
    case 'message':
      return make(
        'div',
        item.growing ? 'said open' : 'said',
        ...(item.growing ? [make('div', 'plain', item.text)] : markdownNodes(item.text)),
        item.incomplete && make('div', 'cut', 'cut off'),
      )
    case 'prompt':
      return isFold(item)
        ? fold(item, 'asked', [make('span', 'text', firstLine(item.text))], () => longText(item.text))
        : make('div', 'asked', item.text)
    case 'reasoning':
      return fold(item, 'reason', [make('span', 'text', plain(firstLine(item.text)) || 'Thoughts')], () => [
        make('div', 'said', ...markdownNodes(item.text)),
      ])
    case 'tool':
      return toolBody(item)
    case 'request':
      return requestBody(item)
    case 'artifact':
      return fileBody(item)
    case 'diagnostic':
      return noteBody(item)
    case 'status':
      return statusBody(item)
    case 'result': {
      const { status, value, errors } = item.result
      const fine = status === 'success'
      const head = [
        make('span', 'name', 'Result'),
        make('span', 'text', summaryOf(value)),
        make('span', fine ? 'how good' : 'how bad', status),
      ]
      return fold(item, 'tool', head, () => longText(pretty(fine ? value : errors)))
    }
    case 'end': {
      const outcome = outcomeOf(item.end)
      return make(
        'div',
        'end',
        make('p', 'title', make('span', `dot ${outcome}`), outcomeLine(outcome, item.end.failure_class)),
        make('p', {}, whyEnded(item.end)),
        spentWords(item.end) && make('p', {}, spentWords(item.end)),
      )
    }
    case 'raw': {
      const count = countWords(item.lines.length, 'raw line')
      const head = [
        make('span', 'text', `${count} · ${item.stream} · ${visible(firstLine(item.lines[0] ?? ''))}`),
      ]
      return fold(item, 'lines', head, () => longText(visible(item.lines.join('\n'))))
    }
  }
}

/** Characters of a prompt that are shown at once. */
const MAX_PROMPT = 1200

/** Whether an item has a part that is folded away. */
export function isFold(item: Item): boolean {
  switch (item.kind) {
    case 'prompt':
      return item.text.length > MAX_PROMPT
    case 'artifact':
      return item.diff !== undefined
    default:
      return ['tool', 'request', 'reasoning', 'raw', 'result'].includes(item.kind)
  }
}

function fold(
  item: Item,
  name: string,
  head: readonly Node[],
  body: () => readonly Node[],
): HTMLDetailsElement {
  const details: HTMLDetailsElement = make('details', name, make('summary', { tabindex: -1 }, ...head))
  const fill = () => {
    if (details.childElementCount === 1) details.append(...body())
  }
  if (item.open) {
    details.open = true
    fill()
  }
  details.addEventListener('toggle', () => {
    item.open = details.open
    if (details.open) fill()
  })
  return details
}

function toolBody(item: ToolItem): Node {
  const bad = item.state === 'failed'
  const took = item.milliseconds === undefined ? '' : ` · ${spanWords(item.milliseconds)}`
  const head = [
    make('span', 'name', item.name),
    make('span', 'text', summaryOf(item.input)),
    make('span', `how ${bad ? 'bad' : item.state === 'completed' ? 'good' : ''}`, outcomeWord(item) + took),
  ]
  const details = fold(item, 'tool', head, () => [inputAndOutput(item)])
  // Readers want to know why a call failed: its last lines are visible without unfolding.
  const tail = bad && !item.open ? lastLines(item.error ?? pretty(item.output)) : ''
  if (tail === '') return details
  const shown = make('pre', 'tail', tail)
  details.addEventListener('toggle', () => {
    shown.hidden = details.open
  })
  return make('div', {}, details, shown)
}

/** What the agent asks: folded, because the call that it is about is shown as well. */
function requestBody(item: RequestItem): Node {
  const { request, by, option } = item
  const good = by === 'user' && !(option && /^(reject|cancel)/.test(option.kind))
  const head = [
    make('span', 'name', 'Asks'),
    make('span', 'text', visible(firstLine(askWords(item)))),
    make('span', `how ${good ? 'good' : by === undefined || by === 'end' ? 'bad' : ''}`, answerWords(item)),
  ]
  return fold(item, 'tool', head, () => [
    make(
      'div',
      'io two',
      make('section', {}, make('p', 'label', request.tool), ...inputNodes(request.input)),
      make('section', {}, make('p', 'label', 'Choices'), ...longText(visible(choiceLines(item).join('\n')))),
    ),
  ])
}

function outcomeWord(item: ToolItem): string {
  const failed = item.denied ? 'denied' : 'failed'
  const word = { running: 'running', completed: 'done', failed }[item.state]
  return item.exitCode === undefined ? word : `${word} · exit ${item.exitCode}`
}

const TAIL_LINES = 6
const TAIL_CHARS = 1200

function lastLines(text: string): string {
  const lines = text.trimEnd().slice(-TAIL_CHARS).split('\n')
  return visible(lines.slice(-TAIL_LINES).join('\n'))
}

function inputAndOutput(item: ToolItem): HTMLElement {
  const half = (name: string, nodes: readonly Node[]) =>
    make('section', {}, make('p', 'label', name), ...nodes)
  const halves: HTMLElement[] = []
  if (item.input !== undefined) halves.push(half('Input', inputNodes(item.input)))
  const right: Node[] = []
  // Many engines repeat the output as the error.
  if (item.error !== undefined && item.error !== item.output) right.push(...longText(visible(item.error)))
  if (item.output !== undefined) right.push(...outputNodes(item.output))
  else if (item.error === undefined && item.state !== 'running') right.push(make('p', 'void', 'None'))
  if (right.length > 0) halves.push(half(item.state === 'failed' ? 'Error and output' : 'Output', right))
  return make('div', halves.length > 1 ? 'io two' : 'io', ...halves)
}

function inputNodes(input: unknown): Node[] {
  if (typeof input === 'object' && input !== null) {
    // Cast: an object, whose fields are checked below.
    const { old_string, new_string, ...rest } = input as Readonly<Record<string, unknown>>
    if (typeof old_string === 'string' && typeof new_string === 'string')
      return [...longText(pretty(rest)), replacedNodes(old_string, new_string)]
    // A single command is shown as it was typed, not as JSON.
    const [only, second] = Object.values(input)
    if (typeof only === 'string' && second === undefined) return longText(visible(only))
  }
  return longText(visible(pretty(input)))
}

function outputNodes(given: unknown): Node[] {
  const output = textBlocks(given) ?? given
  if (typeof output === 'string' && isDiff(output)) return [diffNodes(output)]
  const images = typeof output === 'string' && !output.startsWith('data:image/') ? [] : imagesIn(output)
  if (images.length === 0) return longText(visible(pretty(output)))
  const hidden = new Set(images.map(({ base64 }) => base64))
  const text = JSON.stringify(
    output,
    (_, value) =>
      typeof value === 'string' && hidden.has(value.slice(value.indexOf(',') + 1)) ? '(image)' : value,
    2,
  )
  return [...images.map(imageNode), ...longText(text)]
}

/** The text of an output that consists of text blocks, as several engines write it. */
function textBlocks(output: unknown): string | undefined {
  if (!Array.isArray(output) || output.length === 0) return undefined
  const texts = output.map((block) => (block?.type === 'text' ? block.text : undefined))
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : undefined
}

/** A text in a separate box; a very long one only in part, until the reader asks for the rest. */
function longText(text: string): Node[] {
  const frame = make('pre', { tabindex: 0 }, text.slice(0, MAX_TEXT))
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

export const fileSigns = { created: '+ ', modified: '~ ', deleted: '− ' } as const

function fileBody(item: FileItem): Node {
  const { change, path, diff } = item
  const head = [make('b', {}, fileSigns[change]), make('span', 'text', path)]
  if (diff === undefined) return make('div', `file ${change}`, ...head)
  return fold(item, `file ${change}`, head, () => [diffNodes(diff)])
}

function noteBody({ severity, code, count, message }: NoteItem): Node {
  const many = count > 1 ? ` × ${count}` : ''
  return make('div', `note ${severity}`, make('b', {}, code + many), ` ${message}`)
}

function statusBody({ status, model, reason, tokens, cost }: StatusItem): Node {
  const parts = [status.replaceAll('_', ' '), model, reason, spentWords({ tokens, cost })]
  return make('div', 'step', parts.filter(Boolean).join(' · '))
}

/** Removes Markdown marks at the ends of a line that is shown as text. */
function plain(line: string): string {
  let [from, to] = [0, line.length]
  while (from < to && '*#_ '.includes(line[from]!)) from++
  while (to > from && '*_ '.includes(line[to - 1]!)) to--
  return line.slice(from, to)
}

/** The approximate height of an item before it is drawn. */
export function estimateHeight(item: Item): number {
  switch (item.kind) {
    case 'message':
    case 'prompt':
      return 16 + 25 * Math.max(1, Math.min(400, item.text.length / 80))
    case 'tool':
      return item.state === 'failed' ? 100 : 36
    case 'end':
      return 110
    default:
      return 34
  }
}

/** An image that an engine embedded as data. */
interface ImageData64 {
  readonly type: string
  readonly base64: string
}

/** Formats that can only be pictures: an SVG could contain a script. */
const TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const MAX_BASE64 = 16 * 1024 * 1024
const MAX_IMAGES = 20
/** Limit of values to search, so that a huge output is not searched forever. */
const MAX_VALUES = 20_000

/**
 * Finds the images in the output of a tool, in the shapes that engines use: `{data, mimeType}` (MCP),
 * `{source: {data, media_type}}` (Claude), a `data:` address in a text field. A plain address does not count:
 * nothing is fetched.
 */
function imagesIn(value: unknown): ImageData64[] {
  const found: ImageData64[] = []
  const open: unknown[] = [value]
  for (let looked = 0; open.length > 0 && looked < MAX_VALUES && found.length < MAX_IMAGES; looked++) {
    const next = open.pop()
    if (typeof next === 'string') {
      const image = fromAddress(next)
      if (image) found.push(image)
    } else if (typeof next === 'object' && next !== null) {
      // Cast: an object, whose fields are checked there.
      const image = fromFields(next as Readonly<Record<string, unknown>>)
      if (image) found.push(image)
      else open.push(...Object.values(next).reverse())
    }
  }
  return found
}

/** The image as an element, with its data in the document. */
function imageNode({ type, base64 }: ImageData64): HTMLElement {
  const alt = `Image from the tool, ${type.slice('image/'.length)}`
  return make('img', { src: `data:${type};base64,${base64}`, alt, loading: 'lazy', decoding: 'async' })
}

function fromFields(fields: Readonly<Record<string, unknown>>): ImageData64 | undefined {
  const { data } = fields
  const type = fields['mimeType'] ?? fields['media_type'] ?? fields['mime_type']
  return typeof data === 'string' && typeof type === 'string' ? checked(type, data) : undefined
}

function fromAddress(text: string): ImageData64 | undefined {
  if (!text.startsWith('data:image/')) return undefined
  const comma = text.indexOf(',')
  const head = text.slice('data:'.length, Math.min(comma, 64))
  return head.endsWith(';base64')
    ? checked(head.slice(0, -';base64'.length), text.slice(comma + 1))
    : undefined
}

function checked(type: string, base64: string): ImageData64 | undefined {
  if (!TYPES.has(type) || base64.length > MAX_BASE64 || base64 === '') return undefined
  try {
    atob(base64)
  } catch {
    return undefined
  }
  return { type, base64 }
}
