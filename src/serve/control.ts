import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { isText } from '../base/check-options.ts'
import { badOption, Fault, orElse, quote } from '../base/fault.ts'
import { isRecord } from '../events/engine.ts'
import { jsonValue } from '../json/strict.ts'
import type { Meta } from '../run/meta.ts'
import { giveOrder, MAX_ORDER, type Order, readOrder, refused, takesOrders } from '../run/orders.ts'
import { startReply } from '../run/run.ts'
import { nobodyAnswers } from '../run/talk.ts'
import { whyForeign } from './access.ts'
import { type AskedRequest, AskedRequests } from './asked-requests.ts'
import { type Incoming, type Outgoing, refuse } from './http-response.ts'
import type { FoundRun } from './run-finder.ts'
import type { RunPlace } from './run-place.ts'
import type { ControlSettings, GivenOrder } from './serve-options.ts'

/** How orders reach a run. */
export interface OrderDoor {
  /** Whether it takes orders now; `last` is what is known of its last attempt, if that was read already. */
  readonly takes: (place: RunPlace, last?: Partial<Meta>) => boolean
  /** False if an order with this id was given before. Throws ORDER_REFUSED, or BROKER_FAILED. */
  readonly give: (place: RunPlace, order: Order) => boolean | Promise<boolean>
}

const TAKES_NONE = 'this run takes no orders: it was not started with control, or has ended'

/** To runs of this machine. */
export const localDoor: OrderDoor = {
  takes(place, last) {
    const run = last && !last.control ? undefined : place.ordered?.()
    return run !== undefined && takesOrders(run)
  },
  give(place, order) {
    const run = place.ordered?.()
    if (!run) throw refused(TAKES_NONE)
    return giveOrder(run, order)
  },
}

/** How long a body may take. */
const BODY_MS = 10_000
/** The orders that one client may give: at once, and per second. */
const BURST = 60
const PER_SECOND = 20
const MAX_CLIENTS = 10_000
/** Agents that were started again from here and have not ended. */
const MAX_REPLIES = 16
/** How long a reply may take to start before its client is told that it has. */
const START_MS = 2000

/** Why an order is not passed on, and the status that says it. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, why: string) {
    super(why)
    this.status = status
  }
}

/** What is posted: `/runs/:id/control` and `/runs/:id/reply`. */
export class ControlRoutes {
  readonly #settings: ControlSettings
  readonly #find: (id: string) => Promise<FoundRun | undefined>
  readonly #door: OrderDoor
  readonly #host: string | undefined
  readonly #signal: AbortSignal
  readonly #requests = new AskedRequests()
  readonly #rates = new Map<string, { left: number; at: number }>()
  #replies = 0

  constructor(
    settings: ControlSettings,
    find: (id: string) => Promise<FoundRun | undefined>,
    signal: AbortSignal,
    { door = localDoor, host }: { readonly door?: OrderDoor | undefined; readonly host?: string | undefined },
  ) {
    this.#settings = settings
    this.#find = find
    this.#signal = signal
    this.#door = door
    this.#host = host
  }

  close(): void {
    this.#requests.close()
  }

  /** Whether something may be posted there. */
  isOurs(path: string): boolean {
    const [, place, id, what, more] = path.split('/')
    const isKnown = what === 'control' || what === 'reply'
    return place === 'runs' && id !== undefined && id !== '' && isKnown && more === undefined
  }

  /** `source` has the body. */
  async answer(
    request: Incoming,
    source: IncomingMessage | Request,
    response: Outgoing,
    path: string,
    token: GivenOrder['token'],
  ): Promise<void> {
    const [, , encoded = '', what] = path.split('/')
    const address = request.socket?.remoteAddress ?? ''
    try {
      if (what === 'reply' && !this.#settings.reply)
        throw new Refusal(403, 'this server takes no replies (--control-reply)')
      this.#checkHead(request, address)
      const body = await bodyOf(source)
      const run = await this.#find(encoded)
      if (!run) throw new Refusal(404, 'there is no such run')
      const log: Log = (given) => this.#log({ address, token, run: run.info.id, ...given })
      const told = what === 'reply' ? await this.#reply(run, body, log) : await this.#order(run, body, log)
      if (response.destroyed) return
      const head = { 'content-type': 'application/json; charset=utf-8' }
      response.writeHead(202, head).end(`${JSON.stringify(told)}\n`)
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal.status === 429) response.setHeader('retry-after', '1')
      refuse(response, refusal.status, refusal.message)
      // What is still sent is not kept.
      drain(source)
    }
  }

  /** The order is given: what fails here must not look as if it were not. */
  #log(given: GivenOrder): void {
    try {
      this.#settings.onOrder?.(given)
    } catch (error) {
      process.emitWarning(`onOrder failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** What can be refused before anything is read. */
  #checkHead({ headers }: Incoming, address: string): void {
    const foreign = whyForeign(headers, this.#settings.origins, this.#host)
    if (foreign !== undefined) throw new Refusal(403, foreign)
    if (!/^application\/json *(?:;|$)/i.test(headers['content-type'] ?? ''))
      throw new Refusal(415, 'send JSON, with content-type: application/json')
    if (Number(headers['content-length'] ?? 0) > MAX_ORDER) throw tooLong()
    if (!this.#mayAsk(address))
      throw new Refusal(429, 'too many orders came from this address; wait a second')
  }

  #mayAsk(address: string): boolean {
    const now = performance.now()
    if (this.#rates.size > MAX_CLIENTS) this.#rates.clear()
    const mine = this.#rates.get(address) ?? { left: BURST, at: now }
    this.#rates.set(address, mine)
    mine.left = Math.min(BURST, mine.left + ((now - mine.at) / 1000) * PER_SECOND)
    mine.at = now
    if (mine.left < 1) return false
    mine.left--
    return true
  }

  async #order(run: FoundRun, body: unknown, log: Log): Promise<{ id: string }> {
    const order = readOrder(body, 'page')
    if (run.info.state !== 'running') throw new Refusal(409, 'this run has ended')
    if (!this.#door.takes(run.place)) throw new Refusal(409, TAKES_NONE)
    const known = await this.#requests.of(run.place)
    if (order.do === 'answer') checkAnswer(order, known.requests.get(order.request ?? ''))
    if (known.orders.has(order.id) || !(await this.#door.give(run.place, order)))
      throw new Refusal(409, 'an order with this id was given before')
    const { id, do: does, request, option } = order
    log({ id, do: does, request, option })
    return { id }
  }

  /** Starts the agent again. Resolves when it has started, or has not failed to for some time. */
  async #reply({ info, place }: FoundRun, body: unknown, log: Log): Promise<{ attempt: number }> {
    const { text } = isRecord(body) ? body : {}
    if (!isText(text) || text.trim() === '' || Object.keys(body as object).length > 1)
      throw new Refusal(400, 'a reply is {"text": "…"}')
    if (info.state === 'running') throw new Refusal(409, 'this run has not ended')
    if (!info.reply) throw new Refusal(409, 'this run cannot be continued')
    if (this.#replies >= MAX_REPLIES)
      throw new Refusal(503, `${MAX_REPLIES} replies are under way; wait until one has ended`)
    const run = startReply(place.key, text, { signal: this.#signal })
    this.#replies++
    const ended = run.end.finally(() => this.#replies--)
    // Cast: a flow is a Readable. Its events are in its journal, which is read from there.
    const events = run as unknown as NodeJS.ReadableStream
    const first = once(events, 'data')
    events.resume()
    ended.catch(() => {})
    first.catch(() => {})
    nobodyAnswers(run)
    log({ id: '', do: 'reply' })
    await Promise.race([first, ended, delay(START_MS, undefined, { ref: false })])
    return { attempt: run.attempt }
  }
}

type Log = (given: Omit<GivenOrder, 'address' | 'token' | 'run'>) => void

function checkAnswer({ request = '', option, answers }: Order, asked: AskedRequest | undefined): void {
  if (!asked) throw new Refusal(404, `there is no request ${quote(request, 60)} in this run`)
  if (asked.settled) throw new Refusal(409, `the request ${quote(request, 60)} is settled`)
  const ids = asked.options.map(({ id }) => id)
  const offered = [...ids, 'cancel'].map((id) => quote(id, 60)).join(', ')
  if (option !== undefined && option !== 'cancel' && !ids.includes(option))
    throw new Refusal(400, `there is no option ${quote(option, 60)}; there are: ${offered}`)
  const names = Object.keys(answers ?? {})
  const odd = names.find((name) => !asked.questions.some(({ id }) => id === name))
  if (odd !== undefined) throw new Refusal(400, `there is no question ${quote(odd, 60)}`)
  if (answers && names.length === 0) throw new Refusal(400, 'answers has no answer')
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (!Fault.is(error)) throw error
  if (error.code === 'BAD_OPTION') return new Refusal(400, error.message)
  const status = { JOURNAL_FAILED: 507, BROKER_FAILED: 503 }[error.code as string] // cast: any other code
  return new Refusal(status ?? 409, error.message)
}

const tooLong = () => new Refusal(413, 'an order may have 64 KiB')

/** The JSON in the body of a request. */
async function bodyOf(source: IncomingMessage | Request): Promise<unknown> {
  // A framework may have read it already.
  if ('socket' in source && source.readableEnded && 'body' in source) return source.body
  const bytes = await bytesOf(source)
  const value = jsonValue(orElse(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), ''))
  if (value === undefined) throw badOption('the body is not JSON')
  return value
}

/** What is refused is not destroyed: its client still gets the answer. */
async function bytesOf(source: IncomingMessage | Request): Promise<Buffer> {
  const body = 'socket' in source ? source.iterator({ destroyOnReturn: false }) : source.body?.values()
  const late = delay(BODY_MS, 'late' as const, { ref: false })
  const parts: Uint8Array[] = []
  try {
    for (let size = 0; body; ) {
      const piece = await Promise.race([body.next(), late])
      if (piece === 'late') throw new Refusal(408, `the body did not arrive in ${BODY_MS / 1000} s`)
      if (piece.done) break
      size += piece.value.length
      if (size > MAX_ORDER) throw tooLong()
      parts.push(piece.value)
    }
    return Buffer.concat(parts)
  } catch (error) {
    // Not awaited: the rest may never come.
    body?.return?.().catch(() => {})
    throw error instanceof Refusal ? error : new Refusal(400, 'the body was cut')
  }
}

/** How long a client may go on to send what nobody reads, so that it gets its answer. */
const DRAIN_MS = 2000

function drain(source: IncomingMessage | Request): void {
  if (!('socket' in source) || source.complete) return
  source.resume()
  setTimeout(() => {
    if (!source.complete) source.destroy()
  }, DRAIN_MS).unref()
}
