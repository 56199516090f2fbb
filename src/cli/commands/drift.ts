import { quote, runCodes } from '../../base/fault.ts'
import { meaningOfCode } from '../../base/system-error-code.ts'
import {
  type DriftName,
  type DriftPlace,
  type DriftReport,
  drift,
  type EngineDrift,
} from '../../run/drift.ts'
import type { CommandTable } from '../command-table.ts'
import { safeLine } from '../draw/safe.ts'
import { statusLine } from '../draw/status-line.ts'
import { fitTo, widthOf } from '../draw/width.ts'
import { exits } from '../exit-codes.ts'
import { engineOption, namedEngine } from '../input/engine-option.ts'
import { output, printer } from '../print.ts'

interface Flags {
  readonly engine?: string
  readonly json?: boolean
}

const help = `
Reads runs again and lists what their engines do not know, by engine and
version: audit directories, folders with stdout.log, stderr.log or
pty-output.log, single logs, session files. A directory is searched with
everything below it. The runs are only read.

Exit codes: 0 the report is complete, 2 bad usage, nothing to read, or something
could not be read (the rest is in the report).

Examples:
  $ npx agent-sluice drift .audit
  $ npx agent-sluice drift ~/.codex/sessions ~/.claude/projects
  $ npx agent-sluice drift --json .audit | jq '.engines[].version'`

/** `sluice drift`: what the engines do not know in many runs. */
export default {
  about: 'Counts the types and fields that the engines do not know in recorded runs.',
  args: [['<dir...>', 'directories with runs, or logs']],
  options: [engineOption(), ['--json', 'print the report as one JSON document']],
  help,
  act: reportDrift,
} satisfies CommandTable

async function reportDrift(paths: readonly string[], flags: Flags): Promise<number> {
  const engine = await namedEngine(flags.engine)
  const status = statusLine()
  let report: DriftReport
  try {
    report = await drift(paths, {
      engine,
      progress: (runs, path) => status.show(() => fitTo(`${runs} runs, ${safeLine(path)}`, 79)),
    })
  } finally {
    status.end()
  }
  const { count, first } = report.unreadable
  for (const { path, reason } of first)
    console.error(`sluice: cannot read ${quote(path, 200)}: ${safeLine(meaningOfCode(reason))}`)
  if (count > first.length) console.error(`sluice: … and ${count - first.length} more`)
  if (report.runs === 0) console.error('sluice: no runs were found')
  if (flags.json) await printer()(report)
  else if (report.runs > 0) await output()(tableOf(report))
  return count > 0 || report.runs === 0 ? exits.usage : exits.good
}

function tableOf(report: DriftReport): string {
  const { engines, no_engine: strangers } = report
  const rows = engines.map(({ engine, parser, version, runs, records, ...rest }) => [
    safeLine(engine),
    safeLine(parser),
    safeLine(version),
    String(runs),
    String(records),
    driftWords(rest),
  ])
  const table =
    rows.length === 0
      ? []
      : aligned([['engine', 'dialect', 'version', 'runs', 'records', 'unknown'], ...rows])
  const names = engines.flatMap((group) => [
    ...group.types.map((found) => nameRow(group, 'type', found)),
    ...group.fields.map((found) => nameRow(group, 'field', found)),
  ])
  const details = names.length === 0 ? [] : ['', ...aligned([nameHead, ...names])]
  return [
    ...table,
    ...details,
    ...(strangers.count === 0 ? [] : ['', `${words(strangers.count, 'run')} of an unknown engine:`]),
    ...strangers.first.map(
      (found) =>
        `  ${placeWords(found)}: ${safeLine(found.message.replace(runCodes.ENGINE_UNKNOWN, 'records'))}`,
    ),
    ...(strangers.count > strangers.first.length ? ['  …'] : []),
    '',
    `${words(report.runs, 'run')}, ${words(report.records, 'record') || 'no records'}`,
    '',
  ].join('\n')
}

const nameHead = ['', 'name', 'count', 'runs', 'engine', 'first']

function nameRow({ engine, version }: EngineDrift, kind: string, found: DriftName): string[] {
  const { name, count, runs, first } = found
  const place = first ? placeWords(first) : ''
  return [
    kind,
    fitTo(safeLine(name), 40),
    String(count),
    String(runs),
    safeLine(`${engine} ${version}`),
    place,
  ]
}

function driftWords({ drifted, types, fields }: Pick<EngineDrift, 'drifted' | 'types' | 'fields'>): string {
  if (drifted === 0) return '-'
  const parts = [words(types.length, 'type'), words(fields.length, 'field')]
  return `${parts.filter(Boolean).join(', ')} in ${words(drifted, 'run')}`
}

/** `2 runs`; empty for none. */
function words(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`
}

function placeWords({ path, byte }: DriftPlace): string {
  return safeLine(byte === null ? path : `${path}:${byte}`)
}

/** Columns of equal width, numbers aligned right. The last column is not padded. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[column]!)), 0),
  )
  const numbers = widths.map((_, column) =>
    rows.slice(1).every((row) => Number.isInteger(Number(row[column]))),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => {
        if (column === row.length - 1) return cell
        const space = ' '.repeat(widths[column]! - widthOf(cell))
        return numbers[column] ? space + cell : cell + space
      })
      .join('  '),
  )
}
