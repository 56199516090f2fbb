import type { SentBy } from '../../text/chunk.ts'
import type { EngineFrame, RequestFacts, TurnEnd } from '../engine.ts'
import type { AgentRequest, EventData, RequestOption, SettledBy } from '../event.ts'
import { memory } from '../memory.ts'
import { type Report, SURE } from '../report.ts'
import type { Turns } from './turns.ts'

/** What the user chose, or answered. */
type Chosen = Pick<EventData['lifecycle.run.status'], 'option' | 'answers'>

interface Open {
  readonly request: AgentRequest
  readonly uses: number
  readonly signal: string
}

interface Answer {
  readonly key: string
  readonly option: string | undefined
  /** Has the answers to questions, as texts at any level. */
  readonly words?: unknown
  readonly by: 'user' | SentBy
  readonly frame: EngineFrame
}

/** What an answer has given. */
interface Given {
  readonly chosen?: Chosen
  readonly kind?: RequestOption['kind'] | undefined
  readonly frame?: EngineFrame
}

interface Settled {
  readonly call_id: string | undefined
  /** How often its id was used on the wire. */
  readonly uses: number
  readonly turn: number
}

/** Requests that may be open at the same time; if there are more, the oldest is given up. */
const MAX_OPEN = 4096

/**
 * The requests of an agent that nobody has answered yet. Each is settled once: by an answer on stdin, by the
 * agent, or by the end of its turn or of the run; what comes after that is ignored. Logs have no clock, so an
 * answer may be read before its request: it is kept until then.
 */
export class Requests {
  /** Who sends what is on stdin now. */
  sentBy: 'user' | SentBy = 'user'
  readonly #report: Report
  readonly #turns: Turns
  readonly #attempt: number
  readonly #open = new Map<string, Open>()
  /** The last settled request of each id on the wire. */
  readonly #settled = memory<Settled>(() => 0)
  /** Answers to requests that were not read yet, and their ids. */
  readonly #early = memory<Answer>(({ frame }) => frame.text.length)
  readonly #earlyIds = new Set<string>()
  /** Ids of open requests that were used again. */
  readonly #doubled = new Set<string>()
  #answers = new Map<string, RequestOption['kind'] | undefined>()
  /** How many turns are over. */
  #turn = 0
  /** An interrupt was sent, and no prompt after it: in the order of the turns, and in that of stdin. */
  #interrupting = false
  #sentInterrupt = false
  /** The user chose to cancel the turn. */
  #cancelled = false
  /** Something was sent, so an answer would be seen. */
  #heard = false

  constructor(report: Report, turns: Turns, attempt: number) {
    this.#report = report
    this.#turns = turns
    this.#attempt = attempt
  }

  /** What the run waits for: the record of the oldest open request. */
  get waitsFor(): string | undefined {
    return this.#open.values().next().value?.signal
  }

  /** The client sent an interrupt, and no prompt since. */
  get isInterrupting(): boolean {
    return this.#interrupting
  }

  asks({ id, signal, ...ask }: RequestFacts): void {
    const key = keyOf(id)
    const before = this.#settled.get(key)
    // The same id about another call, or in another turn, is another request: JSON-RPC allows that once the
    // first is answered.
    if (this.#open.has(key)) this.#doubled.add(key)
    if (this.#open.has(key) || (before?.call_id === ask.call_id && before?.turn === this.#turn)) return
    this.#settled.take(key)
    const uses = (before?.uses ?? 0) + 1
    const request = { id: `${this.#attempt}:${key}${uses > 1 ? `:${uses}` : ''}`, ...ask }
    this.#open.set(key, { request, signal, uses })
    const evidence = { ...this.#turns.evidence.said(), request: signal, exit_code: null, signal: null }
    const data = { status: 'awaiting_user_input', reason: signal, evidence, request }
    this.#report.write('lifecycle.run.status', data)
    const early = this.#early.take(key)
    this.#earlyIds.delete(key)
    if (early) this.#answer(early)
    if (this.#open.size <= MAX_OPEN) return
    const [oldest = ''] = this.#open.keys()
    this.#settle(oldest, 'agent')
  }

  /** stdin has something. */
  heard(): void {
    this.#heard = true
  }

  /**
   * The client answers; `option` is undefined if it chose none. After an interrupt that settles nothing: the
   * turn ends, whatever is answered.
   */
  answered(id: unknown, option: string | undefined, words: unknown): true | 'kept' {
    const key = keyOf(id)
    const frame = this.#report.frame! // an answer is in a frame
    const given = { key, option, words, by: this.sentBy, frame }
    if (this.#sentInterrupt || this.#settled.get(key) || this.#earlyIds.has(key)) return true
    // A second request under the same id is refused: it does not answer the first.
    if (option === undefined && words === undefined && this.#doubled.delete(key)) return true
    if (this.#open.has(key)) {
      this.#answer(given)
      return true
    }
    this.#earlyIds.add(key)
    for (const forgotten of this.#early.set(key, given)) {
      this.#earlyIds.delete(forgotten.key)
      this.#unused(forgotten.frame)
    }
    return 'kept'
  }

  /** The client sends a prompt or an interrupt, which is told when its turn has come. */
  sends(what: 'prompt' | 'interrupt'): void {
    this.#sentInterrupt = what === 'interrupt'
  }

  /** A prompt or an interrupt of the client is told. */
  tells(what: 'prompt' | 'interrupt'): void {
    this.#interrupting = what === 'interrupt'
  }

  /**
   * The agent no longer waits for an answer to a request; or it goes on with a call, so what it asked about
   * that needs no answer. Without a call it goes on with something else, which says nothing about an answer
   * that would be seen on stdin. True if the user did not allow the call.
   */
  settles(what: { readonly request?: unknown; readonly call?: string | undefined }): boolean {
    const { call } = what
    if ('request' in what) this.#settle(keyOf(what.request), this.#by())
    else if (this.#open.size > 0 && !(call === undefined && this.#heard))
      for (const [key, { request }] of this.#open)
        if (call === undefined || request.call_id === call) this.#settle(key, this.#by())
    return call !== undefined && this.#answers.get(call)?.startsWith('allow') === false
  }

  /** The turn is over; `interrupted` if its own end says that it was stopped. */
  turnOver(interrupted: boolean): TurnEnd {
    const by = interrupted ? 'interrupt' : this.#by()
    for (const key of this.#open.keys()) this.#settle(key, by)
    const end = { interrupted: this.#interrupting || this.#cancelled, answers: this.#answers }
    this.#answers = new Map()
    this.#cancelled = false
    this.#turn++
    return end
  }

  /** The input has ended. */
  end(): void {
    for (const key of this.#earlyIds) {
      const answer = this.#early.take(key)
      if (answer) this.#unused(answer.frame)
    }
    for (const key of this.#open.keys()) this.#settle(key, 'end')
  }

  /** An answer that settles nothing. */
  #unused(answer: EngineFrame): void {
    this.#report.aside(answer, () => this.#report.raw(answer.text, SURE))
  }

  #by(): SettledBy {
    return this.#interrupting ? 'interrupt' : 'agent'
  }

  #answer({ key, option, words, by, frame }: Answer): void {
    const request = this.#open.get(key)?.request
    if (!request) return
    const { kind, options, questions = [] } = request
    const chosen = options.find(({ id }) => id === option)
    const texts = [...new Set(textsIn(words, 0))]
    this.#cancelled ||= chosen?.kind === 'cancel'
    // Every agent takes an answer outside of its options, `cancelled` or an error, for a no.
    const isNo = kind === 'permission' || (option === undefined && texts.length === 0)
    const isTold = texts.length > 0 && questions.length > 0 && !questions.some(({ secret }) => secret)
    this.#settle(key, by, {
      chosen: { ...(chosen && { option: chosen.id }), ...(isTold && { answers: texts }) },
      kind: chosen?.kind ?? (isNo ? 'reject_once' : undefined),
      frame,
    })
  }

  #settle(key: string, by: SettledBy, { chosen = {}, kind, frame = this.#report.frame }: Given = {}): void {
    const open = this.#open.get(key)
    if (!open) return
    this.#open.delete(key)
    this.#doubled.delete(key)
    const { call_id } = open.request
    this.#settled.set(key, { call_id, uses: open.uses, turn: this.#turn })
    if (call_id !== undefined && this.#answers.size < MAX_OPEN) this.#answers.set(call_id, kind)
    if ((by === 'user' || by === 'control') && call_id !== undefined) this.#turns.evidence.answered(call_id)
    const data = { status: 'request_settled', request_id: open.request.id, ...chosen, by }
    this.#report.aside(frame, () => this.#report.write('lifecycle.run.status', data))
  }
}

/** The texts in the answers to a few questions. */
function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > 2) return []
  return Object.values(value).flatMap((inner) => textsIn(inner, depth + 1))
}

/** As JSON, so that `0` and `"0"` differ. */
function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? 'null'
}
