import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Flow } from '../base/flow.ts'
import { auto } from '../engines/auto.ts'
import { engines } from '../engines/index.ts'
import type { FsDiff } from '../events/artifacts.ts'
import type { CompletionData, Event, ResultData } from '../events/event.ts'
import { type EventOptions, events } from '../events/events.ts'
import { isRecord, type Picker, type Profile } from '../events/profile.ts'
import { tap } from '../frames/tap.ts'

/** What `events` and `chat` are told on the command line. */
export interface RunInputOptions {
  readonly engine: string
  readonly stdout?: string
  readonly stderr?: string
  readonly pty?: string
  readonly fsDiff?: string
  readonly exit?: number
  readonly schema?: string
  readonly runId?: string
  readonly dir?: string
}

/** Adds the options that say where the output of a run is. */
export function addRunInput(command: Command): Command {
  return command
    .argument('[file]', 'what the agent wrote to stdout', undefined)
    .addOption(
      new Option('--engine <name>', 'the agent that ran')
        .choices(['auto', ...Object.keys(engines)])
        .default('auto'),
    )
    .option('--stdout <file>', 'its stdout, as a log')
    .option('--stderr <file>', 'its stderr, as a log')
    .option('--pty <file>', 'what its terminal showed, as a log')
    .option('--fs-diff <file>', 'what it changed: {"created": [], "modified": [], "deleted": []}')
    .option('--exit <code>', 'its exit code', exitCode)
    .option('--schema <file>', 'a JSON Schema; the last payload must pass')
    .option('--run-id <id>', 'stands in every record')
    .option('--dir <path>', 'the directory it ran in', process.cwd())
}

function exitCode(text: string): number {
  const code = Number(text)
  if (text.trim() === '' || !Number.isInteger(code))
    throw new InvalidArgumentError('It must be a whole number.')
  return code
}

/** Opens what was named (nothing: stdin is the agent's stdout) and gives its events. */
export async function runEvents(
  file: string | undefined,
  options: RunInputOptions,
  command: Command,
): Promise<Flow<Event>> {
  if (file !== undefined && options.stdout !== undefined) fail(command, 'give FILE or --stdout, not both')
  const stdoutFile = file ?? options.stdout
  const named = [stdoutFile, options.stderr, options.pty]
  const [stdout, stderr, pty] = await Promise.all(named.map((path) => openLog(path, command)))
  const settings: { -readonly [K in keyof EventOptions]: EventOptions[K] } = {}
  if (options.runId !== undefined) settings.run_id = options.runId
  if (options.dir !== undefined) settings.dir = options.dir
  if (options.fsDiff !== undefined) settings.fsDiff = await readDiff(options.fsDiff, command)
  if (options.schema !== undefined) settings.schema = await readJson(options.schema, command)
  const sources = stdout || stderr || pty ? { stdout, stderr, pty } : { stdout: process.stdin }
  const chunks = tap({ ...sources, exit: options.exit }, { order: 'step' })
  const flow = events(profileNamed(options.engine), settings)
  chunks.on('error', (error) => flow.destroy(error))
  return chunks.pipe(flow)
}

function profileNamed(name: string): Profile | Picker {
  return Object.hasOwn(engines, name) ? engines[name as keyof typeof engines] : auto
}

async function openLog(path: string | undefined, command: Command): Promise<Readable | undefined> {
  if (path === undefined) return undefined
  if (path === '-') return process.stdin
  try {
    const handle = await open(path)
    if ((await handle.stat()).isDirectory()) fail(command, `${path} is a directory`)
    return handle.createReadStream()
  } catch (error) {
    return fail(command, `cannot read ${path}: ${(error as Error).message}`)
  }
}

async function readJson(path: string, command: Command): Promise<Record<string, unknown>> {
  try {
    const handle = await open(path)
    const value: unknown = JSON.parse(await handle.readFile('utf8'))
    await handle.close()
    if (isRecord(value)) return value
  } catch (error) {
    fail(command, `cannot read ${path}: ${(error as Error).message}`)
  }
  return fail(command, `${path} must hold a JSON object`)
}

async function readDiff(path: string, command: Command): Promise<FsDiff> {
  const value = await readJson(path, command)
  const list = (name: string): string[] => {
    const paths = value[name] ?? []
    const fine = Array.isArray(paths) && paths.every((one) => typeof one === 'string')
    return fine ? paths : fail(command, `${path}: "${name}" must be an array of paths`)
  }
  return { created: list('created'), modified: list('modified'), deleted: list('deleted') }
}

/** Wrong use: words on stderr, exit code 2. */
function fail(command: Command, message: string): never {
  command.error(`error: ${message}`, { exitCode: 2 })
}

/** The exit code of the command: how the run ended, and whether its payload passed. */
export function exitCodeOf(end: CompletionData | undefined, result: ResultData | undefined): number {
  if (end?.state === 'interrupted') return end.reason_code === 'TRUNCATED' ? 4 : 1
  if (result) return result.status === 'success' ? 0 : 3
  return end === undefined || end.state === 'unknown' ? 4 : 0
}
