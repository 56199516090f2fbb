const KEY = 'sluice.theme'

/** Light or dark, as the reader last chose; else the system's setting. */
export function restoreTheme(): void {
  try {
    const theme = localStorage.getItem(KEY)
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset['theme'] = theme
  } catch {
    // A page opened from disk may have no storage.
  }
}

export function turnTheme(): void {
  const root = document.documentElement
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  root.dataset['theme'] = (root.dataset['theme'] ?? system) === 'dark' ? 'light' : 'dark'
  try {
    localStorage.setItem(KEY, root.dataset['theme'])
  } catch {
    // Then the choice lasts as long as the page.
  }
}
