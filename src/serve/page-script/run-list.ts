/** The list of runs: loaded, narrowed by what is looked for, walked with the arrows. */
export const runList = String.raw`
// ---------------------------------------------------------------- run list

let runs = []
let current = null

async function loadRuns() {
  try {
    const response = await fetch('/runs')
    runs = await response.json()
    drawRuns()
    const info = runs.find((run) => run.id === current)
    if (info) {
      drawHead(info)
      if (info.state === 'running' && !source) connect()
    } else if (headInfo && headInfo.id === current) drawGone()
  } catch {
    // The server is away; the next look finds it again.
  }
}

function drawRuns() {
  const wanted = $('find').value.trim().toLowerCase()
  const shown = runs.filter((run) => (run.id + ' ' + run.engine + ' ' + run.state + ' ' + run.outcome + ' ' + (run.session ? run.session.directory : '') + ' ' + run.argv.join(' ')).toLowerCase().includes(wanted))
  $('none').hidden = shown.length > 0
  const key = JSON.stringify([current, shown.map((run) => [run.id, run.state, run.outcome, run.attempts, run.engine])])
  if ($('runs').dataset.key === key) return
  $('runs').dataset.key = key
  const focused = document.activeElement && document.activeElement.dataset.id
  $('runs').replaceChildren(...shown.map((run) => {
    // A session is known by the folder the agent worked in, an audit folder by the folder it is in.
    const place = (run.session && run.session.directory) || run.id.replace(/(.)\/\.audit$/, '$1')
    const date = run.session ? run.session.updated_at : run.started_at
    const cut = place.lastIndexOf('/') + 1
    const folder = place.slice(0, Math.max(0, cut - 1))
    const tries = run.attempts > 1 ? ' · ' + run.attempts + ' attempts' : ''
    return make('li', {}, make('a', { href: '#' + encodeURIComponent(run.id), 'aria-current': run.id === current ? 'page' : undefined, 'data-id': run.id },
      make('span', { class: 'dot ' + (run.outcome || 'running') }),
      make('span', { class: 'name', title: run.id }, place.slice(cut)),
      make('span', { class: 'about' }, (folder && folder !== run.engine ? folder + ' · ' : '') + (run.engine || 'unknown engine') + (run.session ? ' session' : '') + ' · ' + (run.outcome || 'running') + tries),
      make('span', { class: 'when' }, date ? shortDate(date) : '')))
  }))
  const here = $('runs').querySelector('[aria-current]')
  if (here && !focused) here.scrollIntoView({ block: 'nearest' })
  if (focused) for (const link of $('runs').querySelectorAll('a')) if (link.dataset.id === focused) link.focus()
}

function shortDate(text) {
  const date = new Date(text)
  const today = new Date().toDateString() === date.toDateString()
  return date.toLocaleString([], today ? { hour: '2-digit', minute: '2-digit' } : { month: 'short', day: 'numeric' })
}

$('find').addEventListener('input', drawRuns)
$('find').addEventListener('keydown', (press) => {
  const first = $('runs').querySelector('a')
  if (press.key === 'Enter' && first) first.click()
  if (press.key === 'ArrowDown' && first) { press.preventDefault(); first.focus() }
})
$('runs').addEventListener('keydown', (press) => {
  if (press.key !== 'ArrowDown' && press.key !== 'ArrowUp') return
  const links = [...$('runs').querySelectorAll('a')]
  const next = links[links.indexOf(document.activeElement) + (press.key === 'ArrowDown' ? 1 : -1)]
  press.preventDefault()
  if (next) next.focus()
})
`
