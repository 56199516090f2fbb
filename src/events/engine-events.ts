import { meaningOf, quote } from '../base/fault.ts'
import type { ToldOrder } from '../text/chunk.ts'
import type { Engine, EngineFrame, RunFacts, Say } from './engine.ts'
import type { Said } from './evidence.ts'
import { Calls } from './folds/calls.ts'
import { Messages } from './folds/messages.ts'
import { Prompts } from './folds/prompts.ts'
import { Requests } from './folds/requests.ts'
import { Spent } from './folds/spent.ts'
import { Turns } from './folds/turns.ts'
import type { FoundPayloads } from './payload.ts'
import type { Moment, Position } from './position.ts'
import { Rec } from './record.ts'
import type { RepeatedWarnings } from './repeated-warnings.ts'
import { checkText, checkWord, Report, SURE } from './report.ts'
import type { TokensAndCost } from './tokens.ts'
import type { UnknownRecords } from './unknown-records.ts'
import type { Range, Writer } from './write.ts'

interface EngineEventsOptions {
  readonly writer: Writer
  readonly attempt: number
  readonly warnings: RepeatedWarnings
  readonly doneMarker: string
  readonly maxFrame: number
  /**
   * Finds the payloads of a message. `when` is set if the message is one of the run's own and complete: the
   * last of them is its result.
   */
  readonly payloads: (text: string, when: Moment | undefined, enveloped: boolean) => FoundPayloads
  readonly artifact: Say['artifact']
  /** Whether everything that came before this position is known, also from the PTY. */
  readonly isSettled: (position: Position) => boolean
  /** What sessions had used before this run. */
  readonly sessionTokens: Readonly<Record<string, TokensAndCost>>
  /** The session that is continued, if one is. */
  readonly session: string | undefined
}

/** Turns what an engine reports into events: each word of `Say` goes to the fold that knows about it. */
export class EngineEvents {
  readonly #options: EngineEventsOptions
  readonly report: Report
  readonly turns: Turns
  readonly messages: Messages
  readonly #calls: Calls
  readonly requests: Requests
  readonly #prompts: Prompts
  readonly spent: Spent
  readonly #say: Say
  /** At the end: the records turned out to be those of another program. */
  #stranger: ReturnType<UnknownRecords['found']>
  /** The request that was open when the input ended. */
  #openAtEnd: string | undefined

  constructor(options: EngineEventsOptions) {
    this.#options = options
    let nameless = 0
    const nextNumber = () => ++nameless
    const report = new Report(options.writer, options.warnings)
    const turns = new Turns(report, options.isSettled)
    this.report = report
    this.turns = turns
    this.messages = new Messages(report, turns, options, nextNumber)
    this.#calls = new Calls(report, turns, nextNumber)
    this.requests = new Requests(report, turns, options.attempt)
    this.#prompts = new Prompts(report, turns, this.requests)
    this.spent = new Spent(report, options.sessionTokens)
    this.#say = this.#makeSay()
  }

  /** Lets the engine read a frame; one that it does not know is raw. `again`: others read it, too. */
  frame(
    read: (frame: EngineFrame, say: Say) => boolean | 'kept',
    given: EngineFrame,
    position: Position,
    again = false,
  ): boolean | 'kept' {
    this.report.begin(given, position, again)
    if (given.channel === 'stdin') this.requests.heard()
    const understood = read(given, this.#say)
    this.report.end(given, understood, this.#keepStranger)
    if (this.turns.frameRead()) this.#prompts.turnOver()
    return understood
  }

  /** All that was sent to an agent that takes its prompt as text. */
  prompt(text: string, range: Range): void {
    this.report.writer.about(range)
    this.report.confidence = SURE
    if (text.trim() === '' || !this.#prompts.tell(text)) this.report.raw(text)
  }

  /** Tells what became of an order to the run. */
  control(told: ToldOrder): void {
    const report = this.report
    report.confidence = SURE
    report.aside(undefined, () => report.write('lifecycle.run.status', { status: 'control', ...told }))
  }

  /** The engine is known from here on; `named` if the caller has named it. */
  reads(engine: Pick<Engine, 'name' | 'failures' | 'tools' | 'denials'>, named: boolean): void {
    if (named) this.report.strangers.engine = engine.name
    this.turns.failureTable = engine.failures
    this.#calls.of(engine)
  }

  /** A frame that is not shown to the engine. */
  unread(given: EngineFrame): void {
    this.report.writer.about(given)
    this.#keepAsRaw(given)
  }

  /** Lets the engine report about what it kept. */
  last(end: ((say: Say) => void) | undefined): void {
    this.report.beginLast()
    end?.(this.#say)
    this.#prompts.end()
    this.#openAtEnd = this.requests.waitsFor
    this.requests.end()
    // Also a turn whose beginning only the PTY has: before, the failure seemed to be its own.
    this.turns.tell(true)
    this.report.writer.about(undefined)
  }

  /** End of input: closes what is still open. */
  end(): void {
    const report = this.report
    report.confidence = SURE
    this.messages.end()
    this.#stranger = report.strangers.found()
    report.writer.about(this.#stranger?.first, true)
    if (this.#stranger) report.warn('ENGINE_UNKNOWN', this.#stranger.message)
    report.writer.about(undefined)
  }

  /** What the records say about the end of the run. */
  evidence(): Said {
    const known = this.turns.evidence.said()
    const said = this.#openAtEnd === undefined ? known : { ...known, request: this.#openAtEnd }
    // If no record was understood, it is unknown whether the last one was cut.
    return this.#stranger ? { ...said, truncated: false } : said
  }

  /** Plain functions: an engine, or a layer around it, may spread them into an object of its own. */
  #makeSay(): Say {
    const report = this.report
    const turns = this.turns
    const messages = this.messages
    const calls = this.#calls
    const requests = this.requests
    const prompts = this.#prompts
    return {
      session: (id, facts = {}) => {
        if (typeof id === 'string' && id !== '') this.#session(id, facts)
      },
      status: (name, facts = {}) => {
        this.spent.status(name, facts)
        if (facts.structured_payload !== undefined) messages.payload(facts.structured_payload)
      },
      user: (text) => {
        checkText('the text of say.user', text)
        prompts.tell(text)
      },
      piece: (of, id, text, more = {}) => messages.piece(of, id, text, more),
      message: (id, text, more = {}) => messages.message(id, text, more),
      newId: (of) => messages.newId(of),
      reasoning: (id, text, more = {}) => messages.reasoning(id, text, more),
      call: (state, call) => calls.told(state, call),
      // A claim becomes an event at the end, or never: it does not count as an event of its frame.
      artifact: this.#options.artifact,
      error: (message, severity = 'error', more = {}) => turns.error(message, severity, more),
      warning: (code, message = meaningOf(code), severity = 'warning') =>
        report.warn(code, message, severity),
      turn: (what, reason = 'cut') => {
        checkWord('turn', what, 'begins', 'goes on', 'cut')
        if (what === 'begins') turns.begin()
        else if (what === 'cut') turns.cut(reason)
        else turns.goOn()
      },
      ended: (signal, answer) => {
        turns.revoke()
        if (answer !== undefined) messages.result(answer)
        turns.ended(signal)
      },
      asks: (request) => {
        turns.work()
        requests.asks(request)
      },
      settles: (what = {}) => requests.settles(what),
      turnOver: (how) => {
        const over = requests.turnOver(how === 'interrupted')
        // An agent may end well a turn that it was told to stop: it is stopped all the same.
        turns.over(over.interrupted && (how !== 'well' || requests.isInterrupting))
        return over
      },
      sent: (...sent) => {
        checkWord('sent', sent[0], 'prompt', 'answer', 'interrupt')
        if (sent[0] === 'answer') return requests.answered(sent[1], sent[2], sent[3])
        return sent[0] === 'prompt' ? prompts.sends('prompt', sent[1]) : prompts.sends('interrupt')
      },
      unknownType: (name) => report.unknownType(name),
      fields: (record, known) => report.fields(record, known),
      confidence: (value) => {
        report.confidence = value
      },
      about: (range) => report.about(range),
      giveBack: (kept) => {
        const here = report.writer.place()
        report.writer.about(kept, true)
        this.#keepStranger(kept)
        report.writer.about(here, true)
      },
    }
  }

  #session(id: string, facts: RunFacts): void {
    const report = this.report
    report.session = id
    if (report.writer.session(id)) {
      this.spent.status('started', facts)
      const { session = id } = this.#options
      const message = `the agent began the session ${quote(id, 100)} and did not continue ${quote(session, 100)}`
      if (id !== session) this.turns.fails({ code: 'SESSION_CHANGED', message })
    }
    this.#prompts.tellEarly()
  }

  /** Keeps as raw what the engine has seen and does not understand. */
  readonly #keepStranger = (frame: EngineFrame): void => {
    this.report.strangers.saw(frame)
    this.#keepAsRaw(frame)
  }

  /** A frame that the engine does not read: kept as raw, with a warning for the first of its kind. */
  #keepAsRaw(given: EngineFrame): void {
    const report = this.report
    const { channel, blank, text } = given
    const kind = given.value === undefined ? 'line' : 'record'
    // A record on stderr may be an error of the CLI, too; what else it has is data.
    const words = kind === 'line' ? text : Rec.of(given.value)?.text('message error.message error')
    if (channel !== 'stdout' && channel !== 'stdin' && words) this.turns.sawLine(given, words)
    report.raw(text, blank ? SURE : 0.3)
    if (blank || report.unknown) return
    const message = `a ${kind} on ${channel} was not understood and is kept as raw`
    report.warnings.warn(`${channel} ${kind}`, 'RAW_LINE', 0.3, message)
  }
}
