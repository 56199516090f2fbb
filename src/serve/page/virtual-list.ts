import { make, onceAFrame } from './element.ts'
import { Heights } from './heights.ts'

export interface VirtualOptions<T> {
  /** The scrolling element. */
  readonly box: HTMLElement
  /** The approximate height, in pixels. */
  readonly estimate: (item: T) => number
  readonly draw: (item: T, index: number) => HTMLElement
  /** A number that changes when the item must be redrawn. */
  readonly version: (item: T) => number
  /** The element around all items, and the one inside it that gets them. @default a `div` that is both */
  readonly frame?: HTMLElement | undefined
  readonly rows?: HTMLElement | undefined
  /** Pixels of empty space below the last item. @default 0 */
  readonly below?: number | undefined
}

type Where = 'nearest' | 'center'

/** Pixels above and below the visible part that are drawn too, so that a quick scroll shows no gaps. */
const MARGIN = 700
/** Scrolling draws again when less than this is left of the margin: every few frames, not in each. */
const LEAST_MARGIN = 350

/** A list that has only its visible items in the document, however long it is. */
export class VirtualList<T> {
  readonly #options: VirtualOptions<T>
  readonly #box: HTMLElement
  readonly #below: number
  readonly #sheet = make('div.sheet')
  readonly #pane = make('div.pane')
  readonly #rows: HTMLElement
  #items: readonly T[] = []
  #heights = new Heights()
  /** The drawn items, by index. */
  #drawn = new Map<number, { readonly element: HTMLElement; readonly version: number }>()
  readonly #indexes = new WeakMap<Element, number>()
  #sheetHeight = -1
  #paneTop = -1
  readonly #resized = new ResizeObserver((entries) => {
    if (entries.some(({ target }) => this.#isResized(target)))
      this.#settle(() => this.#measure([...this.#drawn.keys()]))
  })

  constructor(options: VirtualOptions<T>) {
    const { box, below = 0, frame, rows = this.#pane } = options
    this.#options = options
    this.#box = box
    this.#below = below
    this.#rows = rows
    if (frame) this.#pane.append(frame)
    this.#sheet.append(this.#pane)
    box.append(this.#sheet)
    const soon = onceAFrame(() => this.refresh())
    box.addEventListener('scroll', () => this.#covers(LEAST_MARGIN) || soon(), { passive: true })
    new ResizeObserver(soon).observe(box)
  }

  /** Shows these items, from the start or where it is. The array may grow afterwards; then call `refresh`. */
  show(items: readonly T[], stay = false): void {
    this.#items = items
    this.#heights = new Heights()
    if (!stay) this.#box.scrollTop = 0
    this.#wipe()
    this.refresh()
  }

  /** The items from this index on have changed: draws them anew with the next `refresh`. */
  cut(length: number): void {
    this.#heights.cut(length)
    this.#drop(0, length - 1)
  }

  /** Draws what changed or was added since. */
  refresh(): void {
    const [items, heights, box] = [this.#items, this.#heights, this.#box]
    while (heights.length < items.length) heights.push(this.#options.estimate(items[heights.length]!))
    if (items.length === 0) {
      this.#wipe()
      this.#place()
      return
    }
    const { activeElement } = document
    const first = heights.at(box.scrollTop - MARGIN)
    const last = heights.at(box.scrollTop + box.clientHeight + MARGIN)
    const lost = this.#drop(first, last)
    const fresh = this.#draw(first, last)
    if (fresh.length > 0) this.#settle(() => this.#measure(fresh))
    else this.#place()
    // Items that are lower than estimated leave room for more.
    if (fresh.length > 0 && !this.#covers(LEAST_MARGIN)) this.refresh()
    // The keys must still reach the list when the focused element is scrolled out of view.
    if (lost) (isThere(activeElement) ? activeElement : box).focus({ preventScroll: true })
  }

  reveal(index: number, where: Where): void {
    const box = this.#box
    if (index < 0 || index >= this.#items.length) return
    this.refresh()
    // Items that become visible are measured, which can move them: repeat until they stay.
    for (let tries = 0; tries < 5; tries++) {
      const target = Math.max(0, Math.round(this.#targetOf(index, where)))
      if (Math.abs(box.scrollTop - target) < 1) break
      const before = box.scrollTop
      box.scrollTop = target
      this.refresh()
      if (box.scrollTop === before) break
    }
  }

  toEnd(): void {
    this.refresh()
    for (let tries = 0; tries < 3; tries++) {
      this.#box.scrollTop = this.#sheetHeight
      this.refresh()
    }
  }

  /** Whether the end is visible, or nearly. */
  atEnd(): boolean {
    return this.#box.scrollTop + this.#box.clientHeight >= this.#sheetHeight - 80
  }

  /** The element of an item, if it is in the document now. */
  elementOf(index: number): HTMLElement | undefined {
    return this.#drawn.get(index)?.element
  }

  /** The item whose element a node is in. */
  itemAt(node: Node | null): T | undefined {
    let above = node
    // Cast: an element of an item is in the map, and no other node.
    while (above && !this.#indexes.has(above as Element)) above = above.parentNode
    return above ? this.#items[this.#indexes.get(above as Element)!] : undefined
  }

  #wipe(): void {
    for (const { element } of this.#drawn.values()) this.#resized.unobserve(element)
    this.#drawn.clear()
    this.#rows.replaceChildren()
  }

  #isResized(target: Element): boolean {
    const index = this.#indexes.get(target)
    const known = index !== undefined && this.elementOf(index) === target
    return known && Math.abs(target.getBoundingClientRect().height - this.#heights.of(index)) > 0.5
  }

  /** Whether the visible part and this margin around it are drawn. */
  #covers(margin: number): boolean {
    const { scrollTop, clientHeight } = this.#box
    const last = this.#heights.at(scrollTop + clientHeight + margin)
    return this.#drawn.has(this.#heights.at(scrollTop - margin)) && this.#drawn.has(last)
  }

  /** Changes heights without moving the topmost visible item. */
  #settle(change: () => void): void {
    const heights = this.#heights
    const before = this.#box.scrollTop
    const anchor = heights.length > 0 ? heights.at(before) : 0
    const inside = before - heights.top(anchor)
    change()
    this.#place()
    const after = heights.top(anchor) + inside
    if (anchor > 0 && Math.abs(after - before) > 0.5) this.#box.scrollTop = after
  }

  /** Moves the pane to where its first item belongs. */
  #place(): void {
    const height = Math.ceil(this.#heights.total) + this.#below
    if (height !== this.#sheetHeight) {
      this.#sheetHeight = height
      this.#sheet.style.height = `${height}px`
    }
    const first = this.#drawn.size > 0 ? Math.min(...this.#drawn.keys()) : 0
    const top = this.#heights.top(first)
    if (top !== this.#paneTop) {
      this.#paneTop = top
      this.#pane.style.paddingTop = `${top}px`
    }
  }

  #measure(wanted: readonly number[]): void {
    for (const index of wanted) {
      const element = this.elementOf(index)
      if (!element) continue
      const { height } = element.getBoundingClientRect()
      if (Math.abs(height - this.#heights.of(index)) > 0.5) this.#heights.set(index, height)
    }
  }

  /** Removes the drawn items outside of these. True if one of them has the focus. */
  #drop(first: number, last: number): boolean {
    let lost = false
    for (const [index, { element }] of this.#drawn) {
      if (index >= first && index <= last) continue
      lost ||= element.contains(document.activeElement)
      this.#resized.unobserve(element)
      element.remove()
      this.#drawn.delete(index)
    }
    return lost
  }

  /** Draws what is not drawn of these items, and what is outdated. Returns their indexes. */
  #draw(first: number, last: number): number[] {
    const fresh: number[] = []
    let here = this.#rows.firstElementChild
    for (let index = first; index <= last; index++) {
      const item = this.#items[index]!
      const version = this.#options.version(item)
      const known = this.#drawn.get(index)
      if (known?.version !== version) {
        const element = this.#options.draw(item, index)
        this.#indexes.set(element, index)
        if (known) this.#replace(known.element, element)
        else this.#rows.insertBefore(element, here)
        this.#resized.observe(element)
        this.#drawn.set(index, { element, version })
        fresh.push(index)
      }
      here = this.elementOf(index)!.nextElementSibling
    }
    return fresh
  }

  #replace(old: HTMLElement, element: HTMLElement): void {
    const { activeElement } = document
    const focused = old.contains(activeElement)
    // The reader answered a request here, which is settled now, but did not choose the item.
    const next = activeElement?.closest('form') ? this.#box : element
    this.#resized.unobserve(old)
    old.replaceWith(element)
    if (focused) (isThere(activeElement) ? activeElement : next).focus({ preventScroll: true })
  }

  #targetOf(index: number, where: Where): number {
    const { scrollTop, clientHeight } = this.#box
    const top = this.#heights.top(index)
    const height = this.#heights.of(index)
    if (height > clientHeight) return top
    if (where === 'center') return top - (clientHeight - height) / 2
    if (top < scrollTop) return top
    return Math.max(scrollTop, top + height - clientHeight + Math.min(this.#below, 8))
  }
}

/** Whether an element that had the focus is a part of what was drawn instead, and can have it again. */
function isThere(element: Element | null): element is HTMLElement {
  return element instanceof HTMLElement && element.isConnected
}
