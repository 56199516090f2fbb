import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  isFunction,
  isObject,
  isText,
  misfit,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { badOption, orElse, quote } from '../base/fault.ts'
import { answering, type Incoming, type Outgoing, refuse, requestOf, WebOutgoing } from './http-response.ts'
import { pageFiles, pageHtml } from './page.ts'
import { RunRoutes, realDir } from './routes.ts'
import { controlOf, SERVE_OPTIONS, type ServeOptions } from './serve-options.ts'

/** The options of `handler()`. */
export interface HandlerOptions
  extends Pick<ServeOptions, 'dir' | 'heartbeat' | 'maxStall' | 'maxClients' | 'redact' | 'control'> {
  /** The directory with the runs, as `runs` of `run()`. It need not exist yet. */
  readonly dir: string
  /** The path before `/runs`, as the client writes it: `/agents`. @default '' */
  readonly base?: string | undefined
  /**
   * Whether a request may read, or with `control` give an order: then its method is POST. It gets each
   * request that is ours, as it came, and the id of the run in its path, as the client wrote it: the name of
   * the folder or the run id; undefined for the list and the page. Anything but true is a 403; a throw is a
   * 500 without details, and a warning of the process. `() => true` lets everybody read all runs.
   */
  allow(request: IncomingMessage | Request, id: string | undefined): boolean | Promise<boolean>
  /** Whether the page of `serve` is at `base`. @default false */
  readonly page?: boolean | undefined
}

const EXAMPLE = 'handler({ dir: ".audit", base: "/agents", allow: () => true })'

const HANDLER_OPTIONS = {
  dir: SERVE_OPTIONS.dir,
  base: { default: '', is: isText, must: 'be a path, but is %' },
  allow: {},
  page: OFF,
  heartbeat: SERVE_OPTIONS.heartbeat,
  maxStall: SERVE_OPTIONS.maxStall,
  maxClients: SERVE_OPTIONS.maxClients,
  redact: SERVE_OPTIONS.redact,
  control: SERVE_OPTIONS.control,
} as const satisfies OptionTable<HandlerOptions>

/** Answers requests for runs; what is not its own goes to `next`, or is a 404. */
export interface Handler {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  /** The same for the Fetch API: a route of Next, Hono, Bun, Deno. It needs no `this`. */
  fetch(request: Request): Promise<Response>
  /** Ends the streams that are open. Requests after it get a 503. */
  close(): Promise<void>
}

/**
 * Recorded runs in a server of your own: a function for `node:http`, Express, Connect and the raw objects of
 * Fastify, with a `fetch` for everything else. It answers GET `<base>/runs`, `<base>/runs/:id` and
 * `<base>/runs/:id/events`, `/chat`, `/ag-ui`, `/ai-sdk`, and `<base>/search?q=`, as `serve` does, also while
 * the run goes on. `:id` is the name of the run's folder, or its run id. It reads files, so a client that is
 * slow or leaves changes nothing for the run.
 *
 * @example
 * const runs = handler({ dir: '.audit', base: '/agents', allow: () => true })
 * const GET = runs.fetch // for a route of Next; for Express it is app.use(runs)
 */
export function handler(options: HandlerOptions): Handler {
  if (!isObject(options) || typeof options.dir !== 'string')
    throw misfit('handler', 'an object with the directory of the runs', options, EXAMPLE)
  if (!isFunction(options.allow))
    throw badOption(`handler needs allow, a function that says who may read: ${EXAMPLE} lets everybody`)
  const { dir, allow, page, ...read } = readOptions('handler', options, EXAMPLE, HANDLER_OPTIONS)
  const base = basePath(read.base)
  // Some servers take away the slash at the end of an address, so the page is at both.
  const below = `./${base.slice(base.lastIndexOf('/') + 1).replaceAll('&', '&amp;')}/`
  const control = controlOf(read.control)
  const routes = new RunRoutes(realDir(dir, true), { ...read, control, sessions: false })
  let closed = false

  /** What is asked of us: the path below the base, and the query. */
  const ours = (target: string | undefined): Route | undefined => {
    // `//host/x` names another server.
    if (!target?.startsWith('/') || target.startsWith('//')) return undefined
    const { pathname, searchParams } = new URL(`http://sluice${target}`)
    if (pathname !== base && !pathname.startsWith(`${base}/`)) return undefined
    const path = pathname.slice(base.length)
    const isOurs =
      path === '/runs' ||
      path.startsWith('/runs/') ||
      path === '/search' ||
      (page && (path === '' || pageFiles.has(path)))
    return isOurs ? { path, query: searchParams } : undefined
  }

  const answer = (
    asked: Incoming,
    response: Outgoing,
    { path, query }: Route,
    request: IncomingMessage | Request,
  ) =>
    answering(response, async () => {
      if (closed) return refuse(response, 503, 'this server is about to end')
      const order = asked.method === 'POST' && routes.control?.isOurs(path) ? routes.control : undefined
      if (asked.method !== 'GET' && !order) {
        response.setHeader('allow', 'GET')
        return refuse(response, 405, 'only GET is allowed')
      }
      if (!(await isAllowed(request, idIn(path)))) return refuse(response, 403, 'this is not for you')
      if (response.destroyed) return
      if (order) return await order.answer(asked, request, response, path, undefined)
      const file = pageFiles.get(path || '/')
      if (!file) return await routes.answer(asked, response, path, query)
      const text = path === '' ? pageHtml(below) : file.text
      response.writeHead(200, { 'content-type': file.type }).end(text)
    })

  const isAllowed = async (request: IncomingMessage | Request, id: string | undefined): Promise<boolean> => {
    try {
      return (await allow(request, id)) === true
    } catch (error) {
      process.emitWarning(
        `allow of handler() failed: ${error instanceof Error ? error.message : String(error)}`,
      )
      throw error
    }
  }

  const handle = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => {
    // Frameworks cut off from `url` the path at which a handler is mounted.
    const { originalUrl = request.url } = request as { originalUrl?: string }
    const route = ours(originalUrl)
    const isOurs = request.method === 'GET' || (route && routes.control?.isOurs(route.path))
    if (next && (!route || !isOurs)) return next()
    if (!route) return refuse(response, 404, 'there is no such page')
    void answer(request, response, route, request)
  }
  return Object.assign(handle, {
    async fetch(request: Request): Promise<Response> {
      const asked = requestOf(request)
      const route = ours(asked.url)
      if (!route) return new Response('there is no such page\n', { status: 404 })
      const reply = new WebOutgoing(request.signal)
      void answer(asked, reply, route, request)
      return await reply.response
    },
    async close() {
      closed = true
      routes.leave()
      await routes.left()
      routes.close()
    },
  })
}

interface Route {
  readonly path: string
  readonly query: URLSearchParams
}

/** As a URL has it, without a slash at its end. */
function basePath(given: string): string {
  let end = given.length
  while (given[end - 1] === '/') end--
  const path = given.slice(0, end)
  if (path !== '' && (!/^\/(?!\/)[^?#]*$/.test(path) || /\s/.test(path)))
    throw badOption(`base must be a path such as "/agents", but is ${quote(given)}`)
  return path === '' ? '' : new URL(`http://sluice${path}`).pathname
}

/** The id of the run in a path, as far as it can be decoded. */
function idIn(path: string): string | undefined {
  const encoded = path.split('/')[2]
  return encoded && orElse(() => decodeURIComponent(encoded), encoded)
}
