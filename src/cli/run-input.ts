import { type Command, InvalidArgumentError, Option } from 'commander'
import { Fault } from '../base/fault.ts'
import type { Flow } from '../base/flow.ts'
import { auto } from '../engines/auto.ts'
import { engines } from '../engines/engines.ts'
import type { FsDiff } from '../events/artifacts.ts'
import type { CompletionData, Event, ResultData } from '../events/event.ts'
import { events } from '../events/events.ts'
import type { Picker, Profile } from '../events/profile.ts'
import { tap } from '../frames/tap.ts'
import { exits } from './exits.ts'
import { openInput, readObject, unreadable } from './input.ts'

/** What `events` and `chat` are told on the command line. */
export interface RunFlags {
  readonly engine: string
  readonly stdout?: string
  readonly stderr?: string
  readonly pty?: string
  readonly fsDiff?: string
  readonly exit?: number
  readonly schema?: string
  readonly runId?: string
  readonly dir: string
}

export const runExits = `Exit codes: 0 completed or awaiting input (with --schema: a valid result), 1 the run failed, 2 bad usage,
3 no valid result for --schema, 4 nobody knows how it ended, or the output was cut, 7 our own output cannot be written, or its
reader left while stdin was read.`

/** Adds the options that say where the output of a run is. */
export function addRunInput(command: Command): Command {
  return command
    .argument('[file]', 'what the agent wrote to stdout (default: stdin)')
    .addOption(engineOption().default('auto'))
    .option('--stdout <file>', 'its stdout, as a log; the same as FILE')
    .option('--stderr <file>', 'its stderr, as a log')
    .option('--pty <file>', 'what its terminal showed, as a log')
    .option('--fs-diff <file>', 'what it changed: {"created": [], "modified": [], "deleted": []}')
    .option('--exit <code>', 'its exit code', exitCode)
    .option('--schema <file>', 'a JSON Schema that its last payload must pass')
    .option('--run-id <id>', 'stands in every record')
    .option('--dir <path>', 'the directory it ran in', process.cwd())
}

/** `--engine NAME`. */
export function engineOption(): Option {
  return new Option('--engine <name>', 'the agent that ran').choices(['auto', ...Object.keys(engines)])
}

function exitCode(text: string): number {
  const code = Number(text)
  if (text.trim() === '' || !Number.isInteger(code))
    throw new InvalidArgumentError('It must be a whole number.')
  return code
}

/** Opens what was named (nothing: stdin is the agent's stdout) and gives its events. */
export async function runEvents(file: string | undefined, flags: RunFlags): Promise<Flow<Event>> {
  if (file !== undefined && flags.stdout !== undefined) {
    throw new Fault('BAD_OPTION', 'FILE and --stdout are the same thing; give one of them')
  }
  const schema = flags.schema === undefined ? undefined : await readObject(flags.schema, 'the schema')
  const fsDiff = flags.fsDiff === undefined ? undefined : await readDiff(flags.fsDiff)
  const flow = events(profileNamed(flags.engine), { schema, fsDiff, run_id: flags.runId, dir: flags.dir })
  const stdout = file ?? flags.stdout
  const alone = flags.stderr === undefined && flags.pty === undefined
  const log = (path: string | undefined) => (path === undefined ? undefined : openInput(path).stream)
  const sources = {
    stdout: stdout === undefined && alone ? openInput(undefined).stream : log(stdout),
    stderr: log(flags.stderr),
    pty: log(flags.pty),
    exit: flags.exit,
  }
  const chunks = tap(sources, { order: 'step' })
  chunks.on('error', (error) => flow.destroy(unreadable('the logs', error)))
  return chunks.pipe(flow)
}

/**
 * The exit code when the reader of stdout leaves before the end. Over logs that is usual and good; on stdin it ends the
 * agent that writes there, and an abandoned run is not a good one.
 */
export function readerLeft(file: string | undefined, flags: RunFlags): number {
  const live =
    [undefined, '-'].includes(file ?? flags.stdout) && flags.stderr === undefined && flags.pty === undefined
  return live ? exits.output : exits.good
}

/** The engine of that name; auto for none. */
export function profileNamed(name: string): Profile | Picker {
  return Object.hasOwn(engines, name) ? engines[name as keyof typeof engines] : auto
}

async function readDiff(file: string): Promise<FsDiff> {
  const diff = await readObject(file, 'the fs-diff')
  const list = (name: string): string[] => {
    const paths = diff[name] ?? []
    if (Array.isArray(paths) && paths.every((path) => typeof path === 'string')) return paths
    throw new Fault('BAD_OPTION', `"${name}" of the fs-diff must be an array of paths`)
  }
  return { created: list('created'), modified: list('modified'), deleted: list('deleted') }
}

/** The exit code of the command: how the run ended, and whether its payload passed. */
export function exitOf(end: CompletionData | undefined, result: ResultData | undefined): number {
  if (end?.state === 'interrupted') return end.reason_code === 'TRUNCATED' ? exits.incomplete : exits.failed
  if (result) return result.status === 'success' ? exits.good : exits.nothing
  return end === undefined || end.state === 'unknown' ? exits.incomplete : exits.good
}
