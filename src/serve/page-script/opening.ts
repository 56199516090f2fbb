/** Opening a run, and forgetting the one before. */
export const opening = `
// ---------------------------------------------------------------- opening

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
`
