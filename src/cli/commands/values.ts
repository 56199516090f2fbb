import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { type Code, Fault, quote } from '../../base/fault.ts'
import { values } from '../../streams/values.ts'
import type { Outcome } from '../../values/outcome.ts'
import type { Where } from '../../values/where/conditions.ts'
import type { Dropped } from '../../values/where/where.ts'
import { progress } from '../draw/progress.ts'
import { exits } from '../exit-code-table.ts'
import { explainValues } from '../input/explain-values.ts'
import { openInput, readSchema, unreadable } from '../input/input.ts'
import { addCondition, droppedWords } from '../input/where-option.ts'
import { flushed, printer } from '../print.ts'
import { rawPrinter } from './raw.ts'

interface Flags {
  readonly schema?: string
  readonly tag?: string
  readonly lines?: boolean
  readonly strict?: boolean
  readonly where?: Where
  readonly envelope?: string
  readonly explain?: boolean
  readonly items?: readonly string[]
  readonly pick: 'each' | 'first' | 'last'
  readonly partial?: boolean
  readonly raw?: boolean
  readonly root?: 'object' | 'any'
}

const examples = `
Reads the whole input as one JSON document if it is one. Otherwise it looks for
<json> blocks, fenced blocks and bare objects.

With --raw a string with line ends keeps them, so one value can take more
than one line. Leave out --raw if each line must be one value.

Exit codes: 0 a valid value, 2 bad usage, 3 nothing valid, 4 the input was cut
in the middle of a value, 7 the output cannot be written. A reader that leaves
early (| head) ends it with 0.

Examples:
  $ echo 'Sure: <json>{"a": 1,}</json>' | npx agent-sluice values --tag json
  $ npx agent-sluice values run.log --pick last --schema report.schema.json
  $ npx agent-sluice values run.log --explain
  $ npx agent-sluice values huge.log --items 'issues.*' --schema issue.json
  $ npx agent-sluice values run.log --items 'files.*' --root any --raw
  $ codex exec --json "fix the test" | npx agent-sluice values --lines
  $ npx agent-sluice values huge.jsonl --lines --where type=turn.completed`

/** `sluice values`: the payloads in the output of an agent, as NDJSON outcomes. */
export function valuesCommand(exit: (code: number) => void): Command {
  return new Command('values')
    .description('Finds the payloads in the output of an agent and prints one outcome for each, as NDJSON.')
    .argument('[file]', 'the recorded output (default: stdin)')
    .option('--schema <file>', 'a JSON Schema that every value must pass')
    .option('--tag <name>', 'look only at blocks of this tag: json for <json>…</json>')
    .option('--lines', 'look only at NDJSON lines: each line that begins like JSON')
    .option('--strict', 'with --lines: every line that is not blank must be a record')
    .option(
      '--where <key=value>',
      'with --lines: only records that have this (may be repeated)',
      addCondition,
    )
    .option(
      '--envelope <field>',
      'the field of a wrapper object that may contain the payload (default: response)',
    )
    .option('--explain', 'explain every candidate: what was repaired, and why it was taken or not')
    .option(
      '--items <path>',
      'print the elements of a document one by one: issues.* (may be repeated)',
      (path: string, paths: readonly string[] = []) => [...paths, path],
    )
    .addOption(
      new Option('--pick <which>', 'which outcomes to print')
        .choices(['each', 'first', 'last'])
        .default('each'),
    )
    .option('--partial', 'complete a value that was cut off, and list its incomplete paths')
    .addOption(
      new Option('--root <kind>', 'what a value must be (default: any with a schema, else object)').choices([
        'object',
        'any',
      ]),
    )
    .option('--raw', 'print bare values: strings without quotes, anything else as JSON; faults go to stderr')
    .addHelpText('after', examples)
    .action(async (file: string | undefined, flags: Flags) => exit(await printValues(file, flags)))
}

async function printValues(file: string | undefined, flags: Flags): Promise<number> {
  const { schema: schemaFile, explain, strict, raw, ...rest } = flags
  if (strict && !rest.lines) throw new Fault('BAD_OPTION', '--strict needs --lines')
  if (raw && explain) throw new Fault('BAD_OPTION', '--raw and --explain exclude each other')
  const schema = schemaFile === undefined ? undefined : await readSchema(schemaFile)
  if (rest.where && !rest.lines) throw new Fault('BAD_OPTION', '--where needs --lines')
  let dropped: Dropped | undefined
  const onDropped = (counts: Dropped) => {
    dropped = counts
  }
  const options = { ...rest, lines: strict ? ('strict' as const) : rest.lines, schema, onDropped }
  if (explain) return explainValues(file, options)
  const flow = values(options)
  const input = openInput(file)
  const print = raw ? rawPrinter() : recordPrinter()
  const tally = new Tally()
  let left = false
  try {
    await pipeline(
      input.stream,
      progress(input.size),
      flow,
      async (outcomes: AsyncIterable<Outcome<unknown>>) => {
        for await (const outcome of outcomes) {
          tally.add(outcome)
          // A failure is not thrown here: the pipeline could report a premature close instead.
          if (await print(outcome).catch(() => false)) continue
          left = true
          return
        }
      },
    )
  } catch (cause) {
    // After stdout is closed, the rest of the input is cut off on purpose.
    if (!left) throw unreadable(quote(file ?? 'stdin', 200), cause)
  }
  if (left) {
    await flushed()
    return exits.good
  }
  const words = raw ? '' : tally.words()
  if (words) console.error(`sluice: ${words}`)
  if (dropped) console.error(`sluice: --where dropped ${droppedWords(dropped)}`)
  return tally.exit()
}

function recordPrinter(): (outcome: Outcome<unknown>) => Promise<boolean> {
  const print = printer()
  return (outcome) => print(recordOf(outcome))
}

/** An outcome as it is printed: with the place of the frame, not its text, which would repeat the input. */
function recordOf(outcome: Outcome<unknown>): object {
  const { kind, from, to, path } = outcome.frame
  const place = path === undefined ? { kind, from, to } : { kind, from, to, path }
  const { repair_level, notes } = outcome
  if (outcome.ok) {
    const { value, incomplete } = outcome
    return { ok: true, value, repair_level, notes, ...place, ...(incomplete && { incomplete }) }
  }
  const { code, message, at, errors } = outcome.fault
  const fault = { code, message, ...(at !== undefined && { at }), ...(errors && { errors }) }
  return {
    ok: false,
    fault,
    repair_level,
    notes,
    ...place,
    ...(outcome.comment && { comment: outcome.comment }),
  }
}

/** Counts the printed outcomes, for the exit code and the summary. */
class Tally {
  #good = 0
  #first: Fault | undefined
  readonly #faults = new Map<Code, number>()

  add(outcome: Outcome<unknown>): void {
    if (outcome.ok) this.#good++
    else {
      this.#first ??= outcome.fault
      this.#faults.set(outcome.fault.code, (this.#faults.get(outcome.fault.code) ?? 0) + 1)
    }
  }

  exit(): number {
    if (this.#faults.size === 1 && this.#faults.has('TRUNCATED')) return exits.incomplete
    // No outcome at all means an empty list of items, which is valid.
    return this.#good > 0 || this.#faults.size === 0 ? exits.good : exits.nothing
  }

  words(): string {
    if (!this.#first || this.exit() === exits.good) return ''
    const counts = [...this.#faults].map(([code, count]) => (count > 1 ? `${code} × ${count}` : code))
    return `${counts.join(', ')}: ${this.#first.message}`
  }
}
