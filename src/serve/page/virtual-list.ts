import { Heights } from './heights.ts'

export interface VirtualOptions<T> {
  /** The scrolling element. */
  readonly box: HTMLElement
  /** The approximate height, in pixels. */
  readonly estimate: (item: T) => number
  readonly draw: (item: T, index: number) => HTMLElement
  /** A number that changes when the item must be redrawn. */
  readonly version: (item: T) => number
  /** Pixels of empty space below the last item. @default 0 */
  readonly below?: number | undefined
}

/** A list that has only its visible items in the document, however long it is. */
export interface VirtualList<T> {
  /** Shows these items from the start. The array may grow afterwards; then call `refresh`. */
  show(items: readonly T[]): void
  /** Draws what changed or was added since. */
  refresh(): void
  /** Redraws everything visible. */
  redraw(): void
  /** Scrolls to an item. */
  reveal(index: number, where: 'nearest' | 'center' | 'start'): void
  toEnd(): void
  /** Whether the end is visible, or nearly. */
  atEnd(): boolean
  /** The element of an item, if it is in the document now. */
  elementOf(index: number): HTMLElement | undefined
}

/** Pixels above and below the visible part that are drawn too, so that a quick scroll shows no gaps. */
const MARGIN = 700
/** Scrolling draws again when less than this is left of the margin: every few frames, not in each. */
const LEAST_MARGIN = 350

export function virtualList<T>(options: VirtualOptions<T>): VirtualList<T> {
  const { box, estimate, draw, version, below = 0 } = options
  const sheet = document.createElement('div')
  const pane = document.createElement('div')
  sheet.className = 'sheet'
  pane.className = 'pane'
  sheet.append(pane)
  box.append(sheet)

  let items: readonly T[] = []
  let heights = new Heights()
  /** The drawn items, by index. */
  let drawn = new Map<number, { readonly element: HTMLElement; readonly version: number }>()
  const indexes = new WeakMap<Element, number>()
  let scheduled = false
  let sheetHeight = -1
  let paneTop = -1

  const resized = new ResizeObserver((entries) => {
    const changed = entries.some(({ target }) => {
      const index = indexes.get(target)
      const known = index !== undefined && drawn.get(index)?.element === target
      return known && Math.abs(target.getBoundingClientRect().height - heights.of(index)) > 0.5
    })
    if (changed) settle(() => measure([...drawn.keys()]))
  })
  box.addEventListener('scroll', () => covers(LEAST_MARGIN) || schedule(), { passive: true })
  new ResizeObserver(schedule).observe(box)

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    requestAnimationFrame(() => {
      scheduled = false
      render()
    })
  }

  /** Whether the visible part and this margin around it are drawn. */
  function covers(margin: number): boolean {
    const { scrollTop, clientHeight } = box
    const last = heights.at(scrollTop + clientHeight + margin)
    return drawn.has(heights.at(scrollTop - margin)) && drawn.has(last)
  }

  /** Changes heights without moving the topmost visible item. */
  function settle(change: () => void): void {
    const before = box.scrollTop
    const anchor = heights.length > 0 ? heights.at(before) : 0
    const inside = before - heights.top(anchor)
    change()
    place()
    const after = heights.top(anchor) + inside
    if (anchor > 0 && Math.abs(after - before) > 0.5) box.scrollTop = after
  }

  /** Moves the pane to where its first item belongs. */
  function place(): void {
    const height = Math.ceil(heights.total) + below
    if (height !== sheetHeight) {
      sheetHeight = height
      sheet.style.height = `${height}px`
    }
    const first = drawn.size > 0 ? Math.min(...drawn.keys()) : 0
    const top = heights.top(first)
    if (top !== paneTop) {
      paneTop = top
      pane.style.paddingTop = `${top}px`
    }
  }

  function measure(wanted: readonly number[]): void {
    for (const index of wanted) {
      const entry = drawn.get(index)
      if (!entry) continue
      const { height } = entry.element.getBoundingClientRect()
      if (Math.abs(height - heights.of(index)) > 0.5) heights.set(index, height)
    }
  }

  function render(): void {
    while (heights.length < items.length) heights.push(estimate(items[heights.length]!))
    if (items.length === 0) {
      pane.replaceChildren()
      drawn.clear()
      place()
      return
    }
    const top = box.scrollTop
    const first = heights.at(top - MARGIN)
    const last = heights.at(top + box.clientHeight + MARGIN)
    const focused = document.activeElement
    let lost = false
    const next: typeof drawn = new Map()
    const fresh: number[] = []
    for (const [index, { element }] of drawn) {
      if (index >= first && index <= last) continue
      lost ||= element.contains(focused)
      resized.unobserve(element)
      element.remove()
    }
    let here = pane.firstElementChild
    for (let index = first; index <= last; index++) {
      const item = items[index]!
      const known = drawn.get(index)
      if (known?.version === version(item)) {
        next.set(index, known)
        here = known.element.nextElementSibling
        continue
      }
      const element = draw(item, index)
      indexes.set(element, index)
      if (known) {
        const had = known.element.contains(focused)
        resized.unobserve(known.element)
        known.element.replaceWith(element)
        if (had) element.focus({ preventScroll: true })
      } else pane.insertBefore(element, here)
      here = element.nextElementSibling
      resized.observe(element)
      next.set(index, { element, version: version(item) })
      fresh.push(index)
    }
    drawn = next
    if (fresh.length > 0) settle(() => measure(fresh))
    else place()
    // The keys must still reach the list when the focused element is scrolled out of view.
    if (lost) box.focus({ preventScroll: true })
  }

  function targetOf(index: number, where: 'nearest' | 'center' | 'start'): number {
    const top = heights.top(index)
    const height = heights.of(index)
    const room = box.clientHeight
    if (where === 'start' || height > room) return top
    if (where === 'center') return top - (room - height) / 2
    if (top < box.scrollTop) return top
    return Math.max(box.scrollTop, top + height - room + Math.min(below, 8))
  }

  return {
    show(given) {
      items = given
      heights = new Heights()
      for (const { element } of drawn.values()) resized.unobserve(element)
      drawn.clear()
      pane.replaceChildren()
      box.scrollTop = 0
      render()
    },
    refresh: render,
    redraw() {
      for (const { element } of drawn.values()) resized.unobserve(element)
      drawn.clear()
      pane.replaceChildren()
      render()
    },
    reveal(index, where) {
      if (index < 0 || index >= items.length) return
      render()
      // Items are measured when they become visible, which can move them: repeat until the position is
      // stable.
      for (let tries = 0; tries < 5; tries++) {
        const target = Math.max(0, Math.round(targetOf(index, where)))
        if (Math.abs(box.scrollTop - target) < 1) break
        const before = box.scrollTop
        box.scrollTop = target
        render()
        if (box.scrollTop === before) break
      }
    },
    toEnd() {
      render()
      for (let tries = 0; tries < 3; tries++) {
        box.scrollTop = sheetHeight
        render()
      }
    },
    atEnd: () => box.scrollTop + box.clientHeight >= sheetHeight - 80,
    elementOf: (index) => drawn.get(index)?.element,
  }
}
