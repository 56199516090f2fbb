import { make } from './element.ts'

/** The names of all engines that read what an agent prints, written here by scripts/page.ts. */
declare const ENGINE_NAMES: readonly string[]

/**
 * Lets the reader say which agent wrote logs that another program recorded: the shape of the output may tell
 * another one, or none. `choose` opens the run again.
 */
export function readAs(now: string | undefined, choose: (engine?: string) => void): void {
  const box = document.getElementById('as')
  if (!box || box.firstChild) return
  const names = [['', 'any agent'], ...ENGINE_NAMES.map((name) => [name, name])]
  const select = make('select', ...names.map(([value, name]) => make('option', { value }, name)))
  select.value = now ?? ''
  select.addEventListener('change', () => choose(select.value || undefined))
  box.append(make('label', 'Read as ', select))
}
