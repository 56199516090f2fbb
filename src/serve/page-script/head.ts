/** What stands above a conversation: the engine, the end it came to, its files and diagnostics. */
export const head = String.raw`
// ---------------------------------------------------------------- head

let headInfo = null
function drawHead(info) {
  headInfo = info
  $('engine').textContent = info.engine || 'unknown engine'
  const reason = info.reason_code && reasonNames[info.reason_code] ? reasonNames[info.reason_code] : ''
  $('state').replaceChildren(make('span', { class: 'dot ' + (info.outcome || 'running') }), info.outcome ? outcomeLine(info.outcome) : 'running')
  $('state').title = reason
  $('state').dataset.state = info.state
  $('state').dataset.outcome = info.outcome || ''
  $('command').textContent = info.argv.length ? '$ ' + info.argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'")).join(' ') : info.id
  $('command').title = info.argv.join(' ')
  drawFacts()
  drawStreams()
}

/** What was read of it is still on the page. */
function drawGone() {
  $('state').replaceChildren(make('span', { class: 'dot unknown' }), 'no longer there')
  $('state').title = ''
  $('state').dataset.state = $('state').dataset.outcome = ''
}

function drawFacts() {
  if (!headInfo) return
  const parts = [total === 1 ? '1 event' : total.toLocaleString() + ' events']
  if (headInfo.attempts > 1) parts.push(headInfo.attempts + ' attempts')
  if (headInfo.started_at) parts.push(new Date(headInfo.started_at).toLocaleString())
  if (headInfo.started_at && headInfo.ended_at) parts.push(((Date.parse(headInfo.ended_at) - Date.parse(headInfo.started_at)) / 1000).toFixed(1) + ' s')
  if (headInfo.exit_code !== null) parts.push('exit code ' + headInfo.exit_code)
  if (headInfo.signal) parts.push(headInfo.signal)
  $('facts').textContent = parts.join(' · ')
  $('facts').dataset.events = total
}

function drawNotes() {
  const rank = { fatal: 0, error: 1, warning: 2, info: 3 }
  const list = [...counts].sort((a, b) => rank[a[1].severity] - rank[b[1].severity])
  $('notes').replaceChildren(...list.map(([code, known]) =>
    make('button', { type: 'button', class: rank[known.severity] < 2 ? 'bad' : '', 'data-code': code, onclick: () => nextOf(known.items) }, code.toLowerCase().replaceAll('_', ' ') + ' ', make('b', {}, String(known.count)))))
}

function drawFiles() {
  const shown = [...files].slice(0, 12)
  $('files').replaceChildren(...shown.map(([path, file]) =>
    make('button', { type: 'button', title: file.change + ' ' + path, 'data-path': path, onclick: () => go(file.item) }, { created: '+ ', modified: '~ ', deleted: '− ' }[file.change] + path)))
  if (files.size > shown.length) $('files').append(make('span', {}, 'and ' + (files.size - shown.length) + ' more'))
}

function nextOf(list) {
  const at = list.indexOf(chosen)
  go(list[(at + 1) % list.length])
}
`
