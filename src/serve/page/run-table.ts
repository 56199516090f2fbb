import { endPhrase } from '../../events/run-outcome.ts'
import type { RunInfo } from '../run-info.ts'
import {
  isFound,
  outcomeText,
  problemOf,
  type RunState,
  runStates,
  stateOf,
  tagsOf,
  titleOf,
  tookOf,
} from '../run-words.ts'
import { addressOf, type Query } from './address.ts'
import { button, byId, drawChips, focusedIn, make } from './element.ts'
import type { ListMore } from './list-more.ts'
import { VirtualList } from './virtual-list.ts'
import {
  countWords,
  dateWords,
  durationWords,
  fullDate,
  priceWords,
  shortNumber,
  spentWords,
} from './words.ts'

/** A column: what it is sorted by, and its cell; a run without that is last, and its cell is empty. */
interface Column {
  readonly name: string
  readonly key: (run: RunInfo) => string | number | undefined
  readonly cell: (run: RunInfo) => readonly (Node | string)[]
  readonly title?: ((run: RunInfo) => string) | undefined
  /** Numbers begin with the largest. */
  readonly falls?: boolean | undefined
}

/** A column of single values. */
function values<V extends string | number>(
  name: string,
  key: (run: RunInfo) => V | undefined,
  words: (value: V) => string,
  more: Pick<Column, 'title' | 'falls'> = { falls: true },
): Column {
  const told = (run: RunInfo) => {
    const value = key(run)
    return value === undefined ? '' : words(value)
  }
  return { name, key, cell: (run) => [told(run)], ...more }
}

/** The name of the filter for runs that can be answered here. */
const WAITS = 'waits for you'

const same = (text: string) => text
const columns: readonly Column[] = [
  { name: 'Task', cell: taskCell, key: (run) => titleOf(run).toLowerCase() },
  values('Engine', engineOf, same, {}),
  {
    name: 'Outcome',
    cell: (run) => [make(`span.dot.${stateOf(run)}`), outcomeText(run)],
    key: (run) => runStates.indexOf(stateOf(run)),
    title: (run) => (run.outcome ? endPhrase(run.outcome, run.failure_class) : ''),
  },
  values('When', whenOf, dateWords, { title: (run) => fullDate(whenOf(run)), falls: true }),
  values('Took', tookOf, durationWords),
  values('Tokens', tokensOf, shortNumber, {
    title: ({ tokens }) => spentWords({ tokens: tokens ?? undefined }),
    falls: true,
  }),
  {
    name: 'Cost',
    cell: ({ cost }) => [priceWords(cost)],
    key: ({ cost }) => cost?.amount,
    falls: true,
  },
  values(
    'Files',
    ({ files }) => files || undefined,
    (count) => countWords(count, 'file'),
  ),
  values('Problem', (run) => problemOf(run) || undefined, same, {}),
]

/** By time they are as the server lists them: those in progress first, then the newest. */
const SERVED = '-when'

export const MORE = './more.js'

/** Pixels of a row, before it is measured. */
const ROW = 49

/** All runs in a table, sorted by any column, filtered by text and outcome. Only visible rows are drawn. */
export class RunTable {
  readonly #box = byId('rows')
  readonly #find = byId('find') as HTMLInputElement // cast: an <input> in page.html
  readonly #bar = byId('outcomes')
  readonly #none = byId('none')
  readonly #heads = columns.map((column) =>
    make(
      'th',
      { role: 'columnheader', scope: 'col', class: column.name.toLowerCase() },
      button({}, () => this.#sortBy(column), column.name),
    ),
  )
  readonly #body = make('tbody', { role: 'rowgroup', id: 'runs' })
  readonly #table = make(
    'table',
    { role: 'table', 'aria-label': 'Runs' },
    make('thead', { role: 'rowgroup' }, make('tr', { role: 'row', 'aria-rowindex': 1 }, ...this.#heads)),
    this.#body,
  )
  readonly #list = new VirtualList<RunInfo>({
    box: this.#box,
    rows: this.#body,
    frame: this.#table,
    estimate: () => ROW,
    version: () => 0,
    below: 48,
    draw: drawRow,
  })
  readonly #onQuery: (query: Query) => void
  /** What the reader has set: all that is not in the runs themselves. */
  #query: Query = {}
  readonly #fold = byId('more') as HTMLDetailsElement // cast: an element of page.html
  #more: ListMore | undefined
  #runs: readonly RunInfo[] = []
  /** Number of folders with older runs, which are not listed. */
  older = 0

  constructor(onQuery: (query: Query) => void) {
    this.#onQuery = onQuery
    this.#find.addEventListener('input', () => this.#set({ find: this.#find.value }))
    this.#find.addEventListener('keydown', (press) => {
      const [first] = this.#links()
      if (press.key === 'Enter') first?.click()
      if (press.key === 'Escape') {
        press.stopPropagation()
        this.#find.blur()
      }
      if (press.key !== 'ArrowDown' || !first) return
      press.preventDefault()
      first.focus()
    })
    this.#fold.addEventListener('toggle', () => {
      if (this.#fold.open !== (this.#query['more'] === '1')) this.#set({ more: this.#fold.open ? '1' : '0' })
      this.#loadMore()
    })
    this.#box.addEventListener('keydown', (press) => {
      if (press.key !== 'ArrowDown' && press.key !== 'ArrowUp') return
      const all = this.#links()
      const at = all.findIndex((one) => one.matches(':focus'))
      press.preventDefault()
      press.stopPropagation()
      if (at === 0 && press.key === 'ArrowUp') this.#find.focus()
      else all[at + (press.key === 'ArrowDown' ? 1 : -1)]?.focus()
    })
  }

  /** Shows these runs, where the reader is now. */
  show(runs: readonly RunInfo[]): void {
    this.#runs = runs
    this.#draw(true)
  }

  /** Shows what this query has set. */
  set(query: Query): void {
    this.#query = query
    this.#find.value = query['find'] ?? ''
    // 0: it was folded again, but may have set filters.
    this.#fold.open = query['more'] === '1'
    if (query['more']) this.#loadMore()
  }

  /** Loads what is folded, when it is opened. */
  async #loadMore(): Promise<void> {
    // Cast: the server has it beside this script.
    const { listMore } = (await import(MORE)) as typeof import('./list-more.ts')
    this.#more ??= listMore(byId('more-list'), (query) => this.#set(query))
    this.#draw(true)
  }

  #set(query: Query): void {
    const all = Object.entries({ ...this.#query, ...query })
    this.#query = Object.fromEntries(all.filter(([, value]) => value))
    this.#onQuery(this.#query)
    this.#draw(false)
  }

  /** The outcomes that are chosen. */
  get #chosen(): string[] {
    return this.#query['outcome']?.split(',') ?? []
  }

  focusFind(): void {
    this.#find.focus()
    this.#find.select()
  }

  #links(): HTMLAnchorElement[] {
    return [...this.#box.querySelectorAll('a')]
  }

  #sortBy({ name, falls = false }: Column): void {
    const column = name.toLowerCase()
    const [first, second] = falls ? [`-${column}`, column] : [column, `-${column}`]
    const now = this.#query['sort'] ?? SERVED
    // A third press gives the order of the server back.
    this.#set({ sort: now === first ? second : now === second || first === SERVED ? '' : first })
  }

  #draw(stay: boolean): void {
    const typed = (this.#query['find'] ?? '').trim()
    const chosen = this.#chosen
    const found = this.#runs.filter(
      (run) => isFound(run, typed) && this.#more?.picks(run, this.#query) !== false,
    )
    this.#drawStates(found)
    const shown = found.filter(
      (run) =>
        (chosen.length === 0 || chosen.includes(stateOf(run))) && (!this.#query['waits'] || waitsForYou(run)),
    )
    const sort = this.#query['sort'] ?? SERVED
    const falls = sort.startsWith('-')
    const column = columns.find(({ name }) => name.toLowerCase() === sort.slice(Number(falls)))
    columns.forEach((one, at) => {
      const order = one === column ? (falls ? 'descending' : 'ascending') : undefined
      if (order) this.#heads[at]!.setAttribute('aria-sort', order)
      else this.#heads[at]!.removeAttribute('aria-sort')
    })
    const all = this.#runs.length
    byId('count').textContent =
      shown.length === all
        ? countWords(all, 'run')
        : `${shown.length.toLocaleString()} of ${countWords(all, 'run')}`
    if (this.older > 0)
      byId('count').append(` (${this.older.toLocaleString()} older ones open by their id in the search)`)
    this.#more?.draw(this.#runs, shown, this.#query)
    this.#none.hidden = shown.length > 0
    this.#box.hidden = shown.length === 0
    this.#none.replaceChildren(...(all === 0 ? emptyWords() : this.#unmatched(typed, found.length)))
    this.#table.setAttribute('aria-rowcount', String(shown.length + 1))
    const focused = focusedIn(this.#box)?.dataset['id']
    this.#list.show(sort === SERVED || !column ? shown : sorted(shown, column, falls), stay)
    if (focused !== undefined)
      for (const link of this.#links()) if (link.dataset['id'] === focused) link.focus()
  }

  /** Which of the two hides all runs, the search or the chosen outcomes, and a button that ends it. */
  #unmatched(typed: string, found: number): Node[] {
    const outcomes = [
      this.#query['waits'] && `that ${WAITS}`,
      this.#chosen.map((state) => state.replace('_', ' ')).join(' or '),
    ]
      .filter(Boolean)
      .join(' and ')
    const reset = () => {
      if (found === 0) this.#find.value = ''
      const names = found === 0 ? 'find engine model tag class from to cost' : 'outcome waits'
      this.#set(Object.fromEntries(names.split(' ').map((name) => [name, ''])))
      this.focusFind()
    }
    return [
      make(
        'p',
        found === 0
          ? `No run matches ${typed ? `“${typed}”` : 'the filters'}.`
          : `${countWords(found, 'run')}, but none ${outcomes}.`,
      ),
      make(
        'p.acts',
        button({}, reset, found === 0 ? 'Clear the search' : 'Show all outcomes'),
        ...(found === 0 && this.older > 0
          ? [make('a', { href: addressOf({ run: typed, query: {} }) }, 'Open the run of this id')]
          : []),
      ),
    ]
  }

  #drawStates(found: readonly RunInfo[]): void {
    const chosen = this.#chosen
    const counts = new Map<RunState, number>()
    for (const run of found) counts.set(stateOf(run), (counts.get(stateOf(run)) ?? 0) + 1)
    const known = runStates.filter((state) => counts.has(state) || chosen.includes(state))
    const waiting = found.filter(waitsForYou).length
    const waits = {
      name: WAITS,
      count: waiting,
      chosen: this.#query['waits'] !== undefined,
      act: () => this.#set({ waits: this.#query['waits'] ? '' : '1' }),
    }
    const isMine = waiting > 0 || waits.chosen
    this.#bar.hidden = known.length < 2 && chosen.length === 0 && !isMine
    drawChips(this.#bar, [
      ...(isMine ? [waits] : []),
      ...known.map((state) => ({
        name: state,
        dot: true,
        count: counts.get(state) ?? 0,
        chosen: chosen.includes(state),
        act: () => this.#set({ outcome: turned(this.#chosen, state).join() }),
      })),
    ])
  }
}

/** The list without a word that it has, or with it. */
function turned(words: readonly string[], word: string): string[] {
  return words.includes(word) ? words.filter((one) => one !== word) : [...words, word]
}

function sorted(runs: readonly RunInfo[], { key }: Column, falls: boolean): RunInfo[] {
  const keyed = runs.map((run) => ({ run, key: key(run) }))
  const way = falls ? -1 : 1
  keyed.sort((a, b) => {
    if (a.key === b.key) return 0
    if (a.key === undefined || b.key === undefined) return a.key === undefined ? 1 : -1
    return a.key < b.key ? -way : way
  })
  return keyed.map(({ run }) => run)
}

function drawRow(run: RunInfo, index: number): HTMLElement {
  const cells = columns.map(({ name, cell, title }) => {
    const props = { role: 'cell', class: name.toLowerCase(), title: title?.(run) || undefined }
    return make('td', props, ...cell(run))
  })
  return make('tr', { role: 'row', 'aria-rowindex': index + 2, 'data-state': stateOf(run) }, ...cells)
}

function taskCell(run: RunInfo): Node[] {
  const tries = run.attempts > 1 && `${run.attempts} attempts`
  const place = run.task !== null && (run.session?.directory ?? run.id)
  // The link covers the row, and with it the titles of the other cells.
  const title = [run.task ?? run.id, problemOf(run)].filter(Boolean).join('\n\n')
  return [
    make('a', { href: addressOf({ run: run.id, query: {} }), 'data-id': run.id, title }, titleOf(run)),
    make('small', [place, tries, ...tagsOf(run)].filter(Boolean).join(' · ')),
  ]
}

function engineOf(run: RunInfo): string {
  return `${run.engine ?? 'unknown'}${run.session ? ' session' : ''}`
}

/** Whether it is going on, and waits for an answer that can be given here. */
export function waitsForYou({ state, waits_for, control }: RunInfo): boolean {
  return state === 'running' && waits_for !== null && control === true
}

function whenOf(run: RunInfo): string | undefined {
  return run.session?.updated_at ?? run.started_at ?? undefined
}

function tokensOf({ tokens }: RunInfo): number | undefined {
  return tokens ? (tokens.input ?? 0) + (tokens.output ?? 0) : undefined
}

function emptyWords(): Node[] {
  return [
    make('p', 'No runs here yet. Record one:'),
    make('pre', { tabindex: 0 }, 'npx agent-sluice run -- codex exec --json "fix the test"'),
    make('p', 'Or what agents keep in your home directory:'),
    make('pre', { tabindex: 0 }, 'npx agent-sluice serve --sessions'),
  ]
}
