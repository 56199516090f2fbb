import fs from 'node:fs'
import { basename } from 'node:path'
import { badOption } from '../../base/fault.ts'
import { readBlock } from '../../disk/plain-file.ts'
import { costWords } from '../../events/cost.ts'
import type { RawRef } from '../../events/event.ts'
import { endPhrase } from '../../events/run-outcome.ts'
import { listAttempts, withLog } from '../../run/attempt-logs.ts'
import { isDatabase } from '../../run/opencode-db.ts'
import { fixedDir } from '../../run/run-directory.ts'
import { type FailedCall, type WhyReport, whyOf } from '../../views/why.ts'
import { shellWord } from '../../views/words.ts'
import type { CommandTable } from '../command-table.ts'
import { outcomeStyles } from '../draw/end.ts'
import { type ColorFlags, coloring, columnsOf, wantsColor } from '../draw/flags.ts'
import { safe, safeLine } from '../draw/safe.ts'
import { fitTo } from '../draw/width.ts'
import { type Paint, painter, styles } from '../draw/wrap.ts'
import { exits } from '../exit-codes.ts'
import { type LastFlags, lastOptions, namedOrLast } from '../input/last-option.ts'
import { FILE, isDirectory, type RunFlags, runEvents, runInput } from '../input/run-input.ts'
import { output, printer } from '../print.ts'
import { runExits, watchEnd } from '../run-exit-code.ts'

interface Flags extends RunFlags, LastFlags, ColorFlags {
  readonly bytes?: boolean
  readonly json?: boolean
}

/** Maximum number of lines in total, and of the output of the failed tool. */
const MAX_LINES = 10
const TOOL_LINES = 3

const help = `
At most ten lines: how the run ended and on which evidence, the first thing that
went wrong, the last error, the last file, the failed tool with the end of its
output (or the end of stderr, if nothing else tells), and where in the raw log
it is. Of several attempts, the last counts.

${runExits('file')}

Examples:
  $ npx agent-sluice why .audit/latest
  $ npx agent-sluice why --last
  $ npx agent-sluice why run.log --exit 1
  $ npx agent-sluice why .audit/latest --bytes | jq .`

/** `sluice why`: explains what went wrong in a run. */
export default {
  about: 'Explains in at most ten lines why a run ended as it did.',
  args: [FILE],
  options: [
    ...runInput,
    ...lastOptions(),
    ['--bytes', 'print the bytes of the raw log with the first problem'],
    ['--json', 'print one JSON record'],
    ...coloring,
  ],
  help,
  act: printWhy,
} satisfies CommandTable

async function printWhy(given: string | undefined, asked: Flags): Promise<number> {
  if (asked.bytes && asked.json)
    throw badOption('--bytes and --json exclude each other; leave one of them out')
  const { file: named, flags } = await namedOrLast(given, asked)
  // A link such as `latest` may point to another run a moment later.
  const file = named !== undefined && isDirectory(named) ? fixedDir(named) : named
  const reason = whyOf()
  const events = watchEnd(await runEvents(file, flags))
  for await (const event of events) reason.write(event)
  const why = reason.why()
  const log = logOf(why.first?.raw_ref, file, flags)
  if (asked.bytes) return printBytes(why, log)
  if (asked.json) await printer()({ ...why, log: log ?? null })
  else await output()(`${whyLines(why, log, opening(named, flags), asked).join('\n')}\n`)
  return events.exit()
}

function whyLines(
  why: WhyReport,
  log: string | undefined,
  open: string | undefined,
  flags: ColorFlags,
): string[] {
  const paint = painter(wantsColor(flags))
  const width = process.stdout.isTTY ? Math.max(20, columnsOf()) : Number.POSITIVE_INFINITY
  const { outcome, first, last, file, call, request } = why
  const line = (label: string, text: string) => {
    const shown = safe(text).replaceAll('\n', ' ').trim()
    const room = width - label.length - 1
    return `${paint(styles.dim, label)} ${Number.isFinite(room) ? fitTo(shown, room) : shown}`
  }
  const lines = [
    outcomeLine(why, paint, width),
    line('first:', first?.title ?? (why.outcome === undefined ? 'nothing yet' : 'nothing went wrong')),
    ...(last ? [line('last: ', last.title)] : []),
    ...(file ? [line('file: ', `${file.path} (${file.change})`)] : []),
    ...(call ? [line('tool: ', callWords(call))] : []),
    ...(request && outcome !== 'needs_input' ? [line('asks: ', `${request.title} (no answer)`)] : []),
  ]
  const end = [
    ...(first?.raw_ref ? [line('bytes:', placeWords(first.raw_ref, first.seq, log))] : []),
    // In full, so that it can be copied.
    ...(open !== undefined && log !== undefined ? [`${paint(styles.dim, 'open: ')} ${safeLine(open)}`] : []),
  ]
  const left = Math.min(TOOL_LINES, MAX_LINES - lines.length - end.length)
  const said = call?.lines ?? why.stderr ?? []
  const tail = left > 0 ? said.slice(-left).map((text) => line('     │', text)) : []
  return [...lines, ...tail, ...end]
}

function outcomeLine({ outcome, completion }: WhyReport, paint: Paint, width: number): string {
  if (outcome === undefined) return `${paint(styles.yellow, '■')} the output has no end yet`
  const { exit_code, signal, stopped, end_signal, failure, done_marker, truncated, request, marker } =
    completion?.evidence ?? {}
  const evidence = [
    completion?.reason_code,
    done_marker ? 'done marker' : undefined,
    failure ?? end_signal,
    request === end_signal ? undefined : request,
    marker === 'missing' ? 'no done marker' : undefined,
    typeof exit_code === 'number' ? `exit ${exit_code}` : undefined,
    signal,
    stopped,
    truncated ? 'output was cut' : undefined,
    costWords(completion?.cost) || undefined,
  ]
  const reported = evidence.filter((word) => typeof word === 'string').join(', ')
  const text = safeLine(`${outcome}: ${endPhrase(outcome, completion?.failure_class)} (${reported})`)
  return `${paint(outcomeStyles[outcome], '■')} ${Number.isFinite(width) ? fitTo(text, width - 2) : text}`
}

function callWords({ name, subject, finished, exit_code, denied }: FailedCall): string {
  const failed = denied ? ' · denied' : exit_code === undefined ? ' · failed' : ` · exit ${exit_code}`
  const end = finished ? failed : ' · did not finish'
  return `${name} ${subject.slice(0, 200)}`.trimEnd() + end
}

function placeWords(
  { stream, byte_from, byte_to, attempt_number }: RawRef,
  seq: number,
  log?: string,
): string {
  const name = log === undefined ? stream : basename(log)
  return `${byte_from}-${byte_to} of ${name} (attempt ${attempt_number}, event ${seq})`
}

/** The log that a reference points into; undefined if it is not a file. */
function logOf(
  ref: RawRef | null | undefined,
  file: string | undefined,
  flags: RunFlags,
): string | undefined {
  if (!ref) return undefined
  if (file !== undefined && isDirectory(file))
    return listAttempts(file).find(({ number }) => number === ref.attempt_number)?.logs[ref.stream]
  const path = ref.stream === 'stdout' ? (file ?? flags.stdout) : flags[ref.stream]
  return path === undefined || path === '-' || isDatabase(path) ? undefined : path
}

/** The command that prints the bytes; undefined if they came from stdin and are gone. */
function opening(file: string | undefined, flags: RunFlags): string | undefined {
  const options = (
    ['engine', 'stdout', 'stderr', 'pty', 'stdin', 'exit', 'session', 'dir', 'fsDiff'] as const
  ).flatMap((name) => {
    const value = flags[name]
    return value === undefined ? [] : [name === 'fsDiff' ? '--fs-diff' : `--${name}`, String(value)]
  })
  if (options.includes('-') || (file === undefined && flags.stdout === undefined)) return undefined
  const words = ['why', ...(file === undefined ? [] : [file]), ...options, '--bytes']
  return `npx agent-sluice ${words.map(shellWord).join(' ')}`
}

/** Prints the bytes as text, unchanged in a pipe; on a terminal control characters are escaped. */
async function printBytes({ first }: WhyReport, log: string | undefined): Promise<number> {
  const ref = first?.raw_ref
  if (!ref || log === undefined)
    throw badOption('there are no bytes to show: nothing went wrong, or the log is not a file')
  // The log was found already; if the user named it by a link, use the target of the link.
  const bytes = withLog(fs.realpathSync(log), undefined, (fd) =>
    readBlock(fd, ref.byte_from, ref.byte_to - ref.byte_from),
  )
  const text = bytes.toString()
  await output()(process.stdout.isTTY ? safe(text) : text)
  return exits.good
}
