import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { badOption, quote } from '../base/fault.ts'
import { refuse } from './http-response.ts'
import { loginPage } from './page.ts'

/** Maximum size of a login body in bytes. */
const MAX_BODY = 4096
/** Milliseconds that a wrong token costs the address it came from, so that guessing is slow. */
const WRONG_MS = 500
/** Wrong tokens of one address that may wait for their answer; meanwhile it gets no other token checked. */
const MAX_WAITING = 16

/**
 * Access control: everyone who can reach the server may read, or only clients with the token. Undefined
 * without a token. Throws if the token could be guessed, or cannot be sent.
 */
export function accessBy(token: string | undefined) {
  if (token === undefined) return undefined
  if (typeof token !== 'string' || !/^[\x21-\x7e]{16,1024}$/.test(token))
    throw badOption(
      `the token must have at least 16 characters, printable ASCII without blanks; openssl rand -hex 16 makes one`,
    )
  const isToken = equals(token)
  // The cookie is not the token: it expires with this process, and reading it does not reveal the token.
  const session = createHmac('sha256', randomBytes(32)).update('session').digest('hex')
  const isSession = equals(session)
  // Cookies do not distinguish ports of one host.
  const cookieName = (request: IncomingMessage) => `sluice_${request.socket.localPort}`

  const waits = new Waits()

  return {
    /**
     * Whether the request may read. If not, responds that the token is needed, and a browser gets a page that
     * asks for it; a wrong token is answered late.
     */
    async admits(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
      const cookie = cookieOf(request, cookieName(request))
      if (cookie !== undefined && isSession(cookie)) return true
      const [scheme, given] = (request.headers.authorization ?? '').split(' ')
      if (scheme?.toLowerCase() === 'bearer' && given !== undefined) {
        if (waits.areMany(addressOf(request))) return refuseFlood(response)
        if (isToken(given)) return true
        await waits.forWrong(addressOf(request))
      }
      response.setHeader('www-authenticate', 'Bearer')
      if (request.headers.accept?.includes('text/html')) sendGate(response)
      else refuse(response, 401, 'send the token of this server: Authorization: Bearer <token>')
      return false
    },
    /** Handles the posted login form: sets a cookie for the right token, and redirects to `path`. */
    async login(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
      const { origin, host } = request.headers
      // The login page sends no referrer, and then browsers send no origin either.
      const own = [undefined, 'null', `http://${host}`, `https://${host}`]
      if (!own.includes(origin)) return refuse(response, 403, 'this form belongs to another site')
      // A request whose body was not read to its end no longer has a socket.
      const address = addressOf(request)
      if (waits.areMany(address)) return void refuseFlood(response)
      const body = await bodyOf(request)
      const given = body === undefined ? undefined : new URLSearchParams(body).get('token')
      if (given == null || !isToken(given)) {
        await waits.forWrong(address)
        return sendGate(response, 'That is not the token.')
      }
      const cookie = `${cookieName(request)}=${session}; HttpOnly; SameSite=Strict; Path=/`
      // Without a fragment, so that the browser keeps its own.
      response.writeHead(303, { location: path, 'set-cookie': cookie }).end()
    },
  }
}

/**
 * Wrong tokens wait one after the other, for each address on its own: many connections at once guess no
 * faster than one, and nobody else waits for them. The right token never waits.
 */
class Waits {
  readonly #waiting = new Map<string, { count: number; until: number }>()

  areMany(address: string): boolean {
    return (this.#waiting.get(address)?.count ?? 0) >= MAX_WAITING
  }

  async forWrong(address: string): Promise<void> {
    const now = performance.now()
    const mine = this.#waiting.get(address) ?? { count: 0, until: now }
    this.#waiting.set(address, mine)
    mine.count++
    mine.until += WRONG_MS
    await setTimeout(mine.until - now, undefined, { ref: false })
    if (--mine.count === 0) this.#waiting.delete(address)
  }
}

function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? ''
}

function refuseFlood(response: ServerResponse): false {
  response.setHeader('retry-after', '1')
  refuse(response, 429, 'too many wrong tokens came from this address; wait a second')
  return false
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Refuses an address that other machines can reach, unless there is a token or the user allows it. */
export function checkBindAddress(host: string, token: string | undefined, insecure: boolean): void {
  const version = isIP(host)
  const here = version === 0 ? host === 'localhost' : loopback.check(host, version === 4 ? 'ipv4' : 'ipv6')
  if (here || token !== undefined || insecure) return
  throw badOption(
    `${quote(host)} can be reached from other machines, and anyone there could read the runs; set a token (of the command: --token, or SLUICE_TOKEN), or insecure (--insecure)`,
  )
}

/**
 * Whether the Host header of a request names this server. A page of another site can point its own name at
 * this machine (DNS rebinding), and the browser would then let it read the answer. So only names are accepted
 * that no other site can own: IP addresses, localhost, and the name the server was started with.
 */
export function isOwnHost(headers: readonly string[] | undefined, host: string): boolean {
  const [header, second] = headers ?? []
  // Reject duplicate Host headers: a proxy may have checked the other one.
  if (header === undefined || second !== undefined) return false
  const name = header.replace(/:\d{1,5}$/, '').toLowerCase()
  if (name === 'localhost' || name === host.toLowerCase()) return true
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/**
 * Why a request that changes something may not come from where it comes from; undefined if it may. Only our
 * own page, or a program that names our origin, or one of `origins`. `host` as in `isOwnHost`: under any
 * other name a page may be of another site that has pointed that name at this machine.
 */
export function whyForeign(
  headers: IncomingHttpHeaders,
  origins: readonly string[],
  host = '',
): string | undefined {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (origin === undefined && site === undefined)
    return 'a request that changes something needs the header Origin, with the origin of this server'
  if (origin !== undefined && origins.includes(origin)) return undefined
  // HTTP/2 has a field of its own for it.
  const name = String(headers[':authority'] ?? headers.host)
  if (origin !== undefined && ![`http://${name}`, `https://${name}`].includes(origin))
    return `this request comes from ${quote(origin, 100)}, which is not the origin of this server`
  if (site !== undefined && site !== 'same-origin') return 'this request comes from another site'
  if (isOwnHost([name], host)) return undefined
  return `this server takes orders under the name ${quote(name, 100)} only if its origin is named (origins)`
}

/** Compares in constant time, whatever the position of the difference and the length. */
function equals(secret: string): (given: string) => boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  const wanted = hash(secret)
  return (given) => timingSafeEqual(hash(given), wanted)
}

function cookieOf(request: IncomingMessage, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = part.trim().split('=')
    if (key === name) return value
  }
  return undefined
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > MAX_BODY) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function sendGate(response: ServerResponse, wrong?: string): void {
  // The form is the only thing here that may be submitted, and only to its own origin.
  const policy =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  response.setHeader('content-security-policy', policy)
  response.writeHead(401, { 'content-type': 'text/html; charset=utf-8' }).end(loginPage(wrong))
}
