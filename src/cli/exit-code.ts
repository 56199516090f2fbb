import { type CompletionData, type Event, isEvent, type ResultData } from '../events/event.ts'
import { outcomeOf } from '../events/run-outcome.ts'
import { exits } from './exits.ts'

/** What `--help` says about the exit codes of `events`, `chat`, `run` and `replay`: they all have the same. */
export const runExits = `Exit codes, the first that fits: 1 the run failed or was cancelled (an exit code that is not 0 or a signal, whatever the
agent said), 4 its output was cut, 3 no valid result for --schema, 0 a valid result for --schema, 4 it ended without saying
how, 0 it succeeded or waits for input. 2 is bad usage.`

/**
 * The exit code for how a run ended: the same for the same evidence, by whichever command it is asked. The last payload
 * counts only for a run that did not fail: what a broken run left behind is no answer.
 *
 * | # | evidence | code |
 * | --- | --- | --- |
 * | 1 | failed or cancelled | 1 |
 * | 2 | a cut record and no other failure | 4 |
 * | 3 | with a schema: the last payload does not pass, or does | 3, or 0 |
 * | 4 | no known end | 4 |
 * | 5 | succeeded, needs input | 0 |
 */
export function exitCode(end: CompletionData | undefined, result: ResultData | undefined): number {
  if (end === undefined) return exits.incomplete
  const outcome = outcomeOf(end)
  if (outcome === 'failed' && end.reason_code === 'TRUNCATED') return exits.incomplete
  if (outcome === 'failed' || outcome === 'cancelled') return exits.failed
  if (result) return result.status === 'success' ? exits.good : exits.nothing
  return outcome === 'unknown' ? exits.incomplete : exits.good
}

/** Events that pass through, and the exit code for them. */
export interface Watched extends AsyncIterable<Event> {
  /** For the last attempt that was seen. */
  exit(): number
}

/** Lets events pass and remembers how their last attempt ended. */
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
