import { pipeline } from 'node:stream/promises'
import { InvalidArgumentError } from 'commander'
import { badOption, type Code, Fault, type Note, quote, visible } from '../../base/fault.ts'
import type { Frame } from '../../frames/frame.ts'
import { jsonValue } from '../../json/strict.ts'
import { flow } from '../../streams/flow.ts'
import { values } from '../../streams/values.ts'
import { chunkIntake } from '../../text/chunk.ts'
import { type Explained, explainStage } from '../../values/explain.ts'
import type { BadOutcome, Outcome } from '../../values/outcome.ts'
import { choiceOf, isBetter } from '../../values/pick.ts'
import type { Schema } from '../../values/schema/schema.ts'
import type { ValuesOptions } from '../../values/values.ts'
import type { JsonScalar, Where } from '../../values/where/conditions.ts'
import type { DroppedLines } from '../../values/where/where.ts'
import { countWords } from '../../views/words.ts'
import type { CommandTable } from '../command-table.ts'
import { safe } from '../draw/safe.ts'
import { progress } from '../draw/status-line.ts'
import { exits } from '../exit-codes.ts'
import { openInput, readSchema, unreadable } from '../input/open-input.ts'
import { maxRepair, oneMore } from '../input/option-values.ts'
import { flushed, harmless, linePrinter, output } from '../print.ts'

interface Flags
  extends Pick<ValuesOptions, 'tag' | 'where' | 'envelope' | 'items' | 'partial' | 'maxRepair' | 'root'> {
  readonly schema?: string
  readonly lines?: boolean
  readonly strict?: boolean
  readonly explain?: boolean
  readonly pick: 'each' | 'first' | 'last'
  readonly raw?: boolean
}

const help = `
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
export default {
  about: 'Finds the payloads in the output of an agent and prints one outcome for each, as NDJSON.',
  args: [['[file]', 'the recorded output (default: stdin)']],
  options: [
    ['--schema <file>', 'a JSON Schema that every value must pass'],
    ['--tag <name>', 'look only at blocks of this tag: json for <json>…</json>'],
    ['--lines', 'look only at NDJSON lines: each line that begins like JSON'],
    ['--strict', 'with --lines: every line that is not blank must be a record'],
    ['--where <key=value>', 'with --lines: only records that have this (may be repeated)', addCondition],
    ['--envelope <field>', 'the field of a wrapper object that may contain the payload (default: response)'],
    ['--explain', 'explain every candidate: what was repaired, and why it was taken or not'],
    ['--items <path>', 'print the elements of a document one by one: issues.* (may be repeated)', oneMore],
    ['--pick <which>', 'which outcomes to print', ['each', 'first', 'last'], 'each'],
    maxRepair,
    ['--partial', 'complete a value that was cut off, and list its incomplete paths'],
    ['--root <kind>', 'what a value must be (default: any with a schema, else object)', ['object', 'any']],
    [
      '--raw',
      'print bare values: strings without quotes, anything else as JSON; faults, and a text without payload, go to stderr',
    ],
  ],
  help,
  act: printValues,
} satisfies CommandTable

async function printValues(file: string | undefined, flags: Flags): Promise<number> {
  const { schema: schemaFile, explain, strict, raw, ...rest } = flags
  if (strict && !rest.lines) throw badOption('--strict is for --lines; add that, or leave it out')
  if (raw && explain) throw badOption('--raw and --explain exclude each other; leave one of them out')
  const schema = await readSchema(schemaFile)
  if (rest.where && !rest.lines) throw badOption('--where is for --lines; add that, or leave it out')
  let dropped: DroppedLines | undefined
  const onDropped = (counts: DroppedLines) => {
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
          const open = print(outcome)
          // A failure is not thrown here: the pipeline could report a premature close instead.
          if (open === true || (await open.catch(() => false))) continue
          left = true
          return
        }
      },
    )
  } catch (cause) {
    // After stdout is closed, the rest of the input is cut off on purpose.
    if (!left) throw unreadable(quote(file ?? 'stdin', 200), cause)
  }
  if (!(await flushed()) || left) return exits.good
  const words = raw ? '' : tally.words()
  if (words) console.error(`sluice: ${words}`)
  if (dropped) console.error(`sluice: --where dropped ${droppedWords(dropped)}`)
  return tally.exit()
}

function recordPrinter(): (outcome: Outcome<unknown>) => true | Promise<boolean> {
  const print = linePrinter()
  return (outcome) => print(lineOf(outcome))
}

/**
 * The line of an outcome, the same as that of its record. For most of them, which needed no repair, only the
 * value is left to `JSON.stringify`: it takes twice as long for the record.
 */
function lineOf(outcome: Outcome<unknown>): string {
  const { kind, from, to, path } = outcome.frame
  const { ok, repair_level, notes } = outcome
  if (!ok || repair_level !== 'none' || notes.length > 0 || outcome.incomplete || path !== undefined)
    return `${JSON.stringify(recordOf(outcome))}\n`
  const value = JSON.stringify(outcome.value)
  return `{"ok":true,"value":${value},"repair_level":"none","notes":[],"kind":"${kind}","from":${from},"to":${to}}\n`
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

/** What is wrong, for people: a limit has the name of its option. */
function faultWords({ fault, notes }: BadOutcome): string {
  const skipped = notes.some(({ code }) => code === 'REPAIR_SKIPPED')
  return skipped
    ? `${fault.message}; repair was not tried, --max-repair allows more characters`
    : fault.message
}

/** Counts the printed outcomes, for the exit code and the summary. */
class Tally {
  #good = 0
  #first: BadOutcome | undefined
  readonly #faults = new Map<Code, number>()

  add(outcome: Outcome<unknown>): void {
    if (outcome.ok) this.#good++
    else {
      this.#first ??= outcome
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
    return `${counts.join(', ')}: ${faultWords(this.#first)}`
  }
}

/**
 * Prints values for shells, like `jq -r`: a string without quotes and escapes, anything else as JSON on one
 * line, each followed by a line end. A string that contains line ends keeps them. On a terminal, control
 * characters are escaped. Faults, and the missing parts of a value that was cut off, go to stderr.
 */
function rawPrinter(): (outcome: Outcome<unknown>) => Promise<boolean> {
  const write = output()
  const { isTTY } = process.stdout
  return async (outcome) => {
    if (!outcome.ok) {
      const { code, at } = outcome.fault
      console.error(`sluice: ${code}${at === undefined ? '' : ` at byte ${at}`}: ${faultWords(outcome)}`)
      // Without a payload the text itself may be what to read.
      if (outcome.comment) console.error(safe(outcome.comment.text.trimEnd()))
      return true
    }
    const { value, incomplete = [] } = outcome
    if (incomplete.length > 0) {
      const paths = incomplete.slice(0, 16).map((path) => (path === '' ? 'the root' : quote(path, 60)))
      console.error(`sluice: TRUNCATED: the value was cut off; incomplete: ${paths.join(', ')}`)
    }
    if (typeof value !== 'string') return write(`${harmless(JSON.stringify(value))}\n`)
    return write(`${isTTY ? safe(value) : value}\n`)
  }
}

/**
 * Adds one `--where` to those before it. A value that is a JSON number or literal counts both as that
 * and as text, because a shell has no types; in JSON quotes it is only text.
 *
 * @example
 * addCondition('exit_code=1') // { exit_code: ['1', 1] }
 * addCondition('id="1"') // { id: ['1'] }
 */
function addCondition(option: string, before: Where = {}): Where {
  const split = option.indexOf('=')
  if (split < 1) throw new InvalidArgumentError('Give a key and a value, such as type=turn.completed.')
  const key = option.slice(0, split)
  const wanted = [...valuesOf(before, key), ...scalarsOf(option.slice(split + 1))]
  // Entries, because a key may be `__proto__`.
  return Object.fromEntries([...Object.entries(before).filter(([name]) => name !== key), [key, wanted]])
}

function valuesOf(where: Where, key: string): readonly JsonScalar[] {
  if (!Object.hasOwn(where, key)) return []
  return [where[key]].flat() as readonly JsonScalar[] // cast: the key exists
}

function scalarsOf(text: string): readonly JsonScalar[] {
  const parsed = jsonValue(text)
  if (typeof parsed === 'string') return [parsed]
  const isScalar = parsed === null || typeof parsed === 'boolean' || Number.isFinite(parsed)
  return isScalar ? [text, parsed as JsonScalar] : [text] // cast: checked in the line above
}

function droppedWords({ unread, parsed }: DroppedLines): string {
  const lines = `${countWords(unread, 'line')} unread`
  return parsed === 0 ? lines : `${lines} and ${parsed} after parsing`
}

/**
 * `sluice values --explain`: every candidate in the input, for people: where it is, what was changed in it
 * and where, what the schema says, and whether it is taken.
 *
 *     1  tag, bytes 6-28: {"a":1}
 *          dropped a comma at byte 18: "," becomes ""
 *          taken
 */
async function explainValues(
  file: string | undefined,
  options: ValuesOptions<Schema | undefined>,
): Promise<number> {
  const { pick = 'each' } = options
  const input = openInput(file)
  const write = output()
  let count = 0
  let passed = 0
  let taken = 0
  let chosen: Outcome<unknown> | undefined
  try {
    for await (const explained of input.stream.pipe(flow(explainStage(options), { intake: chunkIntake }))) {
      const outcome = 'outcome' in explained ? explained.outcome : undefined
      const good = outcome?.ok === true
      count++
      if (good) passed++
      if (outcome && pick !== 'each' && (!chosen || isBetter(pick, choiceOf(outcome), choiceOf(chosen)))) {
        chosen = outcome
        taken = good ? count : 0
      }
      const verdict = pick === 'each' && good ? '     taken\n' : ''
      const lines = [`${count}  ${headOf(explained.frame)}`, ...linesOf(explained)].join('\n     ')
      if (!(await write(`${lines}\n${verdict}`))) return exits.good
    }
  } catch (cause) {
    if (Fault.is(cause)) throw cause
    throw unreadable(quote(file ?? 'stdin', 200), cause)
  }
  if (pick !== 'each') {
    const which = taken === 0 ? 'nothing is taken' : `candidate ${taken} is taken, the ${pick} that passes`
    await write(`${passed} of ${count} pass; ${which}\n`)
  }
  return passed > 0 ? exits.good : exits.nothing
}

function headOf({ kind, label, from, to, text, open }: Frame): string {
  const name =
    kind === 'text' ? 'the whole input' : kind === 'object' ? 'object' : `${kind} ${label ?? ''}`.trim()
  const cut = open ? ', cut off' : ''
  return `${visible(name)}, bytes ${from}-${to}${cut}${text === '' ? '' : `: ${quote(text, 60)}`}`
}

function linesOf(explained: Explained): string[] {
  if ('skipped' in explained) return [`skipped: ${visible(explained.skipped)}`]
  const { outcome } = explained
  const notes = outcome.notes.flatMap(noteLines)
  if (outcome.ok) return notes.length > 0 ? notes : ['JSON as it is']
  const { code, message, at, errors = [] } = outcome.fault
  const place = at === undefined ? '' : ` at byte ${at}`
  const rules = errors.map((error) => `schema: ${error.path || 'the root'} ${error.message}`)
  return [...notes, ...rules, `not taken: ${code}${place}: ${message}`]
}

function noteLines({ code, message, changes }: Note): string[] {
  if (!changes) return [`note: ${code}: ${visible(message)}`]
  return changes.map(({ kind, at, before, after }) => {
    const what = before === '' && after === '' ? '' : `: ${quote(before)} becomes ${quote(after)}`
    return `${kind} at byte ${at}${what}`
  })
}
