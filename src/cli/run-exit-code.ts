import { type AgentEvent, type CompletionData, isEvent, type ResultData } from '../events/event.ts'
import { failureKind, outcomeOf } from '../events/run-outcome.ts'
import { exits } from './exit-codes.ts'

/** What it means that the reader of stdout left: the end of our agent, of the one on stdin, or nothing. */
const readerLeft = {
  run: `, or its reader left, which ended the
     agent`,
  stdin: `, or its reader left while stdin was
     read`,
  file: '',
}

/** The help text about the exit codes of a run: the same in all commands, but for a reader that left. */
export const runExits = (input: keyof typeof readerLeft) => `Exit codes, the first that applies:
  1  the run failed or was cancelled: the agent reported an error, a signal
     ended it, or its exit code was not 0, whatever its output says
  4  the output was cut in the middle of a record, even after a good end
  3  with --schema: no valid result
  4  the run ended without saying how, and there is no valid result
  5  the run needs input: a request or a question of the agent is open, or
     --done-marker was given and the marker is missing
  0  the run succeeded or finished
  7  our own output could not be written${readerLeft[input]}
  2  bad usage`

export interface Watched extends AsyncIterable<AgentEvent> {
  /** For the last attempt that was seen. */
  exit(): number
}

/** Passes events on, shows each to `see`, and remembers how their last attempt ended. */
export function watchEnd(events: AsyncIterable<AgentEvent>, see?: (event: AgentEvent) => void): Watched {
  let attempt: number | undefined
  let end: CompletionData | undefined
  let result: ResultData | undefined
  const watch = (next: IteratorResult<AgentEvent, undefined>) => {
    const event = next.value
    if (event === undefined) return next
    see?.(event)
    if (event.attempt_number !== attempt) {
      attempt = event.attempt_number
      end = undefined
      result = undefined
    }
    if (isEvent(event, 'lifecycle.completion.state')) end = event.data
    if (isEvent(event, 'lifecycle.run.result')) result = event.data
    return next
  }
  return {
    // By hand: an async generator takes three times as long per event.
    [Symbol.asyncIterator]() {
      const reader = events[Symbol.asyncIterator]()
      return { next: () => reader.next().then(watch), return: () => reader.return!() }
    },
    exit: () => exitCode(end, result),
  }
}

/**
 * The exit code for how a run ended: the same for the same evidence, in every command. The last payload
 * counts only for a run that did not fail: what a broken run left behind is not an answer.
 *
 * | outcome | code |
 * | --- | --- |
 * | cancelled | 1 |
 * | failed | 4 if its output was cut and nothing else is wrong, 3 if only the schema says no, else 1 |
 * | needs_input | 5 |
 * | succeeded, finished | 0 |
 * | unknown | 4 |
 */
function exitCode(end: CompletionData | undefined, result: ResultData | undefined): number {
  if (end === undefined) return exits.incomplete
  const outcome = outcomeOf(end, result?.status)
  if (outcome === 'failed') return failureExits[failureKind(end, result?.status) ?? 'error']
  return outcomeExits[outcome]
}

const failureExits = { error: exits.failed, cut: exits.incomplete, result: exits.nothing }
const outcomeExits = {
  cancelled: exits.failed,
  needs_input: exits.needsInput,
  succeeded: exits.good,
  finished: exits.good,
  unknown: exits.incomplete,
}
