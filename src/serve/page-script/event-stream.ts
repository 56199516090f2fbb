/** The events of the run as they come, drawn at most once a frame. */
export const eventStream = `
// ---------------------------------------------------------------- event stream

let source = null
let lastId = null

const types = [
  'lifecycle.run.status', 'lifecycle.completion.state', 'lifecycle.run.result', 'user.message', 'agent.message.delta', 'agent.message.final',
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
  mine.addEventListener('sluice.fault', (message) => {
    if (mine !== source) return
    const fault = JSON.parse(message.data)
    mine.close()
    source = null
    feed.setAttribute('aria-busy', 'false')
    feed.dataset.over = true
    $('link').textContent = fault.code + ': ' + fault.message
  })
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
`
