import { checkOptions, misfit, type OptionNames } from '../base/check-options.ts'

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
   * True for TLS with a certificate that Node trusts, or the files for it.
   * @default if the server requires it
   */
  readonly tls?: boolean | NatsTls | undefined
  /**
   * Milliseconds to wait for the first connection. A connection that is lost later is retried forever.
   * @default 0: fails at once if no server answers
   */
  readonly connectTimeout?: number | undefined
  /** Called when the connection is lost or awaited, and when it is back. */
  readonly onConnection?: ((connected: boolean) => void) | undefined
  /** Aborting it stops the work. */
  readonly signal?: AbortSignal | undefined
}

export const DEFAULT_SERVER = 'nats://127.0.0.1:4222'
export const DEFAULT_STREAM = 'sluice'

const NATS_OPTIONS: OptionNames<NatsOptions> = {
  servers: 1,
  stream: 1,
  replicas: 1,
  user: 1,
  password: 1,
  token: 1,
  creds: 1,
  tls: 1,
  connectTimeout: 1,
  onConnection: 1,
}

/** Throws BAD_OPTION for options that cannot work; `more` are the names that only this function has. */
export function checkNatsOptions<O extends NatsOptions>(
  who: string,
  options: O,
  example: string,
  more: OptionNames<Omit<NoInfer<O>, keyof NatsOptions>>,
): void {
  checkOptions<object>(who, options, example, { ...NATS_OPTIONS, ...more })
  const { servers, stream, replicas, connectTimeout, tls, onConnection } = options
  const addresses = servers === undefined ? [] : [servers].flat()
  if (!addresses.every((address) => typeof address === 'string' && address !== ''))
    throw misfit(who, 'addresses of NATS servers', servers, example)
  // Characters that are valid both in the name of a stream and in a subject.
  if (stream !== undefined && (typeof stream !== 'string' || !/^[\w-]{1,64}$/.test(stream)))
    throw misfit(who, 'letters, digits, - and _ as the name of the stream', stream, example)
  if (replicas !== undefined && ![1, 3, 5].includes(replicas))
    throw misfit(who, '1, 3 or 5 replicas', replicas, example)
  if (connectTimeout !== undefined && !(typeof connectTimeout === 'number' && connectTimeout >= 0))
    throw misfit(who, 'milliseconds as connectTimeout', connectTimeout, example)
  if (tls !== undefined && typeof tls !== 'boolean' && (typeof tls !== 'object' || tls === null))
    throw misfit(who, 'true or files as tls', tls, example)
  if (typeof tls === 'object')
    checkOptions(`tls of ${who}`, tls, '{ tls: { ca: "ca.pem" } }', { ca: 1, cert: 1, key: 1 })
  if (onConnection !== undefined && typeof onConnection !== 'function')
    throw misfit(who, 'a function as onConnection', onConnection, example)
  for (const name of ['user', 'password', 'token', 'creds'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'string')
      throw misfit(who, `text as ${name}`, options[name], example)
}
