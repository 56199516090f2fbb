import type { RawRef } from '../../events/event.ts'
import type { Item } from '../../views/conversation.ts'
import type { RunInfo } from '../run-info.ts'
import { titleOf } from '../run-words.ts'
import { addressOf, type Place, type Query, readAddress } from './address.ts'
import { Control } from './control.ts'
import { ConversationView } from './conversation-view.ts'
import { byId, make, onPress, setText } from './element.ts'
import { EMBEDDED_ID, type EmbeddedData, embeddedSource } from './embedded.ts'
import { filters } from './filters.ts'
import { FindInRun, findBytes } from './find.ts'
import { isProblem, letHeadAway, runHead } from './head.ts'
import { httpSource } from './http-source.ts'
import { markdownOf } from './item-text.ts'
import { listenToKeys } from './keys.ts'
import { RawPane } from './raw-pane.ts'
import { ReplyBox } from './reply-box.ts'
import { MORE, RunTable, waitsForYou } from './run-table.ts'
import type { RunSource } from './source.ts'
import { type OpenedRun, type PageState, paneAt } from './state.ts'
import { restoreTheme, turnTheme } from './theme.ts'
import { countWords } from './words.ts'

/** Milliseconds between two requests for the list of runs. */
const LIST_MS = 2000
const BESIDE = './beside.js'
const AWAY = 'The server does not answer; trying again'

restoreTheme()
const source = openSource()
const state: PageState = {
  place: readAddress(location.hash) ?? { query: {} },
  listed: { query: {} },
  runs: [],
  reached: true,
  run: undefined,
  pane: 'runs',
}
/** The file that is loaded for what is beside the runs, once it is. */
let beside: typeof import('./beside.ts') | undefined

const box = byId('conversation')
const view: ConversationView = new ConversationView({
  onChoose(item, how) {
    const { run, event: before, query } = state.place
    if (how !== 'quiet' || !query['bytes']) showOrigin(item)
    if (run === undefined || (item && how === 'quiet')) return
    // A step replaces the address, so that "back" leads to the last place that the reader jumped from, and
    // from the first place to the list.
    const event = item && { attempt: item.attempt, seq: item.seq }
    const next = item && query['bytes'] ? { ...query, bytes: '' } : query
    move({ run, event, query: next }, how === 'jump' && before !== undefined)
  },
  onDraw() {
    const { run } = state
    head.draw()
    if (run?.sought) {
      find.set(run.sought)
      run.sought = ''
    }
    find.refresh()
    if (paneAt(state.place) === 'bytes') raw.tail()
    goWanted()
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
  isOver: () => state.run?.settled === true,
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
    const info = infoOf(state.run?.id)
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
  state.place = next
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
  state.listed = left
  byId('to-runs').setAttribute('href', addressOf(left))
}

function set(query: Query): void {
  move({ ...state.place, query: { ...state.place.query, ...query } })
}

/** Shows what the item was read from: its bytes, or where they are hidden, its events. */
function showOrigin(item: Item | undefined): void {
  if (paneAt(state.place) !== 'bytes') return
  const kept = state.run?.kept
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
  return state.runs.find((run) => run.id === id)
}

async function loadRuns(): Promise<void> {
  state.reached = await source.runs(takeRuns, state.place.run)
  if (paneAt(state.place) === 'runs') drawLink()
}

function takeRuns(found: readonly RunInfo[], older = 0): void {
  state.runs = found
  list.older = older
  // Drawing a table that nobody sees can wait until it is asked for.
  if (paneAt(state.place) === 'runs') list.show(found)
  retitle()
  const { run } = state
  const info = infoOf(run?.id)
  if (info) inform(info)
  else if (run && source.live) head.inform(undefined)
}

/** Says in the tab how many runs wait, as the list does. */
function retitle(): void {
  const id = state.run?.id
  const info = infoOf(id)
  const waiting = state.runs.filter(waitsForYou).length
  const name = info ? titleOf(info) : (id ?? state.place.beside ?? 'Runs')
  const before = waiting > 0 ? `${countWords(waiting, 'waits for you', 'wait for you')} · ` : ''
  document.title = `${before}${name} · sluice`
}

function inform(info: RunInfo): void {
  const { run } = state
  head.inform(info)
  // It may have been opened before it began.
  if (run) drawEmpty(run)
  control.inform(info)
  reply.inform(info)
  if (info.logs_only)
    import(MORE).then(({ readAs }: typeof import('./list-more.ts')) =>
      readAs(run?.as, (as) => {
        set({ as })
        draw()
      }),
    )
  // Not before the bytes of this run were opened.
  if (state.pane === 'bytes') raw.inform(info)
  view.setLive(info.state === 'running')
  if (info.state === 'running' && run?.connection === 'over') run.feed?.resume()
}

function openRun(id: string): void {
  const { event, query } = state.place
  const info = infoOf(id)
  const kept = info?.raw_hidden ? [] : undefined
  const run: OpenedRun = {
    id,
    as: query['as'],
    fault: '',
    settled: false,
    kept,
    event,
    sought: query['find'],
  }
  state.run?.feed?.close()
  state.run = run
  showPane('run')
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
  if (info) inform(info)
  else {
    view.setLive(false)
    drawEmpty(run)
  }
  run.feed = source.open(
    id,
    {
      take(events) {
        for (const event of run.kept ? events : []) run.kept?.push(event)
        view.take(events)
        control.take(events)
      },
      reset() {
        if (run.kept) run.kept = []
        view.clear(info?.task)
        head.clear()
        if (info) head.inform(infoOf(id) ?? info)
      },
      fault(code, message) {
        run.fault = `${code}: ${message}`
        drawLink()
      },
      connection(now) {
        run.connection = now
        box.setAttribute('aria-busy', String(now === 'connecting'))
        drawLink()
        if (now !== 'over') return
        control.over()
        requestAnimationFrame(() => settle(run))
      },
    },
    run.as,
  )
}

/** The last events were drawn. */
function settle(run: OpenedRun): void {
  if (run !== state.run || run.connection !== 'over') return
  run.settled = true
  head.settle()
  drawEmpty(run)
}

/** How the server is reached; of a run, whether more of it comes. */
function drawLink(): void {
  head.connection(linkWords())
}

function linkWords(): string {
  const { run, reached, place } = state
  if (!run) return reached || place.beside ? '' : AWAY
  const { connection, fault, id } = run
  const running = infoOf(id)?.state === 'running'
  if (connection === 'away') return AWAY
  const live = connection === 'live'
  if (connection !== 'over' && !fault) return running ? (live ? 'live' : 'connecting') : live ? 'loading' : ''
  // A run that has ended needs no connection.
  if (source.redacted !== undefined) return `${countWords(source.redacted, 'secret')} hidden`
  return running ? '' : fault
}

/** Says why there is nothing, and whether that is final: tests wait for it. */
function drawEmpty(run: OpenedRun): void {
  const info = infoOf(run.id)
  const why = info ? 'No events.' : `Removed, or a wrong address: ${run.id}`
  const none = view.model.items.length > 0 ? 'Nothing of this kind.' : why
  setText('empty', run.settled ? none : info?.state === 'running' ? 'Nothing yet.' : '')
  box.dataset['over'] = String(run.settled)
  const isMissing = run.settled && none === why && !info
  document.body.toggleAttribute('data-missing', isMissing)
  if (isMissing) setText('task', 'This run is not here')
}

/** Goes to the event in the address, once it is there. */
function goWanted(): void {
  const { run } = state
  const item = run?.event && view.model.find(run.event.attempt, run.event.seq)
  if (!item) return
  run.event = undefined
  view.go(item, 'quiet')
}

/** Shows the place in the address. */
function follow(): void {
  const found = readAddress(location.hash)
  if (!found) return
  state.place = found
  draw()
}

function draw(): void {
  const { run, event, query } = state.place
  if (run === undefined) {
    showRuns()
    return
  }
  const now = state.run
  const isOther = run !== now?.id || query['as'] !== now.as
  if (isOther) openRun(run)
  else {
    now.event = event
    if (!event) view.choose(undefined, 'quiet')
  }
  head.setFilters((query['show'] ?? '').split(','))
  if (!isOther) find.set(query['find'] ?? '')
  drawPane()
  goWanted()
}

function showRuns(): void {
  const { place } = state
  state.run?.feed?.close()
  state.run = undefined
  drawLink()
  retitle()
  drawPane()
  if (place.beside) {
    import(BESIDE).then((file) => {
      // Cast: the server has it beside this script.
      beside = file as typeof import('./beside.ts')
      if (state.place.beside) beside.show(source, state.place.beside, infoOf)
    })
    return
  }
  list.set(place.query)
  list.show(state.runs)
  keepList(place)
}

/** One exported run has no list. */
function isAlone(): boolean {
  return !source.live && state.runs.length < 2
}

/** Puts a part of the page on it. */
function showPane(pane: PageState['pane']): void {
  state.pane = pane
  document.body.dataset['pane'] = pane
  if (pane !== 'beside') beside?.leave()
}

/** Shows the list, a run, or a run with its bytes; a narrow window shows the bytes alone. */
function drawPane(): void {
  const { run, place, pane: before } = state
  const now = paneAt(place)
  showPane(now)
  byId('to-bytes').setAttribute('aria-expanded', String(now === 'bytes'))
  if (now !== 'bytes' || !run) return
  const info = infoOf(run.id)
  if (before !== now) {
    raw.open(run.id)
    if (info) raw.inform(info)
  }
  const parts = BYTES.exec(place.query['bytes'] ?? '')
  const [, number = '', stream = '', from, to] = parts ?? []
  const attempt_number = Number(number)
  const range = { byte_from: Number(from), byte_to: Number(to), encoding: 'utf-8' }
  if (!parts || run.kept) showOrigin(view.chosen)
  else if (from === undefined) raw.choose({ attempt: attempt_number, stream })
  // Cast: a stream that is not there has no bytes.
  else raw.light([{ attempt_number, stream, ...range } as RawRef])
}

/** An attempt, a stream and perhaps a range of it. */
const BYTES = /^(\d{1,9})\.(\w{1,9})(?:\.(\d{1,15})-(\d{1,15}))?$/

/** Opens the bytes and goes there, or closes them. */
function turnBytes(): void {
  const open = paneAt(state.place) !== 'bytes'
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
  const field = make('textarea.hidden', { 'aria-hidden': 'true' })
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
  if (!state.run) return
  const address = new URL(addressOf(state.place), location.href)
  copyAndSay(address.href, view.chosen ? `Address of ${view.chosen.id}` : 'Address')
}

function copyMarkdown(items: readonly Item[], what: string): void {
  const text = items.map(markdownOf).filter(Boolean).join('\n\n')
  copyAndSay(`${text}\n`, what)
}

function copyRun(): void {
  copyMarkdown(view.shown, 'Run')
}

function copyChosen(): void {
  if (view.chosen) copyMarkdown([view.chosen], view.chosen.id)
}

function toFind(): void {
  away.show()
  if (state.run) find.focus()
  else list.focusFind()
}

function toRuns(): void {
  if (isAlone()) return
  if (paneAt(state.place) !== 'runs') {
    move(state.listed, true)
    showRuns()
  }
  list.focusFind()
}

function chooseNothing(): void {
  view.choose(undefined, 'step')
  box.focus({ preventScroll: true })
}

listenToKeys(
  [
    ['p P', 'next, previous problem', (key) => view.goToNext(isProblem, key === 'p' ? 1 : -1)],
    ['/', 'find in the run or the list', toFind, 'always'],
    ['n N', 'next, previous hit', (key) => find.step(key === 'n' ? 1 : -1)],
    [
      '1 2 3 4 5 6 0',
      `only ${filters.join(', ')}; 0 for all`,
      (key) => head.toggleFilter(filters[Number(key) - 1]),
    ],
    ['j ArrowDown', 'next', () => view.step(1)],
    ['k ArrowUp', 'previous', () => view.step(-1)],
    ['g Home', 'first', () => view.step(-1e9)],
    ['G End', 'last', () => view.step(1e9)],
    ['Enter Space', 'fold or unfold', () => view.toggle()],
    ['f', 'fold or unfold everything', () => view.toggleAll()],
    ['b', 'open or close the bytes', () => state.run && turnBytes()],
    ['s', 'next stream', () => raw.next()],
    ['d', 'next note', () => view.goToNext((item) => item.kind === 'diagnostic', 1)],
    ['y', 'copy the address', copyAddress],
    ['c', 'copy what is chosen as Markdown', copyChosen],
    ['C', 'copy the run as Markdown', copyRun],
    ['r', 'the list of runs', toRuns, 'always'],
    ['t', 'light or dark', turnTheme, 'always'],
    ['?', 'all keys', () => byId('keys').click(), 'always'],
    ['Escape', 'choose nothing', chooseNothing],
  ],
  () => state.run !== undefined,
)
onPress('theme', turnTheme)
onPress('copy-address', copyAddress)
onPress('copy-run', copyRun)
onPress('to-bytes', turnBytes)
onPress('to-run', turnBytes)
addEventListener('hashchange', follow)
addEventListener('popstate', follow)

drawPane()
loadRuns().then(() => {
  const [only, second] = state.runs
  if (location.hash.length <= 1 && only && !second) move({ run: only.id, query: {} })
  byId('to-runs').hidden = isAlone()
  byId('more').hidden = !source.live
  follow()
})
if (source.live) setInterval(loadRuns, LIST_MS)
