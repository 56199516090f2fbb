import { endPhrase } from '../../events/run-outcome.ts'
import type { RunInfo } from '../run-info.ts'
import { addressOf } from './address.ts'
import { button, byId, isDrawn, make } from './element.ts'
import { dateWords } from './words.ts'

/** The states to filter runs by, the most interesting first. */
const states = ['running', 'failed', 'needs_input', 'unknown', 'cancelled', 'finished', 'succeeded'] as const
type State = (typeof states)[number]

/** The list of runs: grouped by directory, filtered by text and outcome. */
export class RunList {
  readonly #box = byId('runs')
  readonly #find = byId('find') as HTMLInputElement // cast: an <input> in page.html
  readonly #bar = byId('outcomes')
  readonly #none = byId('none')
  readonly #chosen = new Set<State>()
  #runs: readonly RunInfo[] = []
  #current: string | undefined

  constructor(onPick: () => void) {
    this.#find.addEventListener('input', () => this.#draw())
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
    this.#box.addEventListener('keydown', (press) => {
      if (press.key !== 'ArrowDown' && press.key !== 'ArrowUp') return
      const all = this.#links()
      const at = all.findIndex((one) => one.matches(':focus'))
      press.preventDefault()
      press.stopPropagation()
      if (at === 0 && press.key === 'ArrowUp') this.#find.focus()
      else all[at + (press.key === 'ArrowDown' ? 1 : -1)]?.focus()
    })
    this.#box.addEventListener('click', ({ target }) => {
      if (target instanceof Element && target.closest('a')) onPick()
    })
  }

  show(runs: readonly RunInfo[], current: string | undefined): void {
    this.#runs = runs
    this.#current = current
    this.#draw()
  }

  focusFind(): void {
    this.#find.focus()
    this.#find.select()
  }

  #links(): HTMLAnchorElement[] {
    return [...this.#box.querySelectorAll('a')]
  }

  #draw(): void {
    const wanted = this.#find.value.trim().toLowerCase().split(' ')
    const found = this.#runs.filter((run) => wanted.every((word) => wordsOf(run).includes(word)))
    this.#drawStates(found)
    const shown = found.filter((run) => this.#chosen.size === 0 || this.#chosen.has(stateOf(run)))
    this.#none.hidden = shown.length > 0
    this.#none.replaceChildren(
      ...(this.#runs.length === 0 ? emptyWords() : [make('p', {}, 'No run matches.')]),
    )
    const facts = shown.map((run) => [
      ...[run.id, run.outcome, run.attempts, run.engine, run.session?.directory],
      dateOf(run),
    ])
    if (isDrawn(this.#box, [this.#current, facts])) return
    const focused = focusedIn(this.#box)?.dataset['id']
    const items = grouped(shown).flatMap(([folder, group]) => drawGroup(folder, group, this.#current))
    this.#box.replaceChildren(...items)
    if (focused === undefined) this.#box.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
    else for (const link of this.#links()) if (link.dataset['id'] === focused) link.focus()
  }

  #drawStates(found: readonly RunInfo[]): void {
    const [bar, chosen] = [this.#bar, this.#chosen]
    const counts = new Map<State, number>()
    for (const run of found) counts.set(stateOf(run), (counts.get(stateOf(run)) ?? 0) + 1)
    const known = states.filter((state) => counts.has(state) || chosen.has(state))
    bar.hidden = known.length < 2 && chosen.size === 0
    if (isDrawn(bar, [known.map((state) => [state, counts.get(state)]), [...chosen]])) return
    const focused = focusedIn(bar)?.dataset['state']
    bar.replaceChildren(
      ...known.map((state) =>
        button(
          { 'aria-pressed': chosen.has(state) ? 'true' : 'false', 'data-state': state },
          () => {
            if (!chosen.delete(state)) chosen.add(state)
            this.#draw()
          },
          make('span', `dot ${state}`),
          `${state} `,
          make('b', {}, String(counts.get(state) ?? 0)),
        ),
      ),
    )
    if (focused !== undefined) bar.querySelector<HTMLElement>(`[data-state=${focused}]`)?.focus()
  }
}

function focusedIn(box: HTMLElement): HTMLElement | undefined {
  const { activeElement } = document
  return activeElement instanceof HTMLElement && box.contains(activeElement) ? activeElement : undefined
}

function drawGroup(folder: string, group: readonly RunInfo[], current: string | undefined): HTMLElement[] {
  const items = group.map((run) => make('li', {}, drawLink(run, run.id === current)))
  if (folder === '') return items
  return [make('li', { class: 'folder', title: folder }, make('span', {}, folder)), ...items]
}

function drawLink(run: RunInfo, isCurrent: boolean): HTMLElement {
  const state = stateOf(run)
  const tries = run.attempts > 1 ? ` · ${run.attempts} attempts` : ''
  const engine = `${run.engine ?? 'unknown engine'}${run.session ? ' session' : ''}`
  const date = dateOf(run)
  return make(
    'a',
    { href: addressOf(run.id), 'aria-current': isCurrent ? 'page' : undefined, 'data-id': run.id },
    make('span', `dot ${state}`),
    make('span', { class: 'name', title: run.id }, folderAndName(run).name),
    make('span', 'about', `${engine} · ${run.outcome ?? 'running'}${tries}`),
    make('span', 'when', date === null ? '' : dateWords(date)),
  )
}

function stateOf(run: RunInfo): State {
  return run.outcome ?? 'running'
}

/**
 * Everything a reader may type to find a run: its name, its engine, and how it ended, in all words for that.
 */
function wordsOf(run: RunInfo): string {
  const outcome =
    run.outcome === null ? 'running live' : `${run.outcome} ${endPhrase(run.outcome, run.failure_class)}`
  const parts = [
    run.id,
    run.engine,
    run.state,
    outcome.replaceAll('_', ' '),
    outcome,
    run.session?.directory,
    ...run.argv,
  ]
  return parts.join(' ').toLowerCase()
}

function dateOf(run: RunInfo): string | null {
  return run.session ? run.session.updated_at : run.started_at
}

/** A session is named by the folder the agent worked in, an audit folder by the folder it is in. */
function folderAndName(run: RunInfo): { readonly folder: string; readonly name: string } {
  const audit = '/.audit'
  const id = run.id.length > audit.length && run.id.endsWith(audit) ? run.id.slice(0, -audit.length) : run.id
  const path = run.session?.directory ?? id
  const cut = path.lastIndexOf('/')
  return { folder: path.slice(0, Math.max(0, cut)), name: path.slice(cut + 1) || path }
}

/** Grouped by directory, in the order of the first run of each: runs in progress first, then the newest. */
function grouped(runs: readonly RunInfo[]): [string, RunInfo[]][] {
  const groups = new Map<string, RunInfo[]>()
  for (const run of runs) {
    const { folder } = folderAndName(run)
    const group = groups.get(folder)
    if (group) group.push(run)
    else groups.set(folder, [run])
  }
  return [...groups]
}

function emptyWords(): Node[] {
  return [
    make('p', {}, 'No runs here yet. Record one, and it is listed as soon as it begins:'),
    make('pre', { tabindex: 0 }, 'npx agent-sluice run -- codex exec --json "fix the test"'),
    make('p', {}, 'Or show what agents keep in your home directory:'),
    make('pre', { tabindex: 0 }, 'npx agent-sluice serve --sessions'),
  ]
}
