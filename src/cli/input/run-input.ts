import fs from 'node:fs'
import { Readable } from 'node:stream'
import { InvalidArgumentError, type Option } from 'commander'
import { badOption } from '../../base/fault.ts'
import type { FsDiff } from '../../events/artifacts.ts'
import type { AgentEvent } from '../../events/event.ts'
import type { EventOptions } from '../../events/event-stage.ts'
import { isDatabase, openCodeLines } from '../../run/opencode-db.ts'
import { events } from '../../streams/events.ts'
import type { Flow } from '../../streams/flow.ts'
import { tap } from '../../streams/tap.ts'
import type { Row } from '../command-table.ts'
import { exits } from '../exit-codes.ts'
import { engineOption, namedEngine } from './engine-option.ts'
import { openInput, readObject, readSchema, unreadable } from './open-input.ts'
import { maxRepair, positiveInteger } from './option-values.ts'

/** How the output of a run is read; `events`, `chat`, `run` and `replay` take the same flags. */
export interface ReadingFlags
  extends Pick<EventOptions, 'doneMarker' | 'maxFrame' | 'window' | 'pick' | 'maxRepair'> {
  readonly schema?: string
}

/** The options for reading the output of a run. */
export const reading: readonly Row[] = [
  ['--schema <file>', 'a JSON Schema that the last payload must pass'],
  ['--pick <which>', 'which payload of a message is its answer (default: last)', ['first', 'last']],
  maxRepair,
  ['--done-marker <key>', 'the payload key that means the work is done (default: __SKILL_DONE__)', keyName],
  [
    '--max-frame <bytes>',
    'the longest record to hold in memory, in bytes (default: 16 MiB)',
    positiveInteger,
  ],
  [
    '--window <records>',
    'records of one channel that may wait for their copy on another (default: 65536)',
    positiveInteger,
  ],
]

/** The flags as options of `events()`, with the schema read. */
export async function readingOptions(flags: ReadingFlags) {
  const { schema, doneMarker, maxFrame, window, pick, maxRepair } = flags
  return { schema: await readSchema(schema), doneMarker, maxFrame, window, pick, maxRepair }
}

/** The flags as options of `replay()`: what is not given was recorded with the run. */
export async function replayOptions(flags: ReadingFlags & Pick<RunFlags, 'engine' | 'runId'>) {
  return {
    ...(await readingOptions(flags)),
    engine: await namedEngine(flags.engine),
    runId: flags.runId,
  }
}

/** With an empty key, any payload with an empty key would count as the end. */
function keyName(text: string): string {
  if (text !== '') return text
  throw badOption('--done-marker is empty; name the key, or leave the option out')
}

/** The flags of `events` and `chat`. */
export interface RunFlags extends ReadingFlags {
  readonly engine?: string
  readonly stdout?: string
  readonly stderr?: string
  readonly pty?: string
  readonly stdin?: string
  readonly fsDiff?: string
  readonly exit?: number
  readonly runId?: string
  readonly dir?: string
  readonly session?: string
}

export const FILE: Row = ['[file]', 'what the agent wrote to stdout, or an audit directory (default: stdin)']

/** The options for where the output of a run is, and how it is read. */
export const runInput: readonly (Row | Option)[] = [
  ...reading,
  engineOption(),
  ['--stdout <file>', 'a log of its stdout; the same as FILE'],
  ['--stderr <file>', 'a log of its stderr'],
  ['--pty <file>', 'a log of what its terminal showed'],
  ['--stdin <file>', 'a log of what was sent to it: prompts, and answers to its requests'],
  ['--fs-diff <file>', 'the files it changed: {"created": [], "modified": [], "deleted": []}'],
  ['--exit <code>', 'its exit code', exitCode],
  ['--run-id <id>', 'the id in every record (default: run, or the recorded one)'],
  ['--session <id>', 'the session to read if FILE is an OpenCode database (default: the newest)'],
  ['--dir <path>', 'the directory it ran in (default: the current one)'],
]

function exitCode(text: string): number {
  const code = Number(text)
  if (text.trim() === '' || !Number.isInteger(code))
    throw new InvalidArgumentError('It must be a whole number.')
  return code
}

/** Opens the named logs (none: stdin is the agent's stdout) and returns their events. */
export async function runEvents(file: string | undefined, flags: RunFlags): Promise<Flow<AgentEvent>> {
  if (file !== undefined && flags.stdout !== undefined)
    throw badOption('FILE and --stdout are the same thing; give one of them')
  refuseSession(file ?? flags.stdout ?? '-', flags)
  if (file !== undefined && isDirectory(file)) {
    refuseBeside(flags)
    // What reads records of runs is a fifth of all code that would be loaded for a log.
    const { replay, tellMissing } = await import('./recorded-input.ts')
    tellMissing(file, flags)
    return replay(file, await replayOptions(flags))
  }
  const options = await readingOptions(flags)
  const fsDiff = flags.fsDiff === undefined ? undefined : await readDiff(flags.fsDiff)
  const { engine = 'auto', runId, dir = process.cwd() } = flags
  const flow = events(await namedEngine(engine), { ...options, fsDiff, runId, dir })
  const stdout = file ?? flags.stdout
  const alone = flags.stderr === undefined && flags.pty === undefined
  const log = (path: string | undefined) => {
    if (path === undefined) return undefined
    if (path !== '-' && isDatabase(path))
      return Readable.from(openCodeLines(path, flags.session).map(Buffer.from))
    return openInput(path).stream
  }
  const sources = {
    stdout: stdout === undefined && alone ? openInput(undefined).stream : log(stdout),
    stderr: log(flags.stderr),
    pty: log(flags.pty),
    stdin: log(flags.stdin),
    exit: flags.exit,
  }
  const chunks = tap(sources, { order: 'step' })
  chunks.on('error', (error) => flow.destroy(unreadable('the logs', error)))
  return chunks.pipe(flow)
}

/** True for a directory; not for `-`. */
export function isDirectory(path: string): boolean {
  return path !== '-' && fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Any other file has one session. */
export function refuseSession(path: string, { session }: Pick<RunFlags, 'session'>): void {
  if (session !== undefined && !isDatabase(path))
    throw badOption('--session is for an OpenCode database; leave it out')
}

/** An audit directory has its own logs, exit, diff and working directory. */
function refuseBeside(flags: RunFlags): void {
  for (const name of ['stderr', 'pty', 'stdin', 'fsDiff', 'exit', 'dir'] as const) {
    if (flags[name] === undefined) continue
    const option = name === 'fsDiff' ? '--fs-diff' : `--${name}`
    throw badOption(`an audit directory contains that already; leave out ${option}`)
  }
}

/**
 * The exit code when the reader of stdout leaves before the end. For logs that is normal; on stdin it ends
 * the agent that writes there, and an abandoned run is not a success.
 */
export function readerLeft(file: string | undefined, flags: RunFlags): number {
  return readsStdin(file, flags) ? exits.output : exits.good
}

/** True if the output comes from stdin, while the agent writes it. */
export function readsStdin(file: string | undefined, flags: RunFlags): boolean {
  const named = [file ?? flags.stdout, flags.stderr, flags.pty].filter((path) => path !== undefined)
  return named.length === 0 || named.includes('-')
}

async function readDiff(file: string): Promise<FsDiff> {
  const diff = await readObject(file, 'the fs-diff')
  const list = (name: string): string[] => {
    const paths = diff[name] ?? []
    if (Array.isArray(paths) && paths.every((path) => typeof path === 'string')) return paths
    throw badOption(`"${name}" of the fs-diff must be an array of paths`)
  }
  return { created: list('created'), modified: list('modified'), deleted: list('deleted') }
}
