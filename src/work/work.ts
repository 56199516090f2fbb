import { mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join, normalize, sep } from 'node:path'
import {
  areTexts,
  type Complete,
  hasMethods,
  isName,
  isObject,
  isText,
  misfit,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { badOption, Fault, type Note, quote } from '../base/fault.ts'
import { RUN_OPTIONS } from '../run/run-options.ts'
import { EscapeRemover } from '../text/ansi.ts'
import { argsOf, checkAdapter, envOf, findAdapter, type WorkerAdapter } from './adapter.ts'
import { openWorkAudit } from './audit.ts'
import { checkTemplate, commentTemplate } from './comment.ts'
import { boundedLedger, type Ledger } from './ledger.ts'
import { readOrder, type WorkOrder } from './order.ts'
import { fileName, type Outbox } from './outbox.ts'
import { BY_HAND, before, readByHand, readResult } from './result-file.ts'
import { settle, type WorkEvidence } from './settle.ts'
import { finish, type Gathered, type Work } from './settle-and-post.ts'
import { type Spawned, type SpawnOptions, spawnWorker } from './spawn.ts'

/** How a worker, the program that does the order, is run, and where its result goes. */
export interface WorkOptions {
  /** A type (`json-cli`, `codex`, …) or your own adapter. Required unless there is a `result`. */
  readonly worker?: string | WorkerAdapter | undefined
  /**
   * The path of a file with a result that a person wrote, as JSON or as headers. No worker is started: after
   * `needs-human`, this is how a person finishes the run. It replaces the comment that asked for a human; a
   * result that does not count changes nothing there.
   * @default none: the worker gives the result
   */
  readonly result?: string | undefined
  /** The command and its arguments. @default the command of the adapter */
  readonly command?: readonly string[] | undefined
  /** Your own adapters, found by type. @default [] */
  readonly adapters?: readonly WorkerAdapter[] | undefined
  /** The only run of the issue that counts. @default the active run in the ledger, else the order's */
  readonly activeRunId?: string | undefined
  /** Stores which run of an issue is active, and how it ended. @default none */
  readonly ledger?: Ledger | undefined
  /** Where the comment is posted. @default none: nothing is posted */
  readonly outbox?: Outbox | undefined
  /** The template of the comment, with `{{names}}`. @default `commentTemplate` */
  readonly template?: string | undefined
  /**
   * The folder in which each run gets its own audit directory, with `work_audit.json` and the recording of
   * the run: logs, events, meta. `false` to skip that. @default '.audit'
   */
  readonly audit?: string | false | undefined
  /** How long the worker may run; then it is ended. @default no limit */
  readonly timeout?: Duration | undefined
  /**
   * How often an agent whose result cannot be used is asked for it again, in its session and with what is
   * wrong: at most 3. Other workers are never asked.
   * @default 0
   */
  readonly rounds?: number | undefined
  /** Ends the worker. The run is still settled, and needs a human. */
  readonly signal?: AbortSignal | undefined
  /** Maximum size of a result file in bytes; a larger one needs a human. @default 1 MiB */
  readonly maxResult?: number | undefined
  /**
   * How long to wait for each call of the outbox and the ledger, before the work fails with OUTBOX_FAILED or
   * LEDGER_FAILED.
   * @default '1m'
   */
  readonly maxOutboxWait?: Duration | undefined
}

const isAudit = (value: unknown) => value === false || isName(value)

const WORK_OPTIONS = {
  worker: {},
  result: { is: isText, needs: 'the path of a file as result' },
  command: { is: areTexts, must: 'be an array of texts: the program, and its arguments' },
  adapters: { default: [] },
  activeRunId: { is: isText, needs: 'a run id as activeRunId' },
  ledger: { is: hasMethods('read', 'swap'), needs: "an object like ledger('.ledger') as ledger" },
  outbox: { is: hasMethods('find', 'post', 'archive'), needs: "an object like outbox('.outbox') as outbox" },
  template: { default: commentTemplate },
  audit: { default: '.audit', is: isAudit, needs: 'a path or false as audit' },
  timeout: RUN_OPTIONS.timeout,
  rounds: { ...RUN_OPTIONS.rounds, default: 0 },
  maxResult: { default: 1 << 20 },
  maxOutboxWait: { ...DURATION, default: 60_000 },
} as const satisfies OptionTable<WorkOptions>

type ReadOptions = Complete<WorkOptions, typeof WORK_OPTIONS>

/**
 * Runs a worker (an agent, a script) on one order for an issue of a tracker, and returns one result, however
 * the worker reports it: the files it left are read carefully, settled against the active run (the only one
 * of the issue whose result counts), rendered as a comment and posted to the outbox, once.
 *
 * A run that needs a human is still open: call `work` with the same order, or with the `result` of a person,
 * to end it.
 *
 * Bad results are verdicts, not errors. It only throws a Fault for a bad order or option, before anything
 * is started, and for an outbox, ledger or audit that fails.
 *
 * @example
 * const done = await work(order, { worker: 'json-cli', command: ['./worker'], outbox: outbox('.outbox') })
 * if (done.verdict === 'needs-human') console.warn(done.reasons)
 */
export async function work(order: WorkOrder, options: WorkOptions): Promise<Work> {
  const asked = readOrder(order)
  if (!isObject(options))
    throw misfit('work', 'an object of options', options, 'work(order, { worker: "codex", outbox })')
  const read = readOptions('work', options, 'work(order, { worker: "codex", outbox })', WORK_OPTIONS)
  const { maxResult } = read
  checkTemplate(read.template)
  const ledger = read.ledger && boundedLedger(read.ledger, read.maxOutboxWait)
  const ending = { ...read, ledger }
  if (options.result !== undefined) {
    if (options.command?.length) throw badOption('a result replaces the worker: leave out the command')
    const evidence = await readByHand(options.result, maxResult)
    return finish(asked, await handedIn(asked, evidence, read), ending)
  }
  const adapter = adapterOf(options)
  const command = options.command?.length ? options.command : adapter.command
  if (!command?.[0]) throw badOption(`the worker ${quote(adapter.type)} needs a command`)
  const files = {
    json: fileOf(adapter.json, 'work_result.json'),
    text: fileOf(adapter.text, 'work_result.txt'),
  }
  const root = await directory(asked.repo_dir)
  // Fails now if the ledger cannot be read, not when the work is done and its state is stored there.
  await ledger?.read(asked.issue_ref)

  const old = { json: await before(join(root, files.json)), text: await before(join(root, files.text)) }
  const started = new Date()
  const clock = performance.now()
  const left = async (said: Spawned['said']): Promise<WorkEvidence> => {
    const moved = (await realpath(asked.repo_dir).catch(() => '')) !== root
    const look = (name: string, was: typeof old.json) =>
      moved
        ? { state: 'refused' as const, message: 'is in a repo_dir that was moved' }
        : readResult(root, name, was, maxResult)
    return {
      json: adapter.json === false ? { state: 'absent' } : await look(files.json, old.json),
      text: adapter.text === false ? { state: 'absent' } : await look(files.text, old.text),
      names: files,
      conversation: said && { ...said, trusted: adapter.trustConversation === true },
    }
  }
  const askAgain = async (said: Spawned['said']) => {
    const { verdict, reasons } = settle(await left(said), asked, asked.run_id)
    return verdict === 'needs-human'
      ? correction(reasons, adapter.json === false ? files.text : files.json)
      : undefined
  }
  // A relative path would be read from the directory of the worker.
  const spawned = await start({ ...asked, repo_dir: root }, adapter, command, root, { ...read, askAgain })
  const duration = Math.round(performance.now() - clock)
  const evidence: WorkEvidence = {
    ...(await left(spawned.said)),
    stdout: spawned.stdout.text,
    stderr: spawned.stderr.text,
    exit: spawned.exit,
    notStarted: spawned.notStarted,
  }
  const { place, exit, problem } = spawned
  const bytes = { stdout: spawned.stdout.bytes, stderr: spawned.stderr.bytes }
  const stderr = lastLines(spawned.stderr.text)
  return finish(
    asked,
    { worker: adapter.type, evidence, exit, problem, started, duration, bytes, place, stderr },
    ending,
  )
}

/** What is wrong with a result, for the agent that left it. */
function correction(reasons: readonly Note[], file: string): string {
  const wrong = reasons.slice(0, MAX_LINES).map(({ message }) => `- ${message}`)
  return `The result of your work cannot be used:\n${wrong.join('\n')}\nWrite ${file} again, as you were asked to.`
}

/** What a person gave, instead of what a worker leaves. */
async function handedIn(order: WorkOrder, evidence: WorkEvidence, { audit }: ReadOptions): Promise<Gathered> {
  return {
    worker: BY_HAND,
    evidence,
    started: new Date(),
    duration: 0,
    bytes: { stdout: 0, stderr: 0 },
    place: audit === false ? undefined : await openWorkAudit(join(audit, fileName(order))),
  }
}

function adapterOf({ worker, adapters }: WorkOptions): WorkerAdapter {
  if (worker === undefined) throw badOption('work needs a worker, or a result that a person wrote')
  return typeof worker === 'string' ? findAdapter(worker, adapters) : checkAdapter(worker)
}

/** Passes the order on as the adapter says, and runs the worker to its end. */
async function start(
  order: WorkOrder,
  adapter: WorkerAdapter,
  command: readonly string[],
  cwd: string,
  { timeout, signal, audit, rounds, askAgain }: ReadOptions & Pick<SpawnOptions, 'askAgain'>,
): Promise<Spawned> {
  const folder = adapter.orderFile ? await mkdtemp(join(tmpdir(), 'work-order-')) : ''
  const orderFile = folder && join(folder, 'order.json')
  try {
    if (orderFile) await writeFile(orderFile, JSON.stringify(order))
    const env = {
      ...process.env,
      WORK_ISSUE_REF: order.issue_ref,
      WORK_RUN_ID: order.run_id,
      WORK_REPO_DIR: cwd,
      WORK_TASK: order.task ?? '',
      WORK_CONSTRAINTS: JSON.stringify(order.constraints ?? null),
      ...(orderFile ? { WORK_ORDER: orderFile } : {}),
      ...envOf(adapter, order, orderFile),
    }
    const [name = '', ...first] = command
    const args = [...first, ...argsOf(adapter, order, orderFile)]
    const { engine } = adapter
    const again = { rounds: engine === undefined ? 0 : rounds, askAgain }
    const place = audit === false ? audit : join(audit, fileName(order))
    const recorded = { runId: order.run_id, engine, audit: place }
    return await spawnWorker({ command: name, args, cwd, env, timeout, signal, ...recorded, ...again })
  } finally {
    if (folder) await rm(folder, { recursive: true, force: true })
  }
}

async function directory(path: string): Promise<string> {
  const root = await realpath(path).catch(() => undefined)
  if (root !== undefined && (await stat(root)).isDirectory()) return root
  throw new Fault('BAD_ORDER', `repo_dir is not a directory: ${quote(path, 200)}`)
}

function fileOf(name: string | false | undefined, usual: string): string {
  const path = normalize(name || usual)
  if (isAbsolute(path) || path === '..' || path.startsWith(`..${sep}`))
    throw badOption(`a result file must be inside repo_dir, but is ${quote(path)}`)
  return path
}

const MAX_LINES = 20
const MAX_CHARACTERS = 2000

/**
 * The last lines of an output, without colors and trailing blanks: at most 20 lines and 2,000 characters.
 *
 * @example
 * lastLines('\u001b[31mError: no network\u001b[0m\n') // 'Error: no network'
 */
function lastLines(output: string): string {
  const kept: Uint8Array[] = []
  const remover = new EscapeRemover('stderr', { keep: (bytes) => void kept.push(bytes), drop() {} })
  // An escape sequence may be cut at the start, but the shown text begins later.
  remover.write(Buffer.from(output.slice(-8 * MAX_CHARACTERS)))
  remover.end()
  const lines = Buffer.concat(kept).toString().trimEnd().split('\n').slice(-MAX_LINES)
  const text = lines.join('\n')
  if (text.length <= MAX_CHARACTERS) return text
  // Half a surrogate pair at the cut becomes U+FFFD.
  return Buffer.from(`…${text.slice(1 - MAX_CHARACTERS)}`).toString()
}
