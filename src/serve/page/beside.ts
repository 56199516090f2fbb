// What is shown in the place of a run: all its changes by file, or two runs side by side. It is a file of its
// own, which the page loads when it is opened; an exported run has neither.

import { type ChangedFile, Changes, diffBody } from '../../views/changes.ts'
import {
  type ComparedRun,
  type ComparedStep,
  Comparison,
  outcomeWords,
  type RunComparison,
} from '../../views/comparison.ts'
import { Conversation } from '../../views/conversation.ts'
import type { RunInfo } from '../run-info.ts'
import { titleOf, tookOf } from '../run-words.ts'
import { addressOf } from './address.ts'
import { byId, isDrawn, make } from './element.ts'
import { diffNodes, languageOf } from './markdown-nodes.ts'
import type { OpenRun, RunSource } from './source.ts'
import { countWords, dateWords, durationWords, fullDate, priceWords, spentWords } from './words.ts'

/** Milliseconds between two drawings of a run in progress. */
const DRAW_MS = 500
/** Drawings in which the list may have read of a run, after its events. */
const MAX_AGAIN = 20
/** Files whose diffs are drawn at once; the others are folded. */
const MAX_OPEN = 30

/** What the view now has open. */
let shown: { readonly path: string; close(): void } | undefined

/** Shows `changes/<id>` or `compare/<id>/<id>`, until the page shows something else. */
export function show(source: RunSource, path: string, infoOf: InfoOf): void {
  if (shown?.path === path) return
  shown?.close()
  const [what, ...ids] = path.split('/').map(decodeURIComponent)
  const box = sectionOf()
  if (!isDrawn(box, path)) box.replaceChildren(make('p', { role: 'status' }, 'Reading …'))
  delete box.dataset['over']
  const [one = '', other] = ids
  const close =
    what === 'compare' && other !== undefined
      ? reading(source, [one, other], () => compare([one, other], box, infoOf))
      : reading(source, [one], () => changesOf(one, box, infoOf))
  shown = { path, close }
}

/** Closes what the view reads: the page shows something else. */
export function leave(): void {
  shown?.close()
  shown = undefined
}

/** The section, made when it is needed first. */
function sectionOf(): HTMLElement {
  const known = document.getElementById('beside')
  if (known) return known
  const href = new URL('beside.css', import.meta.url).href
  document.head.append(make('link', { rel: 'stylesheet', href }))
  const box = make('section', { id: 'beside', 'aria-label': 'Changes', tabindex: 0 })
  byId('list').before(box)
  return box
}

/** What the list knows of a run, which it may read later than the run itself. */
type InfoOf = (id: string) => RunInfo | undefined

type TakeEvents = Parameters<RunSource['open']>[1]['take']

interface Reading {
  /** For each run, what takes its events. */
  readonly takes: readonly TakeEvents[]
  /** Draws what was read; `over` when nothing more will come. False if the list may yet say more. */
  readonly draw: (over: boolean, faults: readonly string[]) => boolean
}

/** Reads runs, and draws now and then. What was read is void when one of them begins again. */
function reading(source: RunSource, ids: readonly string[], begin: () => Reading): () => void {
  let now = begin()
  let timer: ReturnType<typeof setTimeout> | undefined
  let feeds: OpenRun[] = []
  const over = new Set<number>()
  const faults: string[] = []
  let again = MAX_AGAIN
  const draw = () => {
    clearTimeout(timer)
    timer = undefined
    const isOver = over.size === ids.length
    if (!now.draw(isOver, faults) && isOver && again-- > 0) timer = setTimeout(draw, DRAW_MS)
  }
  const open = () => {
    feeds = ids.map((id, at) =>
      source.open(id, {
        take(events) {
          now.takes[at]!(events)
          timer ??= setTimeout(draw, DRAW_MS)
        },
        reset() {
          close()
          over.clear()
          now = begin()
          open()
        },
        fault: (code, message) => void faults.push(`${code}: ${message}`),
        connection(state) {
          if (state === 'over') over.add(at)
          if (over.size === ids.length) draw()
        },
      }),
    )
  }
  const close = () => {
    clearTimeout(timer)
    timer = undefined
    for (const feed of feeds) feed.close()
  }
  open()
  return close
}

function changesOf(id: string, box: HTMLElement, infoOf: InfoOf): Reading {
  const talk = new Conversation()
  const changes = new Changes()
  let count = 0
  return {
    takes: [
      (events) => {
        count += events.length
        for (const event of events) changes.take(event, talk.take(event))
      },
    ],
    draw(over, faults) {
      const files = changes.files()
      const info = infoOf(id)
      const none = count === 0 ? 'This run is not here, or has no events.' : 'It changed no file.'
      redraw(box, 'Changes', [info, files, faults, over], () => [
        make(
          'h2',
          'Changes of ',
          make('a', { href: addressOf({ run: id, query: {} }) }, info ? titleOf(info) : id),
        ),
        make('p.line', sumWords(files)),
        ...faults.map((fault) => make('p.void', fault)),
        ...(files.length === 0 ? [make('p.void', over ? none : 'Nothing yet.')] : []),
        ...files.map((file, at) => fileNode(id, file, at < MAX_OPEN)),
      ])
      if (over) box.dataset['over'] = 'true'
      return info !== undefined
    },
  }
}

/** Draws a view, unless it is drawn with these facts already: what the reader has folded stays so. */
function redraw(box: HTMLElement, label: string, facts: unknown, nodes: () => readonly Node[]): void {
  if (isDrawn(box, [label, facts])) return
  box.setAttribute('aria-label', label)
  box.replaceChildren(...nodes())
}

function sumWords(files: readonly ChangedFile[]): string {
  const twice = files.filter(({ edits }) => edits.length > 1).length
  const again = twice > 0 ? `${twice} of them more than once` : ''
  const lines = files.flatMap(({ edits }) => edits.flatMap(({ diff }) => diffBody(diff).split('\n')))
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length
  const [plus, minus] = [count('+'), count('-')]
  const signs = plus + minus > 0 ? `+${plus.toLocaleString()} −${minus.toLocaleString()}` : ''
  return [countWords(files.length, 'file'), again, signs].filter(Boolean).join(' · ')
}

function fileNode(run: string, file: ChangedFile, open: boolean): HTMLElement {
  const { path, change, edits } = file
  const many = edits.length > 1 ? countWords(edits.length, 'edit') : ''
  return make(
    'details.changed',
    { open: open && '', 'data-path': path },
    make('summary', make('b', path), make('small', [change ?? 'edited', many].filter(Boolean).join(' · '))),
    ...editNodes(run, file),
  )
}

function editNodes(run: string, { path, edits }: ChangedFile): Node[] {
  if (edits.length === 0)
    return [make('p.void', 'Only its name is known: record the run with --diff to see how it changed.')]
  return edits.flatMap(({ event, diff }, at) => [
    make('p.edit', eventLink(run, event, edits.length > 1 ? `Edit ${at + 1}` : 'Edit')),
    diffNodes(diffBody(diff), languageOf(path)),
  ])
}

function eventLink(run: string, address: string, words: string): HTMLElement {
  const [attempt = 0, seq = 0] = address.split('.').map(Number)
  return make('a', { href: addressOf({ run, event: { attempt, seq }, query: {} }) }, words)
}

function compare(ids: readonly [string, string], box: HTMLElement, infoOf: InfoOf): Reading {
  const comparison = new Comparison()
  const counts = [0, 0]
  const take =
    (side: 0 | 1): TakeEvents =>
    (events) => {
      counts[side]! += events.length
      for (const event of events) comparison.take(side, event)
    }
  return {
    takes: [take(0), take(1)],
    draw(over, faults) {
      const found = comparison.result()
      const infos = ids.map(infoOf)
      const missing = ids.filter((_, at) => over && counts[at] === 0)
      const words = [...missing.map((id) => `Not here, or without events: ${id}`), ...faults]
      redraw(box, 'Two runs', [infos, found, words, over], () => [
        make('h2', 'Two runs'),
        make('p.line', over ? verdict(found) : 'Reading …'),
        ...words.map((word) => make('p.void', word)),
        tableNode(ids, infos, found),
        ...partNodes(ids, found),
        ...differing(ids, found),
      ])
      if (over) box.dataset['over'] = 'true'
      return infos.every((info) => info !== undefined)
    },
  }
}

function verdict({ same, differs }: RunComparison): string {
  return same ? 'They are the same, but for what they took.' : `They differ in: ${differs.join(', ')}.`
}

type Cell = Node | string

function tableNode(
  ids: readonly [string, string],
  infos: readonly (RunInfo | undefined)[],
  { runs, files, differs }: RunComparison,
): HTMLElement {
  const differing: ReadonlySet<string> = new Set(differs)
  const cells = (cell: (run: ComparedRun, at: 0 | 1) => Cell) => [cell(runs[0], 0), cell(runs[1], 1)]
  const rows: readonly (readonly [string, readonly Cell[]])[] = [
    ['outcome', cells(outcomeWords)],
    ['answer', cells(({ answer = '' }) => answer)],
    ['result', cells(({ result }) => (result === undefined ? '' : JSON.stringify(result, null, 1)))],
    ['files', cells((_, at) => countWords(files.filter(({ files: both }) => both[at]).length, 'file'))],
    ['calls', cells(({ calls }) => callWords(calls))],
    ['tokens', cells(({ tokens }) => spentWords({ tokens }).replace('tokens: ', ''))],
    ['cost', cells(({ cost }) => priceWords(cost))],
    ['time', cells((run, at) => durationWords((infos[at] && tookOf(infos[at])) ?? run.milliseconds))],
  ]
  const heads = ids.map((id, at) => {
    const info = infos[at]
    const when = info?.session?.updated_at ?? info?.started_at
    return make(
      'th',
      { scope: 'col' },
      make('a', { href: addressOf({ run: id, query: {} }) }, info ? titleOf(info) : id),
      make(
        'small',
        { title: fullDate(when ?? undefined) },
        [info?.engine, when && dateWords(when)].filter(Boolean).join(' · '),
      ),
    )
  })
  return make(
    'table',
    make('thead', make('tr', make('td'), ...heads)),
    make(
      'tbody',
      ...rows
        .filter(([, both]) => both.some((cell) => cell !== ''))
        .map(([name, both]) =>
          make(
            differing.has(name) ? 'tr.differs' : 'tr',
            make('th', { scope: 'row' }, differing.has(name) ? `${name} ≠` : name),
            ...both.map((cell) => make('td', cell === '' ? '–' : make('div', { tabindex: 0 }, cell))),
          ),
        ),
    ),
  )
}

function callWords({ called, failed }: ComparedRun['calls']): string {
  return countWords(called, 'call') + (failed > 0 ? `, ${failed.toLocaleString()} failed` : '')
}

/** Where the conversations part: the step of each. */
function partNodes(ids: readonly [string, string], { first }: RunComparison): Node[] {
  if (!first) return [make('h3', 'The conversations are the same')]
  return [
    make('h3', 'Here the conversations part'),
    make('div.pair', ...first.map((step, at) => make('div', ...stepNodes(ids[at]!, step)))),
  ]
}

function stepNodes(run: string, step: ComparedStep | undefined): Node[] {
  if (!step) return [make('p.void', 'Nothing more.')]
  return [make('p.edit', eventLink(run, step.event, step.kind)), make('pre', { tabindex: 0 }, step.text)]
}

/** On a narrow screen they are below each other. */
const sides = ['First run', 'Second run']

function differing(ids: readonly [string, string], { files }: RunComparison): Node[] {
  const all = files.filter(({ same }) => !same)
  if (all.length === 0) return []
  return [
    make('h3', `${countWords(all.length, 'file')} changed in another way`),
    ...all.map(({ path, files: both }, at) =>
      make(
        'details.changed',
        { open: at < MAX_OPEN && '', 'data-path': path },
        make('summary', make('b', path)),
        make(
          'div.pair',
          ...both.map((file, side) =>
            make(
              'div',
              make('p.edit', sides[side]),
              ...(file ? editNodes(ids[side]!, file) : [make('p.void', 'Not changed.')]),
            ),
          ),
        ),
      ),
    ),
  ]
}
