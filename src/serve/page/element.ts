/** The element of the page with this id. The page's own markup has it. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no element ${id}`)
  return found
}

export function setText(id: string, words: string): void {
  byId(id).textContent = words
}

/** Calls a function when the element with this id is pressed. */
export function onPress(id: string, act: () => void): void {
  byId(id).addEventListener('click', act)
}

type Prop = string | number | false | undefined
type Child = Node | string | undefined | false

type Props = Readonly<Record<string, Prop>>
type Tags = HTMLElementTagNameMap
type ElementOf<N> = N extends keyof Tags
  ? Tags[N]
  : N extends `${infer T extends keyof Tags}.${string}`
    ? Tags[T]
    : never

/**
 * Creates an element, with the classes behind its tag, and attributes, if the first part is none of its
 * children. Text is never parsed as HTML.
 *
 * @example
 * make('p.note.bad', { title: 'Why' }, 'It ', make('b', 'failed'))
 */
export function make<N extends string>(name: N, ...parts: readonly (Child | Props)[]): ElementOf<N> {
  const [tag = '', ...classes] = name.split('.')
  const element = document.createElement(tag)
  if (classes.length > 0) element.className = classes.join(' ')
  for (const part of parts) {
    if (typeof part === 'string' || part instanceof Node) element.append(part)
    else if (part)
      for (const [name, value] of Object.entries(part))
        if (value !== undefined && value !== false) element.setAttribute(name, String(value))
  }
  // Cast: the element of this tag.
  return element as ElementOf<N>
}

export function button(
  props: Readonly<Record<string, Prop>>,
  act: () => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  const made = make('button', { type: 'button', ...props }, ...children)
  made.addEventListener('click', act)
  return made
}

/** What elements were drawn with. */
const drawn = new WeakMap<HTMLElement, string>()

/** Whether the element was drawn with these facts already; if not, the caller draws it now. */
export function isDrawn(element: HTMLElement, facts: unknown): boolean {
  const key = JSON.stringify(facts)
  if (drawn.get(element) === key) return true
  drawn.set(element, key)
  return false
}

/** Calls a function in the next animation frame, once, however often it is asked to. */
export function onceAFrame(act: () => void): () => void {
  let asked = false
  return () => {
    if (asked) return
    asked = true
    requestAnimationFrame(() => {
      asked = false
      act()
    })
  }
}

/** A filter that is on or off, with the number of what it would show. */
interface Chip {
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
      dot && make(`span.dot.${name}`),
      `${name.replace('_', ' ')} `,
      make('b', count.toLocaleString()),
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
