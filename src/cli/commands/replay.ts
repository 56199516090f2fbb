import { join } from 'node:path'
import { badOption } from '../../base/fault.ts'
import { EVENTS_FILE } from '../../disk/journal.ts'
import { listAttempts } from '../../run/attempt-logs.ts'
import { readMeta } from '../../run/meta.ts'
import { replay } from '../../run/replay.ts'
import { lives, type ResumeReport, resume, stillRunning } from '../../run/resume.ts'
import { fixedDir } from '../../run/run-directory.ts'
import { countWords } from '../../views/words.ts'
import type { CommandTable } from '../command-table.ts'
import { aboutAudit, checkDrawing, type DrawFlags, drawing } from '../draw/flags.ts'
import { safeLine } from '../draw/safe.ts'
import { show } from '../draw/show.ts'
import { exits } from '../exit-codes.ts'
import { engineOption } from '../input/engine-option.ts'
import { type LastFlags, lastOptions, namedOrLast } from '../input/last-option.ts'
import { positiveInteger } from '../input/option-values.ts'
import { tellMissing } from '../input/recorded-input.ts'
import {
  isDirectory,
  type ReadingFlags,
  type RunFlags,
  reading,
  replayOptions,
  runEvents,
} from '../input/run-input.ts'
import { runExits, watchEnd } from '../run-exit-code.ts'

interface Flags extends ReadingFlags, DrawFlags, LastFlags, Pick<RunFlags, 'engine' | 'runId' | 'session'> {
  readonly attempt?: number
  readonly speed: 'full' | 'real'
  readonly follow?: boolean
  readonly resume?: boolean
}

const help = `
DIR is an audit directory: one of sluice run, or any with stdout.N.log,
stderr.N.log, pty-output.N.log, meta.N.json or fs-diff.N.json (the number may be
missing). It can also be a single log.

If an option for reading is not given, the one that the run was recorded with is
used. A schema is not recorded, but what it decided is.

${runExits('file')}

Examples:
  $ npx agent-sluice replay .audit/latest
  $ npx agent-sluice replay --last --speed real
  $ npx agent-sluice replay .audit/latest --follow --json | jq .type
  $ npx agent-sluice replay .audit/latest --resume   # after sluice run crashed`

/** `sluice replay`: reads a recorded run again. */
export default {
  about: 'Reads an audit directory or a log again: the same events, byte for byte, as in the live run.',
  args: [['[dir]', 'the audit directory, or one log (on a terminal: the newest run)']],
  options: [
    ...reading,
    ...lastOptions(),
    engineOption(),
    ['--attempt <n>', 'replay only this attempt', positiveInteger],
    ['--speed <speed>', 'real keeps the recorded pauses', ['full', 'real'], 'full'],
    ['--follow', 'keep reading while it is being written'],
    [
      '--resume',
      'complete events.jsonl after a crash, or write it for logs of another recorder; then replay',
    ],
    ['--run-id <id>', 'the id in every record'],
    ['--json', 'print the events as NDJSON even on a terminal'],
    ...drawing,
  ],
  help,
  act: replayAndShow,
} satisfies CommandTable

/** A resume waits for an agent that has outlived its recorder. */
function tellRunning(dir: string): void {
  for (const attempt of listAttempts(dir)) {
    const meta = readMeta(attempt.meta)
    if (meta?.complete === false && meta.ended_at === undefined && lives(attempt, meta))
      console.error(
        `sluice: attempt ${attempt.number} lost its recorder, but ${stillRunning(meta)}; waiting for it`,
      )
  }
}

/** What a resume has written. */
function resumedWords(dir: string, { attempts, added }: ResumeReport): string {
  if (attempts.length === 0) return 'nothing was missing, and nothing was written'
  const which = `attempt${attempts.length > 1 ? 's' : ''} ${attempts.join(', ')}`
  return added === 0
    ? `${which}: every event was there, and the meta now says so`
    : `${which}: wrote ${countWords(added, 'event')} to ${safeLine(join(dir, EVENTS_FILE))}`
}

async function replayAndShow(given: string | undefined, asked: Flags): Promise<number> {
  checkDrawing(asked)
  const { file, flags } = await namedOrLast(given, asked)
  if (file === undefined)
    throw badOption('the directory is missing; name an audit directory or a log, or give --last')
  const dir = fixedDir(file)
  const { engine, runId, ...options } = await replayOptions(flags)
  if (isDirectory(dir)) tellMissing(dir, flags)
  // `replay` refuses a path without a run; a resume would create a directory there.
  if (flags.resume && listAttempts(dir).length > 0) {
    tellRunning(dir)
    console.error(`sluice: ${resumedWords(dir, await resume(dir, { ...options, engine }))}`)
  }
  const { attempt, speed, follow } = flags
  const events = watchEnd(
    flags.session === undefined
      ? replay(dir, { ...options, engine, attempt, speed, follow, runId })
      : // The newest run is a session in a database.
        await runEvents(dir, flags),
  )
  const live = follow === true || speed === 'real'
  const about = isDirectory(dir) ? aboutAudit(dir) : undefined
  return (await show(events, { ...flags, live, timed: true, about })) ? events.exit() : exits.good
}
