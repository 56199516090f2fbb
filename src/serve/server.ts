import { setMaxListeners } from 'node:events'
import fs from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { channels } from '../run/audit.ts'
import { accessBy, checkBindAddress } from './access.ts'
import { feeds } from './feeds.ts'
import { hidingOf } from './hiding.ts'
import { isOwnHost } from './host-header.ts'
import { logOverviews } from './log-overviews.ts'
import { memo } from './memo.ts'
import { pageFiles } from './page.ts'
import { pieceRanges } from './piece-ranges.ts'
import { sendRaw } from './raw.ts'
import { refuse } from './refuse.ts'
import type { RunInfo } from './run-info.ts'
import { type EndedRuns, type FoundRun, findRuns, inOrder, type Tails } from './runs.ts'
import type { Served, ServeSettings } from './serve-options.ts'
import { sessionRuns } from './session-runs.ts'
import { stream } from './stream.ts'

/** Nothing may be loaded, framed or sent anywhere but here. */
const security = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}
/** What the login page needs, and what reveals nothing about the runs. */
const openPaths: ReadonlySet<string> = new Set(['/page.css', '/icon.svg', '/healthz'])
const MAX_ID = 1024
/** How long a listing of the directory is reused: many clients ask at once. */
const LIST_MS = 500
/** How long a list waits for logs without a journal; what is not read by then is in the next list. */
const LOGS_MS = 1000

/** The server of `serve`, whose options are checked already. */
export async function startServer(options: ServeSettings): Promise<Served> {
  const { port, host, heartbeat, maxStall, maxClients, token, insecure, sessions: asked } = options
  const access = accessBy(token)
  checkBindAddress(host, token, insecure)
  const root = realDir(options.dir)
  const shut = new AbortController()
  // Every client adds a listener.
  setMaxListeners(0, shut.signal)
  const logs = logOverviews(shut.signal)
  const hiding = hidingOf(options.redact)
  const hidden = hiding && { hiding, pieces: pieceRanges() }
  const shared = feeds(logs, hiding)
  const tails: Tails = new Map()
  const ended: EndedRuns = new Map()
  const sessions = asked === false ? undefined : sessionRuns(logs, asked === true ? {} : asked)
  const runs = memo(LIST_MS, () => {
    const found = findRuns(root, { logs, tails, ended })
    return sessions ? inOrder([...found, ...sessions.find()]) : found
  })
  const shown = (info: RunInfo) => (hiding ? hiding.info(info) : info)
  let clients = 0

  const server = createServer({ keepAliveTimeout: 5000 }, (request, response) => {
    for (const [name, value] of Object.entries(security)) response.setHeader(name, value)
    handle(request, response).catch(() => {
      if (response.headersSent) response.destroy()
      else refuse(response, 500, 'something went wrong here')
    })
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isOwnHost(request.headersDistinct['host'], host))
      return refuse(response, 403, 'this server does not have that name')
    const login = access && request.method === 'POST'
    if (request.method !== 'GET' && !login) {
      response.setHeader('allow', 'GET')
      return refuse(response, 405, 'only GET is allowed')
    }
    // Accept a plain path only: `//host/x` and `http://host/x` name another server.
    const target = request.url!
    if (!target.startsWith('/') || target.startsWith('//'))
      return refuse(
        response,
        404,
        'the path must begin with one slash; the url of serve() ends with one already',
      )
    const { pathname, searchParams } = new URL(`http://sluice${target}`)
    // The page that asks for the token is shown at every address, and sent back to it.
    if (login) return await access.login(request, response, pathname === '/login' ? '/' : pathname)
    if (access && !openPaths.has(pathname) && !access.allows(request)) return access.askFor(request, response)
    const file = pageFiles.get(pathname)
    if (file) return void response.writeHead(200, { 'content-type': file.type }).end(file.text)
    if (pathname === '/healthz') return sendJson(response, { ok: true, clients })
    if (pathname === '/runs') {
      const found = await informed(runs)
      return sendJson(
        response,
        found.map((run) => shown(run.info)),
      )
    }
    const [, place, id, what, name] = pathname.split('/')
    const run = place === 'runs' && id !== undefined ? findRun(id) : undefined
    if (!run) return refuse(response, 404, 'there is no such page or run')
    if (what === undefined) {
      const found = await informed(() => findRun(id!))
      return found
        ? sendJson(response, shown(found.info))
        : refuse(response, 404, 'there is no such page or run')
    }
    if (what !== undefined && name === undefined && isFormat(what))
      return await sendEvents(request, response, run, searchParams, what)
    const channel = what === 'raw' ? channels.find((known) => known === name) : undefined
    if (channel) return await sendRaw(response, run.place, channel, searchParams, hidden)
    if ((what === 'export.html' || what === 'export.md') && name === undefined) {
      const { sendExport } = await import('./send-export.ts')
      return await sendExport(response, run, what === 'export.html' ? 'html' : 'md')
    }
    return refuse(
      response,
      404,
      'a run has /events, /chat, /ag-ui, /ai-sdk, /raw/stdout, /raw/stderr, /raw/pty, /export.html and /export.md',
    )
  }

  /** Calls `find` after logs without a journal were read, if that does not take long. */
  async function informed<T>(find: () => T): Promise<T> {
    const found = find()
    if (!(await logs.settled(LOGS_MS))) return found
    runs.fresh()
    return find()
  }

  /** Only runs that were found by listing can be requested, so no path in a request reaches the disk. */
  function findRun(encoded: string): FoundRun | undefined {
    if (encoded.length > MAX_ID * 3) return undefined
    let id: string
    try {
      id = decodeURIComponent(encoded)
    } catch {
      return undefined
    }
    const named = (found: FoundRun) => found.info.id === id
    const run = runs().find(named) ?? runs.fresh().find(named)
    return run?.place.isThere() ? run : undefined
  }

  async function sendEvents(
    request: IncomingMessage,
    response: ServerResponse,
    run: FoundRun,
    query: URLSearchParams,
    format: Format,
  ) {
    const header = request.headers['last-event-id']
    // The header is what the client saw last; the query is where it began.
    const seen = Array.isArray(header) ? header[0] : header
    // Browsers send the bytes of the id, which Node decodes as Latin-1; invalid UTF-8 is the id of no run of
    // ours.
    const after =
      seen === undefined ? (query.get('after') ?? undefined) : Buffer.from(seen, 'latin1').toString()
    if (after !== undefined && after.length > MAX_ID) return refuse(response, 400, 'the id is too long')
    if (clients >= maxClients) {
      response.setHeader('retry-after', '5')
      return refuse(response, 503, 'too many clients')
    }
    // First what may fail: a request that fails is not counted as a client.
    const mine = shared.share(run.place)
    clients++
    try {
      const options = { ...mine, after, heartbeat, maxStall, signal: shut.signal }
      if (format === 'ag-ui' || format === 'ai-sdk') {
        const { sseViews } = await import('../streams/view-sse.ts')
        const { streamView } = await import('./view-stream.ts')
        await streamView(request, response, { ...options, view: sseViews[format] })
      } else await stream(request, response, { ...options, chat: format === 'chat' })
    } finally {
      clients--
      mine.release()
    }
  }

  await listen(server, port, host)
  // Cast: a server that listens on a port has an AddressInfo.
  const { port: given } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${given}/`,
    port: given,
    clients: () => clients,
    async close() {
      shut.abort()
      const closed = new Promise((done) => server.close(done))
      server.closeAllConnections()
      await closed
      shared.close()
      sessions?.close()
    },
  }
}

function realDir(dir: string): string {
  try {
    const path = fs.realpathSync(resolve(dir))
    if (fs.statSync(path).isDirectory()) return path
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such directory' : codeOf(error)
    throw new Fault('BAD_OPTION', `${quote(dir, 200)} cannot be served: ${why}`, { cause: error })
  }
  throw new Fault('BAD_OPTION', `${quote(dir, 200)} is not a directory; give the one with the runs`)
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    server.once('error', (error) => {
      const code = codeOf(error)
      const why =
        code === 'EADDRINUSE'
          ? `port ${port} is taken; choose another with --port`
          : `${host}:${port}: ${code}`
      fail(new Fault('BAD_OPTION', `cannot listen: ${why}`, { cause: error }))
    })
    server.listen(port, host, done)
  })
}

function sendJson(response: ServerResponse, value: unknown): void {
  response
    .writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
    .end(`${JSON.stringify(value)}\n`)
}

/** The formats of the events of a run. */
type Format = 'events' | 'chat' | 'ag-ui' | 'ai-sdk'

function isFormat(what: string): what is Format {
  return ['events', 'chat', 'ag-ui', 'ai-sdk'].includes(what)
}
