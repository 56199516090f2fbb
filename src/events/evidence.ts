import type { CallFacts } from './engine.ts'
import type { CompletionData, EndReason, EndState, Evidence, ResultData } from './event.ts'
import { memory } from './memory.ts'
import { isAfter, type Moment, PerSource } from './position.ts'
import { isGood, outcomeOf } from './run-outcome.ts'

interface Told {
  readonly when: Moment
  readonly words: string
}

/** Reports of which the last one counts: see `Turn`. */
type LastTold = 'ended' | 'cut' | 'alone' | 'stopped' | 'answer'

/** What the pipes, or the PTY, have reported about their current turn. */
interface Turn {
  /** When the turn began. */
  readonly begun: Moment | undefined
  /** When it continued after an end or a failure that the engine recovered from; else when it began. */
  readonly wentOn: Moment | undefined
  marked?: Moment | undefined
  ended?: Told
  /** The engine said that the last answer was cut. */
  cut?: Told
  failure?: { readonly first: Told; readonly last: Told }
  /** An error that fails the turn if nothing else is said in it. */
  alone?: Told
  /** The last call, if it is a question to the user that did not succeed. */
  question?: (Told & { readonly call: string }) | undefined
  /** It was stopped on request, and has ended. */
  stopped?: Told
  /** The words of the engine's result. */
  answer?: Told
}

/** What the records of a run say about its end, without the exit code. */
export type Said = Pick<
  Evidence,
  'done_marker' | 'end_signal' | 'failure' | 'truncated' | 'cut' | 'stopped' | 'request'
>

/**
 * Gathers the evidence for the end of a run. The start of a turn discards what was reported about the end of
 * the turn before it, including the done marker: the user asked for more, and the new turn must say whether
 * that is done. What counts is the position in the run: a record that only the PTY has can arrive long after
 * a later turn has ended.
 */
export class RunEvidence {
  readonly #turns = new PerSource<Turn>()
  /** The last words of the run, and its last complete message. */
  readonly #words = new PerSource<Moment>()
  readonly #answers = new PerSource<Moment>()
  /** Calls that the user was asked about, and has answered, if only with a no. */
  readonly #answered = memory<true>(() => 0)
  #truncated = false
  /** The first fault of our own: no later turn makes it good. */
  #doom: string | undefined

  begun(when: Moment): void {
    this.#turns.set(when, { begun: when, wentOn: when })
  }

  wentOn(when: Moment): void {
    const { begun, marked, question } = this.#turnOf(when)
    this.#turns.set(when, { begun, wentOn: when, marked, question })
  }

  told(what: LastTold, when: Moment, words: string): void {
    this.#turnOf(when)[what] = { when, words }
  }

  /** A call began or ended. A question stays open until it is answered, or other work follows. */
  called(
    when: Moment,
    { id, name }: Pick<CallFacts, 'id' | 'name'>,
    state: 'started' | 'completed' | 'failed',
  ): void {
    const turn = this.#turnOf(when)
    if (questionTool.test(name))
      turn.question = state === 'completed' ? undefined : { when, words: name, call: id }
    else if (state === 'started') turn.question = undefined
  }

  /** The user answered what was asked about this call. */
  answered(call: string): void {
    this.#answered.set(call, true)
  }

  failed(when: Moment, message: string): void {
    const turn = this.#turnOf(when)
    const reported = { when, words: message }
    turn.failure = { first: turn.failure?.first ?? reported, last: reported }
  }

  /** A fault of our own, which fails the run. */
  doom(message: string): void {
    this.#doom ??= message
  }

  done(when: Moment): void {
    this.#turnOf(when).marked = when
  }

  /** The run itself has said something. */
  wrote(when: Moment, complete: boolean): void {
    this.#words.set(when, when)
    if (complete) this.#answers.set(when, when)
  }

  /** The input ended inside a record. */
  truncated(): void {
    this.#truncated = true
  }

  said(): Said {
    // With a complete message after it the engine has asked the model again.
    const cut = this.#lastOf('cut', this.#answers)?.words
    const stopped = this.#lastOf('stopped')?.words
    const request = this.#question()
    const said: { -readonly [K in keyof Said]: Said[K] } = {
      done_marker: this.#isMarked(),
      end_signal: this.#ended()?.words ?? null,
      failure: this.#doom ?? (this.#fatal() ?? this.#failedAlone())?.words ?? null,
      truncated: this.#truncated || cut !== undefined,
    }
    if (cut !== undefined) said.cut = cut
    if (stopped !== undefined) said.stopped = stopped
    if (request) said.request = request.words
    return said
  }

  /** The words of the engine's result, unless the agent went on after it. */
  answer(): string | undefined {
    return this.#lastOf('answer')?.words
  }

  /** The evidence, if the report of this moment ended a turn that now waits for the user. */
  waiting(when: Moment): Evidence | undefined {
    if (this.#ended()?.when !== when) return undefined
    const said: Said & { exit_code?: null; signal?: null } = this.said()
    if (said.done_marker || said.failure !== null || said.cut !== undefined) return undefined
    said.exit_code = null
    said.signal = null
    return said as Evidence // cast: nothing is missing now
  }

  #turnOf(when: Moment): Turn {
    const known = this.#turns.get(when)
    if (known) return known
    const turn = { begun: undefined, wentOn: undefined }
    this.#turns.set(when, turn)
    return turn
  }

  /** Whether it was reported since the agent last began or continued. */
  #holds({ when }: Told): boolean {
    const since = later(this.#turns.pipes?.wentOn, this.#turns.pty?.wentOn)
    return !(since && isAfter(since, when))
  }

  /** The last report of this sort, unless something came after it that shows that it no longer holds. */
  #lastOf(sort: LastTold, after?: PerSource<Moment>): Told | undefined {
    let last: Told | undefined
    for (const { [sort]: told } of this.#turns.both()) {
      if (told && this.#holds(told) && !(last && isAfter(last.when, told.when))) last = told
    }
    return last && !after?.both().some((moment) => isAfter(moment, last.when)) ? last : undefined
  }

  /** The first failure. */
  #fatal(): Told | undefined {
    let fatal: Told | undefined
    for (const { failure } of this.#turns.both()) {
      if (!failure) continue
      for (const told of [failure.first, failure.last])
        if (this.#holds(told) && !(fatal && isAfter(told.when, fatal.when))) fatal = told
    }
    return fatal
  }

  /** An agent that says more after the end of its turn has not ended. */
  #ended(): Told | undefined {
    return this.#lastOf('ended', this.#words)
  }

  /** Whether this was in the turn that began last. */
  #isCurrent(moment: Moment): boolean {
    const begun = later(this.#turns.pipes?.begun, this.#turns.pty?.begun)
    return !(begun && isAfter(begun, moment))
  }

  #isMarked(): boolean {
    return this.#turns.both().some(({ marked }) => marked && this.#isCurrent(marked))
  }

  /** The question tool that the user must still answer. */
  #question(): Told | undefined {
    const open = ({ question }: Turn) =>
      question && this.#isCurrent(question.when) && !this.#answered.get(question.call)
    return this.#turns.both().find(open)?.question
  }

  /** The last error of the turn, if it stands in place of an answer. */
  #failedAlone(): Told | undefined {
    const answered = this.#answers.both().some((moment) => this.#isCurrent(moment))
    return answered ? undefined : this.#lastOf('alone')
  }
}

/** The tools by which agents ask their user. */
const questionTool =
  /^(?:ask_?user(?:_?question)?|ask_?question|ask_?follow_?up_?question|question|request_?user_?input)$/i

function later(a: Moment | undefined, b: Moment | undefined): Moment | undefined {
  return a && b ? (isAfter(a, b) ? a : b) : (a ?? b)
}

/**
 * Decides how a run ended from all evidence. `conflict` names what disagrees with the verdict.
 *
 * | # | evidence | state |
 * | 1 | the done marker | completed |
 * | 2 | the engine's end signal, no error flag, an answer that was not cut | awaiting_user_input |
 * | 3 | error flag, a cut answer, exit ≠ 0, signal, a cut record | interrupted |
 * | 4 | a question without an answer | awaiting_user_input |
 * | 5 | none of these | unknown |
 *
 * @example
 * completionOf({ ...evidence, end_signal: 'turn.completed' }).data.state // 'awaiting_user_input'
 */
export function completionOf(
  evidence: Evidence,
  result?: ResultData['status'],
): { data: CompletionData; conflict: string | undefined } {
  const [state, reason_code] = verdict(evidence)
  const outcome = outcomeOf({ state, evidence }, result)
  const data = { state, reason_code, evidence, outcome, ok: isGood(outcome) }
  return { data, conflict: disagreement(state, evidence) }
}

function verdict(evidence: Evidence): [EndState, EndReason] {
  if (evidence.done_marker) return ['completed', 'DONE_MARKER']
  const { failure, cut, request } = evidence
  if (evidence.end_signal !== null && failure === null && cut === undefined)
    return ['awaiting_user_input', request === undefined ? 'END_SIGNAL' : 'REQUEST_OPEN']
  if (failure !== null) return ['interrupted', tokenLimit.test(failure) ? 'MAX_TOKENS' : 'ENGINE_FAILED']
  if (cut !== undefined) return ['interrupted', shortLimit.test(cut) ? 'MAX_TOKENS' : 'TRUNCATED']
  if (evidence.signal !== null) return ['interrupted', 'SIGNAL']
  if (evidence.exit_code !== null && evidence.exit_code !== 0) return ['interrupted', 'EXIT_CODE']
  if (evidence.truncated) return ['interrupted', 'TRUNCATED']
  if (request !== undefined) return ['awaiting_user_input', 'REQUEST_OPEN']
  return ['unknown', 'NO_END_SIGNAL']
}

/** The reason of an engine that stopped because of its limit of tokens: `length`, `max_tokens`. */
const shortLimit = /^length$|tokens?\b/i
/** The same in an error. `max_tokens is too large`, about a request, is another one. */
const tokenLimit =
  /reason\W{1,4}(?:max_(?:output_)?tokens|length)\b|\bMAX_TOKENS\b|exceeded the .{0,20}output token (?:maximum|limit)/

function disagreement(state: EndState, evidence: Evidence): string | undefined {
  const bad: string[] = []
  if (evidence.failure !== null) bad.push(`the engine failed (${evidence.failure})`)
  if (evidence.signal !== null) bad.push(`signal ${evidence.signal}`)
  else if (evidence.exit_code !== null && evidence.exit_code !== 0)
    bad.push(`exit code ${evidence.exit_code}`)
  if (evidence.cut !== undefined) bad.push(`the answer was cut (${evidence.cut})`)
  else if (evidence.truncated) bad.push('a record was cut')
  if (state === 'completed' && bad.length > 0) return `the done marker was seen, but ${bad.join(' and ')}`
  if (evidence.end_signal === null) return undefined
  if (bad.length > 0) return `the end signal ${evidence.end_signal} was seen, but ${bad.join(' and ')}`
  return undefined
}
