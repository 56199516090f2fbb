/** The conversation: every event becomes an item, or goes into one that is there. */
export const conversation = String.raw`
// ---------------------------------------------------------------- conversation

/** Items in the order of the conversation: {element, refs, update}. */
let items = []

let messages, calls, counts, files, rawGroup, attempt, total, spans
/** Where each event stands in its log, to find it from a byte. */
let places = []

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
  return event.type + ' · ' + event.ts.slice(11, 23) + sure
}

function take(event) {
  const data = event.data
  const type = event.type
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
      if (!call) { take({ ...event, type: 'tool.call.started' }); call = calls.get(data.call_id) }
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
    case 'user.message':
      add(event, 'prompt', make('div', { class: 'asked' }, data.text))
      return
    case 'lifecycle.run.status': {
      const spent = data.tokens ? usage(data.tokens) : ''
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
      const outcome = outcomeOf({ state: data.state, evidence: data.evidence || {} })
      add(event, 'end', make('div', { class: 'end' }, make('h2', {}, make('span', { class: 'dot ' + outcome }), outcomeLine(outcome)), make('p', {}, why(data))))
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
`
