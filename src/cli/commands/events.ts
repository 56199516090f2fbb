import type { AgentEvent, EventParser } from '../../events/event.ts'
import type { CommandTable } from '../command-table.ts'
import { type LastFlags, lastOptions, namedOrLast } from '../input/last-option.ts'
import { FILE, type RunFlags, readerLeft, runEvents, runInput } from '../input/run-input.ts'
import { flushed, linePrinter } from '../print.ts'
import { runExits, watchEnd } from '../run-exit-code.ts'

const help = `
${runExits('stdin')}

Examples:
  $ codex exec --json "fix the test" | npx agent-sluice events
  $ npx agent-sluice events --stdout out.log --stderr err.log --exit 1
  $ npx agent-sluice events .audit/latest | jq .type
  $ npx agent-sluice events --last`

/** `sluice events`: the output of a run as RASP records, one per line. */
export default {
  about: 'Reads the output of an agent and prints what it meant as RASP events, as NDJSON.',
  args: [FILE],
  options: [...runInput, ...lastOptions(), ['--json', 'print the events as NDJSON, as it does without']],
  help,
  act: printEvents,
} satisfies CommandTable

async function printEvents(given: string | undefined, asked: RunFlags & LastFlags): Promise<number> {
  const { file, flags } = await namedOrLast(given, asked)
  const events = watchEnd(await runEvents(file, flags))
  const print = linePrinter()
  const lineOf = eventLines()
  for await (const event of events) {
    const open = print(lineOf(event))
    if (open !== true && !(await open)) return readerLeft(file, flags)
  }
  return (await flushed()) ? events.exit() : readerLeft(file, flags)
}

/**
 * Makes the lines of events as a flow gives them: what `JSON.stringify` makes, in two thirds of its time.
 * Only `data` is left to it; the texts that the events of a run share are made once.
 */
export function eventLines(): (event: AgentEvent) => string {
  const ofRun = lastText<string>()
  const ofSource = lastText<EventParser>()
  const ofSession = lastText<string | undefined>()
  return ({ type, run_id, seq, ts, source, event, data, correlation, attempt_number, raw_ref }) => {
    const { session_id, event_id } = correlation
    const run = ofRun(run_id)
    // What follows the run in an id has no character that JSON escapes.
    const id = run.length === run_id.length + 2 ? `"${event_id}"` : JSON.stringify(event_id)
    const session = session_id === undefined ? '' : `"session_id":${ofSession(session_id)},`
    return (
      `{"protocol_version":"rasp/1.0","type":"${type}","run_id":${run},"seq":${seq},"ts":"${ts}",` +
      `"source":${ofSource(source)},"event":{"category":"${event.category}","type":"${type}"},` +
      `"data":${JSON.stringify(data)},"correlation":{${session}"event_id":${id}},` +
      `"attempt_number":${attempt_number},"raw_ref":${placeOf(raw_ref)}}\n`
    )
  }
}

/** The JSON text of a value, made again only when another one comes. */
function lastText<T>(): (value: T) => string {
  let last: T | undefined
  let text = ''
  return (value) => {
    if (value !== last) text = JSON.stringify(value)
    last = value
    return text
  }
}

function placeOf(place: AgentEvent['raw_ref']): string {
  if (place === null) return 'null'
  const { attempt_number, stream, byte_from, byte_to } = place
  return (
    `{"attempt_number":${attempt_number},"stream":"${stream}","byte_from":${byte_from},"byte_to":${byte_to},` +
    '"encoding":"utf-8"}'
  )
}
