import { costWords } from '../../events/cost.ts'
import { knownWords, type RunSums, type RunTotals } from '../../serve/run-totals.ts'
import { countWords, durationWords, grouped } from '../../views/words.ts'
import { output, printer } from '../print.ts'
import { type ColorFlags, isDrawn, wantsColor } from './flags.ts'
import { tableRow } from './table.ts'
import { painter, styles } from './wrap.ts'

const heads = ['', 'runs', 'failed', 'tokens in', 'tokens out', 'cost', 'time']
const widths = [12, 7, 7, 13, 12, 14, 12]
/** Days to draw; JSON has all. */
const MAX_DAYS = 31

/** Prints the sums of some runs: one object with --json or in a pipe, else a table. */
export async function printTotals(
  totals: RunTotals,
  flags: ColorFlags & { readonly json?: boolean; readonly draw?: boolean },
): Promise<boolean> {
  if (!isDrawn(flags)) return await printer()(totals)
  const paint = painter(wantsColor(flags))
  const write = output()
  const days = totals.days.slice(0, MAX_DAYS)
  const left = totals.days.length - days.length
  const rows = [
    paint(styles.bold, tableRow(heads, widths)),
    tableRow(cellsOf('all', totals), widths),
    '\n',
    ...days.map((day) => tableRow(cellsOf(day.day, day), widths)),
    ...(left > 0 ? [`and ${countWords(left, 'older day')}; --json has all\n`] : []),
    '\n',
    ...totals.engines.map((one) => tableRow(cellsOf(one.engine, one), widths)),
    '\n',
    `${knownWords(totals)}\n`,
  ]
  for (const row of rows) if (!(await write(row))) return false
  return true
}

function cellsOf(name: string, { runs, outcomes, tokens, costs, time }: RunSums): string[] {
  return [
    name,
    grouped(runs),
    outcomes['failed'] ? grouped(outcomes['failed']) : '',
    tokens.runs > 0 ? grouped(tokens.input) : '',
    tokens.runs > 0 ? grouped(tokens.output) : '',
    costs.map(({ amount, currency }) => costWords({ amount, currency }) || '$0').join(' '),
    time.runs > 0 ? durationWords(time.ms) : '',
  ]
}
