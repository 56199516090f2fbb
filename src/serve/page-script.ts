/**
 * What the page does. It stands here as text, because it runs in the browser and the package needs no file
 * beside its code. Text of agents only ever becomes text nodes: there is no innerHTML in it.
 */
export const script = String.raw`'use strict'
const $ = (id) => document.getElementById(id)

/** Makes an element. Children are elements or text; text is never read as HTML. */
function make(tag, props, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue
    if (name === 'class') element.className = value
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.filter((child) => child !== undefined && child !== null))
  return element
}

const stateNames = {
  running: 'running', completed: 'completed', awaiting_user_input: 'waiting for input', interrupted: 'interrupted', unknown: 'end unknown',
}
const reasonNames = {
  DONE_MARKER: 'it said that its work is done',
  END_SIGNAL: 'its turn is over and it waits for an answer',
  ENGINE_FAILED: 'the engine reported a failure',
  EXIT_CODE: 'its exit code is not 0',
  SIGNAL: 'a signal ended it',
  TRUNCATED: 'its output stops in the middle of a record',
  NO_END_SIGNAL: 'it stopped without saying that it was done',
}

// ---------------------------------------------------------------- the list of runs

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
    }
  } catch {
    // The server is away; the next look finds it again.
  }
}

function drawRuns() {
  const wanted = $('find').value.trim().toLowerCase()
  const shown = runs.filter((run) => (run.id + ' ' + run.engine + ' ' + run.state + ' ' + run.argv.join(' ')).toLowerCase().includes(wanted))
  $('none').hidden = shown.length > 0
  const key = JSON.stringify([current, shown.map((run) => [run.id, run.state, run.attempts, run.engine])])
  if ($('runs').dataset.key === key) return
  $('runs').dataset.key = key
  const focused = document.activeElement && document.activeElement.dataset.id
  $('runs').replaceChildren(...shown.map((run) => {
    // An audit folder is known by the folder it stands in.
    const place = run.id.replace(/(.)\/\.audit$/, '$1')
    const cut = place.lastIndexOf('/') + 1
    const folder = place.slice(0, Math.max(0, cut - 1))
    const tries = run.attempts > 1 ? ' · ' + run.attempts + ' attempts' : ''
    return make('li', {}, make('a', { href: '#' + encodeURIComponent(run.id), 'aria-current': run.id === current ? 'page' : undefined, 'data-id': run.id },
      make('span', { class: 'dot ' + run.state }),
      make('span', { class: 'name', title: run.id }, place.slice(cut)),
      make('span', { class: 'about' }, (folder && folder !== run.engine ? folder + ' · ' : '') + (run.engine || 'unknown engine') + ' · ' + stateNames[run.state] + tries),
      make('span', { class: 'when' }, run.started_at ? shortDate(run.started_at) : '')))
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

// ---------------------------------------------------------------- one run

let source = null
let lastId = null
/** Items in the order of the conversation: {element, refs, update}. */
let items = []
let chosen = null
let messages, calls, counts, files, rawGroup, attempt, total, spans
/** Where each event stands in its log, to find it from a byte. */
let places = []

function clear() {
  items = []
  places = []
  messages = new Map()
  calls = new Map()
  counts = new Map()
  files = new Map()
  spans = 0
  rawGroup = null
  attempt = 0
  total = 0
  chosen = null
  queue.length = 0
  $('conversation').replaceChildren()
  drawNotes()
  drawFiles()
  lastId = null
}

function openRun(id) {
  current = id
  if (source) source.close()
  source = null
  clear()
  const info = runs.find((run) => run.id === id)
  $('welcome').hidden = true
  $('head').hidden = false
  $('raw').hidden = false
  if (info) drawHead(info)
  drawRuns()
  stream = null
  raw.reset()
  drawStreams()
  connect()
  document.title = id + ' · sluice'
}

const types = [
  'lifecycle.run.status', 'lifecycle.completion.state', 'lifecycle.run.result', 'agent.message.delta', 'agent.message.final',
  'agent.reasoning.summary', 'tool.call.started', 'tool.call.completed', 'tool.call.failed', 'artifact.created', 'artifact.modified',
  'artifact.deleted', 'diagnostic.parser.warning', 'diagnostic.engine.error', 'raw.stdout', 'raw.stderr', 'raw.pty', 'message',
]

function connect() {
  const after = lastId ? '?after=' + encodeURIComponent(lastId) : ''
  const mine = (source = new EventSource('/runs/' + encodeURIComponent(current) + '/events' + after))
  const feed = $('conversation')
  feed.setAttribute('aria-busy', 'true')
  $('link').textContent = 'connecting'
  mine.onopen = () => { if (mine === source) $('link').textContent = 'live' }
  mine.onerror = () => {
    if (mine !== source) return
    // The server closes the stream of a run that is over and answers the next question with "nothing more".
    const over = mine.readyState === EventSource.CLOSED
    $('link').textContent = over ? '' : 'reconnecting'
    feed.setAttribute('aria-busy', 'false')
    if (over) source = null
    feed.dataset.over = over
  }
  mine.addEventListener('sluice.reset', () => { if (mine === source) clear() })
  for (const type of types) {
    mine.addEventListener(type, (message) => {
      if (mine !== source) return
      lastId = message.lastEventId
      queue.push(JSON.parse(message.data))
      schedule()
    })
  }
}

const queue = []
let scheduled = false
function schedule() {
  if (scheduled) return
  scheduled = true
  // A timer beside the frame: a page in the background has no frames, but must not pile up either.
  const go = () => { if (scheduled) { scheduled = false; flush() } }
  requestAnimationFrame(go)
  setTimeout(go, 120)
}

function flush() {
  const box = $('conversation')
  const follow = box.scrollHeight - box.scrollTop - box.clientHeight < 300 + box.clientHeight * 0.4 && !chosen
  for (const event of queue.splice(0)) {
    total++
    if (event.attempt_number !== attempt) begin(event)
    take(event)
  }
  drawNotes()
  drawFiles()
  drawFacts()
  if (follow && items.length > 12) { const last = items[items.length - 1].element; last.scrollIntoView({ block: 'end' }) }
  if (!chosen) raw.tail()
}

function begin(event) {
  attempt = event.attempt_number
  rawGroup = null
  messages.clear()
  calls.clear()
  if (attempt > 1) $('conversation').append(make('p', { class: 'attempt' }, 'Attempt ' + attempt))
}

/** Adds an item to the conversation. */
function add(event, kind, body) {
  const id = event.attempt_number + '.' + event.seq
  const element = make('article', { tabindex: '-1', 'data-id': id, 'data-kind': kind, title: title(event) }, make('span', { class: 'seq', 'aria-hidden': 'true' }, String(event.seq)), make('div', { class: 'body' }, body))
  const item = { element, refs: [] }
  element.addEventListener('focus', () => choose(item))
  element.addEventListener('click', (press) => {
    if (getSelection().isCollapsed || !element.contains(getSelection().anchorNode)) choose(item, press.detail > 0)
  })
  items.push(item)
  if (items.length === 1) element.tabIndex = 0
  refer(item, event)
  $('conversation').append(element)
  return item
}

function refer(item, event) {
  if (!event.raw_ref) return
  item.refs.push(event.raw_ref)
  places.push({ ref: event.raw_ref, item })
}

function title(event) {
  const sure = event.source.confidence < 0.7 ? ' · confidence ' + event.source.confidence : ''
  return event.event.type + ' · ' + event.ts.slice(11, 23) + sure
}

function take(event) {
  const data = event.data
  const type = event.event.type
  if (!type.startsWith('raw.')) rawGroup = null
  switch (type) {
    case 'agent.message.delta': {
      let open = messages.get(data.message_id)
      if (!open) {
        const said = make('div', { class: 'said open' })
        open = { item: add(event, 'message', said), said, text: '' }
        messages.set(data.message_id, open)
      } else refer(open.item, event)
      open.text += data.text
      open.said.append(data.text)
      return
    }
    case 'agent.message.final': {
      const open = messages.get(data.message_id)
      messages.delete(data.message_id)
      const said = open ? open.said : make('div', { class: 'said' })
      said.className = 'said'
      said.replaceChildren(...prose(data.text))
      if (data.incomplete) said.append(make('div', { class: 'cut' }, 'cut off'))
      if (open) refer(open.item, event)
      else add(event, 'message', said)
      return
    }
    case 'agent.reasoning.summary':
      add(event, 'reasoning', make('details', { class: 'reason' },
        make('summary', {}, make('span', { class: 'text' }, firstLine(data.text) || 'Thoughts')), make('div', { class: 'said' }, ...prose(data.text))))
      return
    case 'tool.call.started': {
      const how = make('span', { class: 'how' }, 'running')
      const io = make('div', { class: 'io' })
      const text = make('span', { class: 'text' }, summary(data.input))
      const item = add(event, 'tool', make('details', { class: 'tool' }, make('summary', {}, make('span', { class: 'name' }, data.name), text, how), io))
      if (data.input !== undefined) io.append(make('h3', {}, 'Input'), make('pre', {}, pretty(data.input)))
      calls.set(data.call_id, { item, how, io, text })
      return
    }
    case 'tool.call.completed':
    case 'tool.call.failed': {
      let call = calls.get(data.call_id)
      if (!call) { take({ ...event, event: { ...event.event, type: 'tool.call.started' } }); call = calls.get(data.call_id) }
      else refer(call.item, event)
      calls.delete(data.call_id)
      const failed = type === 'tool.call.failed'
      call.item.element.dataset.outcome = failed ? 'failed' : 'completed'
      call.how.className = 'how ' + (failed ? 'bad' : 'good')
      call.how.textContent = (failed ? 'failed' : 'done') + (data.exit_code === undefined ? '' : ' · exit ' + data.exit_code)
      if (call.text.textContent === '' && data.input !== undefined) call.text.textContent = summary(data.input)
      if (data.error !== undefined) call.io.append(make('h3', {}, 'Error'), make('pre', {}, data.error))
      if (data.output !== undefined) call.io.append(make('h3', {}, 'Output'), make('pre', {}, pretty(data.output)))
      return
    }
    case 'artifact.created':
    case 'artifact.modified':
    case 'artifact.deleted': {
      const change = type.slice(9)
      const item = add(event, 'artifact', make('div', { class: 'file ' + change }, make('b', {}, { created: '+ ', modified: '~ ', deleted: '− ' }[change]), data.path))
      files.set(data.path, { change, item })
      return
    }
    case 'diagnostic.parser.warning':
    case 'diagnostic.engine.error': {
      const many = data.count > 1 ? ' × ' + data.count : ''
      const item = add(event, 'diagnostic', make('div', { class: 'note ' + data.severity }, make('b', {}, data.code + many), ' ' + data.message))
      const known = counts.get(data.code) || { count: 0, items: [], severity: data.severity }
      known.count += data.count || 1
      known.items.push(item)
      counts.set(data.code, known)
      return
    }
    case 'lifecycle.run.status': {
      const spent = data.usage && typeof data.usage === 'object' ? usage(data.usage) : ''
      add(event, 'status', make('div', { class: 'step' }, data.status.replaceAll('_', ' ') + (data.model ? ' · ' + data.model : '') + (data.reason ? ' · ' + data.reason : '') + spent))
      return
    }
    case 'lifecycle.run.result': {
      const fine = data.status === 'success'
      add(event, 'result', make('details', { class: 'tool' }, make('summary', {}, make('span', { class: 'name' }, 'Result'), make('span', { class: 'text' }, summary(data.value)), make('span', { class: 'how ' + (fine ? 'good' : 'bad') }, data.status)),
        make('div', { class: 'io' }, make('pre', {}, pretty(fine ? data.value : data.errors)))))
      return
    }
    case 'lifecycle.completion.state': {
      for (const open of messages.values()) open.said.className = 'said'
      add(event, 'end', make('div', { class: 'end' }, make('h2', {}, make('span', { class: 'dot ' + data.state }), sentence(stateNames[data.state])), make('p', {}, why(data))))
      return
    }
    default: {
      const line = data && typeof data.line === 'string' ? data.line : JSON.stringify(data)
      const stream = type.slice(4)
      if (rawGroup && rawGroup.stream === stream && rawGroup.count < 500) {
        rawGroup.count++
        refer(rawGroup.item, event)
        rawGroup.label.textContent = rawGroup.count + ' raw lines · ' + stream
        rawGroup.lines.append('\n' + line)
        return
      }
      const label = make('span', { class: 'text' }, '1 raw line · ' + stream)
      const lines = make('pre', {}, line)
      const item = add(event, 'raw', make('details', { class: 'lines' }, make('summary', {}, label), lines))
      rawGroup = { item, label, lines, count: 1, stream }
    }
  }
}

function usage(numbers) {
  const count = (key) => (typeof numbers[key] === 'number' ? numbers[key].toLocaleString() : null)
  const parts = [['input_tokens', 'in'], ['cached_input_tokens', 'cached'], ['output_tokens', 'out']].map(([key, word]) => (count(key) ? count(key) + ' ' + word : '')).filter(Boolean)
  return parts.length ? ' · tokens: ' + parts.join(', ') : ''
}

function why(data) {
  const seen = data.evidence || {}
  const parts = [reasonNames[data.reason_code] || data.reason_code]
  if (seen.end_signal) parts.push('end signal ' + seen.end_signal)
  if (seen.failure) parts.push(seen.failure)
  if (seen.signal) parts.push(seen.signal)
  else if (seen.exit_code !== null && seen.exit_code !== undefined) parts.push('exit code ' + seen.exit_code)
  return sentence(parts.join('; ')) + '.'
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1)
const firstLine = (text) => (text.trim().split('\n')[0] || '').slice(0, 400).replace(/^[*#\s]+|[*\s]+$/g, '').slice(0, 200)

function summary(value) {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value.split('\n')[0].slice(0, 300)
  if (typeof value === 'object' && !Array.isArray(value)) {
    const first = value.command ?? value.cmd ?? value.path ?? value.file_path ?? value.query ?? value.pattern
    if (Array.isArray(value.changes)) return value.changes.map((change) => change && change.path).filter(Boolean).join(', ').slice(0, 300)
    if (first !== undefined) return summary(Array.isArray(first) ? first.join(' ') : first)
  }
  return JSON.stringify(value).slice(0, 300)
}

function pretty(value) {
  if (typeof value === 'string') return value
  return JSON.stringify(value, null, 2) ?? ''
}

/** Text with its fenced blocks and inline code set as code: text nodes and elements, no markup is run. */
function prose(text) {
  const out = []
  const parts = text.split('\n')
  let plain = []
  let code = null
  const flushPlain = () => {
    let joined = plain.join('\n')
    plain = []
    // A block of code has room of its own around it.
    if (out.length > 0) joined = joined.replace(/^\n{1,9}/, '')
    if (code !== null) joined = joined.replace(/\n{1,9}$/, '')
    if (joined === '') return
    const bits = joined.length < 20000 ? joined.split(/(${'`'}[^${'`'}\n]{1,200}${'`'})/) : [joined]
    for (const bit of bits) out.push(bit.length > 2 && bit.startsWith('${'`'}') && bit.endsWith('${'`'}') ? make('code', {}, bit.slice(1, -1)) : bit)
  }
  for (const line of parts) {
    const fence = /^ {0,3}${'```'}/.test(line)
    if (fence && code === null) { code = []; flushPlain() }
    else if (fence) { out.push(make('pre', {}, code.join('\n'))); code = null }
    else if (code !== null) code.push(line)
    else plain.push(line)
  }
  if (code !== null) out.push(make('pre', {}, code.join('\n')))
  code = null
  flushPlain()
  return out
}

// ---------------------------------------------------------------- the head

let headInfo = null
function drawHead(info) {
  headInfo = info
  $('engine').textContent = info.engine || 'unknown engine'
  const reason = info.reason_code && reasonNames[info.reason_code] ? reasonNames[info.reason_code] : ''
  $('state').replaceChildren(make('span', { class: 'dot ' + info.state }), stateNames[info.state])
  $('state').title = reason
  $('state').dataset.state = info.state
  $('command').textContent = info.argv.length ? '$ ' + info.argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'")).join(' ') : info.id
  $('command').title = info.argv.join(' ')
  drawFacts()
  drawStreams()
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

// ---------------------------------------------------------------- choosing

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

// ---------------------------------------------------------------- raw bytes

/** The stream that is shown: {attempt, stream}. */
let stream = null

function drawStreams() {
  if (!headInfo) return
  const list = headInfo.streams
  if (!stream && list.length) {
    const last = list.filter((known) => known.bytes > 0)
    const begin = last[0] || list[0]
    stream = { attempt: begin.attempt, stream: begin.stream }
  }
  const many = headInfo.attempts > 1
  $('streams').replaceChildren(...list.map((known) => {
    const on = stream && known.attempt === stream.attempt && known.stream === stream.stream
    return make('button', { type: 'button', role: 'tab', 'aria-selected': on ? 'true' : 'false', 'data-stream': known.stream, onclick: () => showStream(known) },
      (many ? known.attempt + ' · ' : '') + known.stream + ' ', make('small', {}, size(known.bytes)))
  }))
}

function showStream(known) {
  stream = { attempt: known.attempt, stream: known.stream }
  drawStreams()
  raw.reset()
  raw.light(chosen ? chosen.refs : [])
}

function size(bytes) {
  if (bytes < 1000) return bytes + ' B'
  if (bytes < 1e6) return (bytes / 1000).toFixed(1) + ' KB'
  return (bytes / 1e6).toFixed(1) + ' MB'
}

const WINDOW = 16 * 1024
const raw = (() => {
  /** The bytes [from, to) that are shown, of a log that has so many. */
  let from = 0
  let to = 0
  let all = 0
  let bytes = new Uint8Array(0)
  let ranges = []
  let ticket = 0
  let tailing = 0

  /** The bytes, or null if the server cannot be reached now. */
  async function load(start, end) {
    const query = '?attempt=' + stream.attempt + '&from=' + Math.max(0, start) + '&to=' + end
    try {
      const response = await fetch('/runs/' + encodeURIComponent(current) + '/raw/' + stream.stream + query)
      all = Number(response.headers.get('x-total-bytes'))
      return response.ok ? new Uint8Array(await response.arrayBuffer()) : new Uint8Array(0)
    } catch {
      return null
    }
  }

  /** Shows [start, end), widened to whole lines where they are near. */
  async function show(start, end) {
    const mine = ++ticket
    if (!current || !stream) return false
    const got = await load(Math.max(0, start), end)
    if (mine !== ticket || !got) return false
    from = Math.max(0, start)
    bytes = got
    if (from > 0) {
      const cut = bytes.indexOf(10) + 1
      if (cut > 0 && cut < 4096 && !(ranges[0] && from + cut > ranges[0].byte_from)) { bytes = bytes.subarray(cut); from += cut }
    }
    to = from + bytes.length
    draw()
    return true
  }

  function draw() {
    const box = $('bytes')
    const rows = []
    if (from > 0) rows.push(make('button', { class: 'more', type: 'button', onclick: () => grow(-1) }, from.toLocaleString() + ' bytes before'))
    const decoder = new TextDecoder()
    for (let at = 0; at < bytes.length; ) {
      const lf = bytes.indexOf(10, at)
      const end = lf < 0 ? bytes.length : lf + 1
      rows.push(row(from + at, bytes.subarray(at, end), decoder))
      at = end
    }
    if (to < all) rows.push(make('button', { class: 'more', type: 'button', onclick: () => grow(1) }, (all - to).toLocaleString() + ' bytes after'))
    if (all === 0) rows.push(make('p', { class: 'void' }, 'Nothing was written here.'))
    box.replaceChildren(...rows)
  }

  /** One line of the log, with the parts that are meant by the chosen item marked. */
  function row(at, line, decoder) {
    const parts = []
    let done = 0
    let lit = false
    for (const range of ranges) {
      const start = Math.max(done, range.byte_from - at)
      const end = Math.min(line.length, range.byte_to - at)
      if (end <= start) continue
      lit = true
      if (start > done) parts.push(visible(decoder.decode(line.subarray(done, start))))
      parts.push(make('mark', {}, visible(decoder.decode(line.subarray(start, end)))))
      done = end
    }
    if (done < line.length) parts.push(visible(decoder.decode(line.subarray(done))))
    return make('div', { class: lit ? 'row lit' : 'row', 'data-at': at }, make('span', { class: 'at' }, String(at)), make('span', { class: 'line' }, ...parts))
  }

  async function grow(way) {
    const box = $('bytes')
    const height = box.scrollHeight
    const old = box.scrollTop
    await show(way < 0 ? from - WINDOW * 2 : from, way < 0 ? to : to + WINDOW * 2)
    if (way < 0) box.scrollTop = old + box.scrollHeight - height
  }

  return {
    reset() {
      ticket++
      from = to = all = 0
      bytes = new Uint8Array(0)
      ranges = []
      $('bytes').replaceChildren()
      $('range').textContent = ''
    },
    /** Marks these ranges and brings the first into view. */
    async light(refs) {
      ranges = refs.slice().sort((a, b) => a.byte_from - b.byte_from)
      const first = refs[0]
      if (!first) { $('range').textContent = ''; if (stream && bytes.length) draw(); else await this.tail(); return }
      if (!stream || stream.stream !== first.stream || stream.attempt !== first.attempt_number) {
        stream = { attempt: first.attempt_number, stream: first.stream }
        bytes = new Uint8Array(0)
        from = to = 0
        drawStreams()
      }
      ranges = ranges.filter((ref) => ref.stream === first.stream && ref.attempt_number === first.attempt_number)
      const begin = ranges[0].byte_from
      const end = Math.min(ranges[ranges.length - 1].byte_to, begin + 512 * 1024)
      const words = ranges.length === 1 ? 'bytes ' + ranges[0].byte_from.toLocaleString() + ' to ' + ranges[0].byte_to.toLocaleString() : ranges.length + ' ranges from byte ' + begin.toLocaleString()
      $('range').textContent = words + ' · ' + size(ranges.reduce((sum, ref) => sum + ref.byte_to - ref.byte_from, 0))
      if (begin >= from && end <= to) draw()
      else if (!(await show(begin - WINDOW, end + WINDOW))) return
      const lit = $('bytes').querySelector('.lit')
      if (lit) {
        const box = $('bytes')
        const up = lit.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop
        box.scrollTo({ top: Math.max(0, up - box.clientHeight * 0.3), behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' })
      }
    },
    /** Nothing is chosen: shows the end of the stream, at most twice a second. */
    async tail() {
      if (!stream || tailing) return
      tailing = setTimeout(async () => {
        tailing = 0
        if (chosen || !stream) return
        if ((await load(0, 0)) && (await show(all - WINDOW * 2, all))) $('bytes').scrollTop = $('bytes').scrollHeight
      }, bytes.length ? 500 : 0)
    },
  }
})()

/** Characters that cannot be seen, made visible; a terminal would obey them. */
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (c) => (c === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + c.charCodeAt(0))))
}

$('bytes').addEventListener('click', (press) => {
  const row = press.target.closest('.row')
  if (!row || !stream || !getSelection().isCollapsed) return
  const at = Number(row.dataset.at)
  const here = places.find(({ ref }) => ref.stream === stream.stream && ref.attempt_number === stream.attempt && ref.byte_from <= at && at < ref.byte_to)
  if (here) go(here.item)
})

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

function turnTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset.theme = dark ? 'light' : 'dark'
  try { localStorage.setItem('sluice.theme', document.documentElement.dataset.theme) } catch {}
}
try { const theme = localStorage.getItem('sluice.theme'); if (theme) document.documentElement.dataset.theme = theme } catch {}

$('theme').addEventListener('click', turnTheme)
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
