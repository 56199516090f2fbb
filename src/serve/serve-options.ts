import {
  type Complete,
  FLAG_OR_OBJECT,
  isFlagOrObject,
  isFunction,
  isName,
  NOT_TAKEN,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { DURATION, type Duration } from '../base/duration.ts'
import { badOption, orElse } from '../base/fault.ts'
import type { SessionEngine } from '../run/session-files.ts'
import type { RedactOptions } from '../views/redact/redact.ts'

/** The options of `serve()`. */
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
  /** Also shows the sessions that agents themselves store in files in the home directory. @default false */
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
  /**
   * Passes orders on to runs that were started with `run({ control: true })`: answers, interrupt and stop, as
   * `POST /runs/:id/control`. Everyone who may read may then give orders: beyond this machine that needs a
   * `token`. Read docs/control.md first.
   * @default false
   */
  readonly control?: boolean | ControlOptions | undefined
}

/** `control: { … }` of `serve()`: orders to runs, and what else may be done from the page. */
export interface ControlOptions {
  /**
   * `POST /runs/:id/reply` continues a run that has ended: it starts its agent again, as the user of this
   * server, with the recorded command line. Such agents end with the server.
   * @default false
   */
  readonly reply?: boolean | undefined
  /** The origins under which a proxy offers this server: `https://runs.example`. @default none */
  readonly origins?: readonly string[] | undefined
  /** Called with each order and reply that was passed on: for your log. @default none */
  readonly onOrder?: ((order: GivenOrder) => void) | undefined
}

/** What `onOrder` is told: who told a run to do what, through this server. */
export interface GivenOrder {
  /** The address it came from. */
  readonly address: string
  /** What it showed: the `token`, or the `cookie` of the page. Undefined if the server has no token. */
  readonly token: 'token' | 'cookie' | undefined
  /** The id of the run, as in its address. */
  readonly run: string
  readonly id: string
  readonly do: 'answer' | 'interrupt' | 'stop' | 'reply'
  readonly request?: string | undefined
  readonly option?: string | undefined
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
  control: { default: false, is: isFlagOrObject, must: FLAG_OR_OBJECT },
} as const satisfies OptionTable<ServeOptions>

const isOrigin = (text: unknown) =>
  typeof text === 'string' && orElse(() => new URL(text).origin, '') === text

const CONTROL_OPTIONS = {
  signal: NOT_TAKEN,
  reply: OFF,
  origins: {
    default: [],
    is: (list) => Array.isArray(list) && list.every(isOrigin),
    must: 'be a list of origins such as "https://runs.example", but is %',
  },
  onOrder: { is: isFunction, needs: 'a function as onOrder' },
} as const satisfies OptionTable<ControlOptions>

/** Checks the options of control; undefined if there are none. */
export function controlOf(control: ServeSettings['control']) {
  if (control === false) return undefined
  const given = control === true ? {} : control
  return readOptions('control', given, '{ control: { reply: true } }', CONTROL_OPTIONS)
}

export type ControlSettings = NonNullable<ReturnType<typeof controlOf>>

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
