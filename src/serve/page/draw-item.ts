import { callSubject } from '../../events/call-words.ts'
import { outcomeOf } from '../../events/run-outcome.ts'
import type { FileItem, Item, NoteItem, RequestItem, StatusItem, ToolItem } from '../../views/conversation.ts'
import { answerWords, choiceLines, pretty } from '../../views/tool-text.ts'
import { firstLine } from '../../views/words.ts'
import { callNodes, inputNodes } from './call-nodes.ts'
import { make } from './element.ts'
import type { Group, Row } from './item-list.ts'
import { subjectOf } from './item-text.ts'
import { codeText, diffNodes, languageOf, lineNodes, markdownNodes } from './markdown-nodes.ts'
import { countWords, durationWords, outcomeLine, visible, whyEnded } from './words.ts'

/** The form that a request can be answered with, if it can. */
type FormOf = (item: RequestItem) => HTMLElement | undefined

/** Draws an item. Folded content is drawn when it is unfolded. */
export function drawItem(item: Item, form?: FormOf): HTMLElement {
  const props = {
    'data-kind': item.kind,
    'data-outcome': item.kind === 'tool' && item.state !== 'running' ? item.state : undefined,
    'data-problem': item.problem ? '' : undefined,
    class: 'nested' in item && item.nested ? 'nested' : undefined,
    'aria-label': labelOf(item),
    title: titleOf(item),
  }
  return article(item, props, safeBody(item, form))
}

function article(
  { id, seq }: Pick<Item, 'id' | 'seq'>,
  props: Readonly<Record<string, string | undefined>>,
  body: Node,
): HTMLElement {
  const number = make('span.seq', { 'aria-hidden': 'true' }, String(seq))
  return make('article', { tabindex: -1, 'data-id': id, ...props }, number, make('div.body', body))
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
  const time = Date.parse(item.ts) > 0 ? ` · ${item.ts}` : ''
  return `${item.type}${time}${sure}`
}

/** If one item cannot be drawn, the others must still be drawn. */
function safeBody(item: Item, form: FormOf | undefined): Node {
  try {
    return bodyOf(item, form)
  } catch (error) {
    return make('div.note', `this ${item.kind} does not have the shape of its type: ${error}`)
  }
}

function bodyOf(item: Item, form: FormOf | undefined): Node {
  switch (item.kind) {
    case 'message':
      return make(
        item.growing ? 'div.said.open' : 'div.said',
        ...(item.growing ? [make('div.plain', item.text)] : markdownNodes(item.text)),
        item.incomplete && make('div.cut', 'cut off'),
      )
    case 'prompt':
      return isFold(item)
        ? fold(item, 'asked', [make('span.text', firstLine(item.text))], () => codeText(item.text))
        : make('div.asked', item.text)
    case 'reasoning': {
      if (item.growing) return make('div.reason', make('div.said.open', make('div.plain', item.text)))
      const [first, rest] = thoughtParts(item)
      const head = make('span.text', ...(first === '' ? ['Thoughts'] : lineNodes(first)))
      if (rest === '') return make('div.reason', head)
      return fold(item, 'reason', [head], () => [make('div.said', ...markdownNodes(rest))])
    }
    case 'tool':
      return toolBody(item)
    case 'request':
      return requestBody(item, form?.(item))
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
        make('span.name', 'Result'),
        make('span.text', firstLine(callSubject(value))),
        make(fine ? 'span.how.good' : 'span.how.bad', status),
      ]
      return fold(item, 'tool', head, () => codeText(pretty(fine ? value : errors), 'json'))
    }
    case 'end': {
      const outcome = outcomeOf(item.end)
      return make(
        'div.end',
        make('p.title', make(`span.dot.${outcome}`), outcomeLine(outcome, item.end.failure_class)),
        make('p', whyEnded(item.end)),
      )
    }
    case 'raw': {
      const count = countWords(item.lines.length, 'raw line')
      const head = [
        make('span.text', `${count} · ${item.stream} · ${visible(firstLine(item.lines[0] ?? ''))}`),
      ]
      return fold(item, 'lines', head, () => codeText(visible(item.lines.join('\n'))))
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
    case 'reasoning':
      return !item.growing && thoughtParts(item)[1] !== ''
    default:
      return ['tool', 'raw', 'result'].includes(item.kind)
  }
}

function fold(
  item: Item,
  name: string,
  head: readonly Node[],
  body: () => readonly Node[],
): HTMLDetailsElement {
  const details = make(`details.${name}`, make('summary', { tabindex: -1 }, ...head))
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
  const took = item.milliseconds ? durationWords(item.milliseconds) : ''
  const word = item.state === 'completed' && took !== '' ? '' : outcomeWord(item)
  const head = [
    make('span.name', { title: item.name }, item.does === 'execute' ? '$' : item.name),
    make('span.text', firstLine(subjectOf(item))),
    make(
      `span.how.${bad ? 'bad' : item.state === 'completed' ? 'good' : ''}`,
      [word, took].filter(Boolean).join(' · '),
    ),
  ]
  return fold(item, 'tool', head, () => [make('div.io', ...callNodes(item))])
}

/** Good calls in a row, as one line. */
export function drawGroup({ items, open }: Group): HTMLElement {
  const counts = new Map<string, number>()
  for (const { does } of items) counts.set(does, (counts.get(does) ?? 0) + 1)
  const words = [...counts].map(([does, count]) => countWords(count, ...(groupNouns[does] ?? CALLS)))
  const last = items.at(-1)!
  const took = Date.parse(last.ts) + (last.milliseconds ?? 0) - Date.parse(items[0]!.ts)
  const first = items.slice(0, 8).map((item) => firstLine(subjectOf(item)))
  return article(
    items[0]!,
    { 'data-kind': 'group', 'aria-label': `${words.join(', ')}, all done` },
    make(
      'button.group',
      { type: 'button', tabindex: -1, 'aria-expanded': String(open) },
      make('b', words.join(', ')),
      make('span.text', open ? '' : first.join(' · ')),
      make('span.how', took > 0 && durationWords(took)),
    ),
  )
}

const CALLS: readonly [string, string] = ['call', 'calls']
const groupNouns: Readonly<Record<string, readonly [string, string]>> = {
  execute: ['command', 'commands'],
  read: ['read', 'reads'],
  search: ['search', 'searches'],
  fetch: ['fetch', 'fetches'],
  think: ['thought', 'thoughts'],
}

/** What the agent asks, the possible answers, and the one that it got. */
function requestBody(item: RequestItem, form: HTMLElement | undefined): Node {
  const { request, by, option } = item
  const good = (by === 'user' || by === 'control') && !(option && /^(reject|cancel)/.test(option.kind))
  const asked = request.kind === 'question' ? [] : permissionNodes(item)
  // The title of a single question is the question.
  const lines = choiceLines(item).filter((line) => line !== request.title)
  return make(
    by === undefined || by === 'end' ? 'div.request.open' : 'div.request',
    make('p.title', visible(request.kind === 'question' ? request.title : `May it use ${request.tool}?`)),
    ...asked,
    ...(form
      ? [form]
      : [
          make(
            'ul',
            ...lines.map((line) => make('li', { class: line.startsWith('●') && 'chosen' }, visible(line))),
          ),
          make(`p.how.${good ? 'good' : ''}`, answerWords(item)),
        ]),
  )
}

/** What would be done: the command or the files, the rest of the input, then what the model says of it. */
function permissionNodes(item: RequestItem): Node[] {
  const { input, title, reason = '' } = item.request
  const subject = callSubject(input)
  const known = subject !== '' && !subject.startsWith('{')
  const listed = typeof input === 'object' && input !== null && 'changes' in input
  return [
    ...(listed ? [] : codeText(visible(known ? subject : title), 'sh')),
    ...inputNodes(input, subject),
    ...(subject.includes(reason) ? [] : [make('p', visible(`The model says: ${reason}`))]),
  ]
}

function outcomeWord(item: ToolItem): string {
  const failed = item.denied ? 'denied' : 'failed'
  const running = item.left ? 'did not end' : item.writing ? 'writing' : 'running'
  const word = { running, completed: 'done', failed }[item.state]
  return item.exitCode ? `${word} · exit ${item.exitCode}` : word
}

export const fileSigns = { created: '+ ', modified: '~ ', deleted: '− ' } as const

function fileBody(item: FileItem): Node {
  const { change, path, diff } = item
  const head = [make('b', fileSigns[change]), make('span.text', path)]
  if (diff === undefined) return make(`div.file.${change}`, ...head)
  return fold(item, `file.${change}`, head, () => [diffNodes(diff, languageOf(path))])
}

function noteBody({ severity, code, count, message }: NoteItem): Node {
  const many = count > 1 ? ` × ${count}` : ''
  // Every note of an engine has the same code: how bad it is says more.
  const word = code === 'ENGINE_ERROR' ? severity : code
  return make(`div.note.${severity}`, make('b', word + many), ` ${message}`)
}

function statusBody({ status, model, reason }: StatusItem): Node {
  const parts = [status.replaceAll('_', ' '), model, reason]
  return make('div.step', parts.filter(Boolean).join(' · '))
}

/** The first line of a thought, which is often its title, and the rest. */
function thoughtParts({ text }: { readonly text: string }): readonly [string, string] {
  const trimmed = text.trim()
  const first = firstLine(trimmed)
  return [first, trimmed.startsWith(first) ? trimmed.slice(first.length).trim() : trimmed]
}

/** The approximate height of an item before it is drawn. */
export function estimateHeight(item: Row): number {
  switch (item.kind) {
    case 'message':
    case 'prompt':
      return 16 + 25 * Math.max(1, Math.min(400, item.text.length / 80))
    case 'tool':
      return item.open ? 200 : 36
    case 'end':
      return 64
    case 'request':
      return 140
    default:
      return 34
  }
}
