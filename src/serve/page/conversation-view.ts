import type { Event } from '../../events/event.ts'
import type { Item } from '../../views/conversation.ts'
import { drawItem, estimateHeight, isFold } from './draw-item.ts'
import { byId } from './element.ts'
import { type Filter, isShown } from './filters.ts'
import { highlight } from './highlight.ts'
import { ItemList } from './item-list.ts'
import { virtualList } from './virtual-list.ts'

/** How an item was chosen: step by step, by a jump, or not by the reader. */
type How = 'step' | 'jump' | 'quiet'

export interface ConversationOptions {
  readonly onChoose: (item: Item | undefined, how: How) => void
  /** Called after new events were drawn. */
  readonly onDraw: () => void
}

/** The visible conversation: which items are shown, and which one is chosen. */
export interface ConversationView {
  readonly model: ItemList
  readonly chosen: Item | undefined
  readonly shown: readonly Item[]
  clear(): void
  take(events: readonly Event[]): void
  /** Follow the end as it grows, while the reader is there and nothing is chosen. */
  setLive(live: boolean): void
  setFilters(filters: ReadonlySet<Filter>): void
  /** Marks this text wherever it is visible. */
  setNeedle(needle: string): void
  choose(item: Item | undefined, how: How): void
  /** Chooses an item and scrolls to it, filtered out or not. */
  go(item: Item, how?: How): void
  step(by: number): void
  /** Folds or unfolds the chosen item. */
  toggle(): void
  /** Unfolds everything, or folds it if everything is unfolded. */
  toggleAll(): void
  /** Moves the focus to the chosen item, or to the list. */
  focus(): void
}

export function conversationView({ onChoose, onDraw }: ConversationOptions): ConversationView {
  const box = byId('conversation')
  let model = new ItemList()
  let shown: Item[] = []
  /** Items that the reader went to although the filters leave them out. */
  let extra = new Set<Item>()
  let filters: ReadonlySet<Filter> = new Set()
  let chosen: Item | undefined
  let needle = ''
  let live = false
  /** Items up to here were checked for `shown`. */
  let looked = 0
  let scheduled = false
  let marking = false

  const list = virtualList<Item>({
    box,
    estimate: estimateHeight,
    version: (item) => item.version,
    below: 64,
    draw(item, index) {
      const element = drawItem(item)
      element.setAttribute('aria-posinset', String(index + 1))
      element.setAttribute('aria-setsize', live ? '-1' : String(shown.length))
      if (item === chosen) mark(element, true)
      if (needle !== '') markSoon()
      return element
    },
  })

  function mark(element: HTMLElement, on: boolean): void {
    element.classList.toggle('chosen', on)
    element.tabIndex = on ? 0 : -1
    if (on) element.setAttribute('aria-current', 'true')
    else element.removeAttribute('aria-current')
  }

  function markSoon(): void {
    if (marking) return
    marking = true
    requestAnimationFrame(() => {
      marking = false
      highlight(box, needle)
    })
  }

  const visible = (item: Item) => isShown(item, filters) || extra.has(item)

  /** The index of an item in the list, or where it would be. */
  function placeOf(item: Item): number {
    let [low, high] = [0, shown.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (shown[middle]!.at < item.at) low = middle + 1
      else high = middle
    }
    return low
  }

  function elementOf(item: Item): HTMLElement | undefined {
    const at = placeOf(item)
    return shown[at] === item ? list.elementOf(at) : undefined
  }

  function rebuild(): void {
    shown = model.items.filter(visible)
    looked = model.items.length
    list.show(shown)
    name()
    if (chosen) list.reveal(placeOf(chosen), 'center')
  }

  /** The role `feed` requires at least one article. */
  function name(): void {
    const role = shown.length > 0 ? 'feed' : 'region'
    if (box.getAttribute('role') !== role) box.setAttribute('role', role)
  }

  function draw(): void {
    scheduled = false
    const follow = live && !chosen && (shown.length === 0 || list.atEnd())
    for (; looked < model.items.length; looked++) {
      const item = model.items[looked]!
      if (visible(item)) shown.push(item)
    }
    if (follow) list.toEnd()
    else list.refresh()
    name()
    onDraw()
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    const once = () => {
      if (scheduled) draw()
    }
    requestAnimationFrame(once)
    // A page in the background has no animation frames, but updates must not pile up either.
    setTimeout(once, 250)
  }

  function choose(item: Item | undefined, how: How): void {
    if (chosen === item) return
    const before = chosen && elementOf(chosen)
    if (before) mark(before, false)
    chosen = item
    const now = item && elementOf(item)
    if (now) mark(now, true)
    onChoose(item, how)
  }

  function focusOn(item: Item): void {
    elementOf(item)?.focus({ preventScroll: true })
  }

  function go(item: Item, how: How = 'jump'): void {
    if (!visible(item)) {
      extra.add(item)
      rebuild()
    } else draw()
    choose(item, how)
    list.reveal(placeOf(item), 'center')
    focusOn(item)
  }

  box.addEventListener('click', ({ target }) => {
    const item = itemOf(target)
    const selection = getSelection()
    if (!item || (selection && !selection.isCollapsed && box.contains(selection.anchorNode))) return
    choose(item, 'step')
  })
  box.addEventListener('focusin', ({ target }) => {
    const item = itemOf(target)
    if (item) choose(item, 'step')
  })

  function itemOf(target: EventTarget | null): Item | undefined {
    const element = target instanceof Element ? target.closest<HTMLElement>('article') : null
    const [attempt, seq] = (element?.dataset['id'] ?? '').split('.')
    return element ? model.find(Number(attempt), Number(seq)) : undefined
  }

  return {
    get model() {
      return model
    },
    get chosen() {
      return chosen
    },
    get shown() {
      return shown
    },
    clear() {
      model = new ItemList()
      chosen = undefined
      extra = new Set()
      shown = []
      looked = 0
      list.show(shown)
      name()
    },
    take(events) {
      for (const event of events) model.take(event)
      schedule()
    },
    setLive(given) {
      live = given
    },
    setFilters(given) {
      filters = given
      extra = new Set()
      rebuild()
      if (chosen && !visible(chosen)) choose(undefined, 'quiet')
    },
    setNeedle(given) {
      needle = given
      markSoon()
    },
    choose,
    go,
    step(by) {
      if (shown.length === 0) return
      const from = chosen ? placeOf(chosen) : by > 0 ? -1 : shown.length
      const at = Math.max(0, Math.min(shown.length - 1, from + by))
      const item = shown[at]!
      list.reveal(at, 'nearest')
      choose(item, 'step')
      focusOn(item)
    },
    toggle() {
      const details = chosen && elementOf(chosen)?.querySelector('details')
      if (details) details.open = !details.open
    },
    toggleAll() {
      const open = shown.some((item) => isFold(item) && !item.open)
      for (const item of shown) {
        if (!isFold(item) || item.open === open) continue
        item.open = open
        item.version++
      }
      list.refresh()
    },
    focus() {
      const element = chosen && elementOf(chosen)
      ;(element ?? box).focus({ preventScroll: true })
    },
  }
}
