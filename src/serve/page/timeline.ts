import type { Item } from '../../views/conversation.ts'
import type { ConversationView } from './conversation-view.ts'
import { byId, make } from './element.ts'
import { clockWords } from './words.ts'

const BINS = 240
/** What the colours mean, in the order of the legend. */
const ranks = ['messages', 'calls', 'files', 'problems', 'other'] as const
type Rank = (typeof ranks)[number]

/** What happened in an interval, and the target of a click on it. */
interface Bin {
  readonly counts: Map<Rank, number>
  first: Item
}

/** The start of the run that was drawn last, and how many items it had then. */
let drawn = { begin: 0, count: 0 }

/**
 * Shows when things happened: the time of the run from left to right, with the activity of each interval, an
 * axis and a legend. A click goes there. Events that were read at once have the same time, and then there is
 * no timeline.
 */
export function drawTimeline(view: ConversationView, over: boolean): void {
  const box = byId('timeline')
  const { items } = view.model
  const begin = Date.parse(items[0]?.ts ?? '')
  const end = Date.parse(items.at(-1)?.ts ?? '')
  const span = end - begin
  box.hidden = !(span > 0)
  // Another run may have as many items as the one before.
  const count = drawn.begin === begin ? drawn.count : 0
  // While a long run is being read, redrawing after every 5 % of it is enough.
  const isEnough = !over && count > 1000 && items.length < count * 1.05 && items.length > count
  if (!(span > 0) || count === items.length || isEnough) return
  drawn = { begin, count: items.length }
  const bins: Bin[] = []
  const seen = new Set<Rank>()
  for (const item of items) {
    const from = Math.max(0, Math.floor(((Date.parse(item.ts) - begin) / span) * (BINS - 1)))
    // A tool fills the time it took.
    const took = item.kind === 'tool' ? (item.milliseconds ?? 0) : 0
    const to = Math.min(BINS - 1, from + Math.floor((took / span) * (BINS - 1)))
    const rank = rankOf(item)
    seen.add(rank)
    for (let at = from; at <= to; at++) {
      const bin = bins[at] ?? { counts: new Map(), first: item }
      bins[at] = bin
      bin.counts.set(rank, (bin.counts.get(rank) ?? 0) + 1)
      if (rank === 'problems' && bin.first.problem === undefined) bin.first = item
    }
  }
  const svg = svgNode('svg', { viewBox: `0 0 ${BINS} 8`, preserveAspectRatio: 'none', 'aria-hidden': 'true' })
  bins.forEach(({ counts }, at) => {
    svg.append(svgNode('rect', { x: at, width: 1, height: 8, class: mostOf(counts) }))
  })
  svg.addEventListener('click', ({ clientX }) => {
    const { left, width } = svg.getBoundingClientRect()
    const wanted = Math.floor(((clientX - left) / width) * BINS)
    let near: Item | undefined
    for (let off = 0; off < BINS && !near; off++) near = (bins[wanted - off] ?? bins[wanted + off])?.first
    if (near) view.go(near)
  })
  const ticks = span < 4000 ? [0, 1] : [0, 0.25, 0.5, 0.75, 1]
  const legend = ranks.filter((rank) => seen.has(rank))
  box.replaceChildren(
    svg,
    make('p.axis', ...ticks.map((part) => make('span', clockWords(span * part)))),
    make('p.legend', ...legend.map((rank) => make(`span.${rank}`, rank))),
  )
}

export function svgNode(tag: 'svg' | 'rect', props: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value))
  return element
}

function rankOf(item: Item): Rank {
  if (item.problem) return 'problems'
  if (item.kind === 'artifact') return 'files'
  if (item.kind === 'tool' || item.kind === 'request') return 'calls'
  return item.kind === 'message' || item.kind === 'prompt' || item.kind === 'reasoning' ? 'messages' : 'other'
}

/** A failure always wins; else the most frequent kind. */
function mostOf(counts: ReadonlyMap<Rank, number>): Rank {
  if (counts.has('problems')) return 'problems'
  return [...counts].reduce((most, next) => (next[1] > most[1] ? next : most))[0]
}
