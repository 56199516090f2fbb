import { make } from './element.ts'

/** An image that an engine embedded as data. */
export interface ImageData64 {
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
export function imagesIn(value: unknown): ImageData64[] {
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
export function imageNode({ type, base64 }: ImageData64): HTMLElement {
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
