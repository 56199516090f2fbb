import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { Writable } from 'node:stream'

/** What is read of a request: of one of Node, or of the Fetch API. */
export type Incoming = Pick<IncomingMessage, 'headers' | 'method' | 'url'> &
  Partial<Pick<IncomingMessage, 'socket' | 'httpVersionMajor'>>

/** Where the answer goes: a response of Node, or what becomes one of the Fetch API. */
export interface Outgoing extends Writable {
  readonly headersSent: boolean
  setHeader(name: string, value: string | number): unknown
  writeHead(status: number, headers?: OutgoingHttpHeaders): this
  flushHeaders(): void
}

/** Sends a plain-text error response. */
export function refuse(response: Outgoing, status: number, why: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${why}\n`)
}

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

/** Answers a request with the headers that every answer has; what fails is a 500 without a word about it. */
export async function answering(response: Outgoing, answer: () => Promise<void>): Promise<void> {
  try {
    for (const [name, value] of Object.entries(security)) response.setHeader(name, value)
    await answer()
  } catch {
    if (response.headersSent) response.destroy()
    else refuse(response, 500, 'something went wrong here')
  }
}

/** Statuses that have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 304])
/** Bytes that wait for a client. */
const MAX_WAITING = 64 << 10

/** A request of the Fetch API, as it is read here. */
export function requestOf({ method, url, headers }: Request): Incoming {
  const { pathname, search, host } = new URL(url)
  // Cast: `Headers` has lower-case names, each once.
  return {
    method,
    url: pathname + search,
    headers: { host, ...Object.fromEntries(headers) } as IncomingHttpHeaders,
  }
}

/** What is written becomes the body of a `Response`, at the speed of its reader. */
export class WebOutgoing extends Writable implements Outgoing {
  /** Resolves with the head; the body follows. */
  readonly response: Promise<Response>
  readonly #headers = new Headers()
  #begin!: (response: Response) => void
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  #resume: (() => void) | undefined
  headersSent = false

  /** `signal` is that of the request: it is aborted when the client leaves. */
  constructor(signal: AbortSignal) {
    super({ highWaterMark: MAX_WAITING })
    this.response = new Promise((resolve) => {
      this.#begin = resolve
    })
    const leave = () => this.destroy()
    signal.addEventListener('abort', leave, { once: true })
    this.once('close', () => signal.removeEventListener('abort', leave))
  }

  setHeader(name: string, value: string | number): void {
    this.#headers.set(name, String(value))
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, String(value))
    this.headersSent = true
    const body = EMPTY.has(status) ? null : this.#stream()
    this.#begin(new Response(body, { status, headers: this.#headers }))
    return this
  }

  /** They are sent with `writeHead`. */
  flushHeaders(): void {}

  #stream(): ReadableStream<Uint8Array> {
    const start = (body: ReadableStreamDefaultController<Uint8Array>) => {
      this.#body = body
    }
    const pull = () => {
      const resume = this.#resume
      this.#resume = undefined
      resume?.()
    }
    const cancel = () => {
      this.#body = undefined
      this.destroy()
    }
    const waiting = { highWaterMark: MAX_WAITING, size: (bytes: Uint8Array) => bytes.byteLength }
    return new ReadableStream({ start, pull, cancel }, waiting)
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.#body?.enqueue(bytes)
    if (!this.#body || (this.#body.desiredSize ?? 0) > 0) done()
    else this.#resume = done
  }

  override _final(done: () => void): void {
    this.#body?.close()
    this.#body = undefined
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#body?.error(error ?? new Error('the stream was cut: the client left, or did not read'))
    this.#body = undefined
    // Changes nothing if there was a head; without one the request would never be answered.
    this.#begin(new Response(null, { status: 503 }))
    done(error)
  }
}
