import { type Code, clip, type Note } from '../../base/fault.ts'
import type { EngineFrame, ErrorFacts, FailureTable } from '../engine.ts'
import type { CompletionData, DiagnosticData, FailureClass, Severity } from '../event.ts'
import { RunEvidence } from '../evidence.ts'
import { failureClassOf } from '../failure-class.ts'
import { isAfter, type Moment, type Position } from '../position.ts'
import type { Report, Writable } from '../report.ts'
import type { Range } from '../write.ts'

/** Characters of a line of stderr that may say why the run failed. */
const MAX_FAILURE = 500
/** Characters of a message in the evidence. */
const MAX_WORDS = 200

interface Failure {
  readonly class: FailureClass
  readonly range: Range | undefined
}

/** The turns of the agent: whether one has ended, failed or waits, and the evidence for the run's end. */
export class Turns {
  readonly evidence = new RunEvidence()
  /** What the engine's errors mean. */
  failureTable: FailureTable | undefined
  readonly #report: Report
  /** Whether everything that came before this position is known, also from the PTY. */
  readonly #isSettled: (position: Position) => boolean
  /**
   * The failures of this turn whose class is known, with the bytes that say so: the last fatal one, the last
   * error, the last line of stderr, the last call that was denied and after which nothing was said.
   */
  #failures: { fatal?: Failure; error?: Failure; line: Failure | undefined; denied?: Failure | undefined } = {
    line: undefined,
  }
  /** The engine's signal that its turn has ended, reported after everything else in its frame. */
  #ended: { readonly signal: string; readonly when: Moment; readonly range: Range | undefined } | undefined
  #toldEnd: unknown
  /** The last turn that was reported to wait for the user, and when the agent was last active. */
  #waiting: Moment | undefined
  #worked: Moment | undefined
  /** The record with the engine's verdict that its turn has failed, if nothing else has failed since. */
  #verdict: EngineFrame | undefined
  /** How the turn is over. The next prompt is told after the current frame, which may report more of it. */
  #over: 'stopped on request' | 'by itself' | undefined

  constructor(report: Report, isSettled: (position: Position) => boolean) {
    this.#report = report
    this.#isSettled = isSettled
  }

  /** The agent says or does something, so the next end of a turn is a new one. */
  work(): Moment {
    const when = this.#report.now()
    if (!this.#worked || isAfter(when, this.#worked)) this.#worked = when
    return when
  }

  begin(): void {
    this.evidence.begun(this.#goOn())
  }

  goOn(): void {
    this.evidence.wentOn(this.#goOn())
  }

  ended(signal: string): void {
    const when = this.#report.now()
    this.evidence.told('ended', when, signal)
    this.#ended = { signal, when, range: this.#report.writer.place() }
  }

  /** A verdict of another record no longer holds: the engine says that the turn ended well. */
  revoke(): void {
    if (this.#verdict && this.#verdict !== this.#report.frame) this.goOn()
  }

  over(stopped: boolean): void {
    if (stopped) this.evidence.told('stopped', this.#report.now(), 'interrupted')
    this.#over = stopped ? 'stopped on request' : 'by itself'
  }

  cut(reason: string): void {
    this.evidence.told('cut', this.#report.now(), clip(reason, MAX_WORDS))
    this.#report.warn('TRUNCATED', `the answer was cut: ${reason}`)
  }

  /** The frame was read; true if the turn is over with it. */
  frameRead(): boolean {
    if (this.#ended !== this.#toldEnd) this.tell()
    this.#toldEnd = this.#ended
    const over = this.#over !== undefined
    this.#over = undefined
    return over
  }

  /**
   * Reports once that the turn waits for the user. A turn that is done, or failed, does not. A message that
   * only the PTY has comes first: until the PTY has shown the end of the turn, nothing is said, unless the
   * run goes on (`now`).
   */
  tell(now = false): void {
    const turn = this.#ended
    if (!turn || !(now || this.#isSettled(turn.when.at))) return
    const evidence = this.evidence.waiting(turn.when)
    if (!evidence) return
    this.#ended = undefined
    if (this.#waiting && !(this.#worked && isAfter(this.#worked, this.#waiting))) return
    this.#waiting = turn.when
    const data = { status: 'awaiting_user_input', reason: turn.signal, evidence }
    this.#report.aside(turn.range, () => this.#report.write('lifecycle.run.status', data))
  }

  /** The engine reports a problem. */
  error(message: string, given: Severity, { retryable, code, alone, verdict }: ErrorFacts): void {
    const report = this.#report
    const words = clip(message, MAX_WORDS)
    if (given === 'fatal') this.#verdict = verdict ? report.frame : undefined
    if (given === 'fatal') this.evidence.failed(report.now(), words)
    else if (alone) this.evidence.told('alone', report.now(), words)
    // An agent ends a turn that the user stopped as it ends one that failed.
    const severity = given === 'fatal' && this.#over === 'stopped on request' ? 'info' : given
    const heavy = severity === 'fatal' || severity === 'error'
    const failure_class = heavy ? failureClassOf(message, code, this.failureTable) : undefined
    if (failure_class && heavy)
      this.#failures[severity] = { class: failure_class, range: report.writer.place() }
    const data: Writable<DiagnosticData> = this.#problem('ENGINE_ERROR', message, severity)
    if (retryable !== undefined) data.retryable = retryable
    if (failure_class) data.failure_class = failure_class
    report.write('diagnostic.engine.error', data)
  }

  /** A fault of our own decides the end, whatever the agent says then. */
  fails({ code, message }: Note): void {
    this.evidence.doom(clip(message, MAX_WORDS))
    this.#report.write('diagnostic.engine.error', this.#problem(code, message, 'fatal'))
  }

  /** Many CLIs say only on stderr why they ended: it counts if the run failed and no record says why. */
  sawLine(range: Range, words: string): void {
    const found = failureClassOf(words.slice(0, MAX_FAILURE), undefined, this.failureTable)
    if (found) this.#failures.line = { class: found, range }
  }

  /** A call of the agent itself was not allowed. */
  denied(): void {
    this.#failures.denied = { class: 'denied', range: this.#report.writer.place() }
  }

  /** The agent itself has written a message. */
  wrote(when: Moment, complete: boolean): void {
    this.evidence.wrote(when, complete)
    if (complete) this.#failures.denied = undefined
  }

  /** Why the run failed, and the bytes that say so. */
  failure(): Pick<CompletionData, 'failure_class' | 'failure_ref'> {
    const { fatal, error, line, denied } = this.#failures
    const known = fatal ?? error ?? line ?? denied
    if (!known) return { failure_class: 'other' }
    const failure_ref = this.#report.writer.refOf(known.range)
    return { failure_class: known.class, ...(failure_ref && { failure_ref }) }
  }

  /** A turn begins or continues: the failures before it no longer count. */
  #goOn(): Moment {
    this.tell(true)
    this.#verdict = undefined
    this.#failures = { line: this.#failures.line }
    return this.work()
  }

  #problem(code: Code, message: string, severity: Severity) {
    return { code, message: clip(message, 2000), severity, confidence: this.#report.confidence }
  }
}
