import { byId, make, onPress } from './element.ts'

/** A key, its action, and its description in the list of keys; two keys may share one line. */
export interface Key {
  readonly keys: readonly string[]
  readonly words: string
  readonly act: (key: string) => void
  /** Also while no run is open. */
  readonly always?: boolean
}

/** Handles key presses, and lists the keys in the help: of the list, those that work there. */
export function listenToKeys(table: readonly Key[], isOpen: () => boolean): void {
  const names: Readonly<Record<string, string>> = {
    ArrowDown: '↓',
    ArrowUp: '↑',
    Escape: 'Esc',
    ' ': 'Space',
  }
  const help = byId('help') as HTMLDialogElement // cast: a <dialog> in page.html
  const box = byId('conversation')
  onPress('keys', () => {
    const usable = table.filter(({ always }) => always || isOpen())
    byId('key-list').replaceChildren(
      ...usable.flatMap(({ keys, words }) => [
        make('dt', ...keys.flatMap((key) => [make('kbd', names[key] ?? key), ' '])),
        make('dd', words),
      ]),
    )
    help.showModal()
  })
  const acts = new Map(table.flatMap((entry) => entry.keys.map((key) => [key, entry] as const)))
  document.addEventListener('keydown', (press) => {
    const target = press.target instanceof Element ? press.target : document.body
    const typing = target.matches('input, textarea')
    const isAsked = document.querySelector('dialog[open]') !== null
    if (typing || press.metaKey || press.ctrlKey || press.altKey || isAsked) return
    const entry = acts.get(press.key)
    if (!entry) return
    const here = target === document.body || target === box || target.tagName === 'ARTICLE'
    // Other parts use keys with names themselves.
    const isNamed = press.key in names || press.key.length > 1
    if ((isNamed && !here && press.key !== 'Escape') || !(entry.always || isOpen())) return
    press.preventDefault()
    entry.act(press.key)
  })
}
