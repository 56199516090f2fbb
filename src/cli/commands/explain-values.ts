import { Fault, type Note, quote, visible } from '../../base/fault.ts'
import type { Frame } from '../../frames/frame.ts'
import { flow } from '../../streams/flow.ts'
import { chunkIntake } from '../../text/chunk.ts'
import { type Explained, explainStage } from '../../values/explain.ts'
import type { Outcome } from '../../values/outcome.ts'
import { isBetter, rankOf } from '../../values/pick.ts'
import type { Schema } from '../../values/schema/schema.ts'
import type { ValuesOptions } from '../../values/values.ts'
import { exits } from '../exit-code-table.ts'
import { openInput, unreadable } from '../input/input.ts'
import { output } from '../print.ts'

/**
 * `sluice values --explain`: every candidate in the input, for people: where it is, what was changed in it
 * and where, what the schema says, and whether it is taken.
 *
 *     1  tag, bytes 6-28: {"a":1}
 *          dropped a comma at byte 18: "," becomes ""
 *          taken
 */
export async function explainValues(
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
      if (
        outcome &&
        pick !== 'each' &&
        (!chosen || isBetter(pick, outcome, rankOf(outcome), chosen, rankOf(chosen)))
      ) {
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
