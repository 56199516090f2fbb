import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { DEFAULT_SERVER, type NatsOptions } from './nats-options.ts'

/** The optional packages, once they are loaded. */
interface NatsPackages {
  readonly transport: typeof import('@nats-io/transport-node')
  readonly jetstream: typeof import('@nats-io/jetstream')
}

/** A connection that comes back by itself. */
export interface NatsClient extends NatsPackages {
  readonly connection: NatsConnection
  readonly js: JetStreamClient
  readonly manager: JetStreamManager
  /** The addresses, without passwords. */
  readonly shown: string
  /**
   * Asks and waits for the answer, if there is a connection and as long as there is: the client itself would hold the question, and
   * wait until the time is over.
   */
  answer<T>(ask: () => Promise<T>): Promise<T>
  /** Waits while the connection is lost; throws if it was closed for good. */
  connected(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Milliseconds that an answer may take. A leader is elected in about two seconds. */
export const ANSWER_MS = 5000
const RETRY_MS = 250
/** A server that hangs is noticed after two of these without an answer. */
const PING_MS = 5000

/** Connects, or throws a Fault that says why not. */
export async function connectNats(options: NatsOptions): Promise<NatsClient> {
  const packages = await loadNats()
  const { jetstream } = packages
  const { servers, shown, user, password, secure } = addressesOf(options.servers)
  const settings: NodeConnectionOptions = {
    servers,
    name: 'agent-sluice',
    timeout: ANSWER_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ...authOf(packages, { user, password, ...given(options) }),
    ...tlsOf(options.tls ?? (secure || undefined)),
  }
  const connection = await firstConnection(packages, settings, shown, options)
  let failed: Fault | undefined
  let lost = false
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const each of [...waiting]) each()
  }
  const unanswered = new Set<(error: Error) => void>()
  const cut = () => {
    for (const reject of [...unanswered]) reject(new Error('the connection was lost'))
  }
  const tell = (connected: boolean) => {
    if (lost !== connected) return
    lost = !connected
    options.onConnection?.(connected)
    if (connected) wake()
    else cut()
  }
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') tell(false)
      else if (type === 'reconnect') tell(true)
    }
  })().catch(() => {})
  void connection.closed().then((error) => {
    failed = error ? brokerFault(error, shown) : new Fault('BROKER_FAILED', 'the connection was closed')
    wake()
    cut()
  })
  return {
    ...packages,
    connection,
    shown,
    js: jetstream.jetstream(connection, { timeout: ANSWER_MS }),
    // Without a look at the account, which restricted users may not take.
    manager: await jetstream.jetstreamManager(connection, { timeout: ANSWER_MS, checkAPI: false }),
    async answer(ask) {
      if (lost) throw new Error('there is no connection')
      const asked = ask()
      let fail: ((error: Error) => void) | undefined
      const lostNow = new Promise<never>((_, reject) => {
        fail = reject
        unanswered.add(reject)
      })
      try {
        return await Promise.race([asked, lostNow])
      } finally {
        unanswered.delete(fail!)
        // It may still be answered, or fail, when no one waits for it.
        asked.catch(() => {})
      }
    },
    async connected(signal) {
      while (lost && !failed && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const done = () => {
            waiting.delete(done)
            signal.removeEventListener('abort', done)
            resolve()
          }
          waiting.add(done)
          signal.addEventListener('abort', done)
        })
      }
      signal.throwIfAborted()
      if (failed) throw failed
    },
    close: () => connection.close(),
  }
}

/** Loads the optional packages. */
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
  { connectTimeout = 10_000, signal }: NatsOptions,
): Promise<NatsConnection> {
  const until = performance.now() + connectTimeout
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await transport.connect(settings)
    } catch (error) {
      const final = !isAway(error) || performance.now() > until
      if (final) throw brokerFault(error, shown)
    }
    await delay(RETRY_MS, undefined, { signal })
  }
}

/** True for what may pass by itself: no server listens there, or it does not answer. */
function isAway(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < 4; each = each.cause, depth++) {
    if (['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ETIMEDOUT', 'EPIPE'].includes(codeOf(each) ?? ''))
      return true
    if (['TimeoutError', 'ClosedConnectionError'].includes(each.name)) return true
    if (each.name === 'ConnectionError' && each.message.includes('connection refused')) return true
  }
  return false
}

/** What went wrong at the broker, as a Fault with what to do about it. */
export function brokerFault(error: unknown, shown: string): Fault {
  if (Fault.is(error)) return error
  const what = quote(deepest(error), 160)
  if (isNamed(error, 'AuthorizationError') || isNamed(error, 'UserAuthenticationExpiredError'))
    return new Fault(
      'BROKER_FAILED',
      `${shown} refuses this user (${what}); check user, password, token or creds`,
      {
        cause: error,
      },
    )
  if (isNamed(error, 'PermissionViolationError'))
    return new Fault(
      'BROKER_FAILED',
      `${shown} does not allow this (${what}); docs/hosts.md lists the permissions`,
      {
        cause: error,
      },
    )
  return new Fault(
    'BROKER_FAILED',
    `NATS at ${shown} cannot be used (${what}); is the address right and JetStream on?`,
    {
      cause: error,
    },
  )
}

/** By name, also of the cause: a class is another one in another copy of the package. */
export function isNamed(error: unknown, name: string): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < 4; each = each.cause, depth++)
    if (each.name === name) return true
  return false
}

/** The message of the first cause: the client wraps it in words like "request error". */
function deepest(error: unknown): string {
  let each = error
  for (let depth = 0; each instanceof Error && each.cause instanceof Error && depth < 4; depth++)
    each = each.cause
  return each instanceof Error ? each.message : String(each)
}

type Auth = Pick<NatsOptions, 'user' | 'password' | 'token' | 'creds'>

/** What was given: an option that is undefined must not hide what an address has. */
function given({ user, password, token, creds }: NatsOptions): Auth {
  return Object.fromEntries(
    Object.entries({ user, password, token, creds }).filter(([, value]) => value !== undefined),
  )
}

function authOf({ transport }: NatsPackages, { user, password, token, creds }: Auth): NodeConnectionOptions {
  return {
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { token }),
    ...(creds === undefined ? {} : { authenticator: transport.credsAuthenticator(fileBytes(creds)) }),
  }
}

function tlsOf(tls: NatsOptions['tls']): NodeConnectionOptions {
  if (tls === undefined) return {}
  if (typeof tls === 'boolean') return { tls: tls ? {} : null }
  const { ca, cert, key } = tls
  const text = (path: string) => Buffer.from(fileBytes(path)).toString()
  return {
    tls: {
      ...(ca === undefined ? {} : { ca: text(ca) }),
      ...(cert === undefined ? {} : { cert: text(cert) }),
      ...(key === undefined ? {} : { key: text(key) }),
    },
  }
}

function fileBytes(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new Fault('BAD_OPTION', `${quote(path, 200)} cannot be read (${codeOf(error)})`, { cause: error })
  }
}

/** Addresses without users and passwords, and those of the first that has them: a message must not show them. */
function addressesOf(servers: NatsOptions['servers']) {
  let user: string | undefined
  let password: string | undefined
  let secure = false
  const plain = [servers ?? DEFAULT_SERVER].flat().map((address) => {
    const url = urlOf(address)
    if (url.username !== '' && user === undefined) {
      user = decodeURIComponent(url.username)
      password = decodeURIComponent(url.password)
    }
    // The packages do not look at it: they encrypt if the server asks, and go on in the clear if it does not.
    secure ||= url.protocol === 'tls:'
    return `${url.protocol}//${url.host}`
  })
  return { servers: plain, shown: plain.join(', '), user, password, secure }
}

function urlOf(address: string): URL {
  try {
    const url = new URL(address.includes('://') ? address : `nats://${address}`)
    if (url.host !== '') return url
  } catch {}
  // Not quoted: it may hold a password.
  throw new Fault('BAD_OPTION', 'an address of NATS looks like this: nats://127.0.0.1:4222')
}
