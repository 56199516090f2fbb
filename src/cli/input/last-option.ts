import { badOption } from '../../base/fault.ts'
import type { Row } from '../command-table.ts'
import { safeLine } from '../draw/safe.ts'
import type { RunFlags } from './run-input.ts'

export interface LastFlags {
  readonly last?: boolean
  readonly home?: string
}

/** `--last` finds the run itself; on a terminal it need not be said. */
export function lastOptions(verb = 'read'): readonly Row[] {
  return [
    ['--last', `${verb} the newest of: the run at .audit/latest, the session files of this directory`],
    ['--home <dir>', 'with --last: the home directory to look for session files in'],
  ]
}

/** The named file, or with `--last` the one that was found, and how to read it. */
export async function namedOrLast<F extends LastFlags & Pick<RunFlags, 'stdout' | 'session' | 'engine'>>(
  given: string | undefined,
  flags: F,
  misuse = '--last finds the file itself; leave out FILE and --stdout',
): Promise<{ readonly file: string | undefined; readonly flags: F }> {
  if (!flags.last && !isLastMeant(given, flags)) {
    if (flags.home !== undefined) throw badOption('--home is for --last; add that, or leave it out')
    return { file: given, flags }
  }
  if (given !== undefined || flags.stdout !== undefined) throw badOption(misuse)
  const { lastRun } = await import('./last-run.ts')
  const { path, session, engine } = lastRun(process.cwd(), flags.home)
  console.error(`sluice: ${safeLine([path, session].filter(Boolean).join(' '))}`)
  const found = { ...(session !== undefined && { session }), ...(engine !== undefined && { engine }) }
  return { file: path, flags: { ...found, ...flags } }
}

/** Nothing is named, and nobody will type the output of an agent. */
function isLastMeant(given: string | undefined, flags: object): boolean {
  const named = [given, ...['stdout', 'stderr', 'pty'].map((name) => flags[name as keyof typeof flags])]
  return process.stdin.isTTY === true && named.every((one) => one === undefined)
}
