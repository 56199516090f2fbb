import { callSubject } from '../events/call-subject.ts'
import type { AgentRequest, CompletionData, Event, FailureClass, RawRef } from '../events/event.ts'
import { failureKind, isGood, outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { jsonValue } from '../json/strict.ts'
import { Conversation, type Item, type RequestItem, type ToolItem } from './conversation.ts'
import { MAX_TITLE, type Problem, problemAt } from './problems.ts'
import { askWords, callText } from './tool-text.ts'

/** A call that failed, or that did not finish. */
export interface FailedCall {
  readonly name: string
  /** Its command, path or query. */
  readonly subject: string
  readonly finished: boolean
  readonly exit_code?: number
  /** It was not allowed. */
  readonly denied?: true
  /** The end of its output. */
  readonly lines: readonly string[]
  readonly seq: number
  readonly raw_ref: RawRef | null
}

/** Why a run ended as it did: the facts to look at first. */
export interface Why {
  /** Missing while the run is in progress. */
  readonly outcome?: RunOutcome
  /** Of a run that failed: why, in one word. */
  readonly failure_class?: FailureClass
  readonly completion?: CompletionData
  /** The first problem that the run did not recover from. Missing if nothing went wrong. */
  readonly first?: Problem
  /** The last error, if it is another one. */
  readonly last?: Problem
  /** The last file that was changed. */
  readonly file?: { readonly path: string; readonly change: 'created' | 'modified' | 'deleted' }
  /** The last call that failed, or the one that did not finish. */
  readonly call?: FailedCall
  /** What the agent asked, and nobody answered: the request that it waits for, or waited for at its end. */
  readonly request?: Pick<AgentRequest, 'id' | 'tool' | 'title'> & Pick<Problem, 'seq' | 'raw_ref'>
  /** The last lines of stderr, where nothing but the exit code tells that the run failed. */
  readonly stderr?: readonly string[]
}

/** Lines of a failed call to keep. */
const MAX_LINES = 12
const MAX_STDERR = 3

/**
 * Finds out why a run ended as it did, from the events of its last attempt. A failed tool is not the reason
 * if the agent continued after it; an error of the engine is, unless the engine continued after it. If the
 * engine reports no error, a call that did not finish comes first, then a line on stderr that reads like an
 * error, then the end itself.
 *
 * @example
 * const { first } = await why(replay('.audit/latest'))
 * console.log(first?.title)
 */
export async function why(events: AsyncIterable<Event> | Iterable<Event>): Promise<Why> {
  const reason = whyOf()
  for await (const event of events) reason.write(event)
  return reason.why()
}

/** The same, event by event. */
export function whyOf(): { write(event: Event): Item; why(): Why } {
  let attempt: number | undefined
  let facts: Facts = { talk: new Conversation() }

  const write = (event: Event) => {
    if (event.attempt_number !== attempt) {
      attempt = event.attempt_number
      facts = { talk: new Conversation() }
    }
    return note(facts, event)
  }
  return { write, why: () => conclude(facts) }
}

/** What is remembered of an attempt: the first of each kind, and where it matters the last. */
interface Facts {
  /** The first error of the engine that it did not recover from; it never recovers from a fatal one. */
  engine?: Problem | undefined
  fatal?: Problem
  /** The first error of the engine, whether it recovered or not. */
  engineEver?: Problem
  /** The first failed call that the agent did not continue after. */
  tool?: Problem | undefined
  /** The first problem, whether the run recovered or not. */
  earliest?: Problem
  /** The last problem, except the end. */
  latest?: Problem
  /** Output that stops in the middle. */
  cut?: Problem
  result?: Problem
  /** The limit that ended it. */
  limit?: Problem
  /** The first and the last line that no engine understands but that read like an error. */
  hints?: { first: Problem; last: Problem }
  lastLine?: Problem
  stderr?: readonly string[]
  /** The conversation began: what comes before is about the start of the program. */
  begun?: boolean
  completion?: CompletionData
  end?: Problem
  failed?: FailedCall
  file?: Why['file']
  request?: RequestItem
  inTurn?: boolean
  inMessage?: boolean
  /** Where bytes were last understood. */
  lastRef?: RawRef
  readonly talk: Conversation
}

function note(facts: Facts, event: Event): Item {
  if (event.raw_ref) facts.lastRef = event.raw_ref
  if (event.correlation.session_id !== undefined) facts.begun = true
  const item = facts.talk.take(event)
  if (item.problem) keep(facts, event, item.problem)
  noteItem(facts, event, item)
  return item
}

function noteItem(facts: Facts, event: Event, item: Item): void {
  switch (item.kind) {
    case 'end':
      facts.completion = item.end
      return
    case 'status':
      if (item.status === 'turn_started') {
        facts.inTurn = true
        delete facts.fatal
      }
      if (item.status === 'turn_completed' || item.status === 'awaiting_user_input') {
        facts.inTurn = false
        overcome(facts)
      }
      return
    case 'request':
      if (item.by === undefined || item.by === 'end') facts.request ??= item
      else if (facts.request === item) delete facts.request
      return
    case 'prompt':
      // A new prompt: what failed before may still be recovered from.
      delete facts.fatal
      return
    case 'message':
      facts.inMessage = item.growing || item.incomplete
      if (!item.growing) facts.begun = true
      if (!facts.inMessage) overcome(facts)
      return
    case 'tool':
      if (item.state === 'completed') overcome(facts)
      if (item.state === 'failed') facts.failed = callOf(item, event)
      return
    case 'artifact':
      facts.file = { path: item.path, change: item.change }
      return
    case 'raw': {
      const line = item.lines.at(-1)!
      if (line.trim() !== '') {
        facts.lastLine = problemAt(event, 'output', line)
        if (item.stream === 'stderr')
          facts.stderr = [...(facts.stderr ?? []), facts.lastLine.title].slice(-MAX_STDERR)
      }
      const title = errorLine(line)
      if (title === undefined) return
      const last = problemAt(event, 'output', title)
      facts.hints = { first: facts.hints?.first ?? last, last }
      return
    }
  }
}

function keep(facts: Facts, event: Event, problem: Problem): void {
  switch (problem.kind) {
    case 'end':
    case 'result':
    case 'limit':
      facts[problem.kind] = problem
      return
    case 'output':
      facts.cut ??= problem
      return
    case 'tool':
      facts.tool ??= problem
      break
    default:
      // The reason of a failed turn is often in the same record; then that says more.
      if (facts.engine?.kind === 'turn' && isSamePlace(facts.engine.raw_ref, problem.raw_ref))
        facts.engine = problem
      facts.engine ??= problem
      facts.engineEver ??= facts.engine
      if (event.type === 'diagnostic.engine.error' && event.data.severity === 'fatal') facts.fatal ??= problem
  }
  facts.earliest ??= problem
  facts.latest = problem
}

function isSamePlace(one: RawRef | null, other: RawRef | null): boolean {
  return one !== null && one.stream === other?.stream && one.byte_from === other.byte_from
}

/** The agent continued: earlier problems did not end the run. */
function overcome(facts: Facts): void {
  facts.engine = facts.fatal
  facts.tool = undefined
}

function conclude(facts: Facts): Why {
  const { completion, file } = facts
  const outcome = completion && outcomeOf(completion)
  const good = isGood(outcome) || outcome === 'needs_input'
  const running = outcome === undefined ? undefined : facts.talk.running.at(-1)
  const unfinished = running && callOf(running, { seq: running.seq, raw_ref: running.refs[0] ?? null })
  const call = good ? facts.failed : (unfinished ?? facts.failed)
  // The run itself went well: only its result is missing or invalid.
  const invalid = outcome === 'failed' && completion !== undefined && failureKind(completion) === undefined
  const first =
    good || invalid || outcome === undefined
      ? (facts.result ?? facts.earliest ?? facts.cut)
      : causeOf(facts, unfinished)
  const last = facts.latest ?? (good ? undefined : facts.hints?.last)
  const mute = outcome === 'failed' && first?.kind === 'end' && !call
  return {
    ...(outcome && { outcome }),
    ...(completion?.failure_class && { failure_class: completion.failure_class }),
    ...(completion && { completion }),
    ...(first && { first }),
    ...(last && last.title !== first?.title && { last }),
    ...(file && { file }),
    ...(call && { call }),
    ...(facts.request && { request: requestOf(facts.request) }),
    ...(mute && facts.stderr && { stderr: facts.stderr }),
  }
}

/** The first problem of a run that did not end well. */
function causeOf(facts: Facts, unfinished: FailedCall | undefined): Problem | undefined {
  const { completion, end, cut, hints } = facts
  if (facts.limit) return facts.limit
  // A turn that was stopped on request, and its calls, failed because of that.
  const other = facts.engine?.kind === 'engine' ? facts.engine : undefined
  const reported = completion && endedItsTurn(completion) ? other : (facts.engine ?? facts.tool)
  // A turn that failed without a reason says less than a line on stderr.
  if (reported?.kind === 'turn' && !reported.title.includes(':') && hints) return hints.first
  if (reported || !end || !completion) return reported ?? end
  const { signal, exit_code } = completion.evidence ?? {}
  if (unfinished) {
    const { name, subject, seq, raw_ref } = unfinished
    const title = `${endWords(completion)} while ${name} ran${subject === '' ? '' : `: ${subject}`}`
    return { ...end, title: title.slice(0, MAX_TITLE), seq, raw_ref }
  }
  const byItself = outcomeOf(completion) === 'failed' && typeof signal !== 'string' && exit_code !== 0
  if (byItself && facts.engineEver) return facts.engineEver
  // In a run that did not fail, a line that reads like an error may be about anything.
  if (byItself && hints) return hints.first
  // A program that refuses to start says why in its last line, whatever that is.
  if (byItself && !facts.begun && !facts.inTurn && facts.lastLine) return facts.lastLine
  if (cut && (failureKind(completion) === 'cut' || !byItself)) return cut
  const where = facts.inMessage
    ? ' in the middle of a message'
    : facts.inTurn && outcomeOf(completion) !== 'unknown'
      ? ' in the middle of a turn'
      : ''
  const title = endWords(completion) + where
  return {
    ...end,
    title: title.endsWith(',') ? title.slice(0, -1) : title,
    raw_ref: end.raw_ref ?? facts.lastRef ?? null,
  }
}

/** Exit codes by which a shell, and many programs, report a signal. */
const signals: ReadonlyMap<number, string> = new Map([
  [129, 'SIGHUP'],
  [130, 'SIGINT'],
  [131, 'SIGQUIT'],
  [134, 'SIGABRT'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [143, 'SIGTERM'],
])

/** Whether the agent was stopped on request, and reported the end of its turn. */
function endedItsTurn({ evidence }: Pick<CompletionData, 'evidence'>): boolean {
  return evidence?.stopped !== undefined && typeof evidence.failure === 'string'
}

/** How the process ended, as the start of a sentence. */
function endWords({ evidence }: CompletionData): string {
  const { signal, exit_code, stopped } = evidence ?? {}
  const by = stopped === undefined ? '' : ' on request'
  if (typeof signal === 'string') return `${signal} ended it${by}`
  if (endedItsTurn({ evidence })) return 'it was stopped on request'
  if (typeof exit_code !== 'number') return `the log stops${by}, without reporting an end,`
  if (exit_code === 0) return `it exited with code 0${by}, without reporting an end,`
  const likely = signals.get(exit_code)
  return `it exited with code ${exit_code}${likely ? ` (as after ${likely})` : ''}${by}`
}

function requestOf(item: RequestItem): NonNullable<Why['request']> {
  const { id, tool } = item.request
  return { id, tool, title: askWords(item), seq: item.seq, raw_ref: item.refs[0] ?? null }
}

/** A call, and the place that shows how it ended. */
function callOf(item: ToolItem, { seq, raw_ref }: Pick<Event, 'seq' | 'raw_ref'>): FailedCall {
  const text = callText(item)
  return {
    name: item.name,
    subject: callSubject(item.lateInput ?? item.input),
    finished: item.state !== 'running',
    ...(item.exitCode !== undefined && { exit_code: item.exitCode }),
    ...(item.denied && { denied: true }),
    lines: text === '' ? [] : text.split('\n').slice(-MAX_LINES),
    seq,
    raw_ref,
  }
}

/** Characters of a line to check. */
const MAX_ERROR_LINE = 4096

const errorWords = [
  ...['error', 'fatal', 'panic', 'exception', 'traceback', 'failed', 'cancelled', 'canceled', 'aborted'],
  ...['denied', 'unauthorized', 'refused', 'not found', 'no such file'],
]
/** Lines that begin like these are not errors, or are retried. */
const harmless = ['warn', '[warn', 'at ', 'info', 'debug', '[startup]', 'hint', 'note']
const again = ['reconnecting', 'retrying', 'falling back']

/**
 * The error in a line that no engine understands: its text, or the message of a JSON log record. Undefined if
 * it does not look like an error. It is a guess from words, only for display: no decision depends on it.
 *
 * @example
 * errorLine('Error: Incorrect API key provided.') // 'Error: Incorrect API key provided.'
 * errorLine('{"type":"error","message":"no prompt"}') // 'no prompt'
 */
export function errorLine(line: string): string | undefined {
  const text = line.slice(0, MAX_ERROR_LINE).trim()
  if (text.startsWith('{')) return messageOf(line.trim())
  const lower = text.toLowerCase()
  if (harmless.some((start) => lower.startsWith(start)) || again.some((word) => lower.includes(word)))
    return undefined
  return errorWords.some((word) => lower.includes(word)) ? text.replace(STAMP, '') : undefined
}

/** The time that many programs write before a line of their log. */
const STAMP = /^\[?\d{4}-\d\d-\d\d[T ][\d:.,]{1,20}Z?\]? +/

function messageOf(line: string): string | undefined {
  // cast: the line begins with `{`
  const { type, level, message, msg } = (jsonValue(line) ?? {}) as Record<string, unknown>
  if (type !== 'error' && level !== 'error' && level !== 'fatal') return undefined
  const reported = message ?? msg
  return typeof reported === 'string' ? reported : undefined
}
