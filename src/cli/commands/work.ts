import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Option } from 'commander'
import { badOption, clip, Fault, quote } from '../../base/fault.ts'
import { cannotRead } from '../../base/system-error-code.ts'
import { jsonValue } from '../../json/strict.ts'
import { adapters, checkAdapter, type WorkerAdapter } from '../../work/adapter.ts'
import { activate, ledger } from '../../work/ledger.ts'
import { readOrder, type WorkOrder } from '../../work/order.ts'
import { outbox } from '../../work/outbox.ts'
import { type WorkOptions, work } from '../../work/work.ts'
import type { CommandTable } from '../command-table.ts'
import { safe } from '../draw/safe.ts'
import { exits, isFull } from '../exit-codes.ts'
import { isModulePath, useModule } from '../input/engine-option.ts'
import { duration, wholeNumber } from '../input/option-values.ts'
import { untilStopped } from '../input/until-stopped.ts'
import { printer } from '../print.ts'

interface Flags extends Pick<WorkOptions, 'result' | 'timeout' | 'rounds' | 'template'> {
  readonly order: string
  readonly outbox?: string
  readonly worker: string
  readonly activeRun?: string
  readonly activate?: boolean
  readonly audit?: string
  readonly dryRun?: boolean
}

const help = `
Prints the Work as JSON. The outbox has comments/, archive/, ledger/, audit/
and journal.jsonl.

A run that needs a human is still open: start the same order again, or hand in
the result that a person wrote with --result. Either one replaces the comment
that asked for a human. A run with a status is closed: any other result for it
is archived.

Exit codes: 0 advanced, 5 needs a human, 6 archived, 2 bad usage, 1 the outbox,
ledger or audit failed, 7 stdout cannot be written, or a disk is full.

Examples:
  $ npx agent-sluice work --order o.json --outbox .outbox -- ./worker.sh
  $ npx agent-sluice work --order o.json --outbox .outbox --result fixed.json
  $ npx agent-sluice work --order o.json --outbox .outbox --worker codex
  $ npx agent-sluice work --order o.json --worker ./my-adapter.js --timeout 5m
  $ npx agent-sluice work --order o.json --dry-run -- make review`

/** `sluice work`: one worker, one result. */
export default {
  about: 'Runs a worker on an order, settles what it left against the active run, and posts one comment.',
  args: [['[command...]', 'the worker and its arguments, after -- (default: that of the worker type)']],
  options: [
    ['--order <file>', 'the work order, as JSON'],
    ['--outbox <dir>', 'the directory for comments, archive, ledger and audits'],
    new Option('--worker <type>', 'how to talk to the worker, or a module: ./my-adapter.js')
      .choices(adapters.map((adapter) => adapter.type))
      // Replaces the check that comes with the choices: the name may be the path of a module.
      .argParser(String)
      .default('script'),
    ['--result <file>', 'a result that a person wrote, as JSON or headers; starts no worker'],
    ['--active-run <id>', "the run whose result counts (default: the ledger's, else the order's)"],
    ['--activate', "make the order's run the active one first"],
    ['--audit <dir>', 'where each run is recorded (default: audit/ in the outbox, else .audit)'],
    ['--template <file>', 'a template for the comment, with {{names}}'],
    ['--timeout <time>', 'end the worker after this time: 90s, 5m, 1h (default: no limit)', duration],
    [
      '--rounds <count>',
      'ask an agent again, up to 3 times, for a result that cannot be used (default: 0)',
      wholeNumber,
    ],
    ['--dry-run', 'run and settle, but post nothing'],
  ],
  required: '--order',
  help,
  act: runWork,
} satisfies CommandTable

async function runWork(command: string[], flags: Flags): Promise<number> {
  const { outbox: box, dryRun = false, result, timeout, rounds } = flags
  if (flags.activate && box === undefined)
    throw badOption('--activate is for --outbox, where the ledger is kept; add that, or leave it out')
  const order = orderIn(flags.order)
  const template = flags.template === undefined ? undefined : fileText(flags.template)
  const worker = result === undefined ? await namedWorker(flags.worker) : undefined
  const runs = box === undefined ? undefined : ledger(join(box, 'ledger'))
  const stopped = untilStopped()
  try {
    if (flags.activate && runs && !dryRun) await activate(runs, order.issue_ref, order.run_id)
    const done = await work(order, {
      ...{ worker, result, command, template, timeout, rounds },
      activeRunId: flags.activeRun,
      ledger: runs,
      outbox: box === undefined || dryRun ? undefined : outbox(box),
      audit: dryRun ? false : (flags.audit ?? (box === undefined ? undefined : join(box, 'audit'))),
      signal: stopped.signal,
    })
    await printer()(done)
    if (result !== undefined && done.verdict !== 'advance') {
      const how = done.verdict === 'archive' ? 'is only archived' : 'does not count and changes nothing'
      console.error(
        `sluice: this result ${how}: ${done.reasons.map(({ message }) => safe(clip(message, 200))).join('; ')}`,
      )
    }
    if (result !== undefined && box === undefined && !dryRun)
      console.error('sluice: nothing was posted: --result without --outbox is only checked')
    return { advance: exits.good, 'needs-human': exits.needsInput, archive: exits.archived }[done.verdict]
  } catch (error) {
    if (!Fault.is(error) || error.code === 'BAD_ORDER' || error.code === 'BAD_OPTION') throw error
    if (isFull(error)) throw error
    const cause = error.cause instanceof Error ? ` (${quote(error.cause.message, 200)})` : ''
    console.error(`sluice: ${error.message}${cause}`)
    return exits.failed
  } finally {
    stopped.end()
  }
}

/** The worker for `--worker`: an included type, or the path of a module that exports an adapter. */
async function namedWorker(name: string): Promise<string | WorkerAdapter> {
  if (!isModulePath(name)) return name
  return useModule(name, 'worker', (module) => {
    if (module['default'] === undefined) throw new Error('it has no default export')
    return checkAdapter(module['default'])
  })
}

function orderIn(path: string): WorkOrder {
  const value = jsonValue(fileText(path))
  if (value === undefined) throw new Fault('BAD_ORDER', `the order ${quote(path, 200)} is not JSON`)
  return readOrder(value)
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw cannotRead('BAD_OPTION', path, error)
  }
}
