import { isText } from '../base/check-options.ts'
import { badOption, type Note, quote } from '../base/fault.ts'
import type { Engine, EngineFrame, EngineReader, Say } from '../events/engine.ts'
import { type AgentEvent, type AgentRequest, isEvent, type RequestOption } from '../events/event.ts'
import { Rec } from '../events/record.ts'
import type { Wire, WireChoice, WireRecord } from '../events/talk-wire.ts'
import type { SentBy } from '../text/chunk.ts'
import type { Recording } from './run-attempt.ts'
import { withReaders } from './watch-turns.ts'

interface TalkOptions {
  readonly wire: Wire
  readonly cwd: string
  readonly argv: readonly string[]
  /** The session that is continued. */
  readonly session: string | undefined
  readonly prompt: string
  readonly answerIn: number
  readonly killGrace: number
  /** Milliseconds that the process may take to exit when its stdin is closed. */
  readonly endAfter: number
  /** The run's own limit for an agent that says nothing. With one, ours is not needed. */
  readonly idleTimeout?: number | undefined
  /** Milliseconds that the agent may say nothing: until it answers what opens its session, and in a turn. */
  readonly silence?: { readonly opening: number; readonly turn: number }
  /** The process at the other end. */
  readonly process: () => Pick<Recording, 'send' | 'closeInput' | 'stop' | 'note'>
  /** Events that nobody has read yet. */
  readonly unread: () => number
}

interface OpenRequest {
  readonly request: AgentRequest
  /** What the agent sent. */
  readonly record: WireRecord
  readonly timer: NodeJS.Timeout | undefined
}

const SILENCE = { opening: 120_000, turn: 1_800_000 }
/** After `session/load` some agents go on sending its history: the first prompt waits for a silence. */
const QUIET_MS = 250
const READ_MS = 5
const MAX_NOTES = 20
const UNHEARD = 'nobody can answer'

/**
 * Talks with an agent that works: opens a session, sends the prompts one turn after the other, and answers
 * what the agent asks. When a turn is over and no prompt waits, it closes the stdin of the agent.
 *
 * Nothing is allowed that the user has not chosen: without an answer, or with nobody to give one, a request
 * is rejected, and what an agent asks of its client, but not of the user, is refused.
 */
export class Talk {
  readonly #options: TalkOptions
  readonly #prompts: string[]
  readonly #open = new Map<string, OpenRequest>()
  readonly #asked = new Set<string>()
  #phase: 'opening' | 'quiet' | 'turn' | 'idle' | 'closed' = 'opening'
  /** The results of our requests so far, and the id of the last one. */
  readonly #results: WireRecord[] = []
  /** What to send if the agent does not know the request that opens its session. */
  #instead: readonly object[] | undefined
  #id = 0
  /** The request that began the turn. */
  #prompted = 0
  #session = ''
  #turn: string | undefined
  #interrupting: 'wanted' | 'sent' | undefined
  /** For the end of the phase, or of an interrupt. */
  #timer: NodeJS.Timeout | undefined
  /** The last piece of a line that is longer than `maxFrame`; all but the last of a line are as long. */
  #piece = { to: -1, size: 0 }
  /** For an agent that says nothing more. */
  #silent: NodeJS.Timeout | undefined
  #listened = true
  #notes = 0
  /** The record that is being read, whether it was told as a request, and whether it ends the turn. */
  #record: WireRecord | undefined
  #told = false
  #ends = false
  /** Milliseconds during which a request was open, up to the last time that one was. */
  #waited = { ms: 0, since: undefined as number | undefined, until: 0 }

  constructor(options: TalkOptions) {
    this.#options = options
    this.#prompts = [options.prompt]
  }

  /** The process has started. */
  begin(): void {
    this.#openNext()
  }

  /** An engine that shows its records here, too. Its events stay the same. */
  listen(engine: Engine): Engine {
    return withReaders(engine, (reader) => ({ read: (frame, say) => this.#read(reader, frame, say) }))
  }

  /** Takes an event of the run, at the moment when it is made. */
  event(event: AgentEvent): void {
    if (!isEvent(event, 'lifecycle.run.status')) return
    const { request, request_id } = event.data
    if (request_id !== undefined) this.#forget(request_id)
    if (!request || !this.#record) return
    this.#told = true
    this.#asked.add(request.id)
    const { answerIn } = this.#options
    const timer = setTimeout(
      () => this.#expire(request.id, `nobody answered in ${answerIn / 1000} s`),
      answerIn,
    )
    const open = { request, record: this.#record, timer }
    this.#open.set(request.id, open)
    this.#waited.since ??= Date.now()
    if (this.#interrupting === 'sent') this.#dismiss(open)
    else if (!this.#listened) this.#expire(request.id, UNHEARD)
    else if (request.questions?.some(({ secret }) => secret))
      this.#expire(request.id, 'secrets are not asked for, because answers are recorded')
  }

  /** How long requests were open, and when the last one was. The clocks of the run stop meanwhile. */
  waited(): { readonly ms: number; readonly until: number } {
    const { ms, since, until } = this.#waited
    return since === undefined ? { ms, until } : { ms: ms + Date.now() - since, until: Date.now() }
  }

  /** Nobody can answer, now or later. */
  unheard(): void {
    this.#listened = false
    for (const id of this.#open.keys()) this.#expire(id, UNHEARD)
  }

  /** What became of a request: undefined if there was none with this id. */
  stateOf(id: string): 'open' | 'settled' | undefined {
    return this.#open.has(id) ? 'open' : this.#asked.has(id) ? 'settled' : undefined
  }

  answer(id: string, answer: RequestAnswer, by?: 'control'): boolean {
    const open = this.#open.get(id)
    if (!open) return false
    const { request } = open
    const isChoice = typeof answer === 'string' || !this.#options.wire.questions
    return this.#settle(open, isChoice ? optionIn(request, answer) : answersIn(request, answer?.answers), by)
  }

  /** A prompt for the next turn. False if the conversation is over. */
  say(prompt: string): boolean {
    if (this.#phase === 'closed') return false
    this.#prompts.push(prompt)
    if (this.#phase === 'idle') this.#safely(() => this.#sayNext())
    return true
  }

  /** Stops the turn, and the process if the turn does not end. False if no turn is under way. */
  interrupt(): boolean {
    const { killGrace, process } = this.#options
    const stop = () => process().stop('interrupted', 'SIGTERM')
    const isOpening = this.#phase === 'opening' || this.#phase === 'quiet'
    if (isOpening) stop()
    if (this.#phase !== 'turn') return isOpening
    if (this.#interrupting) return true
    this.#interrupting = 'wanted'
    this.#timer = setTimeout(stop, killGrace)
    this.#sendInterrupt()
    return true
  }

  /** The agent has closed its stdin, and waits for what it cannot get, unless it is about to exit. */
  unreachable(): void {
    if (this.#phase === 'closed') return
    this.end()
    const { killGrace, process } = this.#options
    const message = 'the agent closed its stdin, so it did not get what was sent last'
    process().note({ code: 'TALK_FAILED', message })
    const reason = this.#interrupting ? 'interrupted' : 'talk_failed'
    this.#timer = setTimeout(() => process().stop(reason, 'SIGTERM'), killGrace)
  }

  /** The agent has closed its output, unless it exits now: what it is waited for can no longer come. */
  muted(): void {
    const { killGrace, unread } = this.#options
    const over = () => {
      if (unread() > 0) this.#silent?.refresh()
      else this.#fail('it closed its output', 'the agent no longer answers')
    }
    if (this.#phase === 'closed') return
    clearTimeout(this.#silent)
    this.#silent = setTimeout(over, killGrace)
  }

  /** The process has ended. Returns what must be told: replies that were not sent. */
  exited(): readonly Note[] {
    this.end()
    const replies = this.#prompts.length - (this.#prompted === 0 ? 1 : 0)
    if (replies <= 0) return []
    const message = `${replies} ${replies === 1 ? 'reply was' : 'replies were'} not sent: the agent had ended`
    return [{ code: 'TALK_FAILED', message }]
  }

  /** The conversation is over: nothing more is sent. */
  end(): void {
    this.#phase = 'closed'
    clearTimeout(this.#timer)
    clearTimeout(this.#silent)
    for (const id of this.#open.keys()) this.#forget(id)
  }

  #read(reader: EngineReader, frame: EngineFrame, say: Say): boolean | 'kept' {
    if (frame.channel !== 'stdout') return reader.read(frame, say)
    this.#silent?.refresh()
    if (frame.notes?.some(({ code }) => code === 'FRAME_TOO_LONG')) this.#skip(frame)
    this.#record = Rec.of(frame.value)?.values
    this.#told = this.#ends = false
    const turnOver: Say['turnOver'] = (how) => {
      this.#ends = true
      return say.turnOver(how)
    }
    try {
      return reader.read(frame, { ...say, turnOver })
    } finally {
      // Also if the engine failed: the agent may wait for an answer.
      const record = this.#record
      if (record) this.#safely(() => this.#heard(record))
      this.#record = undefined
    }
  }

  /** A record that cannot be read: if someone waits for an answer to it, or for it, that comes never. */
  #skip({ from, to, text }: EngineFrame): void {
    const { to: end, size } = this.#piece
    const isRest = from === end && to - from <= size
    this.#piece = { to: isRest && to - from < size ? -1 : to, size: to - from }
    if (isRest || !isAwaited(text)) return
    this.#fail('a record that must be answered, or is an answer, is longer than maxFrame', 'the wire failed')
  }

  #heard(record: WireRecord): void {
    const { wire } = this.#options
    if (this.#phase === 'closed') return
    const refusal = this.#told ? undefined : wire.refuse(record)
    if (refusal) this.#send(refusal)
    const answered = wire.result(record)
    const refused = this.#phase === 'turn' && answered?.id === this.#prompted ? answered.error : undefined
    if (this.#phase === 'quiet') this.#becomeQuiet()
    if (this.#phase === 'opening' && answered?.id === this.#id) {
      if (answered.unknown && this.#instead) this.#sendNext(this.#instead)
      else if (answered.error !== undefined) this.#fail(answered.error)
      else {
        this.#results.push(answered.result ?? {})
        this.#openNext()
      }
    } else if (this.#phase === 'turn' && this.#ends) this.#turnOver()
    else if (refused !== undefined) this.#fail(refused)
    else if (this.#phase === 'turn') {
      this.#turn = wire.turn?.(record) ?? this.#turn
      if (this.#interrupting === 'wanted') this.#sendInterrupt()
    }
  }

  #openNext(): void {
    const { wire, cwd, argv, session } = this.#options
    const start = { cwd, argv, session: wire.loads && session }
    const step = wire.open(start, this.#results, this.#id + 1)
    if ('failed' in step) this.#fail(step.failed)
    else if ('send' in step) this.#sendNext(step.send, step.instead)
    else {
      this.#session = step.session
      if (step.quiet) this.#becomeQuiet()
      else this.#sayNext()
    }
  }

  #sendNext(records: readonly object[], instead?: readonly object[]): void {
    this.#id++
    this.#instead = instead
    this.#expect('opening')
    for (const record of records) this.#send(record)
  }

  /** Something of the agent is awaited from now on. */
  #expect(what: 'opening' | 'turn'): void {
    const { idleTimeout, silence = SILENCE } = this.#options
    const ms = silence[what]
    clearTimeout(this.#silent)
    if (idleTimeout === undefined) this.#silent = setTimeout(() => this.#hearNothing(ms), ms)
  }

  /** The agent has said nothing for long; while a request is open, it waits for us. */
  #hearNothing(ms: number): void {
    if (this.#open.size > 0) this.#silent?.refresh()
    else this.#fail(`it said nothing for ${ms / 1000} s`, 'the agent no longer answers')
  }

  #becomeQuiet(): void {
    this.#phase = 'quiet'
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#safely(() => this.#sayNext()), QUIET_MS)
  }

  /** A wire of the caller's own may throw where the caller cannot catch it. */
  #safely(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(String(error), 'the wire failed')
    }
  }

  #fail(why: string, failed?: string): void {
    const refused = this.#phase === 'turn' ? 'the prompt was refused' : 'the session could not be opened'
    const what = failed ?? refused
    const message = `${what}: ${why}`
    if (this.#phase === 'closed') return
    this.end()
    this.#options.process().stop('talk_failed', 'SIGTERM', { code: 'TALK_FAILED', message })
  }

  #sayNext(): void {
    clearTimeout(this.#timer)
    const [prompt] = this.#prompts
    if (prompt === undefined) {
      clearTimeout(this.#silent)
      this.#phase = 'idle'
      this.#timer = setTimeout(() => this.#close(), READ_MS)
      return
    }
    this.#phase = 'turn'
    this.#expect('turn')
    const state = this.#state()
    this.#prompted = state.id
    if (this.#send(this.#options.wire.say(prompt, state))) this.#prompts.shift()
  }

  #turnOver(): void {
    this.#turn = this.#interrupting = undefined
    for (const id of this.#open.keys()) this.#forget(id)
    this.#sayNext()
  }

  /** Only when the end of the turn was read: who replies to it gets the same process. */
  #close(): void {
    if (this.#phase !== 'idle') return
    const { unread, process, endAfter } = this.#options
    if (unread() > 0) {
      this.#timer = setTimeout(() => this.#close(), READ_MS)
      return
    }
    this.end()
    process().closeInput()
    this.#timer = setTimeout(() => process().stop('end_signal', 'SIGTERM'), endAfter)
  }

  #sendInterrupt(): void {
    const { wire } = this.#options
    const record = wire.interrupt(this.#state())
    if (!record) return
    this.#interrupting = 'sent'
    this.#send(record)
    for (const open of this.#open.values()) this.#dismiss(open)
  }

  /** Ends a request of a turn that is interrupted. Some agents wait for that, others do it themselves. */
  #dismiss(open: OpenRequest): void {
    if (this.#options.wire.waits) this.#settle(open, {})
    else this.#forget(open.request.id)
  }

  #state() {
    return { session: this.#session, turn: this.#turn, id: ++this.#id }
  }

  /** Rejects a request that nobody answers. */
  #expire(id: string, why: string): void {
    const open = this.#open.get(id)
    if (!open) return
    const message = `${why}, so it was rejected: ${quote(open.request.title, 100)}`
    if (this.#notes++ < MAX_NOTES) this.#options.process().note({ code: 'REQUEST_EXPIRED', message })
    const reject = open.request.options.find(({ kind }) => kind === 'reject_once')
    const choice = reject && isOnly(open.request, reject) ? { option: reject.id } : {}
    this.#safely(() => void this.#settle(open, choice, 'limit'))
  }

  #settle({ request, record }: OpenRequest, choice: WireChoice, by?: SentBy): boolean {
    this.#forget(request.id)
    return this.#send(this.#options.wire.answer(record, choice), by)
  }

  #forget(id: string): void {
    const open = this.#open.get(id)
    if (!open) return
    clearTimeout(open.timer)
    this.#open.delete(id)
    if (this.#open.size > 0) return
    this.#waited = { ...this.waited(), since: undefined }
    if (this.#phase !== 'closed') this.#silent?.refresh()
  }

  #send(record: object, by?: SentBy): boolean {
    return this.#options.process().send(Buffer.from(`${JSON.stringify(record)}\n`), by)
  }
}

/** Whether a record that begins like this may be a request or an answer: then someone waits for the other. */
function isAwaited(head: string): boolean {
  const top = head.slice(0, head.indexOf('{', 1) >>> 0)
  const isNote = /"method"/.test(top) && !/"id"|request/i.test(top)
  return !isNote && !/"type":"(?!control_|result)/.test(top)
}

const unheard = new WeakMap<object, () => void>()

/** Says what to do when nobody can answer the requests of a run. */
export function whenUnheard(run: object, act: () => void): void {
  unheard.set(run, act)
}

/** Nobody can answer what this run asks: its requests are rejected at once. */
export function nobodyAnswers(run: object): void {
  unheard.get(run)?.()
}

/**
 * An answer to a request of an agent: the id of one of its options, or a kind that exactly one of them has;
 * or the answers to its questions, by their ids. `'cancel'` dismisses every request.
 *
 * @example
 * const permission: RequestAnswer = 'allow_once'
 * const answers: RequestAnswer = { answers: { colour: 'Blue' } }
 */
export type RequestAnswer =
  | string
  | { readonly answers: Readonly<Record<string, string | readonly string[]>> }

/** The option that the user chose. Throws if it is none of the request, or not clear which. */
function optionIn(request: AgentRequest, answer: unknown): WireChoice {
  const { options } = request
  const named = options.filter(({ id }) => id === answer)
  const alike = options.filter(({ kind }) => kind === answer)
  // A kind of the agent's own is `cancel` here: only its id chooses it. No id makes a refusal a consent.
  const odd =
    named.some(({ kind }) => kind.startsWith('allow')) && /^(?:reject_|cancel$)/.test(String(answer))
  if (answer === 'cancel' && (named.length !== 1 || odd)) return {}
  const found = named.length > 0 ? named : alike
  const [option] = found
  const clear = found.length === 1 && !odd && alike.every((one) => one === option)
  if (option && clear && isOnly(request, option)) return { option: option.id }
  const offered = options.map(({ id, kind }) => `${quote(id, 60)} (${kind})`).join(', ') || 'none'
  const why = option ? 'several options are called' : 'there is no option'
  const wrong = isText(answer) ? `${why} ${quote(answer, 60)}` : 'this agent takes an option, and no answers'
  throw badOption(`answer: ${wrong}; there are: ${offered}, and "cancel"`)
}

function isOnly({ options }: AgentRequest, option: RequestOption): boolean {
  return options.filter(({ id }) => id === option.id).length === 1
}

/** The answers of the user, by question. */
function answersIn(request: AgentRequest, given: unknown): WireChoice {
  const { questions = [] } = request
  const answers = Rec.of(given)?.values
  const fits = (words: unknown) =>
    isText(words) || (Array.isArray(words) && words.length > 0 && words.every(isText))
  const known = new Set(questions.map(({ id }) => id))
  const names = Object.keys(answers ?? {})
  if (!answers || names.length === 0 || names.some((id) => !known.has(id) || !fits(answers[id])))
    throw badOption(
      `answer: give an option of the request, or { answers } with a text for its questions: ${[...known].map((id) => quote(id, 60)).join(', ') || 'it has none'}`,
    )
  return {
    answers: questions.flatMap((question, index) => {
      const words = answers[question.id]
      // cast: checked above
      return words === undefined ? [] : [{ index, question, words: [words].flat() as string[] }]
    }),
  }
}
