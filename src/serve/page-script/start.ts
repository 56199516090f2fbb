/** Where the page begins: the run that the address names, and the list, looked at again and again. */
export const start = `
// ---------------------------------------------------------------- start

function followHash() {
  let id = ''
  try { id = decodeURIComponent(location.hash.slice(1)) } catch {}
  if (id && id !== 'conversation' && id !== current) openRun(id)
}
addEventListener('hashchange', followHash)

clear()
loadRuns().then(() => {
  followHash()
  if (!current && runs.length === 1) location.hash = encodeURIComponent(runs[0].id)
})
setInterval(loadRuns, 2000)
`
