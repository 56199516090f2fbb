import fs from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { badOption } from '../../base/fault.ts'
import { writtenAt } from '../../disk/plain-file.ts'
import { sessionFiles } from '../../run/session-files.ts'
import { isSessionOf } from '../../run/session-summary.ts'
import { safeLine } from '../draw/safe.ts'
import type { RunFlags } from './run-input.ts'

export interface LastFlags {
  readonly last?: boolean
  readonly home?: string
}

/** Adds `--last`, which finds the run itself; on a terminal it need not be said. */
export function addLast(command: Command, verb = 'read'): Command {
  return command
    .option('--last', `${verb} the newest of: the run at .audit/latest, the session files of this directory`)
    .option('--home <dir>', 'with --last: the home directory to look for session files in')
}

/** The named file, or with `--last` the one that was found, and how to read it. */
export function namedOrLast<F extends LastFlags & Pick<RunFlags, 'stdout' | 'session' | 'engine'>>(
  given: string | undefined,
  flags: F,
  misuse = '--last finds the file itself; leave out FILE and --stdout',
): { readonly file: string | undefined; readonly flags: F } {
  if (!flags.last && !isLastMeant(given, flags)) {
    if (flags.home !== undefined) throw badOption('--home is for --last; add that, or leave it out')
    return { file: given, flags }
  }
  if (given !== undefined || flags.stdout !== undefined) throw badOption(misuse)
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

/** Number of session files to read in search of one of this directory. */
const MAX_HEADS = 2000

/** A recorded run, a session file, or a session of a database. */
export interface LastRun {
  readonly path: string
  readonly session?: string | undefined
  /** The engine of a session file: its location decides, whatever its first lines are. */
  readonly engine?: string
}

/** The newest of the run at `.audit/latest` and the session files of this directory; throws without any. */
export function lastRun(dir: string, home?: string | undefined): LastRun {
  const audit = join(dir, '.audit', 'latest')
  const recorded = newestIn(audit)
  const files = sessionFiles({ home }).slice(0, MAX_HEADS)
  const session = files.filter(({ modified }) => modified > recorded).find((file) => isSessionOf(file, dir))
  if (session) return { path: session.path, session: session.session, engine: `${session.engine}-session` }
  if (recorded > 0) return { path: audit }
  throw badOption(
    'there is no last run: no .audit/latest here, and no session file of this directory (see sluice sessions)',
  )
}

/** When the newest file of a directory was written; 0 if there is none. */
function newestIn(dir: string): number {
  let newest = 0
  try {
    for (const name of fs.readdirSync(dir)) newest = Math.max(newest, writtenAt(join(dir, name)))
  } catch {
    // There is no such directory.
  }
  return newest
}
