import { once } from 'node:events'
import type { Fault } from '../base/fault.ts'
import { comparePlaces, type EventPlace } from '../disk/read-journal.ts'
import { HEARTBEAT, sseMessage, sseRecord } from '../streams/sse.ts'
import type { SseView, ViewPlace } from '../streams/view-sse.ts'
import { chatStage } from '../views/chat.ts'
import type { Shared } from './feeds.ts'
import { type Incoming, type Outgoing, refuse } from './http-response.ts'
import { type Block, eventsIn, type Feed } from './journal-feed.ts'
import { turn } from './turns.ts'

interface StreamOptions extends Omit<Shared, 'release'> {
  /** The last id the client saw. */
  readonly after: string | undefined
  /** Milliseconds of silence after which a heartbeat is sent. */
  readonly heartbeat: number
  /** Milliseconds in which a client must read what it was sent, or it is dropped. */
  readonly maxStall: number
  readonly signal: AbortSignal
  /** The run waits for an answer: an EventSource that comes back waits for it, too. */
  readonly awaitsReply: () => boolean
  /** Stays open after the end, for a reply that may come. */
  readonly follow: boolean
  /** Chat records instead of events. @default false */
  readonly chat?: boolean | undefined
}

/**
 * Sends the events of a run to one client, from where it left off to the end of the run, at the pace of the
 * client. If its id is not of this run, or no longer there, it gets `sluice.reset` and everything from the
 * start. A client that has all of an ended run gets a 204, at which browsers stop reconnecting; but while the
 * run waits for an answer, an EventSource that comes back (`Last-Event-ID`) stays connected until it comes,
 * and one that asked to `follow` always does.
 * If the journal is damaged, or the logs cannot be read, `sluice.fault` says why the stream ends there.
 */
export async function stream(request: Incoming, response: Outgoing, options: StreamOptions): Promise<void> {
  const { signal, follow, chat = false } = options
  let { feed } = options
  let rest: Shared | undefined
  const over = () => (rest ?? options).over()
  let start = chat ? locate(options) : await ready(options, response)
  /** Stays connected although the run is over, until more of it comes. */
  let waits = false
  if (start.resumes && start.reset === undefined) {
    const last = over()
    const more = await hasMore(feed, start, spelling(chat, start.skip))
    waits = last && !more && options.awaitsReply() && 'last-event-id' in request.headers
    // What is derived may be no further yet than what the client has seen.
    if (more === 'future' && (last || !options.derived)) start = { at: 0, reset: 'gone', resumes: true }
    else if (more === 'damaged' || (last && !more && !waits && !follow)) {
      response.writeHead(204).end()
      return
    }
  }
  if (response.destroyed || signal.aborted) return
  const line = openLine(request, response, headers, options)
  const { send } = line
  try {
    await send('retry: 1000\n\n')
    let { at, last } = start
    let { generation } = feed
    let spell = spelling(chat, start.skip)
    // The client has an id to come back with.
    let named = start.resumes && start.reset === undefined
    const sendFault = (found: Fault) => send(faultMessage(found, !named))
    if (start.reset !== undefined) await send(resetMessage(start.reset))
    for (;;) {
      // However little there is of it: with a thousand clients that is much.
      await turn()
      if (line.signal.aborted) break
      // Checked before the read: what is added in between is then seen by the next round.
      const ended = over()
      const block = feed.read(at, last)
      if (feed.generation !== generation) {
        generation = feed.generation
        at = 0
        last = undefined
        named = false
        spell = spelling(chat)
        if (!(await send(resetMessage('gone')))) return
      } else if (block?.fault) {
        await sendFault(block.fault)
        break
      } else if (block) {
        const bytes = spell(block)
        if (bytes.length > 0 && !(await send(bytes))) return
        at = block.next
        last = block.last
        named ||= last !== undefined
        waits &&= bytes.length === 0
      } else if (ended && !rest && options.isCut()) {
        rest = options.rest()
        // Its first events are those of the journal, byte for byte.
        feed = rest.feed
        generation = feed.generation
      } else if (ended && (start.skip ?? 0) > (spell.seq ?? 0)) {
        start = { at: 0, resumes: true }
        at = 0
        last = undefined
        named = false
        spell = spelling(chat)
        if (!(await send(resetMessage('gone')))) return
      } else if (ended && (!(waits || follow) || (rest ?? options).stale())) {
        const why = (rest ?? options).fault()
        if (why) await sendFault(why)
        break
      } else await feed.more(line.signal)
    }
    response.end()
  } finally {
    line.close()
    rest?.release()
  }
}

/** Neither a proxy nor a middleware that compresses may keep what was sent. */
const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

type StreamLine = ReturnType<typeof openLine>

/** Begins the response. While nothing is sent, the client gets heartbeats. */
function openLine(
  request: Incoming,
  response: Outgoing,
  headers: Readonly<Record<string, string>>,
  { heartbeat, maxStall, signal }: Pick<StreamOptions, 'heartbeat' | 'maxStall' | 'signal'>,
) {
  // The socket of HTTP/2 is not for us to set.
  if (request.httpVersionMajor === 1) request.socket?.setKeepAlive(true, 30_000).setNoDelay(true)
  response.writeHead(200, headers)
  // At once: the first event may be far away.
  response.flushHeaders()
  const leave = new AbortController()
  const gone = () => leave.abort()
  response.once('close', gone)
  signal.addEventListener('abort', gone)
  let quiet = true
  const beat = setInterval(() => {
    if (quiet && !response.writableNeedDrain) response.write(HEARTBEAT)
    quiet = true
  }, heartbeat)
  return {
    /** Aborted when the client is gone, or the server shuts down. */
    signal: leave.signal,
    /** False when the client is gone, or was dropped because it does not read. */
    async send(bytes: Buffer | string): Promise<boolean> {
      quiet = false
      if (response.destroyed) return false
      if (response.write(bytes)) return true
      return await drained(response, maxStall, leave.signal)
    },
    close() {
      clearInterval(beat)
      signal.removeEventListener('abort', gone)
    },
  }
}

/** Where a client begins. */
interface Start {
  readonly at: number
  /** The event before that position, if known. */
  readonly last?: EventPlace
  readonly reset?: Reset
  /** It already has a part of the run. */
  readonly resumes: boolean
  /** Number of chat records that it has. */
  readonly skip?: number
}

/** Derived events that rest for this long have reached the end of logs that are still written. */
const QUIET_MS = 1000

/** Finds where a client begins. While events are derived, waits for the one that it saw last. */
async function ready(options: StreamOptions, response: Outgoing): Promise<Start> {
  const { feed, over, derived, signal } = options
  let size = -1
  let since = 0
  for (;;) {
    const ended = over()
    const start = locate(options)
    if (!derived || !start.resumes || ended || response.destroyed || signal.aborted) return start
    if (start.reset === undefined && feed.read(start.at, start.last)) return start
    if (derived.size() !== size) since = performance.now()
    size = derived.size()
    if (performance.now() - since > QUIET_MS) return start
    await feed.more(signal)
  }
}

/** What is sent of a block: its events, or chat records. */
interface Spelling {
  (block: Block): Buffer | string
  /** The number of the last chat record so far. */
  seq?: number
}

/**
 * Chat records are numbered from the first event of a run, so a reader always begins there; the first `skip`
 * of them, which the client has, are left out.
 */
function spelling(chat: boolean, skip = 0): Spelling {
  if (!chat) return ({ bytes }) => bytes
  let spelled = ''
  const sink = chatStage()({
    write(record) {
      spell.seq = record.seq
      if (record.seq > skip) spelled += sseRecord(record)
    },
    end() {},
  })
  const spell: Spelling = (block) => {
    spelled = ''
    for (const event of eventsIn(block)) sink.write(event)
    return spelled
  }
  return spell
}

/**
 * Whether there is something for a client after this position; lines that are left out do not count. `future`
 * if the client says that it has chat records that do not exist yet.
 */
async function hasMore(feed: Feed, start: Start, spell: Spelling): Promise<boolean | 'damaged' | 'future'> {
  let { last } = start
  for (let block = feed.read(start.at, last); block; block = feed.read(block.next, last)) {
    if (block.fault) return 'damaged'
    if (spell(block).length > 0) return true
    last = block.last
    await turn()
  }
  return (start.skip ?? 0) > (spell.seq ?? 0) ? 'future' : false
}

/** With an id if the client has none: otherwise it would come back for everything. */
function faultMessage({ code, message }: Fault, withId: boolean): string {
  const data = JSON.stringify({ code, message })
  return sseMessage({ ...(withId ? { id: '0' } : {}), event: 'sluice.fault', data })
}

type Reset = 'foreign' | 'gone'

const resets: Record<Reset, string> = {
  foreign: 'the id belongs to another run; here is everything',
  gone: 'the event of that id no longer exists; here is everything',
}

function resetMessage(reason: Reset): string {
  // The empty id makes the client forget the one it has.
  return sseMessage({
    id: '',
    event: 'sluice.reset',
    data: JSON.stringify({ reason, message: resets[reason] }),
  })
}

/**
 * For a client that saw `<run_id>:<seq>` or `<run_id>:<attempt>.<seq>` last, or that without the run. The id
 * of a chat record has its number only: all of them are made again, without those that the client has.
 */
function locate({ feed, after, retracted, chat }: StreamOptions): Start {
  if (after === undefined || after === '') return { at: 0, resumes: false }
  const resumes = true
  const colon = after.lastIndexOf(':')
  const match = /^(?:(\d{1,9})\.)?(\d{1,15})$/.exec(after.slice(colon + 1))
  const { run_id } = feed
  const isOther = colon >= 0 && after.slice(0, colon) !== run_id
  if (!match || isOther || (chat && match[1])) return { at: 0, reset: 'foreign', resumes }
  const seq = Number(match[2])
  if (chat) return { at: 0, resumes, skip: seq }
  if (seq === 0) return { at: 0, resumes }
  const attempt_number = Number(match[1] ?? 1)
  const wrong = retracted?.seq === seq && retracted.attempt_number === attempt_number
  const at = wrong ? undefined : feed.after(attempt_number, seq)
  if (at === undefined || run_id === undefined) return { at: 0, reset: 'gone', resumes }
  return { at, last: { run_id, attempt_number, seq }, resumes }
}

/** Waits for a client that has more to read. False if it is gone, or was dropped as it does not read. */
export async function drained(response: Outgoing, maxStall: number, signal: AbortSignal): Promise<boolean> {
  // Only this client is dropped: it costs no more than what it was sent.
  const timer = setTimeout(() => response.destroy(), maxStall)
  try {
    await once(response, 'drain', { signal })
    return true
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Sends the events of a run in another protocol. A client that was cut off resumes after the last message it
 * saw: the view is made again from the first event, and what the client has is left out. A client that has
 * all of an ended run gets a 204, one with an id that is not of this run a 409: other protocols have no
 * message for starting over.
 */
export async function streamView(
  request: Incoming,
  response: Outgoing,
  { view, ...options }: StreamOptions & { readonly view: SseView },
): Promise<void> {
  const { signal } = options
  let { feed } = options
  let rest: Shared | undefined
  const over = () => (rest ?? options).over()
  const { event: after, part } = splitId(options.after)
  const start = await ready({ ...options, after }, response)
  if (start.reset !== undefined)
    return refuse(response, 409, 'the id is not of this run; ask for everything, without an id')
  if (response.destroyed || signal.aborted) return

  let line: StreamLine | undefined
  const open = (): StreamLine => {
    line ??= openLine(request, response, view.headers, options)
    return line
  }
  let waiting = ''
  /** There is a message that the client does not have. */
  let news = start.last === undefined
  const sink = view.stage()({
    write({ text, place }) {
      if (place) {
        if (start.last && !isAfter(place, start.last, part)) return
        news = true
      }
      waiting += text
    },
    end() {},
  })
  /** False when the client is gone. */
  const flush = async (): Promise<boolean> => {
    const text = waiting
    waiting = ''
    return text === '' ? !response.destroyed : await open().send(text)
  }

  try {
    // Whether an ended run has something for this client is known only after all of it was read.
    if (!over()) open()
    let { generation } = feed
    let at = 0
    let last: EventPlace | undefined
    for (;;) {
      await turn()
      if (response.destroyed || signal.aborted) break
      // Checked before the read: what is added in between is then seen by the next round.
      const ended = over()
      const block = feed.read(at, last)
      // What was sent cannot be taken back: drop the client, which then connects again.
      if (feed.generation !== generation) return void response.destroy()
      if (block && !block.fault) {
        for (const event of eventsIn(block)) sink.write(event)
        at = block.next
        last = block.last
        if (!(await flush())) return
      } else if (!block && ended && !rest && options.isCut()) {
        rest = options.rest()
        feed = rest.feed
        generation = feed.generation
      } else if (block || ended) {
        const why = block?.fault ?? (rest ?? options).fault()
        if (why) waiting += view.fault(why.message, why.code)
        else sink.end()
        if (news && !(await flush())) return
        break
      } else await feed.more(open().signal)
    }
    if (line) response.end()
    else if (!response.destroyed) response.writeHead(204).end()
  } finally {
    line?.close()
    rest?.release()
  }
}

//  r1:2.7/3
//  ^^^^^^ event of attempt 2
//         ^ part; without one, all parts, as in the ids of /events
function splitId(id: string | undefined): { event: string | undefined; part: number } {
  const slash = id === undefined ? -1 : id.indexOf('/', id.lastIndexOf(':') + 1)
  if (id === undefined || slash < 0) return { event: id, part: Number.POSITIVE_INFINITY }
  // An invalid part counts as none: then the whole event is sent again.
  return { event: id.slice(0, slash), part: Number(id.slice(slash + 1)) || 0 }
}

function isAfter(place: ViewPlace, seen: EventPlace, part: number): boolean {
  const order = comparePlaces(place, seen)
  return order > 0 || (order === 0 && place.part > part)
}
