import { relative, resolve } from 'node:path'
import { badOption } from '../../base/fault.ts'
import { listAttempts } from '../../run/attempt-logs.ts'
import { readMeta } from '../../run/meta.ts'
import { fixedDir } from '../../run/run-directory.ts'
import type { Row } from '../command-table.ts'
import type { About } from './drawing.ts'

/** How a run is drawn; every command that draws takes the same flags. */
export interface DrawFlags extends ColorFlags {
  readonly json?: boolean
  readonly draw?: boolean
  readonly full?: boolean
  readonly quiet?: boolean
  readonly verbose?: boolean
}

export interface ColorFlags {
  /** False by `--no-color`. */
  readonly color?: (typeof WHEN)[number] | false
}

/** What `--color` may say: alone it is the first. */
const WHEN = ['always', 'auto', 'never'] as const

export const coloring: readonly Row[] = [
  [
    '--color <when>',
    'draw in colors (default: auto, on a terminal that has them; also FORCE_COLOR, NO_COLOR)',
    WHEN,
  ],
  ['--no-color', 'draw without colors'],
]

/** The options for drawing a run. */
export const drawing: readonly Row[] = [
  ['--draw', 'draw the conversation even in a pipe'],
  ['--full', 'draw everything in full: prompts, outputs, diffs, thoughts'],
  ['--quiet', 'show only the last message of the agent'],
  ['--verbose', 'draw every warning with its code, and the lines that were not understood'],
  ...coloring,
]

/** Refuses flags that contradict each other. */
export function checkDrawing({ json, draw, full, quiet, verbose }: DrawFlags): void {
  if (json && (draw || full || quiet || verbose))
    throw badOption('--json prints records; leave it out to draw, or leave out the others')
  if (quiet && (full || verbose))
    throw badOption('--quiet shows only the last message; leave out --full and --verbose')
}

/** True if the run is drawn, not printed as records. */
export function isDrawn({ json, draw, full, verbose }: DrawFlags): boolean {
  return !json && (draw === true || full === true || verbose === true || process.stdout.isTTY === true)
}

/** The option decides, then FORCE_COLOR, NO_COLOR and the terminal. An empty variable is not set. */
export function wantsColor({ color }: ColorFlags): boolean {
  const { stdout, env } = process
  if (color !== undefined && color !== 'auto') return color === 'always'
  const forced = env['FORCE_COLOR']
  if (forced) return forced !== '0' && forced !== 'false'
  return stdout.isTTY === true && stdout.hasColors() && !env['NO_COLOR']
}

/** Columns to draw in: those of the terminal, else COLUMNS, else 80. */
export function columnsOf(): number {
  return process.stdout.columns || Number(process.env['COLUMNS']) || 80
}

/** The facts about attempts in an audit directory, besides their events. */
export function aboutAudit(dir: string): (attempt: number) => About {
  return (number) => {
    const attempt = listAttempts(dir).find((one) => one.number === number)
    const { argv, started_at: started } = readMeta(attempt?.meta, attempt?.within) ?? {}
    return { argv, started, audit: shortPath(dir) }
  }
}

/** The path relative to the current directory, or the absolute one if that is shorter. */
export function shortPath(path: string): string {
  const whole = resolve(fixedDir(path))
  const near = relative('', whole) || '.'
  return near.length <= whole.length ? near : whole
}
