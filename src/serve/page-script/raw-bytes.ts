/** The raw bytes of the stream that is shown, with those of the chosen item marked. */
export const rawBytes = String.raw`
// ---------------------------------------------------------------- raw bytes

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
`
