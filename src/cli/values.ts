import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { type Code, Fault, quote } from '../base/fault.ts'
import { values } from '../streams/values.ts'
import type { Outcome } from '../values/outcome.ts'
import type { Where } from '../values/where/conditions.ts'
import type { Dropped } from '../values/where/where.ts'
import { exits } from './exits.ts'
import { explainValues } from './explain-values.ts'
import { openInput, readSchema, unreadable } from './input.ts'
import { flushed, printer } from './print.ts'
import { progress } from './progress.ts'
import { addCondition, droppedWords } from './where-option.ts'

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
  readonly root?: 'object' | 'any'
}

const examples = `
Looks at the whole input if it is one JSON document, else at <json> blocks, fenced blocks and bare objects.

Exit codes: 0 a valid value, 2 bad usage, 3 nothing valid, 4 the input was cut in the middle of a value,
7 the output cannot be written. A reader that leaves (| head) ends it with 0.

Examples:
  $ echo 'Sure: <json>{"a": 1,}</json>' | sluice values --tag json
  $ sluice values run.log --pick last --schema report.schema.json
  $ sluice values run.log --explain
  $ sluice values huge.log --tag json --items 'issues.*' --schema issue.schema.json
  $ codex exec --json "fix the test" | sluice values --lines
  $ sluice values huge.jsonl --lines --where type=turn.completed --where type=turn.failed`

/** `sluice values`: the payloads of an agent's output, as NDJSON outcomes. */
export function valuesCommand(exit: (code: number) => void): Command {
  return new Command('values')
    .summary('find, repair and validate the payloads in agent output')
    .description('Finds the payloads in the output of an agent and prints one outcome for each, as NDJSON.')
    .argument('[file]', 'the recorded output (default: stdin)')
    .option('--schema <file>', 'a JSON Schema that every value must pass')
    .option('--tag <name>', 'look only at blocks of this tag: json for <json>…</json>')
    .option('--lines', 'look only at NDJSON lines: each that begins like JSON is a value or a fault')
    .option('--strict', 'with --lines: every line that is not blank must be a record')
    .option(
      '--where <key=value>',
      'with --lines: only records with this scalar at their top level (again: for one key "or", for several "and")',
      addCondition,
    )
    .option('--envelope <field>', 'the field of an envelope that may hold the payload (default: response)')
    .option(
      '--explain',
      'print, for people, every candidate: what was changed where, and why it was taken or not',
    )
    .option(
      '--items <path>',
      'print the elements of a document one by one, as they close: issues.* (may be given again)',
      (path: string, paths: readonly string[] = []) => [...paths, path],
    )
    .addOption(
      new Option('--pick <which>', 'which outcomes to print')
        .choices(['each', 'first', 'last'])
        .default('each'),
    )
    .option('--partial', 'close a value that the input cut off, and list its incomplete paths')
    .addOption(
      new Option('--root <kind>', 'what a value must be (default: any with a schema, else object)').choices([
        'object',
        'any',
      ]),
    )
    .addHelpText('after', examples)
    .action(async (file: string | undefined, flags: Flags) => exit(await printValues(file, flags)))
}

async function printValues(file: string | undefined, flags: Flags): Promise<number> {
  const { schema: schemaFile, explain, strict, ...rest } = flags
  if (strict && !rest.lines) throw new Fault('BAD_OPTION', '--strict goes with --lines')
  const schema = schemaFile === undefined ? undefined : await readSchema(schemaFile)
  if (rest.where && !rest.lines) throw new Fault('BAD_OPTION', '--where goes with --lines')
  let dropped: Dropped | undefined
  const onDropped = (counts: Dropped) => {
    dropped = counts
  }
  const options = { ...rest, lines: strict ? ('strict' as const) : rest.lines, schema, onDropped }
  if (explain) return explainValues(file, options)
  const flow = values(options)
  const input = openInput(file)
  const print = printer()
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
          // A failure is not thrown in here: the pipeline could tell of a premature close instead.
          if (await print(recordOf(outcome)).catch(() => false)) continue
          left = true
          return
        }
      },
    )
  } catch (cause) {
    // Once stdout takes no more, the rest of the input is cut off on purpose.
    if (!left) throw unreadable(quote(file ?? 'stdin', 200), cause)
  }
  if (left) {
    await flushed()
    return exits.good
  }
  const words = tally.words()
  if (words) console.error(`sluice: ${words}`)
  if (dropped) console.error(`sluice: --where dropped ${droppedWords(dropped)}`)
  return tally.exit()
}

/** An outcome as it is printed: the frame's place, not its text, which is the input again. */
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

/** Counts what was printed, to say in the end how it went. */
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
    // No outcome at all is an empty list of items, which is as good as any.
    return this.#good > 0 || this.#faults.size === 0 ? exits.good : exits.nothing
  }

  words(): string {
    if (!this.#first || this.exit() === exits.good) return ''
    const counts = [...this.#faults].map(([code, count]) => (count > 1 ? `${code} × ${count}` : code))
    return `${counts.join(', ')}: ${this.#first.message}`
  }
}
