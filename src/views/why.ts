import { orElse } from '../base/fault.ts'
import { askWords, callSubject, callText } from '../events/call-words.ts'
import { Cause } from '../events/cause.ts'
import type { AgentEvent, AgentRequest, CompletionData, FailureClass, RawRef } from '../events/event.ts'
import { type Problem, problemAt } from '../events/problems.ts'
import { endPhrase, isGood, outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { Conversation, type Item, type RequestItem, type ToolItem } from './conversation.ts'

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
export interface WhyReport {
  /** Missing while the run is in progress. */
  readonly outcome?: RunOutcome
  /** Of a run that failed: why, in one word. */
  readonly failure_class?: FailureClass
  readonly completion?: CompletionData
  /** What the end is blamed on; after a good one the first thing that went wrong. Missing if nothing did. */
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

/**
 * Finds out why a run ended as it did, from the events of its last attempt. Of a run that did not end well,
 * the title of `first` is the sentence that `problem` of its last event has.
 *
 * @example
 * const { first } = await why(replay('.audit/latest'))
 * console.log(first?.title)
 */
export async function why(events: AsyncIterable<AgentEvent> | Iterable<AgentEvent>): Promise<WhyReport> {
  const reason = whyOf()
  for await (const event of events) reason.write(event)
  return reason.why()
}

/** The same, event by event. */
export function whyOf(): { write(event: AgentEvent): Item; why(): WhyReport } {
  let attempt: number | undefined
  let facts = newFacts()

  const write = (event: AgentEvent) => {
    if (event.attempt_number !== attempt) {
      attempt = event.attempt_number
      facts = newFacts()
    }
    return note(facts, event)
  }
  return { write, why: () => conclude(facts) }
}

/** What is remembered of an attempt. */
interface Facts {
  readonly cause: Cause
  readonly talk: Conversation
  completion?: CompletionData
  end?: Problem
  failed?: FailedCall
  file?: WhyReport['file']
  request?: RequestItem
}

function newFacts(): Facts {
  return { cause: new Cause(), talk: new Conversation() }
}

function note(facts: Facts, event: AgentEvent): Item {
  const item = facts.talk.take(event)
  // In the journal of another program, an event may lack its fields.
  orElse(() => facts.cause.take(event), undefined)
  switch (item.kind) {
    case 'end':
      facts.completion = item.end
      facts.end = problemAt(event, 'end', endPhrase(outcomeOf(item.end), item.end.failure_class))
      break
    case 'request':
      if (item.by === undefined || item.by === 'end') facts.request ??= item
      else if (facts.request === item) delete facts.request
      break
    case 'tool':
      if (item.state === 'failed') facts.failed = callOf(item, event)
      break
    case 'artifact':
      facts.file = { path: item.path, change: item.change }
  }
  return item
}

function conclude({ cause, talk, completion, end, file, failed, request }: Facts): WhyReport {
  const outcome = completion && outcomeOf(completion)
  const good = isGood(outcome) || outcome === 'needs_input'
  const running = outcome === undefined ? undefined : talk.running.at(-1)
  const unfinished = running && callOf(running, { seq: running.seq, raw_ref: running.refs[0] ?? null })
  const call = good ? failed : (unfinished ?? failed)
  const first = !end || isGood(outcome) ? cause.earliest : cause.first(completion!, end)
  const last = cause.last(!good)
  const mute = outcome === 'failed' && first?.kind === 'end' && !call
  return {
    ...(outcome && { outcome }),
    ...(completion?.failure_class && { failure_class: completion.failure_class }),
    ...(completion && { completion }),
    ...(first && { first }),
    ...(last && last.title !== first?.title && { last }),
    ...(file && { file }),
    ...(call && { call }),
    ...(request && { request: requestOf(request) }),
    ...(mute && cause.stderr.length > 0 && { stderr: cause.stderr }),
  }
}

function requestOf(item: RequestItem): NonNullable<WhyReport['request']> {
  const { id, tool } = item.request
  return { id, tool, title: askWords(item), seq: item.seq, raw_ref: item.refs[0] ?? null }
}

/** A call, and the place that shows how it ended. */
function callOf(item: ToolItem, { seq, raw_ref }: Pick<AgentEvent, 'seq' | 'raw_ref'>): FailedCall {
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
