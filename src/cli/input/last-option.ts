import type { Command } from 'commander'
import { Fault } from '../../base/fault.ts'
import { lastRun } from '../commands/last.ts'
import { safeLine } from '../draw/safe.ts'
import type { RunFlags } from './run-input.ts'

export interface LastFlags {
  readonly last?: boolean
  readonly home?: string
}

/** Adds `--last`, which finds the run itself. */
export function addLast(command: Command): Command {
  return command
    .option('--last', 'read the newest of: the run at .audit/latest, the session files of this directory')
    .option('--home <dir>', 'with --last: the home directory to look for session files in')
}

/** The named file, or with `--last` the one that was found, and how to read it. */
export function namedOrLast<F extends RunFlags & LastFlags>(
  given: string | undefined,
  flags: F,
): { readonly file: string | undefined; readonly flags: F } {
  if (!flags.last) {
    if (flags.home !== undefined)
      throw new Fault('BAD_OPTION', '--home is for --last; add that, or leave it out')
    return { file: given, flags }
  }
  if (given !== undefined || flags.stdout !== undefined)
    throw new Fault('BAD_OPTION', '--last finds the file itself; leave out FILE and --stdout')
  const { path, session, engine } = lastRun(process.cwd(), flags.home)
  console.error(`sluice: ${safeLine([path, session].filter(Boolean).join(' '))}`)
  const found = { ...(session !== undefined && { session }), ...(engine !== undefined && { engine }) }
  return { file: path, flags: { ...found, ...flags } }
}
