import { badOption } from '../../base/fault.ts'
import { costWords } from '../../events/cost.ts'
import type { AgentEvent } from '../../events/event.ts'
import { type ChangedFile, Changes, unifiedDiff } from '../../views/changes.ts'
import { type ComparedRun, Comparison, outcomeWords, type RunComparison } from '../../views/comparison.ts'
import { Conversation } from '../../views/conversation.ts'
import { countWords, durationWords, firstLine, grouped } from '../../views/words.ts'
import type { CommandTable } from '../command-table.ts'
import { type ColorFlags, coloring, columnsOf, wantsColor } from '../draw/flags.ts'
import { safe, safeLine } from '../draw/safe.ts'
import { tableRow } from '../draw/table.ts'
import { painter, styles } from '../draw/wrap.ts'
import { exits } from '../exit-codes.ts'
import { engineOption } from '../input/engine-option.ts'
import { type LastFlags, lastOptions, namedOrLast } from '../input/last-option.ts'
import { type RunFlags, runEvents } from '../input/run-input.ts'
import { output, printer } from '../print.ts'

interface Flags extends LastFlags, ColorFlags, Pick<RunFlags, 'engine' | 'session'> {
  readonly json?: boolean
}

const help = `
Of one run: all its edits as one diff, by file. With run --diff it is git's own
and can be applied; its paths begin in the folder of the run, so in a subfolder
of a repository add --directory=FOLDER. Else it has the edits as the agent made
them, and of files that a command changed only the names.

Of two runs: outcome, answer, result, files, calls, and where the conversations
part; thoughts, outputs, tokens, cost and time do not count as a difference.

Exit codes: 0 the runs are the same, or the diff of one was printed; 1 they
differ; 2 bad usage, or a run cannot be read.

Examples:
  $ npx agent-sluice diff .audit/latest
  $ npx agent-sluice diff --last | git apply
  $ npx agent-sluice diff runs/a runs/b
  $ npx agent-sluice diff runs/a runs/b --json | jq .differs`

/** `sluice diff`: what a run changed, or in what two runs differ. */
export default {
  about: 'Prints what a run changed as one diff by file, or compares two runs.',
  args: [
    ['[run]', 'the audit directory, or a log or session file'],
    ['[other]', 'another one, to compare it with'],
  ],
  options: [engineOption(), ['--json', 'print one JSON record'], ...lastOptions(), ...coloring],
  help,
  act: (one: string | undefined, other: string | undefined, flags: Flags) =>
    other === undefined ? printChanges(one, flags) : printComparison(one!, other, flags),
} satisfies CommandTable

async function printChanges(given: string | undefined, asked: Flags): Promise<number> {
  const { file, flags } = await namedOrLast(given, asked, '--last finds the run itself; leave out RUN')
  if (file === undefined)
    throw badOption('the run is missing; name an audit directory, a log or a session file, or give --last')
  const talk = new Conversation()
  const changes = new Changes()
  for await (const event of await runEvents(file, flags)) changes.take(event, talk.take(event))
  const files = changes.files()
  if (asked.json) await printer()({ files })
  else if (files.length === 0) console.error('sluice: the run changed no file')
  else await output()(drawn(unifiedDiff(files), asked))
  return exits.good
}

/** For a terminal in colors; in a pipe byte for byte, because it may be applied. */
function drawn(diff: string, flags: ColorFlags): string {
  const shown = process.stdout.isTTY ? safe(diff) : diff
  if (!wantsColor(flags)) return shown
  const paint = painter(true)
  const look = (line: string) => {
    const style = /^(?:diff |--- |\+\+\+ )/.test(line) ? styles.bold : signs[line[0] ?? '']
    return style && line !== '' ? paint(style, line) : line
  }
  return shown.split('\n').map(look).join('\n')
}

const signs: Readonly<Record<string, (typeof styles)[keyof typeof styles]>> = {
  '+': styles.green,
  '-': styles.red,
  '@': styles.cyan,
}

async function printComparison(one: string, other: string, flags: Flags): Promise<number> {
  if (flags.last || flags.home !== undefined)
    throw badOption('--last is one run; leave it out, or the others')
  const events = [await runEvents(one, flags), await runEvents(other, flags)] as const
  const found = await compared(events)
  if (flags.json) await printer()(found)
  else await output()(comparisonText(found, [one, other], flags))
  return found.same ? exits.good : exits.failed
}

/** Reads both, the one that is behind first: what one is ahead is held in memory. */
async function compared(events: readonly [AsyncIterable<AgentEvent>, AsyncIterable<AgentEvent>]) {
  const comparison = new Comparison()
  const readers = [events[0][Symbol.asyncIterator](), events[1][Symbol.asyncIterator]()] as const
  const over = [false, false]
  while (!over[0] || !over[1]) {
    const { next } = comparison
    const which = over[next] ? (next === 0 ? 1 : 0) : next
    const { done, value } = await readers[which].next()
    if (done) over[which] = true
    else comparison.take(which, value)
  }
  return comparison.result()
}

function comparisonText(found: RunComparison, names: readonly string[], flags: ColorFlags): string {
  const paint = painter(wantsColor(flags))
  const { runs, files, first, differs } = found
  const width = Math.max(20, Math.floor((columnsOf() - 16) / 2))
  const differing: ReadonlySet<string> = new Set(differs)
  const row = (name: string, cells: readonly [string, string]) => {
    const mark = differing.has(name) ? '≠' : ' '
    const line = tableRow([mark, name, ...cells.map(firstLine)], [1, 9, width, width])
    return differing.has(name) ? paint(styles.yellow, line) : line
  }
  const changed = files.filter(({ same }) => !same)
  const shown = facts.filter(([name]) => name !== 'result' || runs.some(({ result }) => result !== undefined))
  return [
    row('run', [names[0] ?? '', names[1] ?? '']),
    ...shown.map(([name, words]) =>
      row(name, name === 'files' ? [count(files, 0), count(files, 1)] : [words(runs[0]), words(runs[1])]),
    ),
    ...(changed.length > 0 ? ['\nFiles that differ:\n'] : []),
    ...changed.map(({ path, files: [a, b] }) => `  ${safeLine(path)}: ${fileWords(a)} | ${fileWords(b)}\n`),
    ...(first ? ['\nThe conversations part here:\n'] : ['\nThe conversations are the same.\n']),
    ...(first ?? []).map((step, side) => {
      const words = step ? `${step.event} ${step.kind}: ${firstLine(step.text)}` : 'nothing more'
      const line = `${side === 0 ? '<' : '>'} ${safeLine(words)}\n`
      return paint(side === 0 ? styles.red : styles.green, line)
    }),
  ].join('')
}

/** The rows of a comparison; the files are compared on their own. */
const facts: readonly (readonly [name: string, words: (run: ComparedRun) => string])[] = [
  ['outcome', outcomeWords],
  ['answer', ({ answer }) => answer ?? ''],
  ['result', ({ result }) => JSON.stringify(result) ?? ''],
  ['files', () => ''],
  ['calls', ({ calls }) => `${grouped(calls.called)}${calls.failed ? `, ${calls.failed} failed` : ''}`],
  [
    'tokens',
    ({ tokens }) => (tokens ? `${grouped(tokens.input ?? 0)} in, ${grouped(tokens.output ?? 0)} out` : ''),
  ],
  ['cost', ({ cost }) => costWords(cost)],
  ['time', ({ milliseconds }) => durationWords(milliseconds)],
]

function count(files: RunComparison['files'], side: 0 | 1): string {
  return countWords(files.filter(({ files: both }) => both[side]).length, 'file')
}

function fileWords(file: ChangedFile | undefined): string {
  if (!file) return 'not changed'
  const edits = file.edits.length > 1 ? `, ${countWords(file.edits.length, 'edit')}` : ''
  return `${file.change ?? 'edited'}${edits}`
}
