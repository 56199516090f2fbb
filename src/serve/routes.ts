import { setMaxListeners } from 'node:events'
import fs from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream'
import { badOption, orElse, quote } from '../base/fault.ts'
import { whyFailed } from '../base/system-error-code.ts'
import { openPlain } from '../disk/plain-file.ts'
import { engineNamed } from '../engines/engine-name.ts'
import { channels } from '../run/attempt-logs.ts'
import type { Channel } from '../text/chunk.ts'
import { ControlRoutes, localDoor, type OrderDoor } from './control.ts'
import { type Feeds, feeds } from './feeds.ts'
import { type Incoming, type Outgoing, refuse } from './http-response.ts'
import { type Hiding, hidingOf } from './redact-served.ts'
import { filterIn } from './run-filter.ts'
import { type FoundRun, type GoneRun, RunFinder } from './run-finder.ts'
import type { RunInfo } from './run-info.ts'
import { RunList } from './run-list.ts'
import { logOverviews } from './run-overviews.ts'
import { type RunPlace, readAs } from './run-place.ts'
import { sendSearch } from './search-runs.ts'
import type { ControlSettings, ServeSettings } from './serve-options.ts'
import { type SessionRuns, sessionRuns } from './session-runs.ts'
import { stream, streamView } from './stream.ts'
import { turn } from './turns.ts'

const MAX_ID = 1024
/** How long a list waits for logs without a journal; what is not read by then is in the next list. */
const LOGS_MS = 1000

const OLDER =
  'older folders are not listed: open a run by its id at /runs/ID, serve a folder of them, or remove old runs with sluice prune'
const NO_ENGINE = 'engine is the name of one, for a run that has logs and no events.jsonl'
const NO_RUN = 'there is no such page or run'
/** A log is any bytes: no search could promise that a secret in it is found. */
const RAW_HIDDEN =
  'this server hides secrets (--redact) and sends no raw bytes; read the events, or start it without --redact on a machine that you trust'

/** The options that decide what is sent, and how. */
export type RouteSettings = Pick<
  ServeSettings,
  'heartbeat' | 'maxStall' | 'maxClients' | 'sessions' | 'redact'
> & {
  readonly control?: ControlSettings | undefined
  /** How orders reach the runs. @default by files, on this machine */
  readonly door?: OrderDoor | undefined
  /** The name that the server was started with, if it has one. */
  readonly host?: string | undefined
}

/** Answers what is asked about the runs under a directory: `/runs`, what is below it, and `/search`. */
export class RunRoutes {
  readonly #options: RouteSettings
  readonly #hiding: Hiding | undefined
  readonly #shut = new AbortController()
  readonly #logs = logOverviews(this.#shut.signal)
  readonly #feeds: Feeds
  readonly #sessions: SessionRuns | undefined
  readonly #finder: RunFinder
  #listedSessions = new Set<string>()
  readonly #list: RunList
  /** What may be posted, if anything. */
  readonly control: ControlRoutes | undefined
  /** Number of open event streams. */
  clients = 0
  #onLeft: (() => void) | undefined

  /** `root` is a real path. */
  constructor(root: string, options: RouteSettings) {
    this.#options = options
    // Every client adds a listener.
    setMaxListeners(0, this.#shut.signal)
    this.#hiding = hidingOf(options.redact)
    this.#feeds = feeds(this.#logs, this.#hiding)
    const { sessions } = options
    this.#sessions =
      sessions === false ? undefined : sessionRuns(this.#logs, sessions === true ? {} : sessions)
    const { control, door = localDoor } = options
    const abilities = control && { takes: door.takes, reply: control.reply }
    this.#finder = new RunFinder(root, this.#logs, undefined, abilities)
    const find = (id: string) => this.#findRun(id)
    this.control = control && new ControlRoutes(control, find, this.#shut.signal, options)
    const source = {
      look: () => this.#look(),
      textOf: (info: RunInfo) => this.#textOf(info),
    }
    this.#list = new RunList(source, this.#shut.signal)
  }

  /** `path` is `/runs`, below it, or `/search`. */
  async answer(request: Incoming, response: Outgoing, path: string, query: URLSearchParams): Promise<void> {
    if (path === '/runs') return await this.#sendRuns(request, response, query)
    if (path === '/search') return await this.#search(response, query.get('q') ?? '')
    return await this.#sendRun(request, response, path, query)
  }

  /** Ends all streams. */
  leave(): void {
    this.#shut.abort()
  }

  /** Resolves when no stream is open. */
  async left(): Promise<void> {
    if (this.clients > 0)
      await new Promise<void>((done) => {
        this.#onLeft = done
      })
  }

  close(): void {
    this.#feeds.close()
    this.control?.close()
    this.#sessions?.close()
  }

  /** The list, a page of it, or what changed in it; nothing if the client has it already. */
  async #sendRuns(request: Incoming, response: Outgoing, query: URLSearchParams): Promise<void> {
    const list = this.#list
    const [limit, after, since] = ['limit', 'after', 'since'].map((name) => query.get(name) ?? undefined)
    if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit))
      return refuse(response, 400, 'limit must be a whole number from 1 on')
    const filter = filterIn(query)
    const isPage = limit !== undefined && !filter
    const page = isPage ? await list.page(Number(limit), after) : undefined
    if (!isPage) {
      const learned = this.#logs.learned()
      await list.fresh()
      // Logs without a journal are waited for, if that does not take long.
      if (since === undefined && (await this.#logs.settled(LOGS_MS, learned))) await list.fresh(true)
      await turn()
    }
    const tag = `"${list.version}"`
    response.setHeader('etag', tag)
    const { older } = this.#finder
    if (older > 0) response.setHeader('x-older-runs', `${older} ${OLDER}`)
    if (request.headers['if-none-match'] === tag) return void response.writeHead(304).end()
    if (filter) {
      const picked = await list.picked(filter)
      return await sendRuns(response, '[', limit ? picked.slice(0, Number(limit)) : picked, ']\n')
    }
    if (isPage) {
      if (!page) return refuse(response, 410, 'there is no such run any more; begin with the first page')
      if (page.next !== undefined)
        response.setHeader('link', `<?limit=${limit}&after=${encodeURIComponent(page.next)}>; rel="next"`)
      return await sendRuns(response, '[', page.runs, ']\n')
    }
    if (since === undefined) return await sendRuns(response, '[', list.all(), ']\n')
    const changed = list.since(since)
    if (!changed) return refuse(response, 410, 'that version is not known any more; ask for the whole list')
    await sendRuns(response, '{"runs":[', changed.runs, `],"gone":${JSON.stringify(changed.gone)}}\n`)
  }

  /** What is under `/runs/:id`. */
  async #sendRun(request: Incoming, response: Outgoing, path: string, query: URLSearchParams): Promise<void> {
    const [, place, id = '', what, name] = path.split('/')
    const learned = this.#logs.learned()
    await turn()
    const run = place === 'runs' ? await this.#findRun(id) : undefined
    if (!run) return refuse(response, 404, NO_RUN)
    if (what === undefined) {
      const found = (await this.#logs.settled(LOGS_MS, learned)) ? await this.#findRun(id) : run
      return found ? sendJson(response, `${this.#textOf(found.info)}\n`) : refuse(response, 404, NO_RUN)
    }
    if (this.control?.isOurs(path)) {
      response.setHeader('allow', 'POST')
      return refuse(response, 405, 'an order is posted')
    }
    const format = name === undefined ? formats.find((known) => known === what) : undefined
    if (format) return await this.#sendEvents(request, response, run, query, format)
    const channel = what === 'raw' ? channels.find((known) => known === name) : undefined
    if (channel && this.#hiding) return refuse(response, 403, RAW_HIDDEN)
    if (channel) return sendRaw(response, run.place, channel, query)
    if ((what === 'export.html' || what === 'export.md') && name === undefined) {
      const { sendExport } = await import('./export.ts')
      return await sendExport(response, run, what === 'export.html' ? 'html' : 'md')
    }
    return refuse(
      response,
      404,
      'a run has /events, /chat, /ag-ui, /ai-sdk, /raw/stdout, /raw/stderr, /raw/pty, /raw/stdin, /export.html and /export.md',
    )
  }

  async #search(response: Outgoing, text: string): Promise<void> {
    await this.#list.fresh()
    await this.#asClient(response, () =>
      sendSearch(response, text, this.#list.found(), this.#hiding, this.#shut.signal, this.#options.maxStall),
    )
  }

  /** Counts a client while it is sent a stream. */
  async #asClient(response: Outgoing, send: () => Promise<void>): Promise<void> {
    if (this.clients >= this.#options.maxClients) {
      response.setHeader('retry-after', '5')
      return refuse(response, 503, 'too many clients')
    }
    this.clients++
    try {
      await send()
    } finally {
      this.clients--
      // A client that does not read has more to get, and would hold the server.
      if (this.#shut.signal.aborted && !response.writableEnded) response.destroy()
      if (this.clients === 0) this.#onLeft?.()
    }
  }

  async #sendEvents(
    request: Incoming,
    response: Outgoing,
    run: FoundRun,
    query: URLSearchParams,
    format: (typeof formats)[number],
  ): Promise<void> {
    const { heartbeat, maxStall } = this.#options
    const header = request.headers['last-event-id']
    // The header is what the client saw last; the query is where it began.
    const seen = Array.isArray(header) ? header[0] : header
    // Browsers send bytes, which Node decodes as Latin-1; invalid UTF-8 is the id of no run of ours.
    const after =
      seen === undefined ? (query.get('after') ?? undefined) : Buffer.from(seen, 'latin1').toString()
    if (after !== undefined && after.length > MAX_ID) return refuse(response, 400, 'the id is too long')
    const name = query.get('engine') || undefined
    const engine = engineNamed(name)
    if (name !== undefined && (!engine || run.place.journal() !== undefined))
      return refuse(response, 400, NO_ENGINE)
    await this.#asClient(response, async () => {
      const mine = this.#feeds.share(engine ? readAs(run.place, engine) : run.place)
      try {
        const awaitsReply = () => (mine.derived ? mine.derived.outcome() : run.info.outcome) === 'needs_input'
        const follow = query.get('follow') === '1'
        const { signal } = this.#shut
        const options = { ...mine, after, heartbeat, maxStall, awaitsReply, follow, signal }
        if (format === 'ag-ui' || format === 'ai-sdk') {
          const { sseViews } = await import('../streams/view-sse.ts')
          await streamView(request, response, { ...options, view: sseViews[format] })
        } else await stream(request, response, { ...options, chat: format === 'chat' })
      } finally {
        mine.release()
      }
    })
  }

  #textOf(info: RunInfo): string {
    return JSON.stringify(this.#hiding ? this.#hiding.info(info) : info)
  }

  *#look(): Generator<FoundRun | GoneRun | undefined, void> {
    yield* this.#finder.look()
    const before = this.#listedSessions
    this.#listedSessions = new Set()
    for (const session of this.#sessions?.find() ?? []) {
      if (session) this.#listedSessions.add(session.place.key)
      yield session
    }
    for (const gone of before) if (!this.#listedSessions.has(gone)) yield { gone }
  }

  async #findRun(encoded: string): Promise<FoundRun | undefined> {
    if (encoded.length > MAX_ID * 3) return undefined
    const id = orElse(() => decodeURIComponent(encoded), undefined)
    if (!id) return undefined
    const known = this.#runOf(id)
    if (known) return known
    // It may be a run that has just begun, asked for by its run id.
    await this.#list.seek()
    return this.#runOf(id)
  }

  #runOf(id: string): FoundRun | undefined {
    const [session] = this.#sessions?.find(id) ?? []
    const run = session ?? this.#finder.find(id)
    return run?.place.isThere() ? run : undefined
  }
}

/** The real path of a directory. One that `mayBeMissing` may be made later. */
export function realDir(dir: string, mayBeMissing = false): string {
  const path = resolve(dir)
  if (mayBeMissing && !fs.existsSync(path)) {
    const above = dirname(path)
    return above === path ? path : join(realDir(above, true), basename(path))
  }
  try {
    const real = fs.realpathSync(path)
    if (fs.statSync(real).isDirectory()) return real
  } catch (error) {
    throw badOption(`cannot serve ${quote(dir, 200)}: ${whyFailed(error)}`, {
      cause: error,
    })
  }
  throw badOption(`${quote(dir, 200)} is not a directory; give the one with the runs`)
}

const json = { 'content-type': 'application/json; charset=utf-8' }

export function sendJson(response: Outgoing, text: string): void {
  response.writeHead(200, json).end(text)
}

/** Runs to send at once: joining and encoding ten thousand of them takes longer than a request may wait. */
const PIECE = 200

/** Sends JSON with a list of runs in it. */
async function sendRuns(
  response: Outgoing,
  before: string,
  runs: readonly string[],
  after: string,
): Promise<void> {
  response.writeHead(200, json).write(before)
  for (let at = 0; at < runs.length && !response.destroyed; at += PIECE) {
    await turn()
    response.write((at > 0 ? ',' : '') + runs.slice(at, at + PIECE).join())
  }
  response.end(after)
}

const formats = ['events', 'chat', 'ag-ui', 'ai-sdk'] as const

/**
 * Sends the bytes `[from, to)` of a raw log, unchanged: never as something a browser would render or run.
 * `attempt` selects the attempt (default: the last one); `x-total-bytes` is the size of the log. A log that
 * is not really inside the directory of the run does not count.
 */
function sendRaw(response: Outgoing, place: RunPlace, channel: Channel, query: URLSearchParams) {
  const wanted = numberIn(query, 'attempt')
  const attempts = place.attempts().filter((attempt) => attempt.logs[channel] !== undefined)
  const attempt = wanted === undefined ? attempts.at(-1) : attempts.find((found) => found.number === wanted)
  const path = attempt?.logs[channel]
  if (path === undefined) return refuse(response, 404, 'there is no such stream')
  let fd: number
  try {
    fd = openPlain(path, fs.constants.O_RDONLY, undefined, place.within)
  } catch {
    return refuse(response, 404, 'the stream cannot be read')
  }
  const total = fs.fstatSync(fd).size
  const from = numberIn(query, 'from') ?? 0
  const to = Math.min(total, numberIn(query, 'to') ?? total)
  const bad = Number.isNaN(from) || Number.isNaN(to)
  if (bad || from > total || to < from) {
    fs.closeSync(fd)
    response.setHeader('x-total-bytes', total)
    return refuse(response, bad ? 400 : 416, `give from and to within 0 and ${total}`)
  }
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment',
    'content-length': to - from,
    'x-total-bytes': total,
    'x-attempt': attempt!.number,
  })
  if (to === from) {
    fs.closeSync(fd)
    return void response.end()
  }
  pipeline(fs.createReadStream('', { fd, start: from, end: to - 1 }), response, () => {})
}

/** A whole number in the query, undefined if it is missing, NaN if it is something else. */
function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}
