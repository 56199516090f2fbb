import type { ConversationView } from './conversation-view.ts'
import { byId } from './element.ts'
import type { Item } from './item.ts'

const BINS = 240
const SVG = 'http://www.w3.org/2000/svg'
/** What a stretch of time shows if several things happened in it, the most telling first. */
const ranks = ['failed', 'file', 'tool', 'message', 'other'] as const
type Rank = (typeof ranks)[number]

/**
 * When things happened: the time of the run from left to right, with what was going on in each stretch. A click goes there.
 * Events that were read at once have one time, and then there is no line.
 */
export function drawTimeline(box: HTMLElement, view: ConversationView): void {
  const { items } = view.model
  const begin = Date.parse(items[0]?.ts ?? '')
  const end = Date.parse(items.at(-1)?.ts ?? '')
  const span = end - begin
  box.hidden = !(span > 0)
  // While a long run is being read, a line that is drawn anew for every twentieth more of it is new enough.
  const drawn = Number(box.dataset['count'] ?? 0)
  const over = byId('conversation').dataset['over'] === 'true'
  if (
    box.hidden ||
    drawn === items.length ||
    (!over && drawn > 1000 && items.length < drawn * 1.05 && items.length > drawn)
  )
    return
  box.dataset['count'] = String(items.length)
  const bins: ({ rank: number; item: Item } | undefined)[] = []
  for (const item of items) {
    const from = Math.max(0, Math.floor(((Date.parse(item.ts) - begin) / span) * (BINS - 1)))
    // A tool fills the time it took.
    const took = item.kind === 'tool' ? (item.milliseconds ?? 0) : 0
    const to = Math.min(BINS - 1, from + Math.floor((took / span) * (BINS - 1)))
    const rank = ranks.indexOf(rankOf(item))
    for (let bin = from; bin <= to; bin++)
      if (rank < (bins[bin]?.rank ?? ranks.length)) bins[bin] = { rank, item }
  }
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', `0 0 ${BINS} 8`)
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('aria-hidden', 'true')
  bins.forEach((bin, at) => {
    if (!bin) return
    const bar = document.createElementNS(SVG, 'rect')
    bar.setAttribute('x', String(at))
    bar.setAttribute('width', '1')
    bar.setAttribute('height', '8')
    bar.setAttribute('class', ranks[bin.rank]!)
    svg.append(bar)
  })
  svg.addEventListener('click', ({ clientX }) => {
    const { left, width } = svg.getBoundingClientRect()
    const wanted = Math.floor(((clientX - left) / width) * BINS)
    let near: Item | undefined
    for (let off = 0; off < BINS && !near; off++) near = (bins[wanted - off] ?? bins[wanted + off])?.item
    if (near) view.go(near)
  })
  box.replaceChildren(svg)
}

function rankOf(item: Item): Rank {
  if (item.problem) return 'failed'
  if (item.kind === 'artifact') return 'file'
  if (item.kind === 'tool') return 'tool'
  return item.kind === 'message' || item.kind === 'prompt' || item.kind === 'reasoning' ? 'message' : 'other'
}
