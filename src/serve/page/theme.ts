const KEY = 'sluice.theme'

let theme: string | null = null

/** Light or dark, as the reader last chose; else the system's setting. */
export function restoreTheme(): void {
  try {
    show(localStorage.getItem(KEY))
  } catch {
    // A page opened from disk may have no storage.
  }
}

export function turnTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  const next = (theme ?? system) === 'dark' ? 'light' : 'dark'
  show(next)
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // Then the choice lasts as long as the page.
  }
}

function show(chosen: string | null): void {
  if (chosen !== 'light' && chosen !== 'dark') return
  theme = chosen
  document.documentElement.dataset['theme'] = chosen
}
