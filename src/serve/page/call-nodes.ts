import { callText } from '../../events/call-words.ts'
import { after, before, paths } from '../../views/changes.ts'
import type { ToolItem } from '../../views/conversation.ts'
import { pretty } from '../../views/tool-text.ts'
import { button, make } from './element.ts'
import { subjectOf } from './item-text.ts'
import { codeText, diffNodes, isDiff, languageOf, replacedNodes } from './markdown-nodes.ts'
import { countWords, visible } from './words.ts'

/** Characters of a command that the line of its call shows. */
const MAX_LINE = 120
/** Lines of the output of a failed call to show: errors are usually at the end. */
const TAIL_LINES = 14

export function callNodes(item: ToolItem): Node[] {
  const subject = subjectOf(item)
  const long = item.does === 'execute' && isLong(subject)
  const path = pathIn(item.input)
  return [
    ...(long ? codeText(visible(subject), 'sh') : []),
    ...inputNodes(item.input ?? item.lateInput, subject),
    ...outputNodes(item, path === undefined ? '' : languageOf(path)),
  ]
}

type Fields = Readonly<Record<string, unknown>>

/** Fields that are a file, however short. */
const texts = ['content', 'contents', 'file_text', 'patch', 'diff', 'unified_diff']
const commands = ['command', 'cmd', 'commands']
/** Fields by which an agent finds its own calls again: they tell a reader nothing. */
const ids = ['call_id', 'turn_id', 'thread_id', 'item_id', 'started_at_ms']

function pathIn(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const fields = input as Fields // cast: an object, whose fields are checked
  const named = paths.map((name) => fields[name]).find((value) => typeof value === 'string')
  return named as string | undefined // cast: found as a string
}

/**
 * The input of a call as a person would write it: edits as diffs, files as code, texts as texts, and only the
 * rest as JSON. What is `told` already is left out.
 */
export function inputNodes(input: unknown, told: string, depth = 0): Node[] {
  if (input === undefined || input === null) return []
  const isSaid = (value: unknown) => value === told || told.endsWith(`: ${value}`)
  if (typeof input === 'string') return isSaid(input) ? [] : textNodes(input, '')
  if (typeof input !== 'object' || depth > 2) return codeText(visible(pretty(input)))
  if (Array.isArray(input)) return input.slice(0, 100).flatMap((one) => inputNodes(one, '', depth + 1))
  const fields = input as Fields // cast: an object, whose fields are checked
  const [old, fresh] = [before, after].map((names) => names.find((name) => typeof fields[name] === 'string'))
  const language = languageOf(pathIn(input) ?? '')
  const nodes: Node[] = []
  const short: string[] = []
  for (const [name, value] of Object.entries(fields)) {
    if (name === old || name === fresh || ids.includes(name)) continue
    if (told !== '' && (commands.includes(name) || isSaid(value))) continue
    if (name === 'changes' && typeof value === 'object' && value !== null) nodes.push(...changeNodes(value))
    else if (typeof value === 'object' && value !== null) {
      nodes.push(make('p.label', name), ...inputNodes(value, '', depth + 1))
    } else if (typeof value === 'string' && (texts.includes(name) || isLong(value))) {
      nodes.push(make('p.label', name), ...textNodes(value, language))
    } else short.push(`${name}: ${value}`)
  }
  if (old !== undefined && fresh !== undefined)
    nodes.push(replacedNodes(String(fields[old]), String(fields[fresh]), language))
  return [...(short.length > 0 ? [make('p.fields', visible(short.join(' · ')))] : []), ...nodes]
}

/** Changes of files, as Codex lists them: by path, or each with its path. */
function changeNodes(changes: object): Node[] {
  return Object.entries(changes).flatMap(([key, change]: [string, Fields | null]) => {
    const path = pathIn(change) ?? key
    const { kind, type, diff, unified_diff, content } = change ?? {}
    const way = String((kind as Fields | undefined)?.['type'] ?? kind ?? type) // cast: any value has fields
    const text = [diff, unified_diff, content].find((value) => typeof value === 'string') ?? ''
    const language = languageOf(path)
    const body =
      way === 'add' || way === 'delete'
        ? replacedNodes(way === 'add' ? '' : text, way === 'add' ? text : '', language)
        : text && textNodes(text, language)
    return [make('p.fields', `${signs[way] ?? ''}${path}`), ...(body ? [body].flat() : [])]
  })
}

const signs: Readonly<Record<string, string>> = { add: '+ ', update: '~ ', delete: '− ' }

function isLong(text: string): boolean {
  return text.length > MAX_LINE || text.includes('\n')
}

function textNodes(text: string, language: string): Node[] {
  return isDiff(text) ? [diffNodes(text, language)] : codeText(visible(text), language)
}

function outputNodes(item: ToolItem, language: string): Node[] {
  const { output, error, state } = item
  const images = typeof output === 'string' && !output.startsWith('data:image/') ? [] : imagesIn(output)
  if (images.length > 0) {
    const hidden = new Set(images.map(({ base64 }) => base64))
    const isImage = (value: unknown) =>
      typeof value === 'string' && hidden.has(value.slice(value.indexOf(',') + 1))
    const text = JSON.stringify(output, (_, value) => (isImage(value) ? '(image)' : value), 2)
    return [...images.map(imageNode), ...codeText(text, 'json')]
  }
  const text = readable(callText({ output, error }))
  if (text === '') return state === 'running' ? [] : [make('p.void', 'No output')]
  if (isDiff(text)) return [diffNodes(text, language)]
  if (state === 'failed') return tailNodes(text)
  return codeText(visible(text), /^[[{]/.test(text) ? 'json' : language)
}

/** The end of a text, and all of it on request. */
function tailNodes(text: string): Node[] {
  const lines = text.split('\n')
  if (lines.length <= TAIL_LINES) return codeText(visible(text))
  const frame = make('pre', { tabindex: 0 }, visible(lines.slice(-TAIL_LINES).join('\n')))
  const all = button(
    { class: 'more' },
    () => {
      all.remove()
      frame.replaceWith(...codeText(visible(text)))
    },
    `Show all ${countWords(lines.length, 'line')}`,
  )
  return [all, frame]
}

/** JSON in one line is indented. */
function readable(text: string): string {
  if (!/^[[{]/.test(text) || text.length > 200_000 || text.includes('\n')) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
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
 * `{source: {data, media_type}}` (Claude), a `data:` address in a text field. Nothing is fetched.
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
