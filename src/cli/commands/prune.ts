import fs from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { badOption, quote } from '../../base/fault.ts'
import { whyFailed } from '../../base/system-error-code.ts'
import { EVENTS_FILE, LOCK_FILE } from '../../disk/journal.ts'
import { isLocked } from '../../disk/lock.ts'
import { outcomeWords, type RunOutcome } from '../../events/run-outcome.ts'
import { listAttempts } from '../../run/attempt-logs.ts'
import { isUnlockedRunning } from '../../run/is-running.ts'
import { readMeta } from '../../run/meta.ts'
import { AUDITS, RUN_NAME, unlinkLatest } from '../../run/run-directory.ts'
import { turn } from '../../serve/turns.ts'
import { countWords, grouped, sizeWords } from '../../views/words.ts'
import type { CommandTable } from '../command-table.ts'
import { safeLine } from '../draw/safe.ts'
import { statusLine } from '../draw/status-line.ts'
import { exits } from '../exit-codes.ts'
import { age, listOption } from '../input/option-values.ts'
import { output } from '../print.ts'

interface Flags {
  readonly older?: number
  readonly keep: readonly RunOutcome[]
  readonly dryRun?: boolean
  readonly yes?: boolean
}

const help = `
Looks only at directories that were named by sluice run or run({ runs }), and
only directly inside DIR. A run that is being written stays, whatever its age.
On a terminal it asks before it removes anything.

Exit codes: 0 done, also if there was nothing to remove; 2 bad usage; 7
something could not be removed.

Examples:
  $ npx agent-sluice prune --dry-run
  $ npx agent-sluice prune --older 7d --keep failed --yes
  $ npx agent-sluice prune runs --older 12h`

/** `sluice prune`: removes old recordings. */
export default {
  about: 'Removes recorded runs that ended long ago.',
  args: [['[dir]', 'the directory of the runs', undefined, AUDITS]],
  options: [
    ['--older <age>', 'runs that ended longer ago than this: 12h, 30d, 8w (with --keep alone: 30d)', age],
    listOption('--keep <outcome>', 'keep runs that ended so', Object.keys(outcomeWords), 'none'),
    ['--dry-run', 'say what would be removed, and remove nothing'],
    ['--yes', 'do not ask'],
  ],
  help,
  act: prune,
} satisfies CommandTable

const USUAL_AGE = 30 * 24 * 3_600_000

async function prune(dir: string, flags: Flags): Promise<number> {
  const { older = USUAL_AGE, keep, dryRun = false, yes = false } = flags
  if (!dryRun && flags.older === undefined && keep.length === 0)
    throw badOption('prune removes nothing unless you say what: --older 30d, --keep failed, or --dry-run')
  const runs = runsIn(dir)
  const status = statusLine()
  // Of many runs it takes minutes.
  async function* oldIn(names: readonly string[]): AsyncGenerator<string> {
    const root = fs.realpathSync(dir)
    for (const [at, name] of names.entries()) {
      await turn()
      status.show(() => `looked at ${grouped(at)} of ${countWords(names.length, 'run')}`)
      if (isOld(join(dir, name), root, Date.now() - older, keep)) yield name
    }
  }
  try {
    let old = runs
    if (!dryRun && !yes && process.stdin.isTTY && process.stderr.isTTY) {
      old = []
      for await (const name of oldIn(runs)) old.push(name)
      status.wipe()
      const question = `Remove ${countWords(old.length, 'run')} of ${grouped(runs.length)} from ${safeLine(dir)}? [y/N] `
      if (old.length > 0 && !(await isConfirmed(question))) {
        console.error('sluice: nothing was removed')
        return exits.good
      }
    }
    const write = output()
    let freed = 0
    let gone = 0
    let code: number = exits.good
    // One may have been continued while the question was open.
    for await (const name of oldIn(old)) {
      const path = join(dir, name)
      const bytes = sizeOf(path)
      const failed = dryRun ? undefined : remove(path)
      if (failed !== undefined || process.stdout.isTTY) status.wipe()
      if (failed !== undefined) {
        console.error(`sluice: cannot remove ${safeLine(path)} (${failed})`)
        code = exits.output
        continue
      }
      gone++
      freed += bytes
      if (!(await write(`${safeLine(name)}  ${sizeWords(bytes)}\n`))) return exits.good
    }
    if (!dryRun) unlinkLatest(dir)
    status.wipe()
    const [would, frees] = dryRun ? ['would be removed', 'frees'] : ['removed', 'freed']
    console.error(
      `sluice: ${countWords(gone, 'run')} of ${grouped(runs.length)} ${would}, ${frees} ${sizeWords(freed)}`,
    )
    return code
  } finally {
    status.end()
  }
}

/** Ctrl-D and Ctrl-C are a no. */
async function isConfirmed(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const left = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    return /^y(?:es)?$/i.test((await Promise.race([lines.question(question), left])).trim())
  } finally {
    lines.close()
  }
}

/** The names of the runs in a directory, the oldest first. */
function runsIn(dir: string): string[] {
  try {
    const entries = fs.readdirSync(dir, { withFileTypes: true })
    return entries
      .filter((entry) => entry.isDirectory() && RUN_NAME.test(entry.name))
      .map(({ name }) => name)
      .sort()
  } catch (error) {
    throw badOption(`cannot read ${quote(dir, 200)}: ${whyFailed(error)}; name the directory of the runs`)
  }
}

/** Whether a run ended before `before`, is not to be kept, and is not being written. */
function isOld(path: string, root: string, before: number, keep: readonly RunOutcome[]): boolean {
  if (isLocked(join(path, LOCK_FILE))) return false
  const last = listAttempts(path, root).at(-1)
  const meta = readMeta(last?.meta, root)
  if (isUnlockedRunning(path, last, meta)) return false
  const ended = typeof meta?.ended_at === 'string' ? Date.parse(meta.ended_at) : lastChange(path)
  return ended < before && !(meta?.outcome && keep.includes(meta.outcome))
}

/** When a run without an end was last written. */
function lastChange(path: string): number {
  const journal = fs.statSync(join(path, EVENTS_FILE), { throwIfNoEntry: false })
  return (journal ?? fs.statSync(path)).mtimeMs
}

function sizeOf(dir: string): number {
  let bytes = 0
  for (const entry of fs.readdirSync(dir, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) bytes += fs.lstatSync(join(entry.parentPath, entry.name)).size
  return bytes
}

/** Why it cannot be removed, if it cannot. */
function remove(path: string): string | undefined {
  try {
    fs.rmSync(path, { recursive: true })
    return undefined
  } catch (error) {
    return whyFailed(error)
  }
}
