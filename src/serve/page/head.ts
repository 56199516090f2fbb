import type { FileItem, Item } from '../../views/conversation.ts'
import type { RunInfo } from '../run-info.ts'
import type { ConversationView } from './conversation-view.ts'
import { button, byId, make } from './element.ts'
import { belongs, type Filter, filters } from './filters.ts'
import { drawTimeline } from './timeline.ts'
import { countWords, outcomeLine, reasonWords, spanWords, tokenWords } from './words.ts'

export interface Head {
  /** Sets the info of the run from the list; undefined if it is gone. */
  inform(info: RunInfo | undefined): void
  /** The events changed. */
  draw(): void
  clear(): void
  connection(words: string): void
  /** Chooses the next problem, or the previous one. */
  problem(by: 1 | -1): void
  toggleFilter(filter: Filter | undefined): void
}

/** Milliseconds between two redraws of the head, while events arrive. */
const DRAW_MS = 300
/** Maximum number of files to show; the rest is counted. */
const MAX_FILES = 4

/** The part above the conversation: the run, its facts, its problems, its filters. */
export function runHead(view: ConversationView): Head {
  let info: RunInfo | undefined
  const chosen = new Set<Filter>()
  /** Number of items of each filter among the first `counted` items. */
  let counts = new Map<Filter, number>()
  let counted = 0
  let files = new Map<string, FileItem>()
  let filesDrawn = -1
  let waiting = 0
  let drawnAt = Number.NEGATIVE_INFINITY

  const bar = byId('filters')
  const chips = new Map(
    filters.map((filter, index) => {
      const number = make('b', {}, '0')
      const props = { 'aria-pressed': 'false', 'data-filter': filter, title: `Only ${filter} (${index + 1})` }
      const chip = button(props, () => toggle(filter), `${filter} `, number)
      bar.append(chip)
      return [filter, { chip, number }] as const
    }),
  )

  function toggle(filter: Filter | undefined): void {
    if (filter === undefined) chosen.clear()
    else if (!chosen.delete(filter)) chosen.add(filter)
    for (const [name, { chip }] of chips) chip.setAttribute('aria-pressed', String(chosen.has(name)))
    view.setFilters(new Set(chosen))
  }

  function drawFacts(): void {
    const { items } = view.model
    const summary = view.model.summary()
    const facts: (string | undefined | false)[] = [countWords(summary.events, 'event')]
    if (info && info.attempts > 1) facts.push(countWords(info.attempts, 'attempt'))
    if (summary.turns > 1) facts.push(countWords(summary.turns, 'turn'))
    const { called, failed } = summary.tools
    if (called > 0) facts.push(countWords(called, 'tool') + (failed > 0 ? ` (${failed} failed)` : ''))
    const begin = info?.started_at
    if (begin) facts.push(new Date(begin).toLocaleString())
    const took = timeOf(info, items)
    if (took !== undefined) facts.push(spanWords(took))
    if (info && info.exit_code !== null) facts.push(`exit code ${info.exit_code}`)
    if (info?.signal) facts.push(info.signal)
    facts.push(tokenWords(summary.tokens))
    const box = byId('facts')
    box.textContent = facts.filter(Boolean).join(' · ')
    box.dataset['events'] = String(summary.events)
    const who = [summary.model, summary.engine_version && `version ${summary.engine_version}`, summary.cwd]
    byId('model').textContent = who.filter(Boolean).join(' · ')
  }

  function drawProblems(): void {
    const { problems } = view.model
    const box = byId('problems')
    box.hidden = problems.length === 0
    const [first] = problems
    if (!first) return
    const key = `${problems.length} ${first.item.id}`
    if (box.dataset['key'] === key) return
    box.dataset['key'] = key
    byId('problems-count').textContent = countWords(problems.length, 'problem')
    byId('problems-first').textContent = first.problem.title
  }

  function countNew(): void {
    const { items } = view.model
    for (; counted < items.length; counted++) {
      const item = items[counted]!
      for (const filter of filters)
        if (filter !== 'failed' && belongs(item, filter)) counts.set(filter, (counts.get(filter) ?? 0) + 1)
      if (item.kind === 'artifact') files.set(item.path, item)
    }
    counts.set('failed', new Set(view.model.problems.map(({ item }) => item)).size)
    for (const [filter, { chip, number }] of chips) {
      const count = counts.get(filter) ?? 0
      const text = count.toLocaleString()
      if (number.textContent !== text) number.textContent = text
      chip.hidden = count === 0 && !chosen.has(filter)
    }
    bar.hidden = items.length === 0
  }

  function drawFiles(): void {
    const box = byId('files')
    if (files.size === filesDrawn) return
    filesDrawn = files.size
    const sign = { created: '+ ', modified: '~ ', deleted: '− ' }
    const shown = [...files.values()].slice(0, MAX_FILES)
    const more = files.size - shown.length
    box.replaceChildren(
      ...shown.map((item) =>
        button(
          { title: `${item.change} ${item.path}`, 'data-path': item.path },
          () => view.go(item),
          sign[item.change] + item.path,
        ),
      ),
      ...(more > 0 ? [make('span', {}, `and ${more} more`)] : []),
    )
  }

  function drawAll(): void {
    clearTimeout(waiting)
    waiting = 0
    drawFacts()
    drawProblems()
    countNew()
    drawFiles()
    drawTimeline(byId('timeline'), view)
    drawnAt = performance.now()
  }

  function problem(by: 1 | -1): void {
    const { problems } = view.model
    if (problems.length === 0) return
    // The position of the chosen item; without one, start before the first, or backwards after the last.
    const here = view.chosen?.at ?? (by > 0 ? -1 : Number.POSITIVE_INFINITY)
    const ordered = [...new Set(problems.map(({ item }) => item))].sort((a, b) => a.at - b.at)
    const next =
      by > 0
        ? (ordered.find(({ at }) => at > here) ?? ordered[0])
        : (ordered.findLast(({ at }) => at < here) ?? ordered.at(-1))
    if (next) view.go(next)
  }

  byId('problems').addEventListener('click', () => problem(1))

  return {
    inform(given) {
      const state = byId('state')
      if (!given) {
        state.replaceChildren(make('span', { class: 'dot unknown' }), 'no longer there')
        state.title = ''
        state.dataset['state'] = state.dataset['outcome'] = ''
        return
      }
      info = given
      byId('engine').textContent = info.engine ?? 'unknown engine'
      const key = `${info.state} ${info.outcome}`
      if (state.dataset['key'] !== key) {
        const words = info.outcome ? outcomeLine(info.outcome) : 'running'
        state.replaceChildren(make('span', { class: `dot ${info.outcome ?? 'running'}` }), words)
      }
      state.title = reasonWords[info.reason_code ?? ''] ?? ''
      state.dataset['key'] = key
      state.dataset['state'] = info.state
      state.dataset['outcome'] = info.outcome ?? ''
      const command = info.argv.map(quoted).join(' ')
      byId('command').textContent = command === '' ? info.id : `$ ${command}`
      byId('command').title = command || info.id
      drawFacts()
    },
    draw() {
      if (waiting !== 0) return
      const rest = drawnAt + DRAW_MS - performance.now()
      if (rest <= 0) drawAll()
      else waiting = setTimeout(drawAll, rest)
    },
    clear() {
      info = undefined
      filesDrawn = -1
      counts = new Map()
      counted = 0
      files = new Map()
      delete byId('problems').dataset['key']
      delete byId('state').dataset['key']
      byId('problems').hidden = true
      byId('model').textContent = ''
      byId('command').textContent = ''
      byId('engine').textContent = ''
      byId('state').replaceChildren()
      toggle(undefined)
      drawAll()
    },
    connection(words) {
      const box = byId('link')
      if (box.textContent !== words) box.textContent = words
    },
    problem,
    toggleFilter: toggle,
  }
}

/** From the process if its times are known, else from the events. */
function timeOf(info: RunInfo | undefined, items: readonly Item[]): number | undefined {
  if (info?.started_at && info.ended_at) return Date.parse(info.ended_at) - Date.parse(info.started_at)
  const [first, last] = [items[0]?.ts, items.at(-1)?.ts]
  const time = first && last ? Date.parse(last) - Date.parse(first) : 0
  return time > 0 ? time : undefined
}

/** A word of a command line, quoted for a shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]{1,500}$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
