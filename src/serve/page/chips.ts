import { button, isDrawn, make } from './element.ts'

/** A filter that is on or off, with the number of what it would show. */
export interface Chip {
  readonly name: string
  readonly count: number
  readonly chosen: boolean
  readonly act: () => void
  /** With the dot of an outcome. */
  readonly dot?: boolean
  readonly title?: string
}

/** Draws the chips of a bar, if one of them has changed; the focus stays where it is. */
export function drawChips(bar: HTMLElement, chips: readonly Chip[]): void {
  if (isDrawn(bar, chips)) return
  const focused = focusedIn(bar)?.dataset['filter']
  const made = chips.map(({ name, count, chosen, act, dot, title }) =>
    button(
      { 'aria-pressed': String(chosen), 'data-filter': name, title },
      act,
      dot && make('span', `dot ${name}`),
      `${name.replace('_', ' ')} `,
      make('b', {}, count.toLocaleString()),
    ),
  )
  bar.replaceChildren(...made)
  made.find(({ dataset }) => dataset['filter'] === focused)?.focus()
}

/** The element inside the box that has the focus. */
export function focusedIn(box: HTMLElement): HTMLElement | undefined {
  const { activeElement } = document
  return activeElement instanceof HTMLElement && box.contains(activeElement) ? activeElement : undefined
}
