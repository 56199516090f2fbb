import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { Fault } from '../base/fault.ts'
import { adapters } from '../work/adapter.ts'
import { activate, ledger } from '../work/ledger.ts'
import { readOrder, type WorkOrder } from '../work/order.ts'
import { outbox } from '../work/outbox.ts'
import type { Verdict } from '../work/settle.ts'
import { work } from '../work/work.ts'

interface Flags {
  readonly order: string
  readonly outbox?: string
  readonly worker: string
  readonly activeRun?: string
  readonly activate?: boolean
  readonly audit?: string
  readonly template?: string
  readonly timeout?: number
  readonly dryRun?: boolean
}

const exitCodes: Record<Verdict, number> = { advance: 0, 'needs-human': 5, archive: 6 }

/** Adds `sluice work`: one worker, one result. */
export function addWorkCommand(program: Command): void {
  const types = adapters.map((adapter) => adapter.type).join(', ')
  program
    .command('work')
    .description('run a worker on an order and write its result back once')
    .requiredOption('--order <file>', 'the work order, as JSON')
    .option('--outbox <dir>', 'where comments, archive, ledger and audits are kept')
    .option('--worker <type>', `how the worker is spoken to: ${types}`, 'script')
    .option('--active-run <id>', "the run whose result counts (default: the ledger's, else the order's)")
    .option('--activate', "make the order's run the active one first")
    .option(
      '--audit <dir>',
      'where each run is recorded, with its work_audit.json (default: in the outbox, else .audit)',
    )
    .option('--template <file>', 'the comment, with {{names}}')
    .option('--timeout <seconds>', 'end the worker after so long', seconds)
    .option('--dry-run', 'run and settle, but write nothing back')
    .argument('[command...]', 'the worker, after --')
    .addHelpText('after', examples)
    .action((command: string[], flags: Flags, self: Command) => act(command, flags, self))
}

async function act(command: string[], flags: Flags, self: Command): Promise<void> {
  const usage = (message: string): never => self.error(`error: ${message}`, { exitCode: 2 })
  if (flags.activate && !flags.outbox) usage('--activate needs --outbox, where the ledger is kept')
  const order = orderFrom(flags.order, usage)
  const template = flags.template === undefined ? undefined : fileText(flags.template, 'template', usage)
  const runs = flags.outbox === undefined ? undefined : ledger(join(flags.outbox, 'ledger'))
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    if (flags.activate && runs && !flags.dryRun) await activate(runs, order.issue_ref, order.run_id)
    const done = await work(order, {
      worker: flags.worker,
      command,
      template,
      activeRunId: flags.activeRun,
      ledger: runs,
      outbox: flags.outbox === undefined || flags.dryRun ? undefined : outbox(flags.outbox),
      audit: flags.dryRun ? false : (flags.audit ?? auditDir(flags.outbox)),
      timeout: flags.timeout,
      signal: stop.signal,
    })
    process.stdout.write(`${printable(JSON.stringify(done))}\n`)
    process.exitCode = exitCodes[done.verdict]
  } catch (error) {
    if (!Fault.is(error)) throw error
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
    if (error.code === 'BAD_ORDER' || error.code === 'BAD_OPTION') usage(error.message)
    self.error(`error: ${error.message}${cause}`, { exitCode: 1 })
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

function orderFrom(path: string, usage: (message: string) => never): WorkOrder {
  const text = fileText(path, 'order', usage)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    usage(`the order ${path} is not JSON`)
  }
  try {
    return readOrder(value)
  } catch (error) {
    return usage((error as Error).message)
  }
}

function fileText(path: string, what: string, usage: (message: string) => never): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return usage(`the ${what} ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function auditDir(outboxDir: string | undefined): string | undefined {
  return outboxDir === undefined ? undefined : join(outboxDir, 'audit')
}

function seconds(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value < 2_000_000)) throw new InvalidArgumentError('It must be a number of seconds.')
  return value * 1000
}

/** JSON leaves C1 controls as they are; a terminal would obey them. The escaped text is the same JSON. */
function printable(json: string): string {
  const spell = (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
  return json.replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, spell)
}

const examples = `
Exit codes: 0 advanced, 5 needs a human, 6 archived, 2 usage, 1 the outbox failed.

Examples:
  sluice work --order order.json --outbox .outbox -- ./worker.sh
  sluice work --order order.json --outbox .outbox --worker codex
  sluice work --order order.json --worker text-cli --dry-run -- make review
`
