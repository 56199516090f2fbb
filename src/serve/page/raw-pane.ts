import type { AgentEvent, RawRef } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'
import { button, byId, isDrawn, make } from './element.ts'
import type { RunSource, StreamName } from './source.ts'
import { countWords, sizeWords, visible } from './words.ts'

export interface RawPaneOptions {
  readonly source: RunSource
  /** Called when a line is chosen, with its first byte. */
  readonly onLine: (attempt: number, stream: string, byte: number) => void
  /** Called when the reader chose another stream. */
  readonly onStream: (name: StreamName) => void
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

/** Events of an item to show instead of its bytes, and characters of each. */
const MAX_EVENTS = 20
const MAX_EVENT = 64 * 1024
const HIDDEN =
  'The raw bytes are hidden, because this run is shown without its secrets. Choose a part of the conversation to see its events here.'

/**
 * The raw bytes of a run: one stream at a time, with the bytes of the chosen item marked. If they are hidden
 * (`raw_hidden`), the events of the chosen item are shown in their place.
 */
export class RawPane {
  readonly #source: RunSource
  readonly #onStream: RawPaneOptions['onStream']
  readonly #box = byId('bytes')
  readonly #range = byId('range')
  readonly #tabs = byId('streams')
  #id = ''
  #info: RunInfo | undefined
  #stream: StreamName | undefined
  /** The visible bytes [from, to), of a log that has `total`. */
  #from = 0
  #to = 0
  #total = 0
  #bytes: Uint8Array = NOTHING
  #ranges: readonly RawRef[] = []
  /** The last ranges to mark, in whichever stream they are. */
  #wanted: readonly RawRef[] = []
  /** Drops responses that arrive after a later request. */
  #ticket = 0
  #tailing = false

  constructor({ source, onLine, onStream }: RawPaneOptions) {
    this.#source = source
    this.#onStream = onStream
    this.#box.addEventListener('click', ({ target }) => {
      const line = target instanceof Element ? target.closest<HTMLElement>('.row') : null
      if (!line || !this.#stream || !getSelection()?.isCollapsed) return
      onLine(this.#stream.attempt, this.#stream.stream, Number(line.dataset['at']))
    })
    this.#tabs.addEventListener('keydown', (press) => {
      if (press.key !== 'ArrowRight' && press.key !== 'ArrowLeft') return
      press.preventDefault()
      press.stopPropagation()
      this.next(press.key === 'ArrowRight' ? 1 : -1)
    })
  }

  /** Forgets the previous run and shows this one. */
  open(id: string): void {
    this.#id = id
    this.#info = undefined
    this.#stream = undefined
    this.#wanted = []
    isDrawn(this.#tabs, '')
    this.#tabs.replaceChildren()
    this.#forget()
  }

  /** Sets the info of the run: its streams and their sizes. */
  inform(info: RunInfo): void {
    const first = this.#info === undefined
    this.#info = info
    if (info.raw_hidden) {
      if (first) this.showEvents([])
      return
    }
    this.#drawTabs()
    if (first && this.#stream && this.#wanted.length === 0) this.#rest()
  }

  /** Marks these ranges and scrolls to the first; without any, shows the stream unmarked. */
  async light(refs: readonly RawRef[]): Promise<void> {
    this.#wanted = refs
    const [first] = refs
    if (!first) {
      this.#ranges = []
      this.#range.textContent = ''
      if (this.#bytes.length > 0) this.#draw()
      else if (this.#stream) await this.#rest()
      return
    }
    const { attempt_number: attempt, stream } = first
    if (!this.#isShown({ attempt, stream })) {
      this.#stream = { attempt, stream }
      this.#bytes = NOTHING
      this.#from = this.#to = 0
      this.#drawTabs()
    }
    const ranges = refs
      .filter((ref) => ref.stream === stream && ref.attempt_number === attempt)
      .sort((a, b) => a.byte_from - b.byte_from)
    this.#ranges = ranges
    const begin = ranges[0]!.byte_from
    const end = Math.min(ranges.at(-1)!.byte_to, begin + MAX_LIT)
    const one = `bytes ${begin.toLocaleString()} to ${ranges[0]!.byte_to.toLocaleString()}`
    const words = ranges.length === 1 ? one : `${ranges.length} ranges from byte ${begin.toLocaleString()}`
    const size = ranges.reduce((sum, ref) => sum + ref.byte_to - ref.byte_from, 0)
    this.#range.textContent = `${words} · ${sizeWords(size)}`
    if (begin >= this.#from && end <= this.#to && this.#bytes.length > 0) this.#draw()
    else if (!(await this.#show(begin - WINDOW, end + WINDOW))) return
    this.#reveal()
  }

  /** Says that the bytes are hidden, and shows these events instead. */
  showEvents(events: readonly AgentEvent[]): void {
    const shown = events.slice(0, MAX_EVENTS).map((event) => {
      const text = JSON.stringify(event, null, 2)
      const more = text.length > MAX_EVENT ? ` (${countWords(text.length - MAX_EVENT, 'character')})` : ''
      return make('pre.event', visible(text.slice(0, MAX_EVENT)) + more)
    })
    const left = events.length - shown.length
    this.#range.textContent = events.length === 0 ? '' : countWords(events.length, 'event')
    this.#box.replaceChildren(
      make('p.void', HIDDEN),
      ...shown,
      ...(left > 0 ? [make('p.void', `${countWords(left, 'more event', 'more events')}`)] : []),
    )
    this.#box.scrollTop = 0
  }

  /** Shows the end of the stream if nothing is chosen, at most twice a second. */
  tail(): void {
    if (!this.#stream || this.#tailing || this.#wanted.length > 0 || this.#info?.state !== 'running') return
    this.#tailing = true
    setTimeout(
      async () => {
        this.#tailing = false
        if (this.#stream && this.#wanted.length === 0) await this.#rest()
      },
      this.#bytes.length > 0 ? TAIL_MS : 0,
    )
  }

  /** Shows the next stream, or the previous one. */
  next(by: 1 | -1 = 1): void {
    const known = this.#info?.streams ?? []
    const other = known.at((known.findIndex((one) => this.#isShown(one)) + by) % known.length)
    if (other && !this.#info?.raw_hidden) this.#pick(other)
  }

  #reveal(): void {
    const lit = this.#box.querySelector('.lit')
    if (!lit) return
    const top = lit.getBoundingClientRect().top - this.#box.getBoundingClientRect().top + this.#box.scrollTop
    this.#box.scrollTo({ top: Math.max(0, top - this.#box.clientHeight * 0.3) })
  }

  #isShown({ attempt, stream }: StreamName): boolean {
    return this.#stream?.attempt === attempt && this.#stream.stream === stream
  }

  #forget(): void {
    this.#ticket++
    this.#from = this.#to = this.#total = 0
    this.#bytes = NOTHING
    this.#ranges = []
    this.#box.replaceChildren()
    this.#range.textContent = ''
  }

  async #load(start: number, end: number): Promise<Uint8Array | undefined> {
    if (!this.#stream) return undefined
    const got = await this.#source.bytes(this.#id, { ...this.#stream, from: start, to: end })
    if (got) this.#total = got.total
    return got?.bytes
  }

  /** Shows [start, end), extended to whole lines if they are near. False if it is outdated. */
  async #show(start: number, end: number): Promise<boolean> {
    const mine = ++this.#ticket
    const begin = Math.max(0, start)
    const got = await this.#load(begin, end)
    if (mine !== this.#ticket || !got) return false
    this.#from = begin
    this.#bytes = got
    const cut = begin > 0 ? got.indexOf(LF) + 1 : 0
    const first = this.#ranges[0]
    if (cut > 0 && cut < 4096 && !(first && begin + cut > first.byte_from)) {
      this.#bytes = got.subarray(cut)
      this.#from += cut
    }
    this.#to = this.#from + this.#bytes.length
    this.#draw()
    return true
  }

  /** Nothing is chosen: shows the end of a log that grows, or the start of one that does not. */
  async #rest(): Promise<void> {
    if (this.#info?.state !== 'running') {
      if (await this.#show(0, WINDOW * 2)) this.#box.scrollTop = 0
      return
    }
    if ((await this.#load(0, 0)) && (await this.#show(this.#total - WINDOW * 2, this.#total)))
      this.#box.scrollTop = this.#box.scrollHeight
  }

  async #grow(way: 1 | -1): Promise<void> {
    const { scrollHeight: height, scrollTop: old } = this.#box
    if (way < 0) {
      await this.#show(this.#from - WINDOW * 2, this.#to)
      this.#box.scrollTop = old + this.#box.scrollHeight - height
    } else await this.#show(this.#from, this.#to + WINDOW * 2)
    this.#box.focus({ preventScroll: true })
  }

  #draw(): void {
    const [from, to, bytes] = [this.#from, this.#to, this.#bytes]
    const rows: Node[] = []
    const before = `${from.toLocaleString()} bytes before`
    if (from > 0) rows.push(button({ class: 'more' }, () => this.#grow(-1), before))
    const decoder = new TextDecoder()
    for (let at = 0; at < bytes.length; ) {
      const lf = bytes.indexOf(LF, at)
      const end = lf < 0 ? bytes.length : lf + 1
      rows.push(drawLine(from + at, bytes.subarray(at, end), this.#ranges, decoder))
      at = end
    }
    const after = `${(this.#total - to).toLocaleString()} bytes after`
    if (to < this.#total) rows.push(button({ class: 'more' }, () => this.#grow(1), after))
    if (this.#total === 0) rows.push(make('p.void', 'Nothing was written here.'))
    this.#box.replaceChildren(...rows)
  }

  #drawTabs(): void {
    if (!this.#info) return
    const { streams, attempts } = this.#info
    const begin = streams.find((one) => one.bytes > 0) ?? streams[0]
    if (!this.#stream && begin) this.#stream = { attempt: begin.attempt, stream: begin.stream }
    if (isDrawn(this.#tabs, [streams, this.#stream])) return
    const focused = this.#tabs.contains(document.activeElement)
    const made = streams.map((one) => {
      const on = this.#isShown(one)
      const props = {
        role: 'tab',
        'aria-selected': on ? 'true' : 'false',
        'aria-controls': 'bytes',
        tabindex: on ? 0 : -1,
        'data-stream': one.stream,
      }
      const name = `${attempts > 1 ? `${one.attempt} · ` : ''}${one.stream} `
      return button(props, () => this.#pick(one), name, make('small', sizeWords(one.bytes)))
    })
    this.#tabs.replaceChildren(...made)
    if (focused) made.find((tab) => tab.tabIndex === 0)?.focus()
  }

  #pick(name: StreamName): void {
    this.choose(name)
    this.#onStream(name)
  }

  /** Shows a stream, with the bytes of what is chosen in it. */
  choose({ attempt, stream }: StreamName): void {
    this.#stream = { attempt, stream }
    this.#drawTabs()
    this.#forget()
    const here = this.#wanted.filter((ref) => ref.stream === stream && ref.attempt_number === attempt)
    if (here.length > 0) this.light(here)
    else this.#rest()
  }
}

/** One line of the log, with the parts of the chosen item marked. */
function drawLine(
  at: number,
  whole: Uint8Array,
  ranges: readonly RawRef[],
  decoder: TextDecoder,
): HTMLElement {
  const parts: (Node | string)[] = []
  let done = 0
  let lit = false
  // A line that is too long to draw is drawn from the mark on.
  const first = ranges.find((ref) => ref.byte_to > at && ref.byte_from < at + whole.length)
  const skip = whole.length > MAX_LINE && first ? Math.max(0, first.byte_from - at - 1024) : 0
  const line = whole.subarray(0, skip + MAX_LINE)
  if (skip > 0) {
    parts.push(make('i', `(${countWords(skip, 'byte')}) `))
    done = skip
  }
  const text = (start: number, end: number) => visible(decoder.decode(line.subarray(start, end)))
  for (const ref of ranges) {
    const start = Math.max(done, ref.byte_from - at)
    const end = Math.min(line.length, ref.byte_to - at)
    if (end <= start) continue
    lit = true
    if (start > done) parts.push(text(done, start))
    parts.push(make('mark', text(start, end)))
    done = end
  }
  if (done < line.length) parts.push(text(done, line.length))
  if (line.length < whole.length)
    parts.push(make('i', ` (${countWords(whole.length - line.length, 'byte')})`))
  return make(
    'div',
    { class: lit ? 'row lit' : 'row', 'data-at': at },
    make('span.at', String(at)),
    make('span.line', ...parts),
  )
}
