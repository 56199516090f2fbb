import type { AgentEvent, RawRef } from '../../events/event.ts'
import type { Item } from '../../views/conversation.ts'
import type { RunInfo } from '../run-info.ts'
import { titleOf } from '../run-words.ts'
import { addressOf, type Place, type Query, readAddress } from './address.ts'
import { Control } from './control.ts'
import { ConversationView } from './conversation-view.ts'
import { byId, make } from './element.ts'
import { EMBEDDED_ID, type EmbeddedData, embeddedSource } from './embedded.ts'
import { filters } from './filters.ts'
import { FindInRun, findBytes } from './find.ts'
import { isProblem, runHead } from './head.ts'
import { letHeadAway } from './head-away.ts'
import { httpSource } from './http-source.ts'
import { markdownOf } from './item-text.ts'
import { listenToKeys } from './keys.ts'
import { RawPane } from './raw-pane.ts'
import { ReplyBox } from './reply-box.ts'
import { MORE, RunTable, waitsForYou } from './run-table.ts'
import type { OpenRun, RunSource } from './source.ts'
import { countWords } from './words.ts'

const THEME_KEY = 'sluice.theme'
/** Milliseconds between two requests for the list of runs. */
const LIST_MS = 2000
const BESIDE = './beside.js'
const AWAY = 'The server does not answer; trying again'

restoreTheme()
const source = openSource()
let runs: readonly RunInfo[] = []
/** Where the reader is: what is shown follows from it, and the address has all of it. */
let place: Place = readAddress(location.hash) ?? { query: {} }
/** The run whose events are on the page. */
let opened: string | undefined
/** The engine that the reader has chosen for it. */
let openedAs: string | undefined
/** The list as the reader left it. */
let listed: Place = { query: {} }
let feed: OpenRun | undefined
let over = false
/** The event and the search in the address, until there are events. */
let wanted: Place['event']
let sought: string | undefined
/** The events of a run whose raw bytes are hidden: they are shown in the place of the bytes. */
let kept: AgentEvent[] | undefined

const box = byId('conversation')
const view: ConversationView = new ConversationView({
  onChoose(item, how) {
    const { run, query } = place
    if (how !== 'quiet' || !query['bytes']) showOrigin(item)
    if (run === undefined || (item && how === 'quiet')) return
    // A step replaces the address, so that "back" leads to the last place that the reader jumped from, and
    // from the first place to the list.
    const event = item && { attempt: item.attempt, seq: item.seq }
    const next = item && query['bytes'] ? { ...query, bytes: '' } : query
    move({ run, event, query: next }, how === 'jump' && place.event !== undefined)
  },
  onDraw() {
    head.draw()
    if (sought !== undefined) find.set(sought)
    sought = undefined
    find.refresh()
    if (pane() === 'bytes') raw.tail()
    if (wanted) goWanted()
    control.drawn()
  },
  form: (item): HTMLElement | undefined => control.form(item),
})
const control = new Control(source, view)
const reply = new ReplyBox(source)
const away = letHeadAway()
const head = runHead(view, {
  reach: (item) => control.reach(item),
  onFilters: (chosen) => set({ show: chosen.join() || undefined }),
})
const raw = new RawPane({
  source,
  onLine(attempt, stream, byte) {
    const item = view.model.itemAt(attempt, stream, byte)
    if (item) view.go(item, 'step')
  },
  onStream: ({ attempt, stream }) => set({ bytes: `${attempt}.${stream}` }),
})
const find = new FindInRun({
  model: () => view.model,
  chosen: () => view.chosen,
  go: (item) => view.go(item),
  async *searchBytes(typed) {
    const info = infoOf(opened)
    if (info && !info.raw_hidden) yield* findBytes(source, info, typed)
  },
  goToBytes(ref) {
    view.choose(undefined, 'quiet')
    set({ bytes: `${ref.attempt_number}.${ref.stream}.${ref.byte_from}-${ref.byte_to}` })
    drawPane()
  },
  onTyped: (typed) => set({ find: typed || undefined }),
  onNeedle: (needle) => view.setNeedle(needle),
  onLeave: () => view.focus(),
})
const list = new RunTable((query) => move({ query }))

/** Changes the place and the address: as a step that "back" undoes, or instead of the last one. */
function move(next: Place, step = false): void {
  place = next
  const address = addressOf(next)
  if (next.run === undefined) keepList(next)
  if (address === (location.hash || '#')) return
  const target = address === '#' ? location.pathname : address
  try {
    if (step) history.pushState(null, '', target)
    else history.replaceState(null, '', target)
  } catch {
    // A browser refuses more than some steps a second; the next one tells all of the place.
  }
}

/** The way back to the list leads to it as it was left. */
function keepList(left: Place): void {
  listed = left
  byId('to-runs').setAttribute('href', addressOf(left))
}

function set(query: Query): void {
  move({ ...place, query: { ...place.query, ...query } })
}

/** Shows what the item was read from: its bytes, or where they are hidden, its events. */
function showOrigin(item: Item | undefined): void {
  if (pane() !== 'bytes') return
  if (kept)
    raw.showEvents(kept.filter((event) => item && item === view.model.find(event.attempt_number, event.seq)))
  else raw.light(item?.refs ?? [])
}

/** The data in the document if there is any, else the server. */
function openSource(): RunSource {
  const element = document.getElementById(EMBEDDED_ID)
  // Cast: an exporter wrote it with this type.
  return element ? embeddedSource(JSON.parse(element.textContent ?? '') as EmbeddedData) : httpSource()
}

function infoOf(id: string | undefined): RunInfo | undefined {
  return runs.find((run) => run.id === id)
}

async function loadRuns(): Promise<void> {
  const reached = await source.runs(takeRuns, place.run)
  if (pane() === 'runs') head.connection(reached ? '' : AWAY)
}

function takeRuns(found: readonly RunInfo[], older = 0): void {
  runs = found
  list.older = older
  // Drawing a table that nobody sees can wait until it is asked for.
  if (pane() === 'runs') list.show(runs)
  retitle()
  if (opened === undefined) return
  const info = infoOf(opened)
  if (info) inform(info)
  else if (feed && source.live) head.inform(undefined)
}

/** Says in the tab how many runs wait, as the list does. */
function retitle(): void {
  const info = infoOf(opened)
  const waiting = runs.filter(waitsForYou).length
  const name = opened === undefined ? (place.beside ?? 'Runs') : info ? titleOf(info) : opened
  const before = waiting > 0 ? `${countWords(waiting, 'waits for you', 'wait for you')} · ` : ''
  document.title = `${before}${name} · sluice`
}

function inform(info: RunInfo): void {
  // It may have been opened before it began.
  delete document.body.dataset['missing']
  head.inform(info)
  control.inform(info)
  reply.inform(info)
  if (info.logs_only)
    import(MORE).then(({ readAs }: typeof import('./list-more.ts')) =>
      readAs(openedAs, (as) => {
        set({ as })
        draw()
      }),
    )
  // Not before the bytes of this run were opened.
  if (document.body.dataset['pane'] === 'bytes') raw.inform(info)
  view.setLive(info.state === 'running')
  if (info.state === 'running' && over) feed?.resume()
}

function openRun(id: string): void {
  opened = id
  openedAs = place.query['as']
  feed?.close()
  over = false
  const info = infoOf(id)
  document.body.dataset['pane'] = 'run'
  away.show()
  retitle()
  const file = source.fileOf?.(id)
  // What an exported run does not have.
  const links = file === undefined ? {} : { download: file, changes: `#changes/${encodeURIComponent(id)}` }
  for (const [name, to] of Object.entries(links)) {
    byId(name).hidden = false
    byId(name).setAttribute('href', to)
  }
  control.open(id)
  reply.open(id)
  view.clear(info?.task)
  head.clear()
  find.set('')
  box.dataset['over'] = 'false'
  delete document.body.dataset['missing']
  byId('empty').textContent = info?.state === 'running' ? 'Nothing yet.' : ''
  kept = info?.raw_hidden ? [] : undefined
  if (info) inform(info)
  else view.setLive(false)
  feed = source.open(
    id,
    {
      take(events) {
        for (const event of kept ? events : []) kept?.push(event)
        view.take(events)
        control.take(events)
      },
      reset() {
        if (kept) kept = []
        view.clear(info?.task)
        head.clear()
        if (info) head.inform(infoOf(id) ?? info)
      },
      fault(code, message) {
        head.connection(`${code}: ${message}`)
      },
      connection(state) {
        over = state === 'over'
        if (over) control.over()
        box.setAttribute('aria-busy', String(state === 'connecting'))
        const running = infoOf(id)?.state === 'running'
        // A run that has ended needs no connection; its final state stays.
        if (state === 'over') {
          if (source.redacted !== undefined)
            head.connection(`${countWords(source.redacted, 'secret')} hidden`)
          else if (running || !byId('link').textContent?.includes(':')) head.connection('')
          requestAnimationFrame(() => settle(id))
        } else if (state === 'away') head.connection(AWAY)
        else if (running) head.connection(state === 'live' ? 'live' : 'connecting')
        else head.connection(state === 'live' ? 'loading' : '')
      },
    },
    openedAs,
  )
}

/** The last events were drawn: says why there are none, and marks the page as settled, for tests. */
function settle(id: string): void {
  if (id !== opened || !over) return
  const isThere = infoOf(id) !== undefined
  if (view.model.items.length > 0) byId('empty').textContent = 'Nothing of this kind.'
  else if (isThere) byId('empty').textContent = 'No events.'
  else {
    document.body.dataset['missing'] = ''
    byId('task').textContent = 'This run is not here'
    byId('empty').textContent = `Removed, or a wrong address: ${id}`
  }
  box.dataset['over'] = 'true'
  head.draw()
}

function goWanted(): void {
  const item = wanted && view.model.find(wanted.attempt, wanted.seq)
  if (!item) return
  wanted = undefined
  view.go(item, 'quiet')
}

/** Shows the place in the address. */
function follow(): void {
  const found = readAddress(location.hash)
  if (!found) return
  place = found
  draw()
}

function draw(): void {
  const { run, event, query } = place
  if (run === undefined) {
    showRuns()
    return
  }
  wanted = event
  const isOther = run !== opened || query['as'] !== openedAs
  if (isOther) openRun(run)
  else if (!event) view.choose(undefined, 'quiet')
  head.setFilters((query['show'] ?? '').split(','))
  if (isOther) sought = query['find']
  else find.set(query['find'] ?? '')
  drawPane()
  if (wanted) goWanted()
}

function showRuns(): void {
  feed?.close()
  feed = undefined
  opened = undefined
  head.connection('')
  retitle()
  drawPane()
  if (place.beside) {
    // Cast: the server has it beside this script.
    import(BESIDE).then((file) => (file as typeof import('./beside.ts')).show(source, place.beside, infoOf))
    return
  }
  list.set(place.query)
  list.show(runs)
  keepList(place)
}

/** One exported run has no list. */
function isAlone(): boolean {
  return !source.live && runs.length < 2
}

function pane(): 'runs' | 'run' | 'bytes' | 'beside' {
  if (place.beside) return 'beside'
  if (place.run === undefined) return 'runs'
  return place.query['bytes'] === undefined ? 'run' : 'bytes'
}

/** Shows the list, a run, or a run with its bytes; a narrow window shows the bytes alone. */
function drawPane(): void {
  const before = document.body.dataset['pane']
  const now = pane()
  document.body.dataset['pane'] = now
  byId('to-bytes').setAttribute('aria-expanded', String(now === 'bytes'))
  if (now !== 'bytes' || opened === undefined) return
  const info = infoOf(opened)
  if (before !== now) {
    raw.open(opened)
    if (info) raw.inform(info)
  }
  const parts = BYTES.exec(place.query['bytes'] ?? '')
  const [, number = '', stream = '', from, to] = parts ?? []
  const attempt_number = Number(number)
  const range = { byte_from: Number(from), byte_to: Number(to), encoding: 'utf-8' }
  if (!parts || kept) showOrigin(view.chosen)
  else if (from === undefined) raw.choose({ attempt: attempt_number, stream })
  // Cast: a stream that is not there has no bytes.
  else raw.light([{ attempt_number, stream, ...range } as RawRef])
}

/** An attempt, a stream and perhaps a range of it. */
const BYTES = /^(\d{1,9})\.(\w{1,9})(?:\.(\d{1,15})-(\d{1,15}))?$/

/** Opens the bytes and goes there, or closes them. */
function turnBytes(): void {
  const open = pane() !== 'bytes'
  set({ bytes: open ? '' : undefined })
  drawPane()
  if (open) byId('bytes').focus()
  else view.focus()
}

let fading = 0
function say(text: string): void {
  const toast = byId('toast')
  toast.textContent = text
  clearTimeout(fading)
  fading = setTimeout(() => {
    toast.textContent = ''
  }, 2500)
}

async function copyAndSay(text: string, what: string): Promise<void> {
  say((await copy(text)) ? `${what} copied` : `Cannot copy: ${what.toLowerCase()}`)
}

/** Copies a text. False if the browser does not allow it. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Without TLS a browser has a clipboard only for localhost; the old way still works.
    return copyBySelection(text)
  }
}

function copyBySelection(text: string): boolean {
  const field = make('textarea', { 'aria-hidden': 'true', class: 'hidden' })
  field.value = text
  const focused = document.activeElement
  document.body.append(field)
  field.select()
  try {
    return document.execCommand('copy')
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}

function copyAddress(): void {
  if (opened === undefined) return
  const address = new URL(addressOf(place), location.href)
  copyAndSay(address.href, view.chosen ? `Address of ${view.chosen.id}` : 'Address')
}

function copyMarkdown(items: readonly Item[], what: string): void {
  const text = items.map(markdownOf).filter(Boolean).join('\n\n')
  copyAndSay(`${text}\n`, what)
}

/** Light or dark, as the reader last chose; else the system's setting. */
function restoreTheme(): void {
  try {
    const theme = localStorage.getItem(THEME_KEY)
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset['theme'] = theme
  } catch {
    // A page opened from disk may have no storage.
  }
}

function turnTheme(): void {
  const root = document.documentElement
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  root.dataset['theme'] = (root.dataset['theme'] ?? system) === 'dark' ? 'light' : 'dark'
  try {
    localStorage.setItem(THEME_KEY, root.dataset['theme'])
  } catch {
    // Then the choice lasts as long as the page.
  }
}

listenToKeys(
  [
    {
      keys: ['p', 'P'],
      words: 'next, previous problem',
      act: (key) => view.goToNext(isProblem, key === 'p' ? 1 : -1),
    },
    {
      keys: ['/'],
      words: 'find in the run or the list',
      always: true,
      act() {
        away.show()
        if (opened === undefined) list.focusFind()
        else find.focus()
      },
    },
    { keys: ['n', 'N'], words: 'next, previous hit', act: (key) => find.step(key === 'n' ? 1 : -1) },
    {
      keys: ['1', '2', '3', '4', '5', '6', '0'],
      words: `only ${filters.join(', ')}; 0 for all`,
      act: (key) => head.toggleFilter(filters[Number(key) - 1]),
    },
    { keys: ['j', 'ArrowDown'], words: 'next', act: () => view.step(1) },
    { keys: ['k', 'ArrowUp'], words: 'previous', act: () => view.step(-1) },
    { keys: ['g', 'Home'], words: 'first', act: () => view.step(-1e9) },
    { keys: ['G', 'End'], words: 'last', act: () => view.step(1e9) },
    { keys: ['Enter', ' '], words: 'fold or unfold', act: () => view.toggle() },
    { keys: ['f'], words: 'fold or unfold everything', act: () => view.toggleAll() },
    {
      keys: ['b'],
      words: 'open or close the bytes',
      act: () => opened !== undefined && turnBytes(),
    },
    { keys: ['s'], words: 'next stream', act: () => raw.next() },
    {
      keys: ['d'],
      words: 'next note',
      act: () => view.goToNext((item) => item.kind === 'diagnostic', 1),
    },
    { keys: ['y'], words: 'copy the address', act: copyAddress },
    {
      keys: ['c'],
      words: 'copy what is chosen as Markdown',
      act: () => view.chosen && copyMarkdown([view.chosen], view.chosen.id),
    },
    { keys: ['C'], words: 'copy the run as Markdown', act: () => copyMarkdown(view.shown, 'Run') },
    {
      keys: ['r'],
      words: 'the list of runs',
      always: true,
      act() {
        if (isAlone()) return
        if (pane() !== 'runs') {
          move(listed, true)
          showRuns()
        }
        list.focusFind()
      },
    },
    { keys: ['t'], words: 'light or dark', always: true, act: turnTheme },
    { keys: ['?'], words: 'all keys', always: true, act: () => byId('keys').click() },
    {
      keys: ['Escape'],
      words: 'choose nothing',
      act() {
        view.choose(undefined, 'step')
        box.focus({ preventScroll: true })
      },
    },
  ],
  () => opened !== undefined,
)
byId('theme').addEventListener('click', turnTheme)
byId('copy-address').addEventListener('click', copyAddress)
byId('copy-run').addEventListener('click', () => copyMarkdown(view.shown, 'Run'))
byId('to-bytes').addEventListener('click', turnBytes)
byId('to-run').addEventListener('click', turnBytes)
addEventListener('hashchange', follow)
addEventListener('popstate', follow)

drawPane()
loadRuns().then(() => {
  const [only, second] = runs
  if (location.hash.length <= 1 && only && !second) move({ run: only.id, query: {} })
  byId('to-runs').hidden = isAlone()
  byId('more').hidden = !source.live
  follow()
})
if (source.live) setInterval(loadRuns, LIST_MS)
