import fs from 'node:fs'
import { join } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { badOption, quote } from '../../base/fault.ts'
import { whyFailed } from '../../base/system-error-code.ts'
import { failureClasses } from '../../events/run-outcome.ts'
import { AUDITS } from '../../run/run-directory.ts'
import { isPicked } from '../../serve/run-filter.ts'
import type { RunInfo } from '../../serve/run-info.ts'
import { recordedRuns } from '../../serve/run-list.ts'
import { totalsOf } from '../../serve/run-totals.ts'
import {
  isFound,
  outcomeText,
  problemOf,
  type RunState,
  runStates,
  stateOf,
  titleOf,
  tookOf,
} from '../../serve/run-words.ts'
import { searchRun } from '../../serve/search-runs.ts'
import { countWords, durationWords, grouped } from '../../views/words.ts'
import type { CommandTable } from '../command-table.ts'
import { outcomeStyles } from '../draw/end.ts'
import { type ColorFlags, coloring, columnsOf, isDrawn, shortPath, wantsColor } from '../draw/flags.ts'
import { safeLine } from '../draw/safe.ts'
import { minuteOf, tableRow } from '../draw/table.ts'
import { printTotals } from '../draw/totals.ts'
import { painter, styles } from '../draw/wrap.ts'
import { exits } from '../exit-codes.ts'
import { listOption, oneMore, positiveInteger } from '../input/option-values.ts'
import { output, printer } from '../print.ts'

interface Flags extends ColorFlags {
  readonly outcome: readonly RunState[]
  readonly engine?: string
  readonly model?: string
  readonly tag: readonly string[]
  readonly find?: string
  readonly class?: string
  readonly from?: string
  readonly to?: string
  readonly cost?: string
  readonly totals?: boolean
  readonly limit: number
  readonly last?: boolean
  readonly json?: boolean
  readonly draw?: boolean
}

const help = `
Runs in progress come first, then the newest. On a terminal, or with --draw, it
draws a table; in a pipe, or with --json, it prints NDJSON: what /runs of sluice
serve has of each run, and its path.

--find looks at task, name, command, outcome and problem, which must have all
its words, and at what was said and done, which must have the text as it is:
every journal is read. --totals adds up the runs that it picks, all of them.

Exit codes: 0 done, also if there are no runs; 2 bad usage.

Examples:
  $ npx agent-sluice ls
  $ npx agent-sluice ls --outcome failed --outcome needs_input
  $ npx agent-sluice ls runs --engine codex --find "timeout auth" --limit 100
  $ npx agent-sluice ls --totals --from 2026-11-01
  $ npx agent-sluice why "$(npx agent-sluice ls --last --json | jq -r .path)"`

/** `sluice ls`: the recorded runs. */
export default {
  about: 'Lists the recorded runs, newest first: start, engine, outcome, time, task, directory.',
  args: [['[dir]', 'the directory of the runs', undefined, AUDITS]],
  options: [
    listOption('--outcome <word>', 'only runs that ended so, or have not ended', runStates, 'all'),
    ['--engine <name>', 'only runs of this agent'],
    ['--model <name>', 'only runs of this model, as the agent names it'],
    ['--tag <name=text>', 'only runs with this tag; can be given again', oneMore, []],
    ['--find <text>', 'only runs with this text in what was said and done, or its words in the list'],
    ['--class <word>', 'only runs that failed for this reason', failureClasses],
    ['--from <day>', 'only runs that began on this day (2026-11-19) or later', dayIn],
    ['--to <day>', 'only runs that began on this day or before', dayIn],
    ['--cost <amount>', 'only runs that cost this much or more', amountIn],
    ['--totals', 'the sums of the runs instead: outcomes, tokens, cost, time, by day and engine'],
    ['--limit <n>', 'how many to list', positiveInteger, 20],
    ['--last', 'list only the newest'],
    ['--json', 'print NDJSON even on a terminal'],
    ['--draw', 'draw the table even in a pipe'],
    ...coloring,
  ],
  help,
  act: list,
} satisfies CommandTable

async function list(dir: string, flags: Flags): Promise<number> {
  const { outcome, find, engine, model, tag, class: failure, from, to, cost, limit, last, totals } = flags
  const filter = { outcome: outcome.join(), engine, model, tag, class: failure, from, to, cost }
  const isAny = !totals && !find && Object.values(filter).every((set) => !set || set.length === 0)
  const recorded = await recordedRuns(rootOf(dir), isAny ? Math.max(limit, NEWEST) : undefined)
  const { older } = recorded
  const runs = recorded.found.map(({ info }) => info)
  const picked = recorded.found.filter(({ info }) => isPicked(info, filter))
  const found: RunInfo[] = []
  for (const run of picked)
    if (!find || isFound(run.info, find) || (await searchRun(run, find))) found.push(run.info)
  if (totals) {
    const isTotal = await printTotals(totalsOf(found), flags)
    if (isTotal && older > 0) console.error(`sluice: ${leftOut(older)}`)
    return exits.good
  }
  // The newest run may be over while an older one goes on.
  const shown = last ? found.toSorted(byStart).slice(0, 1) : found.slice(0, limit)
  const isShown = isDrawn(flags) ? await draw(shown, dir, flags) : await print(shown, dir)
  if (!isShown) return exits.good
  const all = `${grouped(found.length)} runs${older > 0 ? ' and more' : ''}`
  const words = [
    runs.length === 0 ? `no runs are recorded in ${safeLine(dir)}` : '',
    runs.length > 0 && found.length === 0 ? `none of ${countWords(runs.length, 'run')} is like that` : '',
    !last && shown.length < found.length ? `these are ${shown.length} of ${all}; --limit shows more` : '',
    !isAny && older > 0 ? leftOut(older) : '',
  ]
  for (const line of words) if (line !== '') console.error(`sluice: ${line}`)
  return exits.good
}

function leftOut(older: number): string {
  return `${grouped(older)} older folders were not read; name a folder of them`
}

function dayIn(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) return text
  throw new InvalidArgumentError('It is a day, as 2026-11-19.')
}

function amountIn(text: string): string {
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return text
  throw new InvalidArgumentError('It is an amount, as 0.5.')
}

/** Without a filter, runs of which the newest are picked: thousands take seconds to read. */
const NEWEST = 500

/** The real path of the directory. The usual one is made by the first run. */
function rootOf(dir: string): string {
  try {
    if (dir === AUDITS && !fs.existsSync(dir)) return dir
    const root = fs.realpathSync(dir)
    fs.readdirSync(root)
    return root
  } catch (error) {
    throw badOption(`cannot read ${quote(dir, 200)}: ${whyFailed(error)}; name the directory of the runs`)
  }
}

function byStart(a: RunInfo, b: RunInfo): number {
  return (b.started_at ?? '') < (a.started_at ?? '') ? -1 : 1
}

async function print(runs: readonly RunInfo[], dir: string): Promise<boolean> {
  const write = printer()
  for (const run of runs) if (!(await write({ ...run, path: pathOf(run, dir) }))) return false
  return true
}

/** The directory itself can be a run. */
function pathOf({ id }: RunInfo, dir: string): string {
  const path = join(dir, ...id.split('/'))
  return fs.existsSync(path) ? path : dir
}

const names = ['started (UTC)', 'engine', 'outcome', 'took', 'task', 'directory']
const LEAST = 24

async function draw(runs: readonly RunInfo[], dir: string, flags: Flags): Promise<boolean> {
  const paint = painter(wantsColor(flags))
  const write = output()
  const paths = runs.map((run) => shortPath(pathOf(run, dir)))
  const fixed = [16, 8, 16, 12]
  const taken = fixed.reduce((sum, width) => sum + width + 2, 2 + Math.max(0, ...paths.map((p) => p.length)))
  const widths = [...fixed, Math.max(LEAST, columnsOf() - taken)]
  if (runs.length > 0 && !(await write(paint(styles.bold, tableRow(names, widths))))) return false
  for (const [index, run] of runs.entries()) {
    const took = tookOf(run)
    const state = stateOf(run)
    const style = state === 'running' || state === 'unread' ? styles.cyan : outcomeStyles[state]
    const cells = [
      minuteOf(run.started_at),
      run.engine ?? '?',
      outcomeText(run),
      took === undefined ? '' : durationWords(took),
      [titleOf(run), problemOf(run)].filter(Boolean).join(' — '),
      paths[index]!,
    ]
    const row = tableRow(cells, widths, (cell, at) => (names[at] === 'outcome' ? paint(style, cell) : cell))
    if (!(await write(row))) return false
  }
  return true
}
