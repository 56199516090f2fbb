/** The streams of a run, as tabs. */
export const streams = `
// ---------------------------------------------------------------- streams

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
`
