/** Light or dark, as the reader chose it the last time. */
export const theme = `
// ---------------------------------------------------------------- theme

function turnTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset.theme = dark ? 'light' : 'dark'
  try { localStorage.setItem('sluice.theme', document.documentElement.dataset.theme) } catch {}
}
try { const theme = localStorage.getItem('sluice.theme'); if (theme) document.documentElement.dataset.theme = theme } catch {}

$('theme').addEventListener('click', turnTheme)
`
