/** What the keys do. */
export const keys = `
// ---------------------------------------------------------------- keys

document.addEventListener('keydown', (press) => {
  const typing = press.target.matches('input')
  if (press.key === 'Escape') {
    if (typing) press.target.blur()
    else if (chosen && !$('help').open) { chosen.element.blur(); choose(null) }
    return
  }
  if (typing || press.metaKey || press.ctrlKey || press.altKey || $('help').open) return
  const arrows = $('conversation').contains(press.target) || press.target === document.body
  const acts = {
    j: () => step(1), k: () => step(-1), g: () => step(-items.length), G: () => step(items.length),
    '/': () => $('find').focus(), '?': () => $('help').showModal(), t: turnTheme,
    d: () => nextOf(items.filter((item) => item.element.dataset.kind === 'diagnostic').length ? items.filter((item) => item.element.dataset.kind === 'diagnostic') : [chosen || items[0]]),
    s: () => { const tabs = [...$('streams').children]; const on = tabs.findIndex((tab) => tab.getAttribute('aria-selected') === 'true'); if (tabs.length) tabs[(on + 1) % tabs.length].click() },
    f: () => { const all = [...$('conversation').querySelectorAll('details')]; const open = all.some((fold) => !fold.open); for (const fold of all) fold.open = open },
  }
  if (arrows) Object.assign(acts, { ArrowDown: acts.j, ArrowUp: acts.k, Home: acts.g, End: acts.G })
  if (press.target.tagName === 'ARTICLE') acts.Enter = acts[' '] = () => { const fold = press.target.querySelector('details'); if (fold) fold.open = !fold.open }
  const act = acts[press.key]
  if (!act || (items.length === 0 && 'jkgGd'.includes(press.key))) return
  press.preventDefault()
  act()
})
`
