import { jsonValue } from '../json/strict.ts'
import { callText } from './call-words.ts'
import { isRecord } from './engine.ts'
import type { AgentEvent, RawRef } from './event.ts'
import { endPhrase, isGood, outcomeOf } from './run-outcome.ts'

/** What went wrong: a tool, the engine, a turn, the agent's output, its result, a limit, the run's end. */
export type ProblemKind = 'tool' | 'engine' | 'turn' | 'output' | 'result' | 'limit' | 'end'

/** Something that went wrong in a run, in one line, and its position. */
export interface Problem {
  readonly kind: ProblemKind
  readonly title: string
  readonly attempt: number
  readonly seq: number
  readonly raw_ref: RawRef | null
}

/** Maximum length of a title, in characters. */
export const MAX_TITLE = 300

/**
 * The problem that an event reports; undefined if there is none. An error after which the engine itself
 * retries is a warning and not a problem.
 *
 * @example
 * for await (const event of replay('.audit/latest')) {
 *   const problem = problemOf(event)
 *   if (problem) console.log(problem.kind, problem.title)
 * }
 */
export function problemOf(event: AgentEvent): Problem | undefined {
  const reported = titleOf(event)
  return reported && problemAt(event, ...reported)
}

/** A problem at an event, whatever its type. */
export function problemAt(
  { attempt_number, seq, raw_ref }: Pick<AgentEvent, 'attempt_number' | 'seq' | 'raw_ref'>,
  kind: ProblemKind,
  title: string,
): Problem {
  return { kind, title: plainWords(title), attempt: attempt_number, seq, raw_ref }
}

/** Characters to look at: the body of an error may be a long JSON. */
const MAX_LOOK = 65_536

/** A message in one line, and the message of a JSON body in its place: `401: {"message":"No key"}`. */
function plainWords(message: string): string {
  // Some services put the JSON of another one into their message.
  const words = wordsIn(wordsIn(message.slice(0, MAX_LOOK)))
  const lines = words.slice(0, 2 * MAX_TITLE).split('\n')
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
    .slice(0, MAX_TITLE)
}

/** The text with the message of its JSON body in place of that. */
function wordsIn(text: string): string {
  const from = text.search(/\{\s*"/)
  const to = text.lastIndexOf('}') + 1
  const body = from < 0 ? undefined : jsonValue(text.slice(from, to))
  // Not with Rec, which alone is 2 KB of the page.
  const { error, message, detail } = isRecord(body) ? body : {}
  const said = [isRecord(error) ? error['message'] : undefined, message, error, detail]
  const words = said.find((one) => typeof one === 'string')
  return words === undefined ? text : text.slice(0, from) + words + text.slice(to)
}

/** We ended the run. */
const limits: ReadonlySet<string> = new Set(['RUN_TIMEOUT', 'RUN_IDLE', 'RUN_LIMIT'])

function titleOf(event: AgentEvent): [ProblemKind, string] | undefined {
  switch (event.type) {
    case 'tool.call.failed': {
      const { name, exit_code, error } = event.data
      const code = exit_code === undefined ? '' : ` exit ${exit_code}`
      const text = callText(event.data)
      const reported = (failLine(text) ?? error ?? text.slice(text.lastIndexOf('\n') + 1)).trim()
      return ['tool', `${name}${code} failed${reported === '' ? '' : `: ${reported}`}`]
    }
    case 'diagnostic.engine.error': {
      const { severity, retryable, message } = event.data
      const bad = severity === 'fatal' || (severity === 'error' && retryable !== true)
      return bad ? ['engine', message] : undefined
    }
    case 'diagnostic.parser.warning': {
      const { severity, code, message } = event.data
      if (limits.has(code)) return ['limit', message]
      const bad = severity === 'fatal' || severity === 'error' || code === 'TRUNCATED'
      return bad ? ['output', message] : undefined
    }
    case 'lifecycle.run.status':
      return event.data.status === 'turn_failed'
        ? ['turn', `the turn failed${event.data.reason === undefined ? '' : `: ${event.data.reason}`}`]
        : undefined
    case 'lifecycle.run.result': {
      const [error] = event.data.errors ?? []
      const what = error && `${error.path} ${error.message}`.trimStart()
      const words = what === undefined ? 'no valid result' : `its result fails the schema: ${what}`
      return event.data.status === 'failed' ? ['result', words] : undefined
    }
    case 'lifecycle.completion.state': {
      const outcome = outcomeOf(event.data)
      return isGood(outcome) || outcome === 'needs_input'
        ? undefined
        : ['end', endPhrase(outcome, event.data.failure_class)]
    }
    default:
      return undefined
  }
}

/** The line that says what failed, as programs that test print it: it says more than an error, or the end. */
function failLine(text: string): string | undefined {
  const lines = text.slice(-MAX_LOOK).split('\n')
  return lines.find((line) => /\bFAIL|^not ok/.test(line))
}
