import type { Cost } from '../events/cost.ts'
import type { EndState, FailureClass } from '../events/event.ts'
import type { RunOutcome } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'

/**
 * A run in the response of `GET /runs`.
 *
 * @example
 * const { url } = await serve({ dir: '.audit', port: 0 })
 * const runs = (await (await fetch(new URL('runs', url))).json()) as RunInfo[]
 */
export interface RunInfo {
  /**
   * Its path under the served directory; for a session file `session://<engine>/<its path below the engine's
   * directory>`.
   */
  readonly id: string
  /** The id in its records, once there are any. */
  readonly run_id: string | null
  readonly engine: string | null
  /** The model, as the engine named it; null if it did not, or while it runs. */
  readonly model: string | null
  /** What the agent was asked to do first, as far as that is known; the first 2,000 characters. */
  readonly task: string | null
  /** How many attempts it has: each start of its agent is one. */
  readonly attempts: number
  /**
   * How its last attempt ended, in the protocol's words: `outcome` is plainer. `unread` if its logs were not
   * read yet, or are so large that their end is read when it is opened.
   */
  readonly state: 'running' | 'unread' | EndState
  /**
   * How it ended, in one plain word: `succeeded`, `finished` (the usual good end), `needs_input`, `failed`,
   * `cancelled` or `unknown`. Null while it runs, and if it is unread and not known yet.
   */
  readonly outcome: RunOutcome | null
  /** Whether it ended well: `succeeded` or `finished`. Null where the outcome is. */
  readonly ok: boolean | null
  /** Of a run that failed: why, in one word; null if it did not fail, or was recorded by 0.2. */
  readonly failure_class: FailureClass | null
  /** What it cost, as the engine reported it; null if it did not, or while it runs. */
  readonly cost: Cost | null
  /** As the engine reported them; null if it did not, or while it runs. */
  readonly tokens: Tokens | null
  /** Number of files that it changed; null if that is not known, or while it runs. */
  readonly files: number | null
  /**
   * Of a run that did not end well: why, as `sluice why` tells it first. A tool that failed counts only if
   * the agent did not go on after it.
   */
  readonly problem: string | null
  /** The request or the question that has no answer yet, in one line; null if nothing is open. */
  readonly waits_for: string | null
  /** What decided the end: DONE_MARKER, END_SIGNAL, EXIT_CODE, … */
  readonly reason_code: string | null
  readonly exit_code: number | null
  readonly signal: string | null
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly argv: readonly string[]
  /** The streams of each attempt and their sizes in bytes. */
  readonly streams: readonly { readonly attempt: number; readonly stream: string; readonly bytes: number }[]
  /** Only if it has no journal: `/events?engine=` and `/chat?engine=` read its logs as that agent's. */
  readonly logs_only?: true
  /** What the caller said about it, if anything. */
  readonly tags?: Readonly<Record<string, string>>
  /** Only if this server passes orders on, and the newest attempt takes them now. */
  readonly control?: true
  /** Only if this server takes replies, and the run can be continued. */
  readonly reply?: true
  /** Only where secrets are hidden: the bytes of the streams are not sent. */
  readonly raw_hidden?: true
  /** Only for a session file: the directory the agent worked in, and when the file was last written. */
  readonly session?: { readonly directory: string | null; readonly updated_at: string }
}

/** A run that contains the text searched for: the first event with it, and the number of such events. */
export interface RunHit {
  readonly id: string
  /** The address of the event: `<attempt>.<seq>`. */
  readonly event: string
  readonly type: string
  readonly ts: string
  /** What is around the text, in one line. */
  readonly before: string
  readonly match: string
  readonly after: string
  /** Number of events that contain the text. */
  readonly count: number
}

/** The order of the list: runs in progress first, then the newest. */
export function compareRuns(a: RunInfo, b: RunInfo): number {
  const running = Number(b.state === 'running') - Number(a.state === 'running')
  if (running !== 0) return running
  const [mine, theirs] = [dateOf(a), dateOf(b)]
  if (mine !== theirs) return mine > theirs ? -1 : 1
  return byName(a.id, b.id)
}

/** As `localeCompare`, which takes five times as long for thousands of runs. */
const byName = /* @__PURE__ */ new Intl.Collator().compare

/** A session can last for days, so it is listed by when it was last written. */
function dateOf({ session, started_at }: RunInfo): string {
  return session?.updated_at ?? started_at ?? ''
}
