import type { Event } from '../../events/event.ts'
import type { Item } from '../../views/conversation.ts'
import { drawItem, estimateHeight, isFold } from './draw-item.ts'
import { byId, onceAFrame } from './element.ts'
import { type Filter, isShown } from './filters.ts'
import { ItemList } from './item-list.ts'
import { VirtualList } from './virtual-list.ts'

/** How an item was chosen: step by step, by a jump, or not by the reader. */
type How = 'step' | 'jump' | 'quiet'

export interface ConversationOptions {
  readonly onChoose: (item: Item | undefined, how: How) => void
  /** Called after new events were drawn. */
  readonly onDraw: () => void
}

/** The visible conversation: which items are shown, and which one is chosen. */
export class ConversationView {
  readonly #options: ConversationOptions
  readonly #box = byId('conversation')
  readonly #list: VirtualList<Item>
  #model = new ItemList()
  #shown: Item[] = []
  /** Items that the reader went to although the filters leave them out. */
  #extra = new Set<Item>()
  #filters: ReadonlySet<Filter> = new Set()
  #chosen: Item | undefined
  #needle = ''
  #live = false
  /** Items up to here were checked for `shown`. */
  #looked = 0
  #scheduled = false
  readonly #highlight = onceAFrame(() => highlight(this.#box, this.#needle))

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#list = new VirtualList<Item>({
      box: this.#box,
      estimate: estimateHeight,
      version: (item) => item.version,
      below: 64,
      draw: (item, index) => this.#drawItem(item, index),
    })
    this.#box.addEventListener('click', ({ target }) => {
      const selection = getSelection()
      if (selection && !selection.isCollapsed && this.#box.contains(selection.anchorNode)) return
      this.#chooseAt(target)
    })
    this.#box.addEventListener('focusin', ({ target }) => this.#chooseAt(target))
  }

  get model(): ItemList {
    return this.#model
  }

  get chosen(): Item | undefined {
    return this.#chosen
  }

  get shown(): readonly Item[] {
    return this.#shown
  }

  clear(): void {
    this.#model = new ItemList()
    this.#chosen = undefined
    this.#extra = new Set()
    this.#rebuild()
  }

  take(events: readonly Event[]): void {
    for (const event of events) this.#model.take(event)
    if (this.#scheduled) return
    this.#scheduled = true
    const once = () => {
      if (this.#scheduled) this.#draw()
    }
    requestAnimationFrame(once)
    // A page in the background has no animation frames, but updates must not pile up either.
    setTimeout(once, 250)
  }

  /** Follow the end as it grows, while the reader is there and nothing is chosen. */
  setLive(live: boolean): void {
    this.#live = live
  }

  setFilters(filters: ReadonlySet<Filter>): void {
    this.#filters = filters
    this.#extra = new Set()
    this.#rebuild()
    if (this.#chosen && !this.#isVisible(this.#chosen)) this.choose(undefined, 'quiet')
  }

  /** Marks this text wherever it is visible. */
  setNeedle(needle: string): void {
    this.#needle = needle
    this.#highlight()
  }

  choose(item: Item | undefined, how: How): void {
    if (this.#chosen === item) return
    const before = this.#elementOf(this.#chosen)
    if (before) mark(before, false)
    this.#chosen = item
    const now = this.#elementOf(item)
    if (now) mark(now, true)
    this.#options.onChoose(item, how)
  }

  /** Chooses an item and scrolls to it, filtered out or not. */
  go(item: Item, how: How = 'jump'): void {
    if (this.#isVisible(item)) this.#draw()
    else {
      this.#extra.add(item)
      this.#rebuild()
    }
    this.choose(item, how)
    this.#list.reveal(this.#indexOf(item), 'center')
    this.focus()
  }

  step(by: number): void {
    const { length } = this.#shown
    if (length === 0) return
    const from = this.#chosen ? this.#indexOf(this.#chosen) : by > 0 ? -1 : length
    const at = Math.max(0, Math.min(length - 1, from + by))
    this.#list.reveal(at, 'nearest')
    this.choose(this.#shown[at], 'step')
    this.focus()
  }

  /** Folds or unfolds the chosen item. */
  toggle(): void {
    const details = this.#elementOf(this.#chosen)?.querySelector('details')
    if (details) details.open = !details.open
  }

  /** Unfolds everything, or folds it if everything is unfolded. */
  toggleAll(): void {
    const open = this.#shown.some((item) => isFold(item) && !item.open)
    for (const item of this.#shown) {
      if (!isFold(item) || item.open === open) continue
      item.open = open
      item.version++
    }
    this.#list.refresh()
  }

  /** Moves the focus to the chosen item, or to the list. */
  focus(): void {
    const element = this.#elementOf(this.#chosen) ?? this.#box
    element.focus({ preventScroll: true })
  }

  #drawItem(item: Item, index: number): HTMLElement {
    const element = drawItem(item)
    element.setAttribute('aria-posinset', String(index + 1))
    element.setAttribute('aria-setsize', this.#live ? '-1' : String(this.#shown.length))
    if (item === this.#chosen) mark(element, true)
    if (this.#needle !== '') this.#highlight()
    return element
  }

  #isVisible(item: Item): boolean {
    return isShown(item, this.#filters) || this.#extra.has(item)
  }

  /** The index of an item in the list, or where it would be. */
  #indexOf(item: Item): number {
    let [low, high] = [0, this.#shown.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#shown[middle]!.at < item.at) low = middle + 1
      else high = middle
    }
    return low
  }

  #elementOf(item: Item | undefined): HTMLElement | undefined {
    const at = item ? this.#indexOf(item) : -1
    return item && this.#shown[at] === item ? this.#list.elementOf(at) : undefined
  }

  #rebuild(): void {
    const { items } = this.#model
    this.#shown = items.filter((item) => this.#isVisible(item))
    this.#looked = items.length
    this.#list.show(this.#shown)
    this.#setRole()
    if (this.#chosen) this.#list.reveal(this.#indexOf(this.#chosen), 'center')
  }

  /** The role `feed` requires at least one article. */
  #setRole(): void {
    const role = this.#shown.length > 0 ? 'feed' : 'region'
    if (this.#box.getAttribute('role') !== role) this.#box.setAttribute('role', role)
  }

  #draw(): void {
    const { items } = this.#model
    this.#scheduled = false
    const follow = this.#live && !this.#chosen && (this.#shown.length === 0 || this.#list.atEnd())
    for (; this.#looked < items.length; this.#looked++) {
      const item = items[this.#looked]!
      if (this.#isVisible(item)) this.#shown.push(item)
    }
    if (follow) this.#list.toEnd()
    else this.#list.refresh()
    this.#setRole()
    this.#options.onDraw()
  }

  #chooseAt(target: EventTarget | null): void {
    const element = target instanceof Element ? target.closest<HTMLElement>('article') : null
    const [attempt, seq] = (element?.dataset['id'] ?? '').split('.')
    const item = element ? this.#model.find(Number(attempt), Number(seq)) : undefined
    if (item) this.choose(item, 'step')
  }
}

function mark(element: HTMLElement, on: boolean): void {
  element.classList.toggle('chosen', on)
  element.tabIndex = on ? 0 : -1
  if (on) element.setAttribute('aria-current', 'true')
  else element.removeAttribute('aria-current')
}

/** Maximum number of marks: a single letter occurs often on a full page. */
const MAX_MARKS = 2000
const NAME = 'found'

/**
 * Marks a text wherever it occurs inside an element, without changing the element. Browsers without
 * highlights show none.
 */
function highlight(root: HTMLElement, needle: string): void {
  if (typeof Highlight === 'undefined') return
  CSS.highlights.delete(NAME)
  if (needle === '') return
  const wanted = needle.toLowerCase()
  const marks = new Highlight()
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && marks.size < MAX_MARKS; node = walker.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase()
    // Lower case can be longer than upper case (İ); then positions do not match, and the node is skipped.
    if (text.length !== node.nodeValue?.length) continue
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange()
      range.setStart(node, at)
      range.setEnd(node, at + wanted.length)
      marks.add(range)
    }
  }
  CSS.highlights.set(NAME, marks)
}
