import { byId, make, onPress } from './element.ts'

/** One key or several, by their names; what they do, in words and in code; whether without a run, too. */
export type Key = readonly [names: string, words: string, act: (key: string) => void, always?: 'always']

/** What a browser and a reader call keys that are not called by what they type. */
const called: Readonly<Record<string, string>> = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' }

/** Handles key presses, and lists the keys in the help: of the list, those that work there. */
export function listenToKeys(table: readonly Key[], isOpen: () => boolean): void {
  const help = byId('help') as HTMLDialogElement // cast: a <dialog> in page.html
  const box = byId('conversation')
  onPress('keys', () => {
    const usable = table.filter(([, , , always]) => always || isOpen())
    byId('key-list').replaceChildren(
      ...usable.flatMap(([names, words]) => [
        make('dt', ...names.split(' ').flatMap((name) => [make('kbd', called[name] ?? name), ' '])),
        make('dd', words),
      ]),
    )
    help.showModal()
  })
  const acts = new Map(table.flatMap((entry) => entry[0].split(' ').map((name) => [name, entry] as const)))
  document.addEventListener('keydown', (press) => {
    const target = press.target instanceof Element ? press.target : document.body
    const typing = target.matches('input, textarea')
    const isAsked = document.querySelector('dialog[open]') !== null
    if (typing || press.metaKey || press.ctrlKey || press.altKey || isAsked) return
    const entry = acts.get(press.key === ' ' ? 'Space' : press.key)
    if (!entry) return
    const [, , act, always] = entry
    const here = target === document.body || target === box || target.tagName === 'ARTICLE'
    // Other parts use keys with names themselves.
    const isNamed = press.key === ' ' || press.key.length > 1
    if ((isNamed && !here && press.key !== 'Escape') || !(always || isOpen())) return
    press.preventDefault()
    act(press.key)
  })
}
