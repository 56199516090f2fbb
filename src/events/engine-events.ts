import { defined } from '../base/check-options.ts'
import { type Code, clip, meaningOf, type Note, quote, runCodes } from '../base/fault.ts'
import { digest } from '../base/platform.ts'
import type { SentBy, ToldOrder } from '../text/chunk.ts'
import { CallIds } from './call-ids.ts'
import {
  type CallFacts,
  type Engine,
  type EngineFrame,
  type ErrorFacts,
  isRecord,
  kindsByName,
  type MessageFacts,
  type RunFacts,
  type Say,
  type StatusFacts,
} from './engine.ts'
import type {
  CompletionData,
  DiagnosticData,
  EventData,
  EventType,
  FailureClass,
  MessageData,
  Severity,
  ToolData,
} from './event.ts'
import { RunEvidence, type Said } from './evidence.ts'
import { failureClassOf } from './failure-class.ts'
import { Drafts, OpenMessages } from './held-messages.ts'
import { memory } from './memory.ts'
import { OpenRequests } from './open-requests.ts'
import type { FoundPayloads } from './payload.ts'
import { AT_END, isAfter, type Moment, PerSource, type Position } from './position.ts'
import { checkFields, Rec } from './record.ts'
import type { RepeatedWarnings } from './repeated-warnings.ts'
import { SentTurns } from './sent-input.ts'
import { RunSpent, type StepSpent } from './spent.ts'
import type { TokensAndCost } from './tokens.ts'
import { UnknownRecords } from './unknown-records.ts'
import type { Range, Writer } from './write.ts'

/** Confidence in a plain protocol record. */
const SURE = 0.95
const LOW = 0.7
const MAX_RAW = 4096
/** Characters of a line of stderr that may say why the run failed. */
const MAX_FAILURE = 500
/** Characters of a message in the evidence. */
const MAX_WORDS = 200

/** A prompt up to this length is remembered as it is: a digest would take longer to make than to compare. */
const SHORT = 64

/** Events that may come before the first prompt. */
const beforeWork = /^(?:lifecycle|raw|diagnostic|user)\./

interface Failure {
  readonly class: FailureClass
  readonly range: Range | undefined
}

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

/** Turns what an engine reports into events, and gathers the evidence for the end. */
export class EngineEvents {
  readonly #options: EngineEventsOptions
  readonly #writer: Writer
  readonly #warnings: RepeatedWarnings
  readonly #say: Say
  #confidence = SURE

  /** The current frame, and whether an event is about it: a frame without any event is kept as raw. */
  #current: EngineFrame | undefined
  #spoke = false
  #drifted = false
  #unknown = false
  /** The kept frame that the engine is reporting about. */
  #kept: EngineFrame | undefined
  readonly #strangers = new UnknownRecords()
  /** At the end: the records turned out to be those of another program. */
  #stranger: ReturnType<UnknownRecords['found']>

  /** The position of the current frame in the run, and the number of things reported. */
  #here: Position = AT_END
  #said = 0
  /** The last frames of pipes and PTY: what an engine reports about kept lines is not after them. */
  #lastOfPipes = AT_END
  #lastOfPty = AT_END
  readonly #evidence = new RunEvidence()
  /** What the engine's errors and tools mean; `auto` sets it when it has picked one. */
  #engine: Pick<Engine, 'failures' | 'tools' | 'denials'> = {}
  #kinds = kindsByName()
  /**
   * The failures of this turn whose class is known, with the bytes that say so: the last fatal one, the last
   * error, the last line of stderr, the last call that was denied and after which nothing was said.
   */
  #failures: { fatal?: Failure; error?: Failure; line: Failure | undefined; denied?: Failure | undefined } = {
    line: undefined,
  }
  /** The engine's signal that its turn has ended, reported after everything else in its frame. */
  #ended: { readonly signal: string; readonly when: Moment; readonly range: Range | undefined } | undefined
  /** The last turn that was reported to wait for the user, and when the agent was last active. */
  #waiting: Moment | undefined
  #worked: Moment | undefined

  /** The record with the engine's verdict that its turn has failed, if nothing else has failed since. */
  #verdict: EngineFrame | undefined

  readonly #open: OpenMessages
  readonly #thoughts: OpenMessages
  readonly #drafts: Drafts
  /** The last complete message of the run itself. */
  readonly #whole = new PerSource<Moment>()
  /** Its text. */
  #lastText = ''
  #nameless = 0
  readonly #calls = new CallIds(() => `call-${++this.#nameless}`)
  /** By its text, or the digest of a long one: how much more often a prompt was sent than repeated. */
  readonly #prompts = memory<number>(() => 0)
  /** Prompts that were sent before the session was known: they come after it, and before any work. */
  #early: { readonly text: string; readonly range: Range }[] = []
  readonly #sentTurns = new SentTurns()
  /** How the turn is over. The next prompt is told after the current frame, which may report more of it. */
  #over: 'stopped on request' | 'by itself' | undefined
  readonly #requests: OpenRequests
  /** Who sends what is on stdin now. */
  sentBy: 'user' | SentBy = 'user'
  /** The request that was open when the input ended. */
  #openAtEnd: string | undefined
  #session: string | undefined
  readonly #spent: RunSpent

  constructor(options: EngineEventsOptions) {
    this.#options = options
    this.#writer = options.writer
    this.#warnings = options.warnings
    this.#requests = new OpenRequests({
      attempt: options.attempt,
      ask: (request, reason) => {
        const evidence = { ...this.#evidence.said(), request: reason, exit_code: null, signal: null }
        this.#write('lifecycle.run.status', { status: 'awaiting_user_input', reason, evidence, request })
      },
      settle: ({ id, call_id }, by, chosen, answer = this.#current) => {
        if ((by === 'user' || by === 'control') && call_id !== undefined) this.#evidence.answered(call_id)
        const data = { status: 'request_settled', request_id: id, ...chosen, by }
        this.#aboutOther(answer, () => this.#write('lifecycle.run.status', data))
      },
      unused: (answer) => this.#aboutOther(answer, () => this.#raw(answer.text, SURE)),
    })
    const { sessionTokens } = options
    this.#spent = new RunSpent(() => {
      const session = this.#session ?? ''
      return Object.hasOwn(sessionTokens, session) ? sessionTokens[session] : undefined
    })
    this.#open = new OpenMessages(options.maxFrame)
    this.#thoughts = new OpenMessages(options.maxFrame)
    this.#drafts = new Drafts(options.maxFrame)
    this.#say = this.#makeSay()
  }

  /** Lets the engine read a frame; one that it does not know is raw. `again`: others read it, too. */
  frame(
    read: (frame: EngineFrame, say: Say) => boolean | 'kept',
    given: EngineFrame,
    position: Position,
    again = false,
  ): boolean | 'kept' {
    this.#writer.about(given, again)
    this.#current = given
    this.#here = position
    if (given.channel === 'stdin') this.#requests.heard()
    // Blank lines are passed on late, and say nothing.
    if (given.channel === 'pty') this.#lastOfPty = position
    else if (!given.blank && given.channel !== 'stdin') this.#lastOfPipes = position
    this.#spoke = this.#drifted = this.#unknown = false
    this.#kept = undefined
    this.#confidence = given.mended ? 0.8 : SURE
    const before = this.#ended
    const understood = read(given, this.#say)
    const silent = understood === true && (!this.#spoke || this.#drifted || this.#unknown)
    // The engine may have reported about a frame that it kept.
    if ((silent || understood === false) && this.#writer.place() !== given) this.#writer.about(given, true)
    if (understood === false) {
      this.#strangers.saw(given)
      this.#keepAsRaw(given)
    } else if (silent) this.#raw(given.text, SURE)
    this.#unknown = false
    this.#current = undefined
    if (this.#ended !== before) this.tellTurn()
    if (this.#over) this.#sentTurns.over()
    this.#over = undefined
    return understood
  }

  /** All that was sent to an agent that takes its prompt as text. */
  prompt(text: string, range: Range): void {
    this.#writer.about(range)
    this.#confidence = SURE
    if (text.trim() === '' || !this.#user(text)) this.#raw(text)
  }

  /** Tells what became of an order to the run. */
  control(told: ToldOrder): void {
    this.#confidence = SURE
    this.#aboutOther(undefined, () => this.#write('lifecycle.run.status', { status: 'control', ...told }))
  }

  /** The engine is known from here on; `named` if the caller has named it. */
  reads(engine: Pick<Engine, 'name' | 'failures' | 'tools' | 'denials'>, named: boolean): void {
    if (named) this.#strangers.engine = engine.name
    this.#engine = engine
    this.#kinds = kindsByName(engine.tools)
  }

  /** A frame that is not shown to the engine. */
  unread(given: EngineFrame): void {
    this.#writer.about(given)
    this.#keepAsRaw(given)
  }

  warn(code: Code, message: string, severity: Severity = 'warning'): void {
    const confidence = this.#confidence
    this.#write('diagnostic.parser.warning', { code, message: clip(message, 300), severity, confidence })
  }

  /** Takes back the messages of which only pieces were reported. */
  withdraw(): void {
    for (const id of this.#open.ids()) this.#open.take(id)
  }

  sawTruncation(): void {
    this.#evidence.truncated()
  }

  /** Lets the engine report about what it kept. */
  last(end: ((say: Say) => void) | undefined): void {
    this.#writer.about(undefined)
    this.#confidence = SURE
    this.#unknown = false
    this.#here = AT_END
    end?.(this.#say)
    this.#sentTurns.end()
    this.#tellEarly()
    this.#openAtEnd = this.#requests.waitsFor
    this.#requests.end()
    // Also a turn whose beginning only the PTY has: before, the failure seemed to be its own.
    this.tellTurn(true)
    this.#writer.about(undefined)
  }

  /** End of input: closes what is still open. */
  end(): void {
    this.#confidence = SURE
    for (const id of this.#thoughts.ids()) this.#closeThought(id, { incomplete: true })
    for (const id of this.#open.ids()) this.#closeOpen(id, { incomplete: true })
    for (const { text, enveloped, done, when } of this.#drafts.left()) {
      if (!this.#isLast(when)) continue
      this.#options.payloads(text, when, enveloped)
      if (done) this.#evidence.done(when)
    }
    this.#stranger = this.#strangers.found()
    this.#writer.about(this.#stranger?.first, true)
    if (this.#stranger) this.warn('ENGINE_UNKNOWN', this.#stranger.message)
    this.#writer.about(undefined)
  }

  /** What the records say about the end of the run. */
  evidence(): Said {
    const known = this.#evidence.said()
    const said = this.#openAtEnd === undefined ? known : { ...known, request: this.#openAtEnd }
    // If no record was understood, it is unknown whether the last one was cut.
    return this.#stranger ? { ...said, truncated: false } : said
  }

  /** The words of the engine's result. */
  answer(): string | undefined {
    return this.#evidence.answer()
  }

  /** Why the run failed, and the bytes that say so. */
  failure(): Pick<CompletionData, 'failure_class' | 'failure_ref'> {
    const { fatal, error, line, denied } = this.#failures
    const known = fatal ?? error ?? line ?? denied
    if (!known) return { failure_class: 'other' }
    const failure_ref = this.#writer.refOf(known.range)
    return { failure_class: known.class, ...(failure_ref && { failure_ref }) }
  }

  /** What the run has used and what it cost. */
  spent(): Pick<CompletionData, 'tokens' | 'cumulative' | 'cost'> {
    return this.#spent.sum()
  }

  /** Plain functions: an engine, or a layer around it, may spread them into an object of its own. */
  #makeSay(): Say {
    const evidence = this.#evidence
    return {
      session: (id, facts = {}) => {
        if (typeof id !== 'string' || id === '') return
        this.#session = id
        if (this.#writer.session(id)) {
          this.#status('started', facts)
          this.#checkSession(id)
        }
        this.#tellEarly()
      },
      status: (name, more = {}) => this.#status(name, more),
      user: (text) => {
        checkText('the text of say.user', text)
        this.#user(text)
      },
      delta: (id, text, more = {}) => this.#delta('agent.message.delta', id, text, more),
      message: (id, text, more = {}) => this.#message(id, text, more),
      newId: (of) => this.#newId(of),
      withdraw: (id) => void this.#open.take(id),
      reasoningDelta: (id, text, more = {}) => {
        if (text !== '' && !this.#current?.extra) this.#delta('agent.reasoning.delta', id, text, more)
      },
      reasoning: (id, text, more = {}) => this.#reasoning(id, text, more),
      inputDelta: (call, text) => this.#inputDelta(call, text),
      started: (call) => this.#call('tool.call.started', call),
      completed: (call) => this.#call('tool.call.completed', call),
      failed: (call) => this.#call('tool.call.failed', call),
      // A claim becomes an event at the end, or never: it does not count as an event of its frame.
      artifact: this.#options.artifact,
      error: (message, severity = 'error', more = {}) => this.#error(message, severity, more),
      warning: (code, message = meaningOf(code), severity = 'warning') => this.warn(code, message, severity),
      begun: () => evidence.begun(this.#goOn()),
      goesOn: () => evidence.wentOn(this.#goOn()),
      ended: (signal, answer) => {
        if (this.#verdict && this.#verdict !== this.#current) evidence.wentOn(this.#goOn())
        if (answer !== undefined) this.#answer(answer)
        const when = this.#now()
        evidence.told('ended', when, signal)
        this.#ended = { signal, when, range: this.#writer.place() }
      },
      asks: (request) => {
        this.#work()
        this.#requests.asks(request)
      },
      withdraws: (id) => this.#requests.withdraws(id),
      worksOn: (call) => this.#requests.goesOn(call),
      turnOver: (how) => {
        const over = this.#requests.turnOver(how === 'interrupted')
        // An agent may end well a turn that it was told to stop: it is stopped all the same.
        const stopped = over.interrupted && (how !== 'well' || this.#requests.isInterrupting)
        if (stopped) evidence.told('stopped', this.#now(), 'interrupted')
        this.#over = stopped ? 'stopped on request' : 'by itself'
        return over
      },
      prompts: (text) => this.#send('prompt', () => this.#user(text)),
      answers: (id, option, words) =>
        this.#requests.answered({ id, option, words, by: this.sentBy }, this.#current!),
      interrupts: () => void this.#send('interrupt', () => true),
      truncated: (reason) => {
        evidence.told('cut', this.#now(), clip(reason, MAX_WORDS))
        this.warn('TRUNCATED', `the answer was cut: ${reason}`)
      },
      unknownType: (name) => {
        this.#unknown = true
        this.#warnings.unknownType(name)
      },
      fields: (record, known) => checkFields(record, known, this.#drift),
      confidence: (value) => {
        this.#confidence = value
      },
      about: (range) => this.#about(range),
      giveBack: (kept) => {
        const here = this.#writer.place()
        this.#writer.about(kept, true)
        this.#strangers.saw(kept)
        this.#keepAsRaw(kept)
        this.#writer.about(here, true)
      },
    }
  }

  /** Tells what the client sent now, or when the turn is over that it was sent in. */
  #send(what: 'prompt' | 'interrupt', tell: () => boolean): true | 'kept' {
    const frame = this.#current!
    this.#requests.sends(what)
    const later = () =>
      this.#aboutOther(frame, () => {
        this.#requests.tells(what)
        // A prompt that waited may have been a part of the turn that is over now.
        if (what === 'prompt' && frame === this.#current) this.#evidence.begun(this.#goOn())
        if (!tell() && frame !== this.#current) this.#raw(frame.text, SURE)
      })
    return this.#sentTurns.add({ begins: what === 'prompt', tell: later }) ? true : 'kept'
  }

  /** Tells the prompts that were sent before the session had begun. */
  #tellEarly(): void {
    const early = this.#early
    this.#early = []
    for (const { text, range } of early) this.#aboutOther(range, () => this.#write('user.message', { text }))
  }

  /** Reports about another place in the middle of a frame: what was sent before, the end of a turn. */
  #aboutOther(frame: Range | undefined, report: () => void): void {
    const here = this.#writer.place()
    if (frame !== here) this.#writer.about(frame, true)
    report()
    if (frame !== here) this.#writer.about(here, true)
  }

  #checkSession(id: string): void {
    const { session = id } = this.#options
    if (id === session) return
    const message = `the agent began the session ${quote(id, 100)} and did not continue ${quote(session, 100)}`
    this.fails({ code: 'SESSION_CHANGED', message })
  }

  /** A fault of our own decides the end, whatever the agent says then. */
  fails({ code, message }: Note): void {
    this.#evidence.doom(clip(message, MAX_WORDS))
    this.#write('diagnostic.engine.error', this.#problem(code, message, 'fatal'))
  }

  #problem(code: Code, message: string, severity: Severity) {
    return { code, message: clip(message, 2000), severity, confidence: this.#confidence }
  }

  /**
   * Reports a prompt once, though it was sent and the agent repeats it: the nth of one text that was sent is
   * the nth that was repeated. False if the other side was told already.
   */
  #user(text: string): boolean {
    if (text === '') return true
    const words = text.trim()
    const key = words.length > SHORT ? digest(words) : words
    const more = this.#prompts.take(key) ?? 0
    const step = this.#writer.place()?.channel === 'stdin' ? 1 : -1
    if (more + step !== 0) this.#prompts.set(key, more + step)
    if (more * step < 0) return false
    const range = this.#writer.place()
    if (range?.channel !== 'stdin' || this.#session !== undefined) this.#write('user.message', { text })
    else {
      this.#early.push({ text, range })
      this.#spoke = true
    }
    return true
  }

  #now(): Moment {
    return { at: this.#here, nth: ++this.#said }
  }

  /** The agent says or does something, so the next end of a turn is a new one. */
  #work(): Moment {
    const when = this.#now()
    if (!this.#worked || isAfter(when, this.#worked)) this.#worked = when
    return when
  }

  /** A turn begins or continues: the failures before it no longer count. */
  #goOn(): Moment {
    this.tellTurn(true)
    this.#verdict = undefined
    this.#failures = { line: this.#failures.line }
    return this.#work()
  }

  #write<T extends EventType>(type: T, data: EventData[T], sure = this.#confidence): void {
    if (this.#early.length > 0 && !beforeWork.test(type)) this.#tellEarly()
    // A frame that only ends an open message has no event of its own: that event is about the pieces.
    if (this.#writer.place() === this.#current) this.#spoke = true
    if (!this.#strangers.known && this.#isKnowledge(type, sure)) this.#strangers.known = true
    this.#writer.write(type, data, sure)
  }

  /** Whether such an event shows that the engine knows the records. */
  #isKnowledge(type: EventType, sure: number): boolean {
    // A line of text may still prove to stand next to records of another program.
    if (type === 'agent.message.delta' && sure < LOW) return false
    if (this.#writer.place()?.channel === 'stdin') return false
    return !type.startsWith('raw.') && !type.startsWith('diagnostic.')
  }

  #raw(text: string, sure = this.#confidence): void {
    const channel = this.#writer.place()?.channel ?? 'stdout'
    const line = text.length > MAX_RAW ? text.slice(0, MAX_RAW) : text
    this.#write(`raw.${channel}`, line === text ? { line } : { line, truncated: true }, sure)
  }

  /** A frame that the engine does not read: kept as raw, with a warning for the first of its kind. */
  #keepAsRaw(given: EngineFrame): void {
    const { channel, blank, text } = given
    const kind = given.value === undefined ? 'line' : 'record'
    // A record on stderr may be an error of the CLI, too; what else it has is data.
    const words = kind === 'line' ? text : Rec.of(given.value)?.text('message error.message error')
    if (channel !== 'stdout' && channel !== 'stdin' && words) this.#noteFailure(given, words)
    this.#raw(text, blank ? SURE : 0.3)
    if (blank || this.#unknown) return
    const message = `a ${kind} on ${channel} was not understood and is kept as raw`
    this.#warnings.warn(`${channel} ${kind}`, 'RAW_LINE', 0.3, message)
  }

  /** Many CLIs say only on stderr why they ended: it counts if the run failed and no record says why. */
  #noteFailure(given: EngineFrame, words: string): void {
    const found = failureClassOf(words.slice(0, MAX_FAILURE), undefined, this.#engine.failures)
    if (found) this.#failures.line = { class: found, range: given }
  }

  /** A field that the engine does not know, or not with such a value. */
  readonly #drift = (name: string, odd: boolean): void => {
    this.#warnings.unknownField(name, odd)
    // For a frame that was kept, the raw record is written here; else after the engine's other events.
    if (this.#kept && !this.#drifted) this.#raw(this.#kept.text, SURE)
    this.#drifted = true
  }

  #about(range: Range): void {
    this.#writer.about(range, true)
    this.#here = range.channel === 'pty' ? this.#lastOfPty : this.#lastOfPipes
    // For the current frame, the raw record is written after the engine's other events.
    this.#kept = 'text' in range && range !== this.#current ? (range as EngineFrame) : undefined
    this.#drifted = false
  }

  #error(message: string, given: Severity, { retryable, code, alone, verdict }: ErrorFacts): void {
    const words = clip(message, MAX_WORDS)
    if (given === 'fatal') this.#verdict = verdict ? this.#current : undefined
    if (given === 'fatal') this.#evidence.failed(this.#now(), words)
    else if (alone) this.#evidence.told('alone', this.#now(), words)
    // An agent ends a turn that the user stopped as it ends one that failed.
    const severity = given === 'fatal' && this.#over === 'stopped on request' ? 'info' : given
    const heavy = severity === 'fatal' || severity === 'error'
    const failure_class = heavy ? failureClassOf(message, code, this.#engine.failures) : undefined
    if (failure_class && heavy)
      this.#failures[severity] = { class: failure_class, range: this.#writer.place() }
    const data: Writable<DiagnosticData> = this.#problem('ENGINE_ERROR', message, severity)
    if (retryable !== undefined) data.retryable = retryable
    if (failure_class) data.failure_class = failure_class
    this.#write('diagnostic.engine.error', data)
  }

  #delta(type: PieceType, id: string, text: string, more: MessageFacts): void {
    const { what, verb } = pieceWords[type]
    checkText(`the id of say.${verb}`, id)
    checkText(`the text of say.${verb}`, text)
    if (text === '') return
    this.#write(type, messageData(id, text, more.parent))
    const piece = { text, place: this.#writer.place(), more, when: this.#work() }
    const open = type === 'agent.message.delta' ? this.#open : this.#thoughts
    const cut = open.add(id, piece, (oldest) => this.#closeOldest(type, oldest))
    if (cut) this.warn('FRAME_TOO_LONG', `a ${what} grew past maxFrame; its final text is cut`)
  }

  #reasoning(id: string | undefined, text: string | undefined, more: MessageFacts): void {
    if (id !== undefined) checkText('the id of say.reasoning', id)
    if (text === undefined) {
      if (id !== undefined) this.#closeThought(id, more)
      return
    }
    checkText('the text of say.reasoning', text)
    const open = id === undefined ? undefined : this.#thoughts.take(id)
    const words = text || (open?.parts.join('') ?? '')
    if (words === '') return
    this.#work()
    this.#write('agent.reasoning.summary', messageData(id ?? this.#newId('reasoning'), words, more.parent))
  }

  #closeThought(id: string, more: MessageFacts): void {
    const thought = this.#thoughts.take(id)
    if (!thought) return
    const incomplete = more.incomplete === true || thought.cut
    const data = messageData(id, thought.parts.join(''), more.parent ?? thought.more.parent, incomplete)
    this.#aboutOther(thought.range, () => this.#write('agent.reasoning.summary', data))
  }

  #inputDelta(call: Parameters<Say['inputDelta']>[0], text: string): void {
    checkText('the id of a call', call?.id)
    checkText('the name of a call', call.name)
    checkText('the text of say.inputDelta', text)
    if (text === '' || call.id === '' || this.#current?.extra) return
    this.#work()
    const { call_id, name, kind, parent_call_id } = this.#toolData(call)
    this.#write('tool.call.input.delta', { call_id, name, kind, text, ...defined({ parent_call_id }) })
  }

  #message(id: string | undefined, text: string | undefined, more: MessageFacts): void {
    if (id !== undefined) checkText('the id of say.message', id)
    if (text === undefined) {
      if (id !== undefined) this.#closeOpen(id, more)
      return
    }
    checkText('the text of say.message', text)
    const open = id === undefined ? undefined : this.#open.take(id)
    // An end without words does not take back the pieces.
    const words = text || (open?.parts.join('') ?? '')
    // A record without words says nothing. An aborted attempt leaves one.
    if (words === '') return
    this.#final(id ?? this.#newId(), words, more, this.#work())
  }

  #newId(of: 'message' | 'reasoning' = 'message'): string {
    for (;;) {
      const id = `${of}-${++this.#nameless}`
      if (!(of === 'message' ? this.#open : this.#thoughts).has(id)) return id
    }
  }

  #closeOpen(id: string, more: MessageFacts): void {
    const message = this.#open.take(id)
    if (!message) return
    const cut = message.cut ? { incomplete: true } : undefined
    const speaker = { ...message.more, ...more, ...cut }
    // Its position is that of its pieces: the record that closes it may be anywhere.
    this.#aboutOther(message.range, () => this.#final(id, message.parts.join(''), speaker, message.when))
  }

  /** Closes the oldest message or thought, to make room for another. */
  #closeOldest(type: PieceType, id: string): void {
    const { what } = pieceWords[type]
    const message = `the open ${what}s grew past maxFrame; the oldest is closed`
    this.#warnings.warn(`open ${what}s`, 'FRAME_TOO_LONG', this.#confidence, message)
    if (type === 'agent.message.delta') this.#closeOpen(id, { incomplete: true })
    else this.#closeThought(id, { incomplete: true })
  }

  #final(id: string, text: string, more: MessageFacts, when: Moment): void {
    // A subagent's words are not the run's: they end nothing and are not a result.
    const own = more.parent === undefined
    const complete = own && !more.incomplete
    if (own) this.#evidence.wrote(when, complete)
    if (complete) {
      this.#failures.denied = undefined
      this.#lastText = text.trimEnd()
    }
    const enveloped = more.enveloped === true
    const { payloads, fault } = this.#options.payloads(text, complete ? when : undefined, enveloped)
    const last = payloads.at(-1)
    const done = own && payloads.some(({ value, final }) => final && this.#isDone(value))
    if (complete) {
      if (done) this.#evidence.done(when)
      this.#whole.set(when, when)
      this.#drafts.forget(when)
    } else if (own && this.#isLast(when)) this.#drafts.hold({ text, enveloped, done, when })
    const before = this.#confidence
    // A JSON block that parses makes a guess about prose more certain.
    if (last && before < LOW) this.#confidence = 0.8
    this.#write('agent.message.final', messageData(id, text, more.parent, more.incomplete, last))
    // The reader of a guess gets a warning, and the raw text next to it.
    if (this.#confidence < LOW) {
      this.warn('LOW_CONFIDENCE_PARSE', runCodes.LOW_CONFIDENCE_PARSE)
      this.#raw(text)
    }
    const broken = fault && !done && text.includes(`"${this.#options.doneMarker}"`)
    const why = broken ? 'the done marker does not count: ' : ''
    if (fault) this.warn(fault, `${why}the last payload of the message ${id}: ${meaningOf(fault)}`)
    this.#confidence = before
  }

  #isDone(value: unknown): boolean {
    const { doneMarker } = this.#options
    return isRecord(value) && Object.hasOwn(value, doneMarker) && value[doneMarker] === true
  }

  /** Whether no complete message of the run came after this moment. */
  #isLast(when: Moment): boolean {
    return this.#whole.both().every((other) => isAfter(when, other))
  }

  /**
   * Reports once that the turn waits for the user. A turn that is done, or failed, does not. A message that
   * only the PTY has comes first: until the PTY has shown the end of the turn, nothing is said, unless the
   * run goes on (`now`).
   */
  tellTurn(now = false): void {
    const turn = this.#ended
    if (!turn || !(now || this.#options.isSettled(turn.when.at))) return
    const evidence = this.#evidence.waiting(turn.when)
    if (!evidence) return
    this.#ended = undefined
    if (this.#waiting && !(this.#worked && isAfter(this.#worked, this.#waiting))) return
    this.#waiting = turn.when
    const data = { status: 'awaiting_user_input', reason: turn.signal, evidence }
    this.#aboutOther(turn.range, () => this.#write('lifecycle.run.status', data))
  }

  #call(type: 'tool.call.started' | 'tool.call.completed' | 'tool.call.failed', given: CallFacts): void {
    checkText('the id of a call', given?.id)
    checkText('the name of a call', given.name)
    const starts = type === 'tool.call.started'
    const of = this.#calls.withId(given, starts)
    const when = this.#work()
    if (starts) this.#calls.start(of)
    else if (!this.#calls.end(of.id)) {
      const { id, name, kind, input, parent } = of
      this.#write('tool.call.started', this.#toolData({ id, name, kind, input, parent }))
      if (parent === undefined) this.#evidence.called(when, { id, name }, 'started')
    }
    // A subagent does not ask the user.
    if (of.parent === undefined) this.#evidence.called(when, of, type.slice('tool.call.'.length) as CallState)
    const data = this.#toolData(of, type === 'tool.call.failed')
    if (data.denied && of.parent === undefined)
      this.#failures.denied = { class: 'denied', range: this.#writer.place() }
    this.#write(type, data)
  }

  /** Built key by key, as the data below: conditional spreads are slow. */
  #toolData(of: CallFacts, failed = false): ToolData {
    const data: Writable<ToolData> = {
      call_id: of.id,
      name: of.name,
      kind: of.kind ?? this.#kinds.get(of.name) ?? 'other',
    }
    if (of.input !== undefined) data.input = of.input
    if (of.output !== undefined) data.output = of.output
    if (of.exit_code !== undefined) data.exit_code = of.exit_code
    if (of.error !== undefined) data.error = of.error
    if (failed && (of.denied ?? this.#isDenial(of))) data.denied = true
    if (of.duration_ms !== undefined) data.duration_ms = of.duration_ms
    if (of.parent !== undefined) data.parent_call_id = of.parent
    return data
  }

  /** A command with an exit code was allowed to run: its own words mean nothing here. */
  #isDenial({ exit_code, error = '' }: CallFacts): boolean {
    return exit_code === undefined && this.#engine.denials?.test(error.slice(0, MAX_FAILURE)) === true
  }

  #status(name: string, facts: StatusFacts): void {
    this.#write('lifecycle.run.status', statusData(name, facts, this.#spent.add(facts)))
    const { structured_payload: payload } = facts
    if (payload === undefined) return
    const when = this.#now()
    this.#options.payloads(JSON.stringify(payload), when, false)
    if (this.#isDone(payload)) this.#evidence.done(when)
  }

  /** The words of the engine's result: mostly its last message again, or the last of all its messages. */
  #answer(text: string): void {
    const when = this.#now()
    this.#evidence.told('answer', when, text)
    if (this.#lastText !== '' && text.trimEnd().endsWith(this.#lastText)) return
    const { payloads } = this.#options.payloads(text, when, false)
    if (payloads.some(({ value, final }) => final && this.#isDone(value))) this.#evidence.done(when)
  }
}

/** An engine in JavaScript can say anything: what breaks the schema is thrown (PROFILE_FAILED). */
function checkText(what: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${what} must be a string, but is ${typeof value}`)
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

type PieceType = 'agent.message.delta' | 'agent.reasoning.delta'

/** What the pieces are of, and the verb that reports them. */
const pieceWords = {
  'agent.message.delta': { what: 'message', verb: 'delta' },
  'agent.reasoning.delta': { what: 'thought', verb: 'reasoningDelta' },
} as const

type CallState = 'started' | 'completed' | 'failed'

/** The facts that are counted first, or have another name. */
const counted: ReadonlySet<string> = new Set([
  'tokens',
  'tokens_so_far',
  'cost',
  'cost_so_far',
  'fresh',
  'parent',
])

/** In the order in which the engine reports the facts. */
function statusData(status: string, facts: StatusFacts, { tokens, cumulative, cost }: StepSpent) {
  const data: Writable<EventData['lifecycle.run.status']> = { status }
  for (const key in facts) {
    const name = key as keyof RunFacts | 'reason' // cast: one of the facts, and its value is of its own type
    const fact = facts[name]
    if (fact !== undefined && !counted.has(key)) data[name] = fact
  }
  // Without any counts, the sum of the run is unknown: there is nothing to report.
  if (tokens !== undefined && Object.keys(tokens).length > 0) {
    data.tokens = tokens
    if (cumulative) data.cumulative = true
  }
  if (facts.parent !== undefined) data.parent_call_id = facts.parent
  if (cost) data.cost = cost
  return data
}

function messageData(
  message_id: string,
  text: string,
  parent: string | undefined,
  incomplete?: boolean,
  payload?: FoundPayloads['payloads'][number],
): MessageData {
  const data: Writable<MessageData> = { message_id, text }
  if (payload) {
    data.structured_payload = payload.value
    data.repair_level = payload.repair_level
  }
  if (incomplete) data.incomplete = true
  if (parent !== undefined) data.parent_call_id = parent
  return data
}
