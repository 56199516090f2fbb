import type { AgentEvent } from '../../events/event.ts'
import type { Item, RequestItem } from '../../views/conversation.ts'
import { drawGroup, drawItem, estimateHeight, isFold } from './draw-item.ts'
import { byId, isDrawn, make, onceAFrame } from './element.ts'
import { type Filter, isShown } from './filters.ts'
import { type Group, ItemList, ItemRows, type Row } from './item-list.ts'
import { VirtualList } from './virtual-list.ts'
import { clockWords, durationWords, fullDate } from './words.ts'

/** How an item was chosen: step by step, by a jump, or not by the reader. */
type How = 'step' | 'jump' | 'quiet'

export interface ConversationOptions {
  readonly onChoose: (item: Item | undefined, how: How) => void
  /** Called after new events were drawn. */
  readonly onDraw: () => void
  /** Where an open request can be answered. */
  readonly form: (item: RequestItem) => HTMLElement | undefined
}

/** The visible conversation: which items are shown, and which one is chosen. */
export class ConversationView {
  readonly #options: ConversationOptions
  readonly #box = byId('conversation')
  readonly #list = new VirtualList<Row>({
    box: this.#box,
    estimate: estimateHeight,
    version: (row) => row.version,
    below: 64,
    draw: (row, index) => this.#drawRow(row, index),
  })
  #model = new ItemList()
  readonly #rows = new ItemRows((item) => this.#isVisible(item))
  /** Items that the reader went to although the filters leave them out. */
  #extra = new Set<Item>()
  #filters: ReadonlySet<Filter> = new Set()
  #chosen: Item | undefined
  #needle = ''
  #live = false
  #scheduled = false
  readonly #highlight = onceAFrame(() => highlight(this.#box, this.#needle))

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#box.addEventListener('click', ({ target }) => {
      const selection = getSelection()
      if (selection && !selection.isCollapsed && this.#box.contains(selection.anchorNode)) return
      const folded = target instanceof Element && target.closest('button.group')
      const item = folded ? this.#itemAt(target) : undefined
      const group = item && this.#rows.groupOf(item)
      if (group) this.#turn(group)
      else this.#chooseAt(target)
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
    return this.#model.items.filter((item) => this.#isVisible(item))
  }

  /** Begins another run: `task` is what its agent was asked. */
  clear(task?: string | null): void {
    this.#model = new ItemList(task)
    this.#chosen = undefined
    this.#extra = new Set()
    this.#rebuild()
  }

  take(events: readonly AgentEvent[]): void {
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
    this.show(item)
    this.choose(item, how)
    this.focus()
  }

  /** Scrolls to an item, filtered out or not. */
  show(item: Item): void {
    if (this.#isVisible(item)) this.#draw()
    else {
      this.#extra.add(item)
      this.#rebuild()
    }
    const group = this.#rows.groupOf(item)
    if (group && !group.open) this.#turn(group)
    this.#list.reveal(this.#rows.indexOf(item), 'center')
  }

  /** These items look different now. */
  redraw(items: readonly Item[]): void {
    for (const item of items) item.version++
    this.#list.refresh()
  }

  /** Goes to the next of these items, or the previous one; after the last comes the first. */
  goToNext(isWanted: (item: Item) => boolean, by: 1 | -1): void {
    const wanted = this.#model.items.filter(isWanted)
    const here = this.#chosen?.at ?? -1
    const next = by > 0 ? wanted.find(({ at }) => at > here) : wanted.findLast(({ at }) => at < here)
    const item = next ?? wanted.at(by > 0 ? 0 : -1)
    if (item) this.go(item)
  }

  step(by: number): void {
    const { rows } = this.#rows
    if (rows.length === 0) return
    const from = this.#chosen ? this.#rows.indexOf(this.#chosen) : by > 0 ? -1 : rows.length
    let at = Math.max(0, Math.min(rows.length - 1, from + by))
    const found = rows[at]
    // An open group is a heading: its calls follow.
    if (found?.kind === 'group' && found.open) at += by < 0 && at > 0 ? -1 : 1
    const row = rows[at]
    this.#list.reveal(at, 'nearest')
    this.choose(row?.kind === 'group' ? row.items[0] : row, 'step')
    this.focus()
  }

  /** Folds or unfolds the chosen item. */
  toggle(): void {
    const group = this.#chosen && this.#rows.groupOf(this.#chosen)
    const details = this.#elementOf(this.#chosen)?.querySelector('details')
    if (group && !group.open) this.#turn(group)
    else if (details) details.open = !details.open
  }

  /** Unfolds everything, or folds it if everything is unfolded. */
  toggleAll(): void {
    const { shown } = this
    const groups = this.#rows.rows.filter((row) => row.kind === 'group')
    const open = shown.some((item) => isFold(item) && !item.open) || groups.some((group) => !group.open)
    for (const group of groups) group.open = open
    for (const item of shown) {
      if (!isFold(item) || item.open === open) continue
      item.open = open
      item.version++
    }
    this.#rebuild(true)
  }

  /** Moves the focus to the chosen item, or to the list. */
  focus(): void {
    const element = this.#elementOf(this.#chosen) ?? this.#box
    element.focus({ preventScroll: true })
  }

  #drawRow(row: Row, index: number): HTMLElement {
    const element = row.kind === 'group' ? drawGroup(row) : drawItem(row, this.#options.form)
    const before = this.#rows.rows[index - 1]
    const attempt = attemptOf(row)
    // A reply is a message of the conversation; another attempt begins it anew.
    if (before && row.kind !== 'prompt' && attempt !== attemptOf(before))
      element.prepend(make('p.attempt', `Attempt ${attempt}`))
    this.#tellTime(element, row, before)
    element.setAttribute('aria-posinset', String(index + 1))
    element.setAttribute('aria-setsize', this.#live ? '-1' : String(this.#rows.rows.length))
    if (this.#chosen && this.#rows.indexOf(this.#chosen) === index) mark(element, true)
    if (this.#needle !== '') this.#highlight()
    return element
  }

  /** When it was, since the start and exactly, and how long nothing happened before it. */
  #tellTime(element: HTMLElement, row: Row, before: Row | undefined): void {
    const item = row.kind === 'group' ? row.items[0]! : row
    const time = this.#model.timeOf(item)
    const number = element.querySelector<HTMLElement>('.seq')
    if (time === undefined || !number) return
    const words = clockWords(time)
    number.textContent = words
    number.title = `${fullDate(item.ts)} · ${item.id}`
    element.ariaLabel += ` at ${words}`
    const gap = this.#model.gapBefore(row, before)
    if (gap > 0) element.prepend(make('p.gap', `${durationWords(gap)} without an event`))
  }

  #isVisible(item: Item): boolean {
    return isShown(item, this.#filters) || this.#extra.has(item)
  }

  #elementOf(item: Item | undefined): HTMLElement | undefined {
    const at = item ? this.#rows.indexOf(item) : -1
    return at < 0 ? undefined : this.#list.elementOf(at)
  }

  #turn(group: Group): void {
    group.open = !group.open
    group.version++
    const at = this.#rows.rows.indexOf(group)
    this.#rows.rebuild(this.#model.items)
    this.#list.cut(at)
    this.#list.refresh()
    this.#list.elementOf(at)?.querySelector('button')?.focus({ preventScroll: true })
  }

  #rebuild(stay = false): void {
    this.#rows.folds = this.#filters.size === 0
    this.#rows.rebuild(this.#model.items)
    this.#list.show(this.#rows.rows, stay)
    this.#setRole()
    if (this.#chosen) this.#list.reveal(this.#rows.indexOf(this.#chosen), 'center')
  }

  /** The role `feed` requires at least one article. */
  #setRole(): void {
    const role = this.#rows.rows.length > 0 ? 'feed' : 'region'
    if (!isDrawn(this.#box, role)) this.#box.setAttribute('role', role)
  }

  #draw(): void {
    this.#scheduled = false
    const follow = this.#live && !this.#chosen && (this.#rows.rows.length === 0 || this.#list.atEnd())
    const from = this.#rows.add(this.#model.items)
    if (from !== undefined) this.#list.cut(from)
    if (follow) this.#list.toEnd()
    else this.#list.refresh()
    this.#setRole()
    this.#options.onDraw()
  }

  #itemAt(target: EventTarget | null): Item | undefined {
    const row = target instanceof Node ? this.#list.itemAt(target) : undefined
    return row?.kind === 'group' ? row.items[0] : row
  }

  #chooseAt(target: EventTarget | null): void {
    // To answer is not to choose it: the conversation still follows its end, and the address stays.
    const item = target instanceof Element && target.closest('form') ? undefined : this.#itemAt(target)
    if (item) this.choose(item, 'step')
  }
}

function attemptOf(row: Row): number {
  return row.kind === 'group' ? row.items[0]!.attempt : row.attempt
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

/** Marks a text inside an element without changing it; browsers without highlights show none. */
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
