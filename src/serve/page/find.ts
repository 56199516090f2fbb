import type { RawRef } from '../../events/event.ts'
import type { Item } from '../../views/conversation.ts'
import { byId, make } from './element.ts'
import type { ByteHit } from './find-bytes.ts'
import type { ItemList } from './item-list.ts'
import { textOf } from './item-text.ts'
import { pause } from './pause.ts'
import { virtualList } from './virtual-list.ts'
import { countWords } from './words.ts'

export interface FindOptions {
  readonly model: () => ItemList
  readonly go: (item: Item) => void
  /** The places of the raw logs that have the text as it was typed, piece by piece. */
  readonly searchBytes: (typed: string) => AsyncIterable<readonly ByteHit[]>
  readonly goToBytes: (ref: RawRef) => void
  readonly chosen: () => Item | undefined
  readonly onNeedle: (needle: string) => void
  /** Called when the reader leaves the field. */
  readonly onLeave: () => void
}

/** Finds text in the run, and lists every item that contains it. */
export interface Find {
  focus(): void
  /** Goes to the next hit, or the previous one. */
  step(by: 1 | -1): void
  /** Searches what has arrived since. */
  refresh(): void
  clear(): void
  readonly active: boolean
}

/** An item that contains the text, and how often. */
interface Hit {
  readonly item?: Item
  readonly ref?: RawRef
  readonly count: number
  readonly before: string
  readonly match: string
  readonly after: string
}

/** Milliseconds of searching after which the page gets a turn. */
const SLICE_MS = 8
/** Milliseconds without a key press before a run is searched. */
const REST_MS = 80
/** And more of them before its raw logs are: they are asked of the server. */
const REST_BYTES_MS = 250
const ROW = 26

export function findInRun(options: FindOptions): Find {
  const { model, go, chosen, onNeedle, onLeave } = options
  const field = byId('seek') as HTMLInputElement
  const count = byId('hits-count')
  const box = byId('hits')
  let hits: Hit[] = []
  /** The index of the hit that was last gone to. */
  let at = -1
  let ticket = 0
  let timer = 0
  /** Number of items that were searched for this text. */
  let looked = 0
  let looking = false
  let needle = ''
  /** Number of hits that are items; hits in logs follow them. */
  let items = 0
  /** The logs were, or are being, searched for this text. */
  let searched = false
  let searching = false
  /** The reader asked for a hit before one was found. */
  let asked: 0 | 1 | -1 = 0

  const list = virtualList<Hit>({
    box,
    estimate: () => ROW,
    version: (hit) => (hit === hits[at] ? 1 : 0),
    draw: (hit, index) => {
      const row = make(
        'div',
        {
          class: 'hit',
          role: 'option',
          id: `hit-${index}`,
          'aria-selected': index === at ? 'true' : 'false',
          'aria-posinset': index + 1,
          'aria-setsize': hits.length,
        },
        make('span', { class: 'seq' }, hit.item?.id ?? String(hit.ref?.byte_from)),
        make('span', { class: 'kind' }, hit.item?.kind ?? hit.ref?.stream),
        make('span', { class: 'text' }, hit.before, make('mark', {}, hit.match), hit.after),
        hit.count > 1 ? make('span', { class: 'times' }, `× ${hit.count}`) : undefined,
      )
      row.addEventListener('click', () => {
        at = index
        show()
      })
      return row
    },
  })

  async function look(): Promise<void> {
    if (looking) return
    const mine = ticket
    looking = true
    let since = performance.now()
    const all = model().items
    while (looked < all.length) {
      const hit = hitOf(all[looked++]!, needle)
      if (hit) {
        if (at >= items) at++
        hits.splice(items++, 0, hit)
      }
      if (performance.now() - since < SLICE_MS) continue
      tell(false)
      if (asked === 1 && hits.length > 0) step(1)
      await pause()
      if (mine !== ticket) break
      since = performance.now()
    }
    looking = false
    if (mine !== ticket) {
      if (needle !== '') look()
      return
    }
    // What is known of the run is there now; the logs are searched once for a text.
    if (!searched) {
      searched = true
      tell(false)
      if (asked === 1 && hits.length > 0) step(1)
      await lookAtBytes(mine)
      if (mine !== ticket) return
    }
    tell(!searching)
    if (asked !== 0) step(asked)
  }

  /** Adds the places of the logs that are of no item that was found. */
  async function lookAtBytes(mine: number): Promise<void> {
    searching = true
    await pause(REST_BYTES_MS)
    if (mine !== ticket) return
    const covered = rangesOf(hits)
    for await (const found of options.searchBytes(field.value)) {
      if (mine !== ticket) return
      for (const { ref, ...words } of found) if (!covered(ref)) hits.push({ ref, count: 1, ...words })
      tell(false)
      if (asked === 1 && hits.length > 0) step(1)
    }
    searching = false
  }

  function tell(done: boolean): void {
    box.hidden = hits.length === 0
    const found = hits.length === 0 ? 'nothing found' : countWords(hits.length, 'hit')
    const where = at >= 0 ? `${at + 1} of ` : ''
    count.textContent = needle === '' ? '' : done ? where + found : `${where}${found} …`
    count.dataset['done'] = String(done)
    list.refresh()
  }

  function begin(): void {
    ticket++
    needle = field.value.toLowerCase()
    hits = []
    items = 0
    searched = false
    searching = false
    at = -1
    asked = 0
    looked = 0
    list.show(hits)
    onNeedle(needle)
    if (needle === '') {
      box.hidden = true
      count.textContent = ''
    } else if (!looking) look()
  }

  function show(): void {
    const hit = hits[at]
    if (!hit) return
    tell(!looking && !searching)
    list.reveal(at, 'nearest')
    field.setAttribute('aria-activedescendant', `hit-${at}`)
    if (hit.item) go(hit.item)
    else if (hit.ref) options.goToBytes(hit.ref)
  }

  /** Starts from the chosen item, if no hit was gone to yet. */
  function step(by: 1 | -1): void {
    if (field.value.toLowerCase() !== needle) begin()
    // The run is still being searched: go to the first hit when it is found.
    asked = hits.length === 0 && (looking || searching) ? by : 0
    if (hits.length === 0) return
    const here = chosen()
    if (here && !hits[at]?.ref && hits[at]?.item !== here) {
      const next = hits.findIndex(({ item }) => item && item.at >= here.at)
      const same = next >= 0 && hits[next]!.item === here
      const after = next < 0 ? items : next
      at = by > 0 ? (same ? after + 1 : after) : after - 1
    } else at += by
    at = (at + hits.length) % hits.length
    show()
  }

  field.addEventListener('input', () => {
    clearTimeout(timer)
    count.dataset['done'] = 'false'
    timer = setTimeout(begin, REST_MS)
  })
  field.addEventListener('keydown', (press) => {
    if (press.key === 'Enter') {
      press.preventDefault()
      clearTimeout(timer)
      step(press.shiftKey ? -1 : 1)
    } else if (press.key === 'ArrowDown' || press.key === 'ArrowUp') {
      press.preventDefault()
      step(press.key === 'ArrowDown' ? 1 : -1)
      field.focus()
    } else if (press.key === 'Escape') {
      press.stopPropagation()
      if (field.value !== '') {
        field.value = ''
        begin()
      }
      onLeave()
    }
  })

  return {
    focus() {
      field.focus()
      field.select()
    },
    step,
    refresh() {
      if (needle !== '' && !looking && looked < model().items.length) look()
    },
    clear() {
      field.value = ''
      begin()
    },
    get active() {
      return needle !== ''
    },
  }
}

/** Tells whether a place of a log is in the bytes of an item that was found. */
function rangesOf(hits: readonly Hit[]): (ref: RawRef) => boolean {
  const byLog = new Map<string, RawRef[]>()
  for (const { item } of hits) {
    for (const ref of item?.refs ?? []) {
      const key = `${ref.attempt_number} ${ref.stream}`
      const refs = byLog.get(key)
      if (refs) refs.push(ref)
      else byLog.set(key, [ref])
    }
  }
  for (const refs of byLog.values()) refs.sort((a, b) => a.byte_from - b.byte_from)
  return ({ attempt_number, stream, byte_from }) => {
    const refs = byLog.get(`${attempt_number} ${stream}`) ?? []
    let [low, high] = [0, refs.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (refs[middle]!.byte_from <= byte_from) low = middle + 1
      else high = middle
    }
    // Those of nested items may begin before, and end behind: the nearest few tell.
    return refs.slice(Math.max(0, low - 8), low).some(({ byte_to }) => byte_from < byte_to)
  }
}

const AROUND = 60

function hitOf(item: Item, needle: string): Hit | undefined {
  const text = textOf(item)
  const lower = text.toLowerCase()
  const first = lower.indexOf(needle)
  if (first < 0) return undefined
  let count = 0
  for (let at = first; at >= 0 && count < 999; at = lower.indexOf(needle, at + needle.length)) count++
  const end = first + needle.length
  const line = (part: string) => part.replaceAll('\n', ' ')
  return {
    item,
    count,
    before: line(text.slice(Math.max(0, first - AROUND / 2), first)),
    match: line(text.slice(first, end)),
    after: line(text.slice(end, end + AROUND * 2)),
  }
}
