import type { RawRef } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'
import { button, byId, make } from './element.ts'
import type { Source } from './source.ts'
import { countWords, sizeWords, visible } from './words.ts'

/** The raw bytes of a run: one stream at a time, with the bytes of the chosen item marked. */
export interface RawPane {
  /** Forgets the previous run and shows this one. */
  open(id: string): void
  /** Sets the info of the run: its streams and their sizes. */
  inform(info: RunInfo): void
  /** Marks these ranges and scrolls to the first; without any, shows the stream unmarked. */
  light(refs: readonly RawRef[]): Promise<void>
  /** Shows the end of the stream if nothing is chosen, at most twice a second. */
  tail(): void
  /** Shows the next stream. */
  next(): void
  /** Scrolls to the marked bytes, if the pane was not visible before. */
  reveal(): void
}

export interface RawPaneOptions {
  readonly source: Source
  /** Called when a line is chosen, with its first byte. */
  readonly onLine: (attempt: number, stream: string, byte: number) => void
}

/** Bytes to show around the current position. */
const WINDOW = 16 * 1024
/** Maximum bytes of the chosen item to show. */
const MAX_LIT = 512 * 1024
/** Maximum bytes of a line to draw; the rest is counted. */
const MAX_LINE = 64 * 1024
const TAIL_MS = 500
const LF = 10
const NOTHING = new Uint8Array(0)

export function rawPane({ source, onLine }: RawPaneOptions): RawPane {
  const box = byId('bytes')
  const range = byId('range')
  const tabs = byId('streams')
  let id = ''
  let info: RunInfo | undefined
  let stream: { readonly attempt: number; readonly stream: string } | undefined
  /** The visible bytes [from, to), of a log that has `total`. */
  let from = 0
  let to = 0
  let total = 0
  let bytes: Uint8Array = NOTHING
  let ranges: readonly RawRef[] = []
  /** The last ranges to mark, in whichever stream they are. */
  let wanted: readonly RawRef[] = []
  /** Drops responses that arrive after a later request. */
  let ticket = 0
  let tailing = false

  function forget(): void {
    ticket++
    from = to = total = 0
    bytes = NOTHING
    ranges = []
    box.replaceChildren()
    range.textContent = ''
  }

  async function load(start: number, end: number): Promise<Uint8Array | undefined> {
    if (!stream) return undefined
    const got = await source.bytes(id, { ...stream, from: start, to: end })
    if (got) total = got.total
    return got?.bytes
  }

  /** Shows [start, end), extended to whole lines if they are near. False if it is outdated. */
  async function show(start: number, end: number): Promise<boolean> {
    const mine = ++ticket
    const begin = Math.max(0, start)
    const got = await load(begin, end)
    if (mine !== ticket || !got) return false
    from = begin
    bytes = got
    const cut = from > 0 ? bytes.indexOf(LF) + 1 : 0
    const first = ranges[0]
    if (cut > 0 && cut < 4096 && !(first && from + cut > first.byte_from)) {
      bytes = bytes.subarray(cut)
      from += cut
    }
    to = from + bytes.length
    draw()
    return true
  }

  function draw(): void {
    const rows: Node[] = []
    const before = `${from.toLocaleString()} bytes before`
    if (from > 0) rows.push(button({ class: 'more' }, () => grow(-1), before))
    const decoder = new TextDecoder()
    for (let at = 0; at < bytes.length; ) {
      const lf = bytes.indexOf(LF, at)
      const end = lf < 0 ? bytes.length : lf + 1
      rows.push(row(from + at, bytes.subarray(at, end), decoder))
      at = end
    }
    const after = `${(total - to).toLocaleString()} bytes after`
    if (to < total) rows.push(button({ class: 'more' }, () => grow(1), after))
    if (total === 0) rows.push(make('p', { class: 'void' }, 'Nothing was written here.'))
    box.replaceChildren(...rows)
  }

  /** One line of the log, with the parts of the chosen item marked. */
  function row(at: number, whole: Uint8Array, decoder: TextDecoder): HTMLElement {
    const parts: (Node | string)[] = []
    let done = 0
    let lit = false
    // A line that is too long to draw is drawn from the mark on.
    const first = ranges.find((ref) => ref.byte_to > at && ref.byte_from < at + whole.length)
    const skip = whole.length > MAX_LINE && first ? Math.max(0, first.byte_from - at - 1024) : 0
    const line = whole.subarray(0, skip + MAX_LINE)
    if (skip > 0) {
      parts.push(make('i', {}, `(${countWords(skip, 'byte')}) `))
      done = skip
    }
    const text = (start: number, end: number) => visible(decoder.decode(line.subarray(start, end)))
    for (const ref of ranges) {
      const start = Math.max(done, ref.byte_from - at)
      const end = Math.min(line.length, ref.byte_to - at)
      if (end <= start) continue
      lit = true
      if (start > done) parts.push(text(done, start))
      parts.push(make('mark', {}, text(start, end)))
      done = end
    }
    if (done < line.length) parts.push(text(done, line.length))
    if (line.length < whole.length)
      parts.push(make('i', {}, ` (${countWords(whole.length - line.length, 'byte')})`))
    return make(
      'div',
      { class: lit ? 'row lit' : 'row', 'data-at': at },
      make('span', { class: 'at' }, String(at)),
      make('span', { class: 'line' }, ...parts),
    )
  }

  async function grow(way: 1 | -1): Promise<void> {
    const height = box.scrollHeight
    const old = box.scrollTop
    if (way < 0) {
      await show(from - WINDOW * 2, to)
      box.scrollTop = old + box.scrollHeight - height
    } else await show(from, to + WINDOW * 2)
    box.focus({ preventScroll: true })
  }

  function drawTabs(): void {
    if (!info) return
    const known = info.streams
    const begin = known.find((one) => one.bytes > 0) ?? known[0]
    if (!stream && begin) stream = { attempt: begin.attempt, stream: begin.stream }
    const many = info.attempts > 1
    const key = JSON.stringify([known, stream])
    if (tabs.dataset['key'] === key) return
    tabs.dataset['key'] = key
    const focused = tabs.contains(document.activeElement)
    const made = known.map((one) => {
      const on = one.attempt === stream?.attempt && one.stream === stream.stream
      const props = {
        role: 'tab',
        'aria-selected': on ? 'true' : 'false',
        'aria-controls': 'bytes',
        tabindex: on ? 0 : -1,
        'data-stream': one.stream,
      }
      const name = `${many ? `${one.attempt} · ` : ''}${one.stream} `
      return button(props, () => choose(one), name, make('small', {}, sizeWords(one.bytes)))
    })
    tabs.replaceChildren(...made)
    if (focused) made.find((tab) => tab.tabIndex === 0)?.focus()
  }

  function choose({ attempt, stream: name }: { attempt: number; stream: string }): void {
    stream = { attempt, stream: name }
    drawTabs()
    forget()
    const here = wanted.filter((ref) => ref.stream === name && ref.attempt_number === attempt)
    if (here.length > 0) light(here)
    else rest()
  }

  function next(): void {
    const known = info?.streams ?? []
    const on = known.findIndex((one) => one.attempt === stream?.attempt && one.stream === stream.stream)
    const other = known[(on + 1) % known.length]
    if (other) choose(other)
  }

  /** Nothing is chosen: shows the end of a log that grows, or the start of one that does not. */
  async function rest(): Promise<void> {
    if (info?.state !== 'running') {
      if (await show(0, WINDOW * 2)) box.scrollTop = 0
      return
    }
    if ((await load(0, 0)) && (await show(total - WINDOW * 2, total))) box.scrollTop = box.scrollHeight
  }

  async function light(refs: readonly RawRef[]): Promise<void> {
    wanted = refs
    const [first] = refs
    if (!first) {
      ranges = []
      range.textContent = ''
      if (bytes.length > 0) draw()
      else if (stream) await rest()
      return
    }
    if (stream?.stream !== first.stream || stream.attempt !== first.attempt_number) {
      stream = { attempt: first.attempt_number, stream: first.stream }
      bytes = NOTHING
      from = to = 0
      drawTabs()
    }
    ranges = refs
      .filter((ref) => ref.stream === first.stream && ref.attempt_number === first.attempt_number)
      .sort((a, b) => a.byte_from - b.byte_from)
    const begin = ranges[0]!.byte_from
    const end = Math.min(ranges.at(-1)!.byte_to, begin + MAX_LIT)
    const one = `bytes ${begin.toLocaleString()} to ${ranges[0]!.byte_to.toLocaleString()}`
    const words = ranges.length === 1 ? one : `${ranges.length} ranges from byte ${begin.toLocaleString()}`
    const size = ranges.reduce((sum, ref) => sum + ref.byte_to - ref.byte_from, 0)
    range.textContent = `${words} · ${sizeWords(size)}`
    if (begin >= from && end <= to && bytes.length > 0) draw()
    else if (!(await show(begin - WINDOW, end + WINDOW))) return
    reveal()
  }

  function reveal(): void {
    const lit = box.querySelector('.lit')
    if (!lit) return
    const top = lit.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop
    box.scrollTo({ top: Math.max(0, top - box.clientHeight * 0.3) })
  }

  box.addEventListener('click', ({ target }) => {
    const line = target instanceof Element ? target.closest<HTMLElement>('.row') : null
    if (!line || !stream || !getSelection()?.isCollapsed) return
    onLine(stream.attempt, stream.stream, Number(line.dataset['at']))
  })
  tabs.addEventListener('keydown', (press) => {
    if (press.key !== 'ArrowRight' && press.key !== 'ArrowLeft') return
    const all = [...tabs.querySelectorAll<HTMLElement>('[role=tab]')]
    const on = all.findIndex((tab) => tab.tabIndex === 0)
    press.preventDefault()
    press.stopPropagation()
    all.at((on + (press.key === 'ArrowRight' ? 1 : -1)) % all.length)?.click()
  })

  return {
    open(given) {
      id = given
      info = undefined
      stream = undefined
      wanted = []
      delete tabs.dataset['key']
      tabs.replaceChildren()
      forget()
    },
    inform(given) {
      const first = info === undefined
      info = given
      drawTabs()
      if (first && stream && wanted.length === 0) rest()
    },
    light,
    tail() {
      if (!stream || tailing || wanted.length > 0 || info?.state !== 'running') return
      tailing = true
      setTimeout(
        async () => {
          tailing = false
          if (stream && wanted.length === 0) await rest()
        },
        bytes.length > 0 ? TAIL_MS : 0,
      )
    },
    next,
    reveal,
  }
}
