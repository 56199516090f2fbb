import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { InvalidArgumentError, type Option } from 'commander'
import { badOption, Fault, quote } from '../../base/fault.ts'
import { wantsOtherDirectory } from '../../base/system-error-code.ts'
import { fileCache } from '../../disk/cache.ts'
import { EVENTS_FILE } from '../../disk/journal.ts'
import { type AgentEvent, isEvent, type ResultData } from '../../events/event.ts'
import { handleSignals } from '../../process/host-exit.ts'
import { listAttempts } from '../../run/attempt-logs.ts'
import { run, teeRun } from '../../run/run.ts'
import { AUDITS, noLogs } from '../../run/run-directory.ts'
import type { Run, RunEnd, RunOptions } from '../../run/run-options.ts'
import { rememberLines } from '../../streams/jsonl.ts'
import { otel } from '../../streams/views.ts'
import type { CommandTable, Row } from '../command-table.ts'
import { aboutAudit, checkDrawing, type DrawFlags, drawing, isDrawn, shortPath } from '../draw/flags.ts'
import { safe } from '../draw/safe.ts'
import { show } from '../draw/show.ts'
import { exits } from '../exit-codes.ts'
import { type GithubStep, openGithubStep } from '../github-step.ts'
import { engineOption, namedEngine } from '../input/engine-option.ts'
import { readPrompt } from '../input/open-input.ts'
import { amount, duration, positiveInteger, wholeNumber } from '../input/option-values.ts'
import { type ReadingFlags, reading, readingOptions } from '../input/run-input.ts'
import { asker } from '../input/talk-input.ts'
import { openOtel } from '../otel-export.ts'
import { output } from '../print.ts'
import { runExits, watchEnd } from '../run-exit-code.ts'

interface Flags
  extends RunningFlags,
    Pick<RunOptions, 'talk' | 'prompt' | 'audit' | 'cwd' | 'runId' | 'tags'> {
  readonly attemptOf?: string
  readonly cache?: string
  readonly pty?: boolean
  readonly pipes?: boolean
  readonly tee?: boolean
}

type TimeFlags = Pick<RunOptions, 'timeout' | 'idleTimeout' | 'endAfter' | 'answerIn' | 'rounds'>

/** The flags of `run` and `reply`. */
export interface RunningFlags extends ReadingFlags, DrawFlags, TimeFlags {
  readonly engine?: string
  readonly limitTokens?: number
  readonly limitCost?: number
  readonly limitToolCalls?: number
  readonly limitOutput?: number
  readonly fsync: NonNullable<RunOptions['fsync']>
  readonly fsDiff: boolean
  readonly diff?: boolean
  readonly otel?: boolean
  readonly otelContent?: boolean
  readonly github?: boolean
  readonly control?: boolean
  readonly redact?: boolean
}

const COMMON = [
  ...['engine', 'prompt', 'talk', 'schema', 'audit', 'attempt-of', 'pty', 'cwd', 'timeout', 'idle-timeout'],
  ...['json', 'draw', 'full', 'quiet', 'help'],
]

const brief = `
  --help-all             every option, what is recorded, and the exit codes

Records into .audit (or --audit DIR) and shows the conversation. The exit code is
0 if it ended well, 1 if it failed, 2 for bad usage, 3 without a valid result
(--schema), 4 if the end is not known, 5 if it needs input, 7 if our own output
could not be written.

Examples:
  $ npx agent-sluice run -- codex exec --json "fix the test"
  $ npx agent-sluice run --timeout 10m -- opencode run --format json "hi"
  $ npx agent-sluice run --schema report.json -- claude -p "review" | jq .type`

const full = `
Each run gets its own directory in .audit, or the one that --audit names. N is
the attempt; --attempt-of DIR adds one. The raw output goes to stdout.N.log and
stderr.N.log (--pty: pty-output.N.log; --pty --pipes: all three) before it is
parsed; the events go to events.jsonl. Ctrl-C goes to the command and everything
it started; a second Ctrl-C kills them.

--tee is for a program that starts the agent itself, such as an editor: give it
this command instead. stdin, stdout and stderr are those of the agent, byte for
byte, and so is the exit code; --tee records both halves.

With --talk requests of the agent are asked on the terminal; in a pipe they are
answered by {"answer": "<id>", "option": "<id or kind>"} lines on stdin, and
rejected if stdin has ended. Ctrl-C interrupts the turn, a second one ends the
agent.

${runExits('run')}, or a command that cannot be started

Examples:
  $ npx agent-sluice run -- codex exec --json "fix the test"
  $ npx agent-sluice run --pty --timeout 10m -- opencode run --format json "hi"
  $ npx agent-sluice run --idle-timeout 90s --end-after 500ms -- gemini -p "hi"
  $ npx agent-sluice run --attempt-of .audit/latest -- codex exec --json "again"
  $ npx agent-sluice run --github --prompt "$TASK" -- codex exec --json -
  $ npx agent-sluice run --talk --prompt "hi" -- gemini --acp
  $ npx agent-sluice run --engine codex -- codex exec --json "hi" | jq .type
  $ npx agent-sluice run --tee -- gemini --acp`

/** The options of both `run` and `reply`. */
export const running: readonly (Row | Option)[] = [
  ...reading,
  engineOption(),
  ['--timeout <time>', 'end it after this time: 90s, 5m, 1h (default: no limit)', duration],
  [
    '--idle-timeout <time>',
    'end it after this long without output: 500ms, 90s, 2m (default: no limit)',
    duration,
  ],
  [
    '--end-after <time>',
    'end it this long after its turn is over: 500ms, 5s, 1m (default: wait for it)',
    duration,
  ],
  [
    '--answer-in <time>',
    'with --talk: reject what nobody answers in this time: 30s, 5m, 1h (default: 5m)',
    duration,
  ],
  ['--control', 'take orders from elsewhere: answers, interrupt and stop, from the page or another terminal'],
  [
    '--rounds <count>',
    'ask again, up to 3 times, for a result that fails --schema (default: 0)',
    wholeNumber,
  ],
  [
    '--limit-tokens <count>',
    'end it when it has used more tokens, in and out (default: no limit)',
    positiveInteger,
  ],
  ['--limit-cost <amount>', 'end it when it has cost more, as it reports (default: no limit)', amount],
  ['--limit-tool-calls <count>', 'end it when it calls more tools (default: no limit)', positiveInteger],
  ['--limit-output <bytes>', 'end it when it prints more (default: no limit)', positiveInteger],
  ['--fsync <when>', 'when to flush the events to disk', ['each', 'interval', 'end'], 'interval'],
  ['--no-fs-diff', 'do not compare the working directory before and after'],
  ['--diff', 'record what it changes as a diff, too, by git'],
  ['--json', 'print the events as NDJSON even on a terminal'],
  ['--otel', 'export a trace by OTLP over HTTP, configured by OTEL_EXPORTER_OTLP_ENDPOINT and so on'],
  ['--otel-content', 'with --otel: prompts, messages, arguments and results, too'],
  ['--github', 'in GitHub Actions: set step outputs, write the step summary and annotations'],
  ['--redact', 'record no secret: logs, prompt and events have [redacted:kind] instead'],
  ['--no-redact', 'with --github: do not hide secrets'],
  ...drawing,
]

/** `sluice run`: an agent, recorded and shown. */
export default {
  about: 'Runs a command, records what it writes into an audit directory, and shows the conversation live.',
  args: [['<command...>', 'the agent and its arguments; what follows its name is for it']],
  passThrough: true,
  options: [
    ['--prompt <text>', 'the task, written to its stdin; - reads it from stdin'],
    [
      '--talk',
      'keep its stdin open, and ask for what it asks (needs --prompt; gemini --acp, codex app-server, …)',
    ],
    ['--audit <dir>', 'the audit directory (default: a new one in .audit; .audit/latest points to it)'],
    ['--attempt-of <dir>', 'add another attempt to the run that is recorded there'],
    ['--pty', 'run it on a pseudo-terminal (needs the package @lydell/node-pty)'],
    ['--pipes', 'with --pty: record its stdout and stderr separately, besides the terminal'],
    ['--tee', 'pass stdin, stdout and stderr through, byte for byte, and only record them'],
    ['--tags <name=text>', 'your own words about it, to find it with ls --tag; can be given again', tagsIn],
    ['--cwd <dir>', 'the directory to run it in (default: the current one)'],
    ['--cache <dir>', 'with --schema: keep a result that passed there, and do not run for it again'],
    ['--run-id <id>', 'the id in every record (default: that of the directory, or a new one)'],
    ...running,
  ],
  brief: { options: COMMON, help: brief },
  help: full,
  act: runAndShow,
} satisfies CommandTable

async function runAndShow(words: readonly string[], flags: Flags): Promise<number> {
  checkDrawing(flags)
  const [command = '', ...args] = words
  if (flags.pipes && !flags.pty)
    throw badOption('--pipes is for --pty; add that, or leave it out: it runs with pipes then')
  if (flags.tee) checkTee(flags)
  if (flags.talk && flags.prompt === '-')
    throw badOption('--talk reads answers from stdin; give the --prompt itself')
  const prompt = flags.prompt === '-' ? await readPrompt('-') : flags.prompt
  // A terminal is not passed on: the command leads its own session and could not read from it.
  // A cached result cannot depend on what would come from a pipe.
  const input = process.stdin.isTTY || flags.cache !== undefined ? ('ignore' as const) : ('inherit' as const)
  const given = {
    command,
    args,
    ...placeOf(flags),
    ...(prompt === undefined ? { input } : { prompt }),
    pty: flags.pty && { cols: process.stdout.columns, rows: process.stdout.rows, pipes: flags.pipes },
    talk: flags.talk,
    cwd: flags.cwd,
    tags: flags.tags,
    runId: flags.runId,
    cache: flags.cache === undefined ? undefined : fileCache(flags.cache),
  }
  const engine = await namedEngine(flags.engine ?? 'auto')
  try {
    const start = flags.tee ? teeRun : run
    return await showRun(flags, (options) => start({ ...options, ...given, engine }), flags)
  } catch (error) {
    if (!Fault.is(error)) throw error
    if (error.code === 'SPAWN_FAILED' && args.includes('--'))
      throw new Fault(error.code, `${error.message} ${FIRST_WORD}`, { cause: error })
    if (!wantsOtherDirectory(error)) throw error
    throw new Fault(error.code, `${error.message} with --audit DIR`, { cause: error })
  }
}

/** About a word that is before `--` by mistake: the value of an option that takes none. */
const FIRST_WORD = 'It is the first word that is no option of sluice; the "--" after it is for it'

/** Notes that tell what a limit cannot do: on stderr, when they come. */
const hints: ReadonlySet<string> = new Set(['LIMIT_BLIND', 'LIMIT_PASSED'])

function hint(event: AgentEvent): void {
  if (isEvent(event, 'diagnostic.parser.warning') && hints.has(event.data.code))
    console.error(`sluice: ${safe(event.data.message)}`)
}

/** Starts an agent, shows its conversation, and gives the exit code. */
export async function showRun(
  given: RunningFlags,
  start: (options: RunOptions) => Run,
  { pty, tee, talk }: Pick<Flags, 'pty' | 'tee' | 'talk'>,
): Promise<number> {
  if (given.otelContent && !given.otel)
    throw badOption('--otel-content is for --otel; add that, or leave it out')
  const step = githubStep(given)
  // The log of a job is read by people.
  const flags = step ? { ...given, draw: true } : given
  if (!isDrawn(flags) && !flags.quiet) rememberLines()
  const options = await runOptions(flags)
  // Before anything is started: a package may be missing.
  const exported = flags.otel ? openOtel() : undefined
  // The agent's output goes past us: a disk that is full for it is told at the end.
  if (tee) output()
  const agent = start({ ...options, ...(step && { env: step.env }) })
  const release = forwardSignals(agent, talk)
  if (pty) typeInto(agent)
  const asks = talk ? asker(agent) : undefined
  try {
    const source = exported ? agent.pipe(otel(exported.tracer, contentOf(flags))) : agent
    const events = watchEnd(step ? step.watch(source) : source, hint)
    await step?.begin()
    // Reported before the loop is left, which would only say that the reader is gone.
    const failed = (error: Error) => void agent.destroy(error)
    const recorded = aboutAudit(agent.audit ?? '')
    const about = step ? (attempt: number) => step.hidden(recorded(attempt)) : recorded
    const { isAsking } = asks ?? {}
    const shown = asks?.watch(events) ?? events
    if (tee) for await (const _ of events);
    else if (!(await show(shown, { ...flags, live: true, timed: true, about, failed, isAsking }))) {
      console.error(`sluice: the reader of stdout left; ${await abandoned(agent)}`)
      return exits.output
    }
    const end = await agent.end
    const isShown = isDrawn(flags) && !flags.quiet && !tee
    if (end.problem === null && end.reason) console.error(`sluice: ${reasons[end.reason]}`)
    if (end.problem !== null && !isShown) console.error(`sluice: ${safe(end.problem)}`)
    for (const { code, message } of end.notes)
      if (code === 'TEXT_MODE' && message !== end.problem) console.error(`sluice: ${safe(message)}`)
    for (const [index, failed] of end.rounds.entries())
      console.error(
        `sluice: result ${index + 1} failed the schema and was asked for again: ${firstError(failed)}`,
      )
    // The drawing ends with it.
    if (!isShown) console.error(`sluice: ${whereRecorded(agent)}`)
    await step?.end(end, events.exit())
    return tee ? exitLike(end) : events.exit()
  } catch (error) {
    await step?.fail(error)
    if (!Fault.is(error) || error.code !== 'OUTPUT_FAILED') throw error
    throw new Fault('OUTPUT_FAILED', `${error.message}; ${await abandoned(agent)}`, { cause: error })
  } finally {
    release()
    asks?.stop()
    const unsent = await exported?.close()
    if (unsent !== undefined) console.error(`sluice: the trace could not be sent: ${quote(unsent, 200)}`)
  }
}

function tagsIn(text: string, before: RunOptions['tags']): RunOptions['tags'] {
  const at = text.indexOf('=')
  if (at > 0) return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
  throw new InvalidArgumentError('It is name=text, such as team=web.')
}

async function runOptions(flags: RunningFlags) {
  const { timeout, idleTimeout, endAfter, answerIn, rounds, fsync } = flags
  const limit = {
    tokens: flags.limitTokens,
    cost: flags.limitCost,
    toolCalls: flags.limitToolCalls,
    output: flags.limitOutput,
  }
  const fsDiff = flags.fsDiff ? {} : false
  const options = await readingOptions(flags)
  // Else the recorded run decides, in a reply.
  const more = {
    ...(flags.redact && { redact: true }),
    ...(flags.control && { control: true }),
    ...(flags.diff && { diff: true }),
  }
  return { ...options, timeout, idleTimeout, endAfter, answerIn, rounds, limit, fsync, fsDiff, ...more }
}

function githubStep({ github, redact = true, json }: RunningFlags): GithubStep | undefined {
  if (!github && !redact) throw badOption('--no-redact is for --github; add that, or leave it out')
  if (github && json)
    throw badOption(
      '--github draws the run into the log; leave out --json, the records are in the audit directory',
    )
  return github ? openGithubStep(redact) : undefined
}

function checkTee(flags: Flags): void {
  const { prompt, talk, pty, rounds, json, draw, full, quiet, verbose, github, redact } = flags
  if (redact) throw badOption('--tee records what it passes through, byte for byte; leave out --redact')
  if (prompt !== undefined || talk || pty || rounds)
    throw badOption('--tee passes our own stdin through; leave out --prompt, --talk, --pty and --rounds')
  if (json || draw || full || quiet || verbose || github)
    throw badOption(
      "--tee passes the command's own stdout through; leave out --json, --draw, --full, --quiet, --verbose and --github",
    )
}

/** The exit code of the command, or of a shell whose command a signal has ended. */
function exitLike({ exitCode, signal }: RunEnd): number {
  return exitCode ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0) // cast: the name of a signal
}

/** The environment variable is the one that other instrumentations of generative AI use. */
function contentOf({ otelContent }: RunningFlags): { content: boolean } {
  const asked = process.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase()
  return { content: otelContent === true || asked === 'true' }
}

function placeOf({ audit, attemptOf }: Flags): Pick<RunOptions, 'audit' | 'runs'> {
  if (audit === '' || attemptOf === '')
    throw badOption(`--${audit === '' ? 'audit' : 'attempt-of'} is empty; name a directory`)
  if (attemptOf === undefined) return audit === undefined ? { runs: AUDITS } : { audit }
  if (audit !== undefined)
    throw badOption('--audit and --attempt-of exclude each other; leave one of them out')
  if (!existsSync(join(attemptOf, EVENTS_FILE)) && listAttempts(attemptOf).length === 0)
    throw noLogs(attemptOf)
  return { audit: attemptOf }
}

function firstError({ errors = [] }: ResultData): string {
  const [first] = errors
  // In a GitHub workflow `##[` may begin a command, anywhere in a line.
  const message = first && safe(`${first.path || '/'} ${first.message}`).replaceAll('##[', '## [')
  return message?.slice(0, 200) ?? 'no JSON was found'
}

/** Waits until the agent is gone and the audit is closed, and returns a message. */
async function abandoned(agent: Run): Promise<string> {
  await agent.end.catch(() => {})
  return `the agent was ended, ${whereRecorded(agent)}`
}

function whereRecorded({ attempt, audit }: Run): string {
  return `attempt ${attempt} is recorded in ${shortPath(audit!)}`
}

const reasons = {
  timeout: 'ended, because the time limit was reached',
  end_signal: 'ended, because it had reported its end and did not exit',
  idle_timeout: 'ended, because there was no output for too long',
  limit: 'ended, because it used more than it may (RUN_LIMIT)',
  interrupted: 'interrupted',
  aborted: 'aborted',
  abandoned: 'abandoned',
  host_ended: 'ended together with this program',
  output_failed: 'ended, because its events could not be written',
  recorder_failed: 'ended, because it could not be recorded',
  recorder_lost: 'its recorder was lost',
  session_changed: 'ended, because it continued another session',
  talk_failed: 'ended, because no session could be opened (TALK_FAILED)',
  not_started: 'not started, because its command cannot be started',
} as const

const CTRL_D = '\x04'

/** The first Ctrl-C interrupts the agent, or its turn if we talk with it; the next one ends it. */
function forwardSignals(agent: Run, talk = false): () => void {
  let asked = 0
  return handleSignals((signal) => {
    const turn = talk && signal === 'SIGINT'
    if (turn && asked === 0) agent.interrupt()
    else agent.kill(asked > (turn ? 1 : 0) ? 'SIGKILL' : turn ? 'SIGTERM' : signal)
    const next = turn ? 'end the agent' : 'kill'
    if (asked++ === 0 && process.stderr.isTTY)
      console.error(`\nsluice: interrupting; press Ctrl-C again to ${next}`)
  })
}

function typeInto(agent: Run): void {
  let last = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (text: string) => {
    last = text
    agent.type(text)
  })
  // The end of a pipe becomes a Ctrl-D on the terminal. After a partial line the first Ctrl-D only flushes
  // it, so send two. If the input was empty from the start, send none: many agents exit at a Ctrl-D.
  process.stdin.on('end', () => {
    if (last !== '') agent.type(last.endsWith('\n') ? CTRL_D : CTRL_D + CTRL_D)
  })
  // The input must not keep this process alive when the agent is gone.
  process.stdin.unref?.()
}
