import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Command, Option } from 'commander'
import { Fault } from '../base/fault.ts'
import { listAttempts } from '../run/audit.ts'
import { noLogs } from '../run/audit-dir.ts'
import { type Run, type RunOptions, run } from '../run/run.ts'
import { EVENTS_FILE } from '../sinks/journal.ts'
import { duration } from './duration.ts'
import { engineOption, namedEngine } from './engine-option.ts'
import { runExits, watchEnd } from './exit-code.ts'
import { exits } from './exits.ts'
import { addReading, type ReadingFlags, readingOptions } from './reading.ts'
import { show } from './show.ts'

interface Flags extends ReadingFlags {
  readonly engine?: string
  readonly audit?: string
  readonly attemptOf?: string
  readonly pty?: boolean
  readonly pipes?: boolean
  readonly cwd?: string
  readonly timeout?: number
  readonly idleTimeout?: number
  readonly endAfter?: number
  readonly runId?: string
  readonly fsync: NonNullable<RunOptions['fsync']>
  readonly fsDiff: boolean
  readonly json?: boolean
  readonly draw?: boolean
}

const examples = `
Each run gets a directory of its own in .audit, or goes into --audit DIR; N is the attempt, and --attempt-of DIR adds one.
The raw output goes to stdout.N.log and stderr.N.log (--pty: pty-output.N.log; --pty --pipes: all three) before it is parsed, the events to
events.jsonl. Ctrl-C goes to the command and all it has started, a second Ctrl-C kills them.

${runExits}, or a command that cannot be started

Examples:
  $ sluice run --engine codex -- codex exec --json "fix the test"
  $ sluice run --pty --timeout 10m --audit runs/7 -- opencode run --format json "explain this"
  $ sluice run --attempt-of .audit/latest -- codex exec --json "try again"
  $ sluice run -- claude -p --output-format stream-json --verbose "hello" | jq .type`

/** `sluice run`: an agent, recorded and shown. */
export function runCommand(exit: (code: number) => void): Command {
  return addReading(new Command('run'))
    .description(
      'Runs a command, records what it writes into an audit directory, and shows the conversation live.',
    )
    .argument('<command...>', 'the agent and its arguments, after --')
    .addOption(engineOption())
    .option('--audit <dir>', 'the audit directory (default: a new one in .audit; .audit/latest leads to it)')
    .option('--attempt-of <dir>', 'one more attempt of the run that is recorded there')
    .option('--pty', 'run it on a pseudo-terminal (needs the package @lydell/node-pty)')
    .option(
      '--pipes',
      'with --pty: its stdout and stderr are pipes that the terminal shows too; records all three',
    )
    .option('--cwd <dir>', 'run it there')
    .option('--timeout <time>', 'end it after so long: 90s, 5m, 1h', duration)
    .option('--idle-timeout <time>', 'end it when it is silent for so long', duration)
    .option(
      '--end-after <time>',
      'end it so long after its turn is over, if it does not leave by itself',
      duration,
    )
    .option('--run-id <id>', 'the id in every record (default: that of the directory, or a new one)')
    .addOption(
      new Option('--fsync <when>', 'when the disk must have the events')
        .choices(['each', 'interval', 'end'])
        .default('interval'),
    )
    .option('--no-fs-diff', 'do not compare the working directory before and after')
    .option('--json', 'print the events as NDJSON, also on a terminal')
    .option('--draw', 'draw the conversation, also in a pipe')
    .addHelpText('after', examples)
    .action(async (words: string[], flags: Flags) => exit(await runAndShow(words, flags)))
}

async function runAndShow(words: readonly string[], flags: Flags): Promise<number> {
  const [command = '', ...args] = words
  if (flags.pipes && !flags.pty)
    throw new Fault('BAD_OPTION', '--pipes goes with --pty; without both it runs on pipes alone')
  const reading = await readingOptions(flags)
  const agent = run({
    ...reading,
    command,
    args,
    engine: await namedEngine(flags.engine ?? 'auto'),
    audit: auditOf(flags),
    pty: flags.pty && { cols: process.stdout.columns, rows: process.stdout.rows, pipes: flags.pipes },
    cwd: flags.cwd,
    // A terminal is not handed on: the command leads a session of its own and could not read from it.
    input: process.stdin.isTTY ? 'ignore' : 'inherit',
    timeout: flags.timeout,
    idleTimeout: flags.idleTimeout,
    endAfter: flags.endAfter,
    run_id: flags.runId,
    fsync: flags.fsync,
    fsDiff: flags.fsDiff ? {} : false,
  })
  const release = forwardSignals(agent)
  if (flags.pty) typeInto(agent)
  try {
    const events = watchEnd(agent)
    // Told before the loop is left, which would only say that the reader is gone.
    const failed = (error: Error) => void agent.destroy(error)
    if (!(await show(events, { ...flags, failed }))) {
      console.error(`sluice: the reader of stdout left; ${await abandoned(agent)}`)
      return exits.output
    }
    const end = await agent.end
    if (end.reason) console.error(`sluice: ${reasons[end.reason]}`)
    console.error(`sluice: ${placeOf(agent)}`)
    return events.exit()
  } catch (error) {
    if (!Fault.is(error) || error.code !== 'OUTPUT_FAILED') throw error
    throw new Fault('OUTPUT_FAILED', `${error.message}; ${await abandoned(agent)}`, { cause: error })
  } finally {
    release()
  }
}

function auditOf({ audit, attemptOf }: Flags): string | undefined {
  if (audit === '' || attemptOf === '')
    throw new Fault('BAD_OPTION', `--${audit === '' ? 'audit' : 'attempt-of'} is empty; name a directory`)
  if (attemptOf === undefined) return audit
  if (audit !== undefined) throw new Fault('BAD_OPTION', 'give --audit or --attempt-of, not both')
  if (!existsSync(join(attemptOf, EVENTS_FILE)) && listAttempts(attemptOf).length === 0)
    throw noLogs(attemptOf)
  return attemptOf
}

/** Waits until the agent is gone and the audit is closed, and says so. */
async function abandoned(agent: Run): Promise<string> {
  await agent.end.catch(() => {})
  return `the agent was ended, ${placeOf(agent)}`
}

function placeOf({ attempt, audit }: Run): string {
  return `attempt ${attempt} is recorded in ${relative('', audit) || '.'}`
}

const reasons = {
  timeout: 'ended, because the time limit was reached',
  end_signal: 'ended, because it had told its end and did not leave',
  idle_timeout: 'ended, because there was no output for too long',
  interrupted: 'interrupted',
  aborted: 'aborted',
  abandoned: 'abandoned',
  output_failed: 'ended, because its events could not be written',
  recorder_failed: 'ended, because it could not be recorded',
  recorder_lost: 'its recorder was lost',
} as const

const CTRL_D = '\x04'

/** The first Ctrl-C is for the agent, the second is the last. */
function forwardSignals(agent: Run): () => void {
  let asked = false
  const forward = (signal: NodeJS.Signals) => {
    agent.kill(asked ? 'SIGKILL' : signal)
    if (!asked && process.stderr.isTTY) console.error('\nsluice: interrupting; press Ctrl-C again to kill')
    asked = true
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, forward)
  return () => {
    for (const signal of signals) process.off(signal, forward)
  }
}

function typeInto(agent: Run): void {
  let last = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (text: string) => {
    last = text
    agent.type(text)
  })
  // A pipe that ends is a Ctrl-D on the terminal; behind half a line the first one only hands that over.
  // Of an input that was empty from the beginning nothing is told: many agents leave at a Ctrl-D.
  process.stdin.on('end', () => {
    if (last !== '') agent.type(last.endsWith('\n') ? CTRL_D : CTRL_D + CTRL_D)
  })
  // What is typed must not keep us here when the agent is gone.
  process.stdin.unref?.()
}
