import { askWords } from '../../events/call-words.ts'
import { endPhrase } from '../../events/run-outcome.ts'
import type { FileItem, Item, RequestItem } from '../../views/conversation.ts'
import { shellWord } from '../../views/words.ts'
import type { RunInfo } from '../run-info.ts'
import { stateOf, tagsOf, titleOf, tookOf } from '../run-words.ts'
import type { ConversationView } from './conversation-view.ts'
import { fileSigns } from './draw-item.ts'
import { button, byId, drawChips, isDrawn, make, onPress, setText } from './element.ts'
import { belongs, type Filter, filters } from './filters.ts'
import type { ItemList } from './item-list.ts'
import { drawTimeline } from './timeline.ts'
import { countWords, dateWords, durationWords, fullDate, spentWords } from './words.ts'

/** Milliseconds between two redraws of the head, while events arrive. */
const DRAW_MS = 300
/** Maximum number of files to show; the rest is counted. */
const MAX_FILES = 4

interface HeadOptions {
  /** Goes to a request. */
  readonly reach: (item: RequestItem) => void
  /** Called when the reader chose other filters. */
  readonly onFilters: (chosen: readonly Filter[]) => void
  /** Whether all of the run was drawn. */
  readonly isOver: () => boolean
}

/** The part above the conversation: the run, its facts, its problems, its filters. */
export function runHead(view: ConversationView, { reach, onFilters, isOver }: HeadOptions) {
  let info: RunInfo | undefined
  /** Items up to here are counted. */
  let counted = 0
  let files = new Map<string, FileItem>()
  let waiting = 0
  let drawnAt = Number.NEGATIVE_INFINITY
  const bar = filterBar(view, onFilters)

  function drawAll(): void {
    const { items } = view.model
    clearTimeout(waiting)
    waiting = 0
    drawInfo()
    for (; counted < items.length; counted++) {
      const item = items[counted]!
      bar.count(item)
      if (item.kind === 'artifact') files.set(item.path, item)
    }
    bar.draw()
    drawFiles(files, view)
    drawTimeline(view, isOver())
    drawnAt = performance.now()
  }

  function drawInfo(): void {
    drawFacts(info, view.model)
    drawProblems(info, view.model)
    drawWaits(info, view.model)
  }
  onPress('problems', () => view.goToNext(isProblem, 1))
  onPress('waits', () => {
    const [asked] = view.model.asked
    const last = view.model.items.findLast(({ kind }) => kind === 'request')
    if (asked) reach(asked)
    else if (last) view.go(last)
  })

  return {
    /** Sets the info of the run from the list; undefined if it is gone. */
    inform(given: RunInfo | undefined) {
      drawState(given)
      if (!given) return
      info = given
      setText('engine', info.engine ?? 'unknown engine')
      setText('task', titleOf(info))
      byId('task').title = info.id
      drawInfo()
    },
    /** The events changed. */
    draw() {
      if (waiting !== 0) return
      const rest = drawnAt + DRAW_MS - performance.now()
      if (rest <= 0) drawAll()
      else waiting = setTimeout(drawAll, rest)
    },
    /** The last events were drawn: what waits to be redrawn is drawn now. */
    settle: drawAll,
    clear() {
      info = undefined
      counted = 0
      files = new Map()
      isDrawn(byId('state'), '')
      for (const id of ['task', 'command', 'engine', 'state', 'as']) setText(id, '')
      bar.clear()
      drawAll()
    },
    connection(words: string) {
      const box = byId('link')
      if (!isDrawn(box, words)) box.textContent = words
    },
    toggleFilter: bar.toggle,
    setFilters: bar.set,
  }
}

/** The filters, each with the number of its items. */
function filterBar(view: ConversationView, onFilters: HeadOptions['onFilters']) {
  let chosen: readonly Filter[] = []
  let counts = new Map<Filter, number>()

  /** Chooses a filter or leaves it; without one, leaves all. */
  function toggle(filter: Filter | undefined): void {
    const isOn = (name: Filter) => chosen.includes(name) !== (name === filter)
    set(filter ? filters.filter(isOn) : [])
    onFilters(chosen)
  }

  /** Chooses the filters with these names. */
  function set(names: readonly string[]): void {
    const wanted = filters.filter((name) => names.includes(name))
    if (wanted.join() === chosen.join()) return
    chosen = wanted
    view.setFilters(new Set(chosen))
    draw()
  }

  function draw(): void {
    counts.set('failed', new Set(view.model.problems.map(({ item }) => item)).size)
    const chips = filters.map((name, index) => ({
      name,
      count: counts.get(name) ?? 0,
      chosen: chosen.includes(name),
      title: `Only ${name} (${index + 1})`,
      act: () => toggle(name),
    }))
    drawChips(
      byId('filters'),
      chips.filter(({ count, chosen: on }) => on || count > 0),
    )
  }

  return {
    toggle,
    set,
    draw,
    count(item: Item) {
      for (const filter of filters)
        if (filter !== 'failed' && belongs(item, filter)) counts.set(filter, (counts.get(filter) ?? 0) + 1)
    },
    clear() {
      counts = new Map()
      set([])
      draw()
    },
  }
}

function drawState(info: RunInfo | undefined): void {
  const box = byId('state')
  const { state = '', outcome = '' } = info ?? {}
  const word = info ? stateOf(info) : 'unknown'
  if (!isDrawn(box, [info && [state, word]])) {
    // Why it ended so is said at its end.
    const words = info ? word.replace('_', ' ') : 'no longer there'
    box.replaceChildren(make(`span.dot.${word}`), words)
  }
  box.title = info?.outcome ? endPhrase(info.outcome, info.failure_class) : ''
  box.dataset['state'] = state
  box.dataset['outcome'] = outcome ?? ''
}

function drawFacts(info: RunInfo | undefined, model: ItemList): void {
  const summary = model.summary()
  const facts: (string | undefined | false)[] = [summary.model]
  const begin = info?.started_at
  if (begin) facts.push(dateWords(begin))
  const took = timeOf(info, model.items)
  if (took !== undefined) facts.push(durationWords(took))
  if (info) facts.push(info.attempts > 1 && countWords(info.attempts, 'attempt'), ...tagsOf(info))
  const { called, failed } = summary.tools
  if (called > 0) facts.push(countWords(called, 'call') + (failed > 0 ? ` (${failed} failed)` : ''))
  if (summary.file_count > 0) facts.push(`${countWords(summary.file_count, 'file')} changed`)
  if (info?.exit_code) facts.push(`exit code ${info.exit_code}`)
  if (info?.signal) facts.push(info.signal)
  facts.push(spentWords(summary))
  const box = byId('facts')
  box.textContent = facts.filter(Boolean).join(' · ')
  box.title = fullDate(begin)
  box.dataset['events'] = String(summary.events)
  // The task is the title.
  const command = info?.argv.filter((word) => word !== info.task).map(shellWord)
  const version = summary.engine_version && `version ${summary.engine_version}`
  const about = [command?.join(' '), summary.cwd, version].filter(Boolean).join(' · ') || info?.id || ''
  setText('command', about)
  byId('command').title = about
}

/** What the agent asks and nobody has answered. */
function drawWaits(info: RunInfo | undefined, { asked, items }: ItemList): void {
  const [first] = asked
  const open = first ? askWords(first) : items.at(-1)?.kind === 'end' ? info?.waits_for : undefined
  byId('waits').hidden = !open
  setText('waits-for', open ?? '')
}

/** Of a run that ended badly the reason, which may be on stderr only; else what went wrong first. */
function drawProblems(info: RunInfo | undefined, { problems }: ItemList): void {
  const [first] = problems
  byId('problems').hidden = !first
  // What went wrong on the way did not decide a good end.
  byId('problems').classList.toggle('past', info?.ok === true)
  setText('problems-count', countWords(problems.length, 'problem'))
  setText('problems-first', info?.problem ?? first?.problem.title ?? '')
}

export function isProblem(item: Item): boolean {
  return item.problem !== undefined
}

function drawFiles(files: ReadonlyMap<string, FileItem>, view: ConversationView): void {
  const box = byId('files')
  if (isDrawn(box, files.size)) return
  const shown = [...files.values()].slice(0, MAX_FILES)
  const more = files.size - shown.length
  box.replaceChildren(
    ...shown.map((item) =>
      button(
        { title: `${item.change} ${item.path}`, 'data-path': item.path },
        () => view.go(item),
        fileSigns[item.change] + item.path,
      ),
    ),
    ...(more > 0 ? [make('span', `and ${more} more`)] : []),
  )
}

/** From the process if its times are known, as in the list; else from the events. */
function timeOf(info: RunInfo | undefined, items: readonly Item[]): number | undefined {
  const told = info && tookOf(info)
  if (told !== undefined) return told
  const [first, last] = [items[0]?.ts, items.at(-1)?.ts]
  const time = first && last ? Date.parse(last) - Date.parse(first) : 0
  return time > 0 ? time : undefined
}

/** Where the head of a run would take a large part of the window. */
const small = matchMedia('(max-width: 640px), (max-height: 560px)')

/**
 * Lets the head scroll away in a small window, all but its first line, and brings it back at the start of the
 * conversation. What the reader looks at does not move: the conversation is scrolled by what its top moves.
 */
export function letHeadAway(): { show(): void } {
  const head = byId('head')
  const box = byId('conversation')
  let before = 0
  let isAway = false

  const turn = (away: boolean) => {
    const { offsetHeight } = head
    isAway = away
    head.classList.toggle('away', away)
    before = box.scrollTop + head.offsetHeight - offsetHeight
    box.scrollTop = before
  }
  const show = () => {
    if (isAway) turn(false)
  }
  box.addEventListener(
    'scroll',
    () => {
      const { scrollTop } = box
      const isDown = scrollTop > before
      before = scrollTop
      if (scrollTop < 1) show()
      // While the reader types in the head, or has opened it, it stays until the focus moves away.
      const used = head.contains(document.activeElement)
      if (!isAway && small.matches && isDown && !used && scrollTop > head.offsetHeight) turn(true)
    },
    { passive: true },
  )
  small.addEventListener('change', show)
  onPress('more-head', () => {
    show()
    byId('to-bytes').focus()
  })
  return { show }
}
