import { outcomeWords } from '../../events/run-outcome.ts'
import type { RunInfo } from '../run-info.ts'
import { addressOf } from './address.ts'
import { button, byId, make } from './element.ts'
import { dateWords } from './words.ts'

export interface RunList {
  show(runs: readonly RunInfo[], current: string | undefined): void
  focusFind(): void
}

/** The states to filter runs by, the most interesting first. */
const states = ['running', 'failed', 'needs_input', 'unknown', 'cancelled', 'succeeded'] as const
type State = (typeof states)[number]

/** The list of runs: grouped by directory, filtered by text and outcome. */
export function runList(onPick: () => void): RunList {
  const box = byId('runs')
  const find = byId('find') as HTMLInputElement // cast: an <input> in page.html
  const bar = byId('outcomes')
  const none = byId('none')
  const chosen = new Set<State>()
  let runs: readonly RunInfo[] = []
  let current: string | undefined

  function draw(): void {
    const wanted = find.value.trim().toLowerCase().split(' ')
    const found = runs.filter((run) => wanted.every((word) => wordsOf(run).includes(word)))
    drawStates(found)
    const shown = found.filter((run) => chosen.size === 0 || chosen.has(stateOf(run)))
    none.hidden = shown.length > 0
    none.replaceChildren(...(runs.length === 0 ? emptyWords() : [make('p', {}, 'No run matches.')]))
    const key = JSON.stringify([
      current,
      shown.map((run) => [
        run.id,
        run.outcome,
        run.attempts,
        run.engine,
        run.session?.directory,
        dateOf(run),
      ]),
    ])
    if (box.dataset['key'] === key) return
    box.dataset['key'] = key
    // Cast: only HTML elements are in the box.
    const focused = box.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset['id']
      : undefined
    box.replaceChildren(...grouped(shown).flatMap(([folder, group]) => drawGroup(folder, group)))
    if (focused === undefined) box.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
    else for (const link of links()) if (link.dataset['id'] === focused) link.focus()
  }

  function drawStates(found: readonly RunInfo[]): void {
    const counts = new Map<State, number>()
    for (const run of found) counts.set(stateOf(run), (counts.get(stateOf(run)) ?? 0) + 1)
    const known = states.filter((state) => counts.has(state) || chosen.has(state))
    bar.hidden = known.length < 2 && chosen.size === 0
    const key = JSON.stringify([known.map((state) => [state, counts.get(state)]), [...chosen]])
    if (bar.dataset['key'] === key) return
    bar.dataset['key'] = key
    const focused = bar.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset['state']
      : undefined
    bar.replaceChildren(
      ...known.map((state) =>
        button(
          { 'aria-pressed': chosen.has(state) ? 'true' : 'false', 'data-state': state },
          () => {
            if (!chosen.delete(state)) chosen.add(state)
            draw()
          },
          make('span', { class: `dot ${state}` }),
          `${state.replaceAll('_', ' ')} `,
          make('b', {}, String(counts.get(state) ?? 0)),
        ),
      ),
    )
    if (focused !== undefined) bar.querySelector<HTMLElement>(`[data-state=${focused}]`)?.focus()
  }

  function drawGroup(folder: string, group: readonly RunInfo[]): HTMLElement[] {
    const items = group.map((run) => make('li', {}, link(run)))
    if (folder === '') return items
    return [make('li', { class: 'folder', title: folder }, make('span', {}, folder)), ...items]
  }

  function link(run: RunInfo): HTMLElement {
    const state = stateOf(run)
    const tries = run.attempts > 1 ? ` · ${run.attempts} attempts` : ''
    const engine = `${run.engine ?? 'unknown engine'}${run.session ? ' session' : ''}`
    const date = dateOf(run)
    return make(
      'a',
      {
        href: addressOf(run.id),
        'aria-current': run.id === current ? 'page' : undefined,
        'data-id': run.id,
      },
      make('span', { class: `dot ${state}` }),
      make('span', { class: 'name', title: run.id }, placeOf(run).name),
      make('span', { class: 'about' }, `${engine} · ${run.outcome ?? 'running'}${tries}`),
      make('span', { class: 'when' }, date === null ? '' : dateWords(date)),
    )
  }

  const links = () => [...box.querySelectorAll<HTMLAnchorElement>('a')]

  find.addEventListener('input', draw)
  find.addEventListener('keydown', (press) => {
    const [first] = links()
    if (press.key === 'Enter') first?.click()
    if (press.key === 'Escape') {
      press.stopPropagation()
      find.blur()
    }
    if (press.key !== 'ArrowDown' || !first) return
    press.preventDefault()
    first.focus()
  })
  box.addEventListener('keydown', (press) => {
    if (press.key !== 'ArrowDown' && press.key !== 'ArrowUp') return
    const all = links()
    const at = all.findIndex((one) => one.matches(':focus'))
    press.preventDefault()
    press.stopPropagation()
    if (at === 0 && press.key === 'ArrowUp') find.focus()
    else all[at + (press.key === 'ArrowDown' ? 1 : -1)]?.focus()
  })
  box.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('a')) onPick()
  })

  return {
    show(given, id) {
      runs = given
      current = id
      draw()
    },
    focusFind() {
      find.focus()
      find.select()
    },
  }
}

function stateOf(run: RunInfo): State {
  return run.outcome ?? 'running'
}

/**
 * Everything a reader may type to find a run: its name, its engine, and how it ended, in all words for that.
 */
function wordsOf(run: RunInfo): string {
  const outcome = run.outcome === null ? 'running live' : `${run.outcome} ${outcomeWords[run.outcome]}`
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
function placeOf(run: RunInfo): { readonly folder: string; readonly name: string } {
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
    const { folder } = placeOf(run)
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
