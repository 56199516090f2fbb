import fs from 'node:fs'
import { homedir } from 'node:os'
import { canReadOpenCode } from '../../run/opencode-db.ts'
import {
  openCodeDatabase,
  type SessionEngine,
  sessionEngines,
  sessionFiles,
} from '../../run/session-files.ts'
import { isSessionOf, type SessionSummary, summarise } from '../../run/session-summary.ts'
import type { CommandTable } from '../command-table.ts'
import { outcomeStyles } from '../draw/end.ts'
import { type ColorFlags, coloring, isDrawn, wantsColor } from '../draw/flags.ts'
import { minuteOf, tableRow } from '../draw/table.ts'
import { type Paint, painter, styles } from '../draw/wrap.ts'
import { exits } from '../exit-codes.ts'
import { positiveInteger } from '../input/option-values.ts'
import { output, printer } from '../print.ts'

interface Flags extends ColorFlags {
  readonly engine?: SessionEngine
  readonly home?: string
  readonly here?: boolean
  readonly limit: number
  readonly json?: boolean
  readonly draw?: boolean
}

const help = `
Session files are the logs that agents keep in the home directory. They are only
read. The outcome is that of the last turn; most files do not record an end, and
then it is unknown.

Examples:
  $ npx agent-sluice sessions --here
  $ npx agent-sluice sessions --engine codex --json | jq -r .path
  $ npx agent-sluice chat --last`

/** `sluice sessions`: the session files of agents, newest first. */
export default {
  about: 'Lists the session files of agents, newest first: start, engine, turns, outcome, directory, file.',
  options: [
    ['--engine <name>', 'list only this agent', sessionEngines],
    ['--here', 'list only sessions of the current directory'],
    ['--limit <n>', 'how many to list', positiveInteger, 20],
    ['--home <dir>', 'the home directory to look in (default: yours, and CODEX_HOME and so on)'],
    ['--json', 'print NDJSON even on a terminal'],
    ['--draw', 'draw the table even in a pipe'],
    ...coloring,
  ],
  help,
  act: list,
} satisfies CommandTable

async function list(flags: Flags): Promise<number> {
  const draw = isDrawn(flags)
  const paint = painter(wantsColor(flags))
  const write = output()
  const print = printer()
  let listed = 0
  for (const summary of summaries(flags)) {
    if (draw && listed === 0 && !(await write(paint(styles.bold, tableRow(names, widths))))) return exits.good
    if (!(await (draw ? write(row(summary, paint)) : print(summary)))) return exits.good
    listed++
  }
  if (flags.engine === undefined || flags.engine === 'opencode') warnAboutOpenCode(flags.home)
  if (listed === 0) console.error('sluice: no session files were found')
  return exits.good
}

/** Its sessions are rows of a database, which not every version of Node can read. */
export function warnAboutOpenCode(home: string | undefined): void {
  if (canReadOpenCode() || !fs.existsSync(openCodeDatabase(home))) return
  console.error(
    `sluice: reading the sessions of OpenCode needs Node 22.5 or newer; this is ${process.version}`,
  )
}

/** One by one, so that the first lines are printed while the next file is read. */
function* summaries({ engine, home, here, limit }: Flags): Generator<SessionSummary> {
  let left = limit
  for (const file of sessionFiles({ engine, home })) {
    if (here && !isSessionOf(file, process.cwd())) continue
    const summary = summarise(file)
    if (!summary) continue
    yield summary
    if (--left === 0) return
  }
}

const names = ['started (UTC)', 'engine', 'turns', 'outcome', 'directory', 'file']
/** The last cell, the file, is shown in full, so that it can be copied. */
const widths = [16, 8, 5, 11, 32]

function row({ started_at, engine, turns, outcome, directory, path }: SessionSummary, paint: Paint): string {
  const count = String(turns ?? '?').padStart(5)
  const cells = [minuteOf(started_at), engine, count, outcome, short(directory ?? '?'), short(path)]
  return tableRow(cells, widths, (cell, at) =>
    names[at] === 'outcome' ? paint(outcomeStyles[outcome], cell) : cell,
  )
}

function short(path: string): string {
  const home = homedir()
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
