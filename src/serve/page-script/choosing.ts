/** The item that is chosen, by hand or by key. */
export const choosing = `
// ---------------------------------------------------------------- choosing

let chosen = null

function choose(item, toggled) {
  if (chosen === item) return
  if (chosen) { chosen.element.classList.remove('chosen'); chosen.element.tabIndex = -1; chosen.element.removeAttribute('aria-current') }
  chosen = item
  if (!item) { raw.light([]); return }
  item.element.classList.add('chosen')
  item.element.setAttribute('aria-current', 'true')
  item.element.tabIndex = 0
  raw.light(item.refs)
}

function go(item) {
  item.element.scrollIntoView({ block: 'center', behavior: 'auto' })
  item.element.focus({ preventScroll: true })
  choose(item)
}

function step(by) {
  if (items.length === 0) return
  const at = items.indexOf(chosen)
  const next = items[Math.max(0, Math.min(items.length - 1, at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by))]
  next.element.focus({ preventScroll: true })
  next.element.scrollIntoView({ block: 'nearest' })
  choose(next)
}
`
