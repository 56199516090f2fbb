import { checkOptions, isFunction, isName, isText, type OptionTable } from '../base/check-options.ts'

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

const areAddresses = (servers: unknown) => [servers].flat().every(isName)
/** Characters that are valid in the name of a stream, of a bucket, and in a subject. */
export const isStreamName = (name: unknown) => isText(name) && /^[\w-]{1,64}$/.test(name as string)
const areReplicas = (count: unknown) => count === 1 || count === 3 || count === 5
export const isWait = (wait: unknown) => typeof wait === 'number' && wait >= 0
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
  tls: { check: checkTls, is: isTls, needs: 'true or files as tls' },
  connectTimeout: { default: 0, is: isWait, needs: 'milliseconds as connectTimeout' },
  onConnection: { is: isFunction, needs: 'a function as onConnection' },
} as const satisfies OptionTable<NatsOptions>
