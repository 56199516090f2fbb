import {
  type Complete,
  FLAG_OR_OBJECT,
  isFlagOrObject,
  isName,
  NOT_TAKEN,
  OFF,
  type OptionTable,
} from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { badOption } from '../base/fault.ts'
import type { SessionEngine } from '../run/session-files.ts'
import type { RedactOptions } from '../views/redact/redact.ts'

export interface ServeOptions {
  /** The directory with the runs. */
  readonly dir: string
  /** 0 for any free one. @default 4180 */
  readonly port?: number | undefined
  /** @default '127.0.0.1' */
  readonly host?: string | undefined
  /** How long it may be silent before a client gets a heartbeat. @default '15s' */
  readonly heartbeat?: Duration | undefined
  /** How long a client may leave sent data unread before it is dropped. @default '30s' */
  readonly maxStall?: Duration | undefined
  /** Event streams at once; another one gets a 503. @default 2000 */
  readonly maxClients?: number | undefined
  /** Also shows the session files of agents in the home directory, next to the runs. @default false */
  readonly sessions?: boolean | SessionsServed | undefined
  /**
   * What a client must send (`Authorization: Bearer …`), or type into the page, to read anything: at least 16
   * characters.
   * @default none; then `host` must be an address of this machine only, or `insecure` be set
   */
  readonly token?: string | undefined
  /** Lets every machine that reaches `host` read all runs, without a token. @default false */
  readonly insecure?: boolean | undefined
  /**
   * Hides keys, tokens and passwords in everything that is sent, never in the files. Messages then arrive
   * when they are complete, not piece by piece, and no raw bytes are sent: a request for them gets a 403.
   * @default false
   */
  readonly redact?: boolean | RedactOptions | undefined
}

/** Which session files to show. */
export interface SessionsServed {
  /**
   * The home directory to search; then the engines' own environment variables are ignored.
   * @default the user's
   */
  readonly home?: string | undefined
  /** Only this engine. @default all */
  readonly engine?: SessionEngine | undefined
  /** Maximum number to list, the newest first. @default 200 */
  readonly max?: number | undefined
}

export const SESSIONS_OPTIONS = {
  signal: NOT_TAKEN,
  home: {},
  engine: {},
  max: { default: 200 },
} as const satisfies OptionTable<SessionsServed>

const ADDRESS = 'be a whole number and host a name or an address'

function checkHost(host: unknown): void {
  if (typeof host !== 'string') throw badOption(`port must ${ADDRESS}`)
}

export const SERVE_OPTIONS = {
  signal: NOT_TAKEN,
  dir: { is: isName, needs: 'the directory of the runs as dir' },
  port: { default: 4180, is: Number.isInteger, must: ADDRESS },
  host: { default: '127.0.0.1', check: checkHost },
  heartbeat: { ...DURATION, default: 15_000 },
  maxStall: { ...DURATION, default: 30_000 },
  maxClients: { default: 2000 },
  sessions: { default: false, is: isFlagOrObject, must: FLAG_OR_OBJECT },
  token: {},
  insecure: OFF,
  redact: { default: false, is: isFlagOrObject, must: FLAG_OR_OBJECT },
} as const satisfies OptionTable<ServeOptions>

export type ServeSettings = Complete<ServeOptions, typeof SERVE_OPTIONS>

/** A running server. */
export interface RunServer {
  /** With a slash at its end: `new URL('runs', url)`. */
  readonly url: string
  readonly port: number
  /** Number of open event streams. */
  readonly clients: () => number
  close(): Promise<void>
}
