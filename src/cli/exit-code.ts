import { type CompletionData, type Event, isEvent, type ResultData } from '../events/event.ts'
import { outcomeOf } from '../events/run-outcome.ts'
import { exits } from './exit-code-table.ts'

/** The help text about the exit codes of `events`, `chat`, `run` and `replay`, which are the same. */
export const runExits = `Exit codes, the first that applies:
  1  the run failed or was cancelled: the agent reported an error, a signal
     ended it, or its exit code was not 0, whatever its output says
  4  the output was cut in the middle of a record, even after a good end
  3  with --schema: no valid result (0 with a valid one)
  4  the run ended without saying how
  0  the run succeeded, or its turn is over and it needs input
  7  our own output could not be written, or its reader left, which ended the
     agent
  2  bad usage`

/** Events that pass through, and the exit code for them. */
export interface Watched extends AsyncIterable<Event> {
  /** For the last attempt that was seen. */
  exit(): number
}

/** Passes events on and remembers how their last attempt ended. */
export function watchEnd(events: AsyncIterable<Event>): Watched {
  let attempt: number | undefined
  let end: CompletionData | undefined
  let result: ResultData | undefined
  return {
    async *[Symbol.asyncIterator]() {
      for await (const event of events) {
        if (event.attempt_number !== attempt) {
          attempt = event.attempt_number
          end = undefined
          result = undefined
        }
        if (isEvent(event, 'lifecycle.completion.state')) end = event.data
        if (isEvent(event, 'lifecycle.run.result')) result = event.data
        yield event
      }
    },
    exit: () => exitCode(end, result),
  }
}

/**
 * The exit code for how a run ended: the same for the same evidence, in every command. The last payload
 * counts only for a run that did not fail: what a broken run left behind is not an answer.
 *
 * | # | evidence | code |
 * | --- | --- | --- |
 * | 1 | failed or cancelled | 1 |
 * | 2 | a cut record and no other failure, whatever came before it | 4 |
 * | 3 | with a schema: the last payload does not pass, or does | 3, or 0 |
 * | 4 | no known end | 4 |
 * | 5 | succeeded, needs input | 0 |
 */
function exitCode(end: CompletionData | undefined, result: ResultData | undefined): number {
  if (end === undefined) return exits.incomplete
  const outcome = outcomeOf(end)
  if (outcome === 'failed' && isOnlyCut(end)) return exits.incomplete
  if (outcome === 'failed' || outcome === 'cancelled') return exits.failed
  // After a good end, too: the part that was cut off may have said otherwise.
  if (end.evidence.truncated) return exits.incomplete
  if (result) return result.status === 'success' ? exits.good : exits.nothing
  return outcome === 'unknown' ? exits.incomplete : exits.good
}

function isOnlyCut({ reason_code, evidence }: CompletionData): boolean {
  if (reason_code !== 'MAX_TOKENS') return reason_code === 'TRUNCATED'
  return evidence.failure === null && evidence.signal === null && !evidence.exit_code
}
