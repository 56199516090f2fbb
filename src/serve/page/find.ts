import type { RawRef } from '../../events/event.ts'
import type { Item } from '../../views/conversation.ts'
import type { RunInfo } from '../run-info.ts'
import { byId, make } from './element.ts'
import { countFirst, type ItemList } from './item-list.ts'
import { textOf } from './item-text.ts'
import { pause, type RunSource, type StreamName } from './source.ts'
import { VirtualList } from './virtual-list.ts'
import { countWords } from './words.ts'

export interface FindOptions {
  readonly model: () => ItemList
  readonly go: (item: Item) => void
  /** The places of the raw logs that have the text as it was typed, piece by piece. */
  readonly searchBytes: (typed: string) => AsyncIterable<readonly ByteHit[]>
  readonly goToBytes: (ref: RawRef) => void
  readonly chosen: () => Item | undefined
  readonly onNeedle: (needle: string) => void
  /** Called when the reader searches for another text. */
  readonly onTyped: (typed: string) => void
  /** Called when the reader leaves the field. */
  readonly onLeave: () => void
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

/** Finds text in the run, and lists every item that contains it. */
export class FindInRun {
  readonly #options: FindOptions
  readonly #field = byId('seek') as HTMLInputElement // cast: an <input> in page.html
  readonly #count = byId('hits-count')
  readonly #box = byId('hits')
  readonly #list = new VirtualList<Hit>({
    box: this.#box,
    estimate: () => ROW,
    version: (hit) => (hit === this.#hits[this.#at] ? 1 : 0),
    draw: (hit, index) => this.#drawHit(hit, index),
  })
  #hits: Hit[] = []
  /** The index of the hit that was last gone to. */
  #at = -1
  #ticket = 0
  #timer = 0
  /** Number of items that were searched for this text. */
  #looked = 0
  #looking = false
  #needle = ''
  /** Number of hits that are items; hits in logs follow them. */
  #items = 0
  /** The logs were, or are being, searched for this text. */
  #searched = false
  #searching = false
  /** The reader asked for a hit before one was found. */
  #asked: 0 | 1 | -1 = 0

  constructor(options: FindOptions) {
    this.#options = options
    this.#field.addEventListener('input', () => {
      clearTimeout(this.#timer)
      this.#count.dataset['done'] = 'false'
      this.#timer = setTimeout(() => this.#typed(), REST_MS)
    })
    this.#field.addEventListener('keydown', (press) => this.#press(press))
  }

  get active(): boolean {
    return this.#needle !== ''
  }

  focus(): void {
    this.#field.focus()
    this.#field.select()
  }

  /** Searches what has arrived since. */
  refresh(): void {
    if (this.active && !this.#looking && this.#looked < this.#options.model().items.length) this.#look()
  }

  /** Searches for a text, unless it is the one that was searched for. */
  set(text: string): void {
    clearTimeout(this.#timer)
    const isSame = this.#field.value === text
    this.#field.value = text
    if (!isSame || text === '') this.#begin()
  }

  #typed(): void {
    this.#begin()
    this.#options.onTyped(this.#field.value)
  }

  /** Goes to the next hit, or the previous one; from the chosen item, if no hit was gone to yet. */
  step(by: 1 | -1): void {
    if (this.#field.value.toLowerCase() !== this.#needle) this.#typed()
    const hits = this.#hits
    // The run is still being searched: go to the first hit when it is found.
    this.#asked = hits.length === 0 && (this.#looking || this.#searching) ? by : 0
    if (hits.length === 0) return
    const here = this.#options.chosen()
    const last = hits[this.#at]
    if (here && !last?.ref && last?.item !== here) {
      const next = hits.findIndex(({ item }) => item && item.at >= here.at)
      const same = next >= 0 && hits[next]!.item === here
      const after = next < 0 ? this.#items : next
      this.#at = by > 0 ? (same ? after + 1 : after) : after - 1
    } else this.#at += by
    this.#at = (this.#at + hits.length) % hits.length
    this.#show()
  }

  #press(press: KeyboardEvent): void {
    if (press.key === 'Enter') {
      press.preventDefault()
      clearTimeout(this.#timer)
      this.step(press.shiftKey ? -1 : 1)
    } else if (press.key === 'ArrowDown' || press.key === 'ArrowUp') {
      press.preventDefault()
      this.step(press.key === 'ArrowDown' ? 1 : -1)
      this.#field.focus()
    } else if (press.key === 'Escape') {
      press.stopPropagation()
      if (this.#field.value !== '') {
        this.#field.value = ''
        this.#typed()
      }
      this.#options.onLeave()
    }
  }

  #begin(): void {
    this.#ticket++
    this.#needle = this.#field.value.toLowerCase()
    this.#hits = []
    this.#items = 0
    this.#searched = false
    this.#searching = false
    this.#at = -1
    this.#asked = 0
    this.#looked = 0
    this.#list.show(this.#hits)
    this.#options.onNeedle(this.#needle)
    if (!this.active) {
      this.#box.hidden = true
      this.#count.textContent = ''
    } else if (!this.#looking) this.#look()
  }

  async #look(): Promise<void> {
    if (this.#looking) return
    const mine = this.#ticket
    this.#looking = true
    let since = performance.now()
    const all = this.#options.model().items
    while (this.#looked < all.length) {
      const hit = hitOf(all[this.#looked++]!, this.#needle)
      if (hit) {
        if (this.#at >= this.#items) this.#at++
        this.#hits.splice(this.#items++, 0, hit)
      }
      if (performance.now() - since < SLICE_MS) continue
      this.#tellSome()
      await pause()
      if (mine !== this.#ticket) break
      since = performance.now()
    }
    this.#looking = false
    if (mine !== this.#ticket) {
      if (this.active) this.#look()
      return
    }
    // What is known of the run is there now; the logs are searched once for a text.
    if (!this.#searched) {
      this.#searched = true
      this.#tellSome()
      await this.#lookAtBytes(mine)
      if (mine !== this.#ticket) return
    }
    this.#tell(!this.#searching)
    if (this.#asked !== 0) this.step(this.#asked)
  }

  /** Adds the places of the logs that are of no item that was found. */
  async #lookAtBytes(mine: number): Promise<void> {
    this.#searching = true
    await pause(REST_BYTES_MS)
    if (mine !== this.#ticket) return
    const covered = rangesOf(this.#hits)
    for await (const found of this.#options.searchBytes(this.#field.value)) {
      if (mine !== this.#ticket) return
      for (const hit of found) if (!covered(hit.ref)) this.#hits.push(hit)
      this.#tellSome()
    }
    this.#searching = false
  }

  /** Tells what was found so far, and goes there if the reader waits for it. */
  #tellSome(): void {
    this.#tell(false)
    if (this.#asked === 1 && this.#hits.length > 0) this.step(1)
  }

  #tell(done: boolean): void {
    const { length } = this.#hits
    this.#box.hidden = length === 0
    const found = length === 0 ? 'nothing found' : countWords(length, 'hit')
    const where = this.#at >= 0 ? `${this.#at + 1} of ` : ''
    this.#count.textContent = !this.active ? '' : done ? where + found : `${where}${found} …`
    this.#count.dataset['done'] = String(done)
    this.#list.refresh()
  }

  #show(): void {
    const hit = this.#hits[this.#at]
    if (!hit) return
    this.#tell(!this.#looking && !this.#searching)
    this.#list.reveal(this.#at, 'nearest')
    this.#field.setAttribute('aria-activedescendant', `hit-${this.#at}`)
    if (hit.item) this.#options.go(hit.item)
    else if (hit.ref) this.#options.goToBytes(hit.ref)
  }

  #drawHit(hit: Hit, index: number): HTMLElement {
    const row = make(
      'div.hit',
      {
        role: 'option',
        id: `hit-${index}`,
        'aria-selected': index === this.#at ? 'true' : 'false',
        'aria-posinset': index + 1,
        'aria-setsize': this.#hits.length,
      },
      make('span.seq', hit.item?.id ?? String(hit.ref?.byte_from)),
      make('span.kind', hit.item?.kind ?? hit.ref?.stream),
      make('span.text', hit.before, make('mark', hit.match), hit.after),
      hit.count > 1 ? make('span.times', `× ${hit.count}`) : undefined,
    )
    row.addEventListener('click', () => {
      this.#at = index
      this.#show()
    })
    return row
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
    const before = countFirst(refs, (ref) => ref.byte_from <= byte_from)
    // Those of nested items may begin before, and end behind: the nearest few tell.
    return refs.slice(Math.max(0, before - 8), before).some(({ byte_to }) => byte_from < byte_to)
  }
}

/** Characters around a hit to show. */
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

/** A place of the raw logs that has the text. */
type ByteHit = Hit & { readonly ref: RawRef }

/** How many bytes are requested at once, how many of a log are searched, and how many hits are listed. */
const PIECE = 1 << 20
const MAX_BYTES = 64 << 20
const MAX_BYTE_HITS = 200
/** A shorter text is in nearly every line. */
const MIN_NEEDLE = 3

/**
 * Searches the raw logs of a run, stream by stream, for what is in no event: parts of records that say
 * nothing to a reader, lines that were cut to be shown. ASCII letters are found in both cases. Hits come in
 * pieces, so that the page gets its turn. Of a longer log, the first 64 MiB are searched.
 */
export async function* findBytes(
  source: RunSource,
  { id, streams }: RunInfo,
  typed: string,
): AsyncGenerator<ByteHit[]> {
  if (typed.length < MIN_NEEDLE) return
  const needle = new TextEncoder().encode(typed)
  const fold = needle.length === typed.length ? (text: string) => text.toLowerCase() : (text: string) => text
  const wanted = fold(latin.decode(needle))
  for (const { attempt, stream, bytes: size } of streams) {
    let found = 0
    const last = Math.min(size, MAX_BYTES)
    for (let from = 0; from < last && found < MAX_BYTE_HITS; from += PIECE) {
      // A text that crosses the edge is found by the piece that it begins in.
      const to = Math.min(size, from + PIECE + needle.length - 1)
      const got = await source.bytes(id, { attempt, stream, from, to })
      if (!got) return
      const text = fold(latin.decode(got.bytes))
      const hits: ByteHit[] = []
      for (let at = text.indexOf(wanted); at >= 0 && found < MAX_BYTE_HITS; found++) {
        hits.push(hitAt(got.bytes, from, { attempt, stream }, at, needle.length))
        at = text.indexOf(wanted, at + needle.length)
      }
      yield hits
    }
  }
}

/** Gives one character for each byte, so that an index in the text is an offset. */
const latin = new TextDecoder('latin1')

function hitAt(
  bytes: Uint8Array,
  from: number,
  { attempt, stream }: StreamName,
  at: number,
  length: number,
): ByteHit {
  const end = at + length
  const text = (first: number, last: number) =>
    new TextDecoder().decode(bytes.subarray(Math.max(0, first), last)).replaceAll('\n', ' ')
  const line = bytes.lastIndexOf(10, at - 1) + 1
  const ref = {
    attempt_number: attempt,
    stream,
    byte_from: from + at,
    byte_to: from + end,
    encoding: 'utf-8',
  }
  return {
    // The door: the list of streams has no other names.
    ref: ref as RawRef,
    count: 1,
    before: text(at === 0 ? 0 : Math.max(line, at - AROUND / 2), at),
    match: text(at, end),
    after: text(end, end + AROUND * 2),
  }
}
