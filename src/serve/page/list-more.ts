// What a reader of the list asks for: more filters, the sums of the runs, a search in all of them. It is a
// file of its own, which the page loads when it is opened; an exported run has no list.

import { isPicked } from '../run-filter.ts'
import type { RunHit, RunInfo } from '../run-info.ts'
import { knownWords, type RunSums, totalsOf } from '../run-totals.ts'
import { tagsOf, titleOf } from '../run-words.ts'
import type { Query } from './address.ts'
import { addressOf } from './address.ts'
import { button, byId, isDrawn, make } from './element.ts'
import { svgNode } from './timeline.ts'
import { countWords, durationWords, priceWords, shortNumber } from './words.ts'

export interface ListMore {
  /** Whether a run is picked by the filters of the query. */
  picks(run: RunInfo, query: Query): boolean
  /** Draws what belongs to these runs: all of the list, and those that are shown. */
  draw(all: readonly RunInfo[], shown: readonly RunInfo[], query: Query): void
}

/** Fills the part of the list that is folded at first. `set` changes the place of the reader. */
export function listMore(box: HTMLElement, set: (query: Query) => void): ListMore {
  const style = new URL('more.css', import.meta.url).href
  document.head.append(make('link', { rel: 'stylesheet', href: style }))
  const picks = pickers(set)
  const said = saidSearch(set)
  const pair = pairPicker()
  const totals = make('div.totals')
  box.replaceChildren(picks.form, said.form, said.results, pair.line, totals)
  return {
    picks: (run, query) => isPicked(run, { ...query, find: '', outcome: '' }),
    draw(all, shown, query) {
      picks.draw(all, query)
      said.draw(all, query)
      pair.draw(all)
      drawTotals(totals, shown, set)
    },
  }
}

/** The filters that are more than the outcome and words. */
function pickers(set: (query: Query) => void) {
  const fields = [
    picker('Engine', 'engine', ({ engine }) => [engine]),
    picker('Model', 'model', ({ model }) => [model]),
    picker('Tag', 'tag', tagsOf),
    picker('Failure', 'class', ({ failure_class }) => [failure_class]),
    typed('From', 'from', { type: 'date' }),
    typed('To', 'to', { type: 'date' }),
    typed('Cost from', 'cost', { type: 'number', min: 0, step: 'any' }),
  ]
  const reset = button({}, () => set(Object.fromEntries(fields.map(({ name }) => [name, '']))), 'Reset')
  const form = make('form.picks', ...fields.map(({ element }) => element), reset)
  form.addEventListener('submit', (press) => press.preventDefault())
  for (const { name, input } of fields) input.addEventListener('change', () => set({ [name]: input.value }))
  return {
    form,
    draw(all: readonly RunInfo[], query: Query) {
      for (const { name, input, offer } of fields) {
        offer?.(all)
        const value = query[name] ?? ''
        // What is typed is not replaced while it is typed.
        if (input.value !== value && input !== document.activeElement) input.value = value
      }
      reset.hidden = fields.every(({ name }) => !query[name])
    },
  }
}

interface Field {
  readonly name: string
  readonly element: HTMLElement
  readonly input: HTMLInputElement | HTMLSelectElement
  readonly offer?: (all: readonly RunInfo[]) => void
}

function typed(label: string, name: string, props: Readonly<Record<string, string | number>>): Field {
  const input = make('input', { ...props, id: `pick-${name}` })
  return { name, input, element: make('label', label, input) }
}

function picker(label: string, name: string, wordsOf: (run: RunInfo) => (string | null)[]): Field {
  const input = make('select', { id: `pick-${name}` })
  return {
    name,
    input,
    element: make('label', label, input),
    offer(all) {
      const known = [...new Set(all.flatMap(wordsOf))].filter((value) => value !== null).sort()
      const { value } = input
      if (isDrawn(input, known)) return
      input.replaceChildren(
        make('option', { value: '' }, 'any'),
        ...known.map((one) => make('option', { value: one }, one)),
      )
      input.value = value
    },
  }
}

/** Runs with the text to show; the others are counted. */
const MAX_HITS = 1000

/** The search in what was said and done in all runs. */
function saidSearch(set: (query: Query) => void) {
  const input = make('input', { type: 'search', id: 'said', autocomplete: 'off', spellcheck: 'false' })
  const go = make('button', 'Search')
  const told = make('span', { role: 'status', id: 'said-told' })
  const form = make('form.said-search', make('label', 'Search in what was said and done', input), go, told)
  const results = make('ol.said-hits', { 'aria-label': 'Runs with this text' })
  let now: AbortController | undefined
  let searched = ''
  let titles: ReadonlyMap<string, string> = new Map()

  /** How far the search is. */
  let progress = ''

  function stop(words: string): void {
    now?.abort()
    now = undefined
    go.textContent = 'Search'
    told.textContent = words
  }

  async function start(text: string): Promise<void> {
    stop('')
    searched = text
    results.replaceChildren()
    if (text === '') return
    const mine = new AbortController()
    now = mine
    go.textContent = 'Stop'
    progress = 'Searching …'
    told.textContent = progress
    let found = 0
    try {
      for await (const record of recordsOf(text, mine.signal)) {
        if (now !== mine) return
        if (record.hit) {
          if (++found <= MAX_HITS) results.append(hitNode(record.hit, titles.get(record.hit.id), text))
        } else {
          const { searched: looked = 0, of = 0, done } = record
          const more = found > MAX_HITS ? `, the newest ${MAX_HITS.toLocaleString()} shown` : ''
          const runs = `${countWords(found, 'run')} found${more}`
          const where = `${looked.toLocaleString()} of ${countWords(of, 'run')} searched`
          progress = `${runs}, ${where}${done ? '' : ' …'}`
          told.textContent = progress
          if (done) stop(progress)
        }
      }
      if (now === mine) stop('The server ended the search.')
    } catch (error) {
      if (now === mine) stop(`Not searched: ${error instanceof Error ? error.message : error}`)
    }
  }

  form.addEventListener('submit', (press) => {
    press.preventDefault()
    const text = input.value.trim()
    if (now) stop(`Stopped; ${progress}`)
    else {
      start(text)
      set({ said: text })
    }
  })
  return {
    form,
    results,
    draw(all: readonly RunInfo[], query: Query) {
      titles = new Map(all.map((run) => [run.id, titleOf(run)]))
      const wanted = query['said'] ?? ''
      if (wanted === searched) return
      input.value = wanted
      start(wanted)
    },
  }
}

/** Two runs are chosen in the table: then a press on one of them does not open it. */
function pairPicker() {
  const go = button({ 'aria-pressed': 'false' }, () => turn(!choosing), 'Compare two runs')
  const told = make('span', { role: 'status' })
  let choosing = false
  let first: string | undefined
  let titles: ReadonlyMap<string, string> = new Map()

  function turn(on: boolean): void {
    choosing = on
    first = undefined
    go.setAttribute('aria-pressed', String(on))
    told.textContent = on ? 'Choose the first run in the table.' : ''
  }

  byId('rows').addEventListener(
    'click',
    (press) => {
      // Cast: what is pressed in a page is an element.
      const id = (press.target as Element).closest<HTMLElement>('a[data-id]')?.dataset['id']
      if (!choosing || id === undefined) return
      press.preventDefault()
      press.stopPropagation()
      if (first === undefined) {
        first = id
        told.textContent = `“${titles.get(id) ?? id}”: choose the one to compare it with.`
      } else if (first !== id) {
        const both = [first, id].map(encodeURIComponent).join('/')
        turn(false)
        location.hash = `compare/${both}`
      }
    },
    true,
  )
  return {
    line: make('p.picks', go, told),
    draw(all: readonly RunInfo[]) {
      titles = new Map(all.map((run) => [run.id, titleOf(run)]))
    },
  }
}

/** A line of the answer: a run that has the text, or how far the search is. */
interface SearchRecord {
  readonly hit?: RunHit
  readonly searched?: number
  readonly of?: number
  readonly done?: true
}

async function* recordsOf(text: string, signal: AbortSignal): AsyncGenerator<SearchRecord> {
  const url = new URL(`search?q=${encodeURIComponent(text)}`, import.meta.url)
  const response = await fetch(url, { signal })
  if (!response.ok || !response.body) throw new Error((await response.text()).trim())
  const decoder = new TextDecoder()
  const body = response.body.getReader()
  let rest = ''
  for (let { done, value } = await body.read(); !done; { done, value } = await body.read()) {
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as SearchRecord // cast: the server is ours
  }
}

function hitNode(hit: RunHit, title = hit.id, text: string): HTMLElement {
  const [attempt, seq] = hit.event.split('.').map(Number)
  const event = { attempt: attempt!, seq: seq! }
  const times = hit.count > 1 ? `${hit.count} places` : ''
  return make(
    'li',
    make('a', { href: addressOf({ run: hit.id, event, query: { find: text } }) }, title),
    make('small', [new Date(hit.ts).toLocaleString(), times].filter(Boolean).join(' · ')),
    make('p', hit.before, make('mark', hit.match), hit.after),
  )
}

/** Days in the chart, and in the table. */
const MAX_DAYS = 60
const MAX_ROWS = 31

function drawTotals(box: HTMLElement, shown: readonly RunInfo[], set: (query: Query) => void): void {
  const { days, engines, ...all } = totalsOf(shown)
  if (isDrawn(box, [days, engines, all])) return
  const more = days.length - MAX_ROWS
  box.replaceChildren(
    make('p.sum', ...cellsOf(all).map((cell, at) => cell && make('span', make('b', cell), ` ${heads[at]}`))),
    ...(days.length > 1 ? [chart(days, set)] : []),
    ...(shown.length === 0
      ? []
      : [
          table(
            'Day',
            days.slice(0, MAX_ROWS).map((day) => [dayNode(day.day, set), ...cellsOf(day)]),
          ),
          ...(more > 0 ? [make('p', `and ${countWords(more, 'older day')}`)] : []),
          table(
            'Engine',
            engines.map((one) => [one.engine, ...cellsOf(one)]),
          ),
          make('p.known', knownWords(all)),
        ]),
  )
}

const heads = ['runs', 'failed', 'tokens in', 'tokens out', 'cost', 'time']

function cellsOf({ runs, outcomes, tokens, costs, time }: RunSums): string[] {
  return [
    runs.toLocaleString(),
    String(outcomes['failed'] ?? ''),
    tokens.runs > 0 ? shortNumber(tokens.input) : '',
    tokens.runs > 0 ? shortNumber(tokens.output) : '',
    costs
      .map(({ amount, currency }) => priceWords({ amount: Number(amount.toPrecision(4)), currency }))
      .join(' + '),
    time.runs > 0 ? durationWords(time.ms) : '',
  ]
}

function table(name: string, rows: readonly (readonly (Node | string)[])[]): HTMLElement {
  const head = [name, ...heads.map((word) => word[0]!.toUpperCase() + word.slice(1))]
  return make(
    'div.scroll',
    { tabindex: 0, role: 'region', 'aria-label': `By ${name.toLowerCase()}` },
    make(
      'table',
      make('thead', make('tr', ...head.map((word) => make('th', { scope: 'col' }, word)))),
      make('tbody', ...rows.map((cells) => make('tr', ...cells.map((cell) => make('td', cell))))),
    ),
  )
}

function dayNode(day: string, set: (query: Query) => void): HTMLElement {
  return button({ title: 'Only this day' }, () => set({ from: day, to: day }), day)
}

/** Runs by day, those that failed at the bottom; the table has the numbers. */
function chart(
  days: readonly ({ readonly day: string } & RunSums)[],
  set: (query: Query) => void,
): HTMLElement {
  const last = Date.parse(days[0]!.day)
  const first = Math.max(Date.parse(days.at(-1)!.day), last - (MAX_DAYS - 1) * DAY_MS)
  const count = Math.round((last - first) / DAY_MS) + 1
  const most = Math.max(...days.map(({ runs }) => runs))
  const svg = svgNode('svg', {
    viewBox: `0 0 ${count * 4} 40`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  })
  for (const { day, runs, outcomes } of days) {
    const x = Math.round((Date.parse(day) - first) / DAY_MS) * 4
    const bar = (from: number, to: number, name: string) => {
      const [top, bottom] = [40 - (to / most) * 40, 40 - (from / most) * 40]
      const rect = svgNode('rect', { x, y: top, width: 3, height: bottom - top, class: name })
      rect.addEventListener('click', () => set({ from: day, to: day }))
      if (x >= 0 && to > from) svg.append(rect)
    }
    const failed = outcomes['failed'] ?? 0
    bar(0, failed, 'problems')
    bar(failed, runs, 'messages')
  }
  return make(
    'div.chart',
    make('p.legend', make('span.messages', 'runs a day'), make('span.problems', 'failed'), `at most ${most}`),
    svg,
    make('p.axis', make('span', new Date(first).toISOString().slice(0, 10)), make('span', days[0]!.day)),
  )
}

const DAY_MS = 86_400_000

/** The names of all engines that read what an agent prints, written here by scripts/page.ts. */
declare const ENGINE_NAMES: readonly string[]

/**
 * Lets the reader say which agent wrote logs that another program recorded: the shape of the output may tell
 * another one, or none. `choose` opens the run again.
 */
export function readAs(now: string | undefined, choose: (engine?: string) => void): void {
  const box = document.getElementById('as')
  if (!box || box.firstChild) return
  const names = [['', 'any agent'], ...ENGINE_NAMES.map((name) => [name, name])]
  const select = make('select', ...names.map(([value, name]) => make('option', { value }, name)))
  select.value = now ?? ''
  select.addEventListener('change', () => choose(select.value || undefined))
  box.append(make('label', 'Read as ', select))
}
