import fs from 'node:fs'
import { badOption } from '../../base/fault.ts'
import { AUDITS, fixedDir } from '../../run/run-directory.ts'

/** The run that `--last` means to a command that takes the directory of one. */
export const LATEST = `${AUDITS}/latest`

export interface LatestFlags {
  readonly last?: boolean
}

/** The directory of the run that a command is about. */
export function recordedDir(given: string | undefined, { last }: LatestFlags): string {
  if (last && given !== undefined)
    throw badOption('--last finds the run itself; leave out the directory, or --last')
  if (!last && given === undefined)
    throw badOption('the directory of the run is missing; name it, or add --last for the newest one')
  if (last && !fs.existsSync(LATEST))
    throw badOption(`there is no last run: no ${LATEST} here; name the directory of the run`)
  // Once: the link may point to another run a moment later.
  return fixedDir(given ?? LATEST)
}
