import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { setMaxListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { checkOptions, defined, isFunction, isName, isText, type OptionTable } from '../base/check-options.ts'
import { DURATION, type Duration, milliseconds } from '../base/duration.ts'
import { badOption, Fault, quote } from '../base/fault.ts'
import { afterLoopTime } from '../base/loop-time.ts'
import { cannotRead, codeOf } from '../base/system-error-code.ts'
import { unlessAborted } from '../base/unless-aborted.ts'
import { Waker } from '../disk/wake.ts'

/** Files of a TLS connection, in PEM. */
export interface NatsTls {
  /** The authority that signed the server's certificate. @default the authorities that Node trusts */
  readonly ca?: string | undefined
  /** The certificate of this client, and its key. @default none */
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** How to connect to the broker. */
export interface NatsOptions {
  /**
   * One address or several of one cluster: `nats://host:4222`, `tls://host`.
   * @default 'nats://127.0.0.1:4222'
   */
  readonly servers?: string | readonly string[] | undefined
  /**
   * The stream with the runs, under `<stream>.<tenant>.<run>`. It is created if it is missing.
   * @default 'sluice'
   */
  readonly stream?: string | undefined
  /** Number of servers that store a stream which is created here: 1, 3 or 5. @default 1 */
  readonly replicas?: number | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly token?: string | undefined
  /** The path of a creds file (JWT and seed). */
  readonly creds?: string | undefined
  /**
   * The beginning of the subjects under which answers to this client arrive. A user that may subscribe to
   * those of others can read what they read: give each its own, and the permission for that.
   * @default '_INBOX'
   */
  readonly inbox?: string | undefined
  /**
   * True for TLS with a certificate that Node trusts, or the files for it.
   * @default if the server requires it
   */
  readonly tls?: boolean | NatsTls | undefined
  /**
   * How long to wait for the first connection. A connection that is lost later is retried forever.
   * @default 0: fails at once if no server answers
   */
  readonly connectTimeout?: Duration | undefined
  /** Called when the connection is lost or awaited, and when it is back. */
  readonly onConnection?: ((connected: boolean) => void) | undefined
  /** Aborting it stops the work. */
  readonly signal?: AbortSignal | undefined
}

const areAddresses = (servers: unknown) => [servers].flat().every(isName)
/** Characters that are valid in the name of a stream, of a bucket, and in a subject. */
export const isStreamName = (name: unknown) => isText(name) && /^[\w-]{1,64}$/.test(name as string)
const areReplicas = (count: unknown) => count === 1 || count === 3 || count === 5
const isTls = (tls: unknown) => typeof tls === 'boolean' || (typeof tls === 'object' && tls !== null)

function checkTls(tls: unknown, who: string): void {
  if (isTls(tls) && typeof tls === 'object')
    checkOptions<NatsTls>(`tls of ${who}`, tls!, '{ tls: { ca: "ca.pem" } }', { ca: {}, cert: {}, key: {} })
}

export const NATS_OPTIONS = {
  servers: { default: 'nats://127.0.0.1:4222', is: areAddresses, needs: 'addresses of NATS servers' },
  stream: {
    default: 'sluice',
    is: isStreamName,
    needs: 'letters, digits, - and _ as the name of the stream',
  },
  replicas: { default: 1, is: areReplicas, needs: '1, 3 or 5 replicas' },
  user: { is: isText, needs: 'text as user' },
  password: { is: isText, needs: 'text as password' },
  token: { is: isText, needs: 'text as token' },
  creds: { is: isText, needs: 'text as creds' },
  inbox: { default: '_INBOX', is: isStreamName, needs: 'letters, digits, - and _ as inbox' },
  tls: { check: checkTls, is: isTls, needs: 'true or files as tls' },
  connectTimeout: { ...DURATION, default: 0 },
  onConnection: { is: isFunction, needs: 'a function as onConnection' },
} as const satisfies OptionTable<NatsOptions>

/** The optional packages, once loaded. */
interface NatsPackages {
  readonly transport: typeof import('@nats-io/transport-node')
  readonly jetstream: typeof import('@nats-io/jetstream')
}

/** A connection that reconnects by itself. */
export interface NatsClient extends NatsPackages {
  readonly connection: NatsConnection
  readonly js: JetStreamClient
  readonly manager: JetStreamManager
  /** The addresses, without passwords. */
  readonly shown: string
  /** Sends a request while there is a connection; else the client would queue it until the timeout. */
  answer<T>(ask: () => Promise<T>): Promise<T>
  /** Waits while the connection is lost; throws if it was closed for good. */
  connected(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Milliseconds to wait for an answer. A leader is elected in about two seconds. */
export const ANSWER_MS = 5000
/** The packages wait by the wall clock: a process that is late would not see answers that are there. */
export const MAX_ANSWER_MS = 120_000
const RETRY_MS = 250
/** A server that hangs is detected after two of these without an answer. */
const PING_MS = 5000

/** Connects, or throws a Fault that says why not. */
export async function connectNats(options: NatsOptions): Promise<NatsClient> {
  const packages = await loadNats()
  const { jetstream } = packages
  const { user, password, token, creds } = options
  const { servers, shown, secure, ...inAddress } = addressesOf(options)
  const settings: NodeConnectionOptions = {
    servers,
    name: 'agent-sluice',
    timeout: ANSWER_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    // An undefined option must not hide what an address contains.
    ...authOf(packages, { ...inAddress, ...defined({ user, password, token, creds }) }),
    ...tlsOf(options.tls ?? (secure || undefined)),
    inboxPrefix: options.inbox ?? NATS_OPTIONS.inbox.default,
  }
  const dialed: Dialed = {}
  const connection = await firstConnection(packages, settings, shown, options, dialed)
  let failed: Fault | undefined
  /** Aborted while there is no connection, with an error that says that a retry may help: no Fault. */
  let gone = new AbortController()
  const lost = () => new Error('the connection was lost')
  const waker = new Waker(PING_MS)
  const tell = (connected: boolean) => {
    if (gone.signal.aborted !== connected) return
    if (connected) gone = new AbortController()
    else gone.abort(lost())
    options.onConnection?.(connected)
    if (connected) waker.wake()
  }
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') tell(false)
      else if (type === 'reconnect') tell(true)
    }
  })().catch(() => {})
  void connection.closed().then((error) => {
    failed = error ? brokerFault(error, shown) : new Fault('BROKER_FAILED', 'the connection was closed')
    waker.wake()
    gone.abort(lost())
  })
  return {
    ...packages,
    connection,
    shown,
    js: jetstream.jetstream(connection, { timeout: MAX_ANSWER_MS }),
    // Without checking the account, which restricted users are not allowed to do.
    manager: await jetstream.jetstreamManager(connection, { timeout: MAX_ANSWER_MS, checkAPI: false }),
    async answer(ask) {
      // One listener for each request.
      setMaxListeners(0, gone.signal)
      let cancel = () => {}
      const late = new Promise<never>((_, reject) => {
        const why = new Error(`no answer within ${ANSWER_MS} ms`)
        cancel = afterLoopTime(ANSWER_MS, () => reject(why))
      })
      try {
        return await unlessAborted(() => Promise.race([ask(), late]), gone.signal)
      } finally {
        cancel()
      }
    },
    async connected(signal) {
      while (gone.signal.aborted && !failed && !signal.aborted) await waker.sleep(signal)
      signal.throwIfAborted()
      if (failed) throw failed
    },
    async close() {
      await connection.close()
      dialed.socket?.destroy()
    },
  }
}

/** The socket that a connection has opened last. */
interface Dialed {
  socket?: Socket
}

const dialing = new AsyncLocalStorage<Dialed>()
let isWatched = false

/**
 * Connects, and notes the sockets. The packages leave one open whose server has not greeted in time, which
 * would keep the process alive: it is closed before the next one is opened, and at the end.
 */
function dial<T>(dialed: Dialed, connect: () => Promise<T>): Promise<T> {
  if (!isWatched)
    subscribe('net.client.socket', (message) => {
      const mine = dialing.getStore()
      if (!mine) return
      mine.socket?.destroy()
      // Cast: what Node publishes there.
      mine.socket = (message as { socket: Socket }).socket
    })
  isWatched = true
  return dialing.run(dialed, connect)
}

async function loadNats(): Promise<NatsPackages> {
  try {
    const [transport, jetstream] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/jetstream'),
    ])
    return { transport, jetstream }
  } catch (error) {
    throw new Fault(
      'BROKER_MISSING',
      'NATS needs two optional packages: npm install @nats-io/transport-node@3 @nats-io/jetstream@3',
      { cause: error },
    )
  }
}

async function firstConnection(
  { transport }: NatsPackages,
  settings: NodeConnectionOptions,
  shown: string,
  { connectTimeout = NATS_OPTIONS.connectTimeout.default, onConnection, signal }: NatsOptions,
  dialed: Dialed,
): Promise<NatsConnection> {
  const timeout = milliseconds(connectTimeout)
  let isOver = timeout === 0
  const cancel = afterLoopTime(timeout, () => {
    isOver = true
  })
  try {
    for (let waited = false; ; waited = true) {
      signal?.throwIfAborted()
      try {
        const connection = await dial(dialed, () => transport.connect(settings))
        if (waited) onConnection?.(true)
        return connection
      } catch (error) {
        dialed.socket?.destroy()
        if (!isAway(error) || isOver) throw brokerFault(error, shown)
      }
      if (!waited) onConnection?.(false)
      await delay(RETRY_MS, undefined, { signal })
    }
  } finally {
    cancel()
  }
}

/** What a system call says of a server that may come: the name of a container is known only when it runs. */
const AWAY: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
])

/** True for what may pass by itself: no server listens there, or it does not answer. */
function isAway(error: unknown): boolean {
  return chainOf(error).some(
    (each) => AWAY.has(codeOf(each) ?? '') || ['TimeoutError', 'ClosedConnectionError'].includes(each.name),
  )
}

/** An error of the broker, as a Fault with what to do about it. */
export function brokerFault(error: unknown, shown: string): Fault {
  if (Fault.is(error)) return error
  // The client wraps the innermost cause in messages like "request error".
  const deepest = chainOf(error).at(-1)?.message ?? String(error)
  return new Fault('BROKER_FAILED', explained(error, shown, quote(deepest, 160)), { cause: error })
}

function explained(error: unknown, shown: string, what: string): string {
  if (isNamed(error, 'AuthorizationError') || isNamed(error, 'UserAuthenticationExpiredError'))
    return `${shown} refuses this user (${what}); check user, password, token or creds`
  if (isNamed(error, 'PermissionViolationError'))
    return `${shown} does not allow this (${what}); docs/hosts.md lists the permissions`
  if (isOfTls(error))
    return `the certificate of ${shown} is not trusted (${what}); name the authority that signed it: --tls-ca, or tls: { ca }`
  if (isAway(error))
    return `no NATS server answers at ${shown} (${what}); check the address, or start it: nats-server -js`
  if (isNamed(error, 'JetStreamApiError'))
    return `${shown} refuses this (${what}); look at the settings and the limits of the stream`
  return `NATS at ${shown} cannot be used (${what}); is the address right and JetStream on?`
}

/** Whether it is about a certificate: Node's codes for those are OpenSSL's names. */
function isOfTls(error: unknown): boolean {
  return chainOf(error).some((each) => {
    const code = codeOf(each) ?? ''
    return code.includes('CERT') || code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
  })
}

/** Checks the name of an error and its causes: the class differs in another copy of the package. */
export function isNamed(error: unknown, name: string): boolean {
  return chainOf(error).some((each) => each.name === name)
}

/** An error and its causes. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let each = error; each instanceof Error && chain.length < 4; each = each.cause) chain.push(each)
  return chain
}

type Auth = Pick<NatsOptions, 'user' | 'password' | 'token' | 'creds'>

function authOf({ transport }: NatsPackages, { user, password, token, creds }: Auth): NodeConnectionOptions {
  const authenticator = creds === undefined ? undefined : transport.credsAuthenticator(fileBytes(creds))
  return defined({ user, pass: password, token, authenticator })
}

function tlsOf(tls: NatsOptions['tls']): NodeConnectionOptions {
  if (tls === undefined) return {}
  if (typeof tls === 'boolean') return { tls: tls ? {} : null }
  const text = (path: string | undefined) =>
    path === undefined ? undefined : Buffer.from(fileBytes(path)).toString()
  return { tls: defined({ ca: text(tls.ca), cert: text(tls.cert), key: text(tls.key) }) }
}

function fileBytes(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (error) {
    throw cannotRead('BAD_OPTION', path, error)
  }
}

/** Addresses without users and passwords, which no message must show, and the first pair. */
function addressesOf({ servers, password }: NatsOptions) {
  let auth: Auth | undefined
  let secure = false
  const plain = [servers ?? NATS_OPTIONS.servers.default].flat().map((address) => {
    const url = urlOf(address)
    // A name without any password is a token, as for the tools of NATS.
    if (url.username !== '')
      auth ??=
        url.password === '' && password === undefined
          ? { token: decoded(url.username) }
          : { user: decoded(url.username), password: decoded(url.password) }
    // The packages do not look at it: they encrypt if the server asks, and go on in the clear if it does not.
    secure ||= url.protocol === 'tls:'
    return `${url.protocol}//${url.host}`
  })
  return { servers: plain, shown: plain.join(', '), secure, ...auth }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw notAnAddress()
  }
}

function urlOf(address: string): URL {
  try {
    const url = new URL(address.includes('://') ? address : `nats://${address}`)
    if (url.host !== '' && ['nats:', 'tls:'].includes(url.protocol)) return url
  } catch {}
  throw notAnAddress()
}

/** Does not quote it: it may hold a password. */
function notAnAddress(): Fault {
  return badOption(
    'an address of NATS looks like this: nats://127.0.0.1:4222, or with a user nats://user:password@host:4222 (a % in it is %25)',
  )
}
