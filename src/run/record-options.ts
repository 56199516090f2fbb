import type { Note } from '../base/fault.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { EventOptions } from '../events/event-stage.ts'
import type { SpawnLike } from '../process/process.ts'
import type { FsDiffOptions } from './fs-diff.ts'
import type { Order } from './orders.ts'

/** How an attempt is run and recorded, as its options say. */
export interface AttemptSettings {
  readonly reading: Omit<EventOptions, 'attempt' | 'clock' | 'fsDiff' | 'runId' | 'dir'>
  readonly command: string
  readonly args: readonly string[]
  readonly engine: Engine | Picker
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly input: 'ignore' | 'inherit' | { readonly text: string }
  readonly tags?: Readonly<Record<string, string>> | undefined
  /** The input is the prompt. */
  readonly piped: boolean
  /** The input stays open, and the prompt is sent as a record of the wire. */
  readonly talk: boolean
  /** Starts the process in place of `spawn`. */
  readonly spawn?: SpawnLike | undefined
  /** It may outlive this program. */
  readonly detached: boolean
  /** No secret is recorded. */
  readonly redact: boolean
  readonly pty: { readonly cols: number; readonly rows: number; readonly pipes: boolean } | undefined
  readonly timeout: number | undefined
  readonly idleTimeout: number | undefined
  readonly killGrace: number
  readonly pipeGrace: number
  readonly fsDiff: FsDiffOptions | false
  /** With a diff of the working tree by git. */
  readonly diff: boolean
}

/** The same for one attempt, with what is told about it. */
export interface RecordOptions extends AttemptSettings {
  readonly runId: string
  readonly attempt: number
  /** The directory that it is recorded into; undefined if it is not. */
  readonly audit: string | undefined
  /** The directory was made for this run: it stays, and says why, if nothing can be started. */
  readonly isOwn: boolean
  /** What is not compared: that directory, or the one with all runs. */
  readonly records: string | undefined
  /** Our own stdin and stdout are those of the process. */
  readonly tee?: boolean | undefined
  /** How long the agent has waited for an answer. */
  readonly waited?: (() => { readonly ms: number; readonly until: number }) | undefined
  /** Does what an order says, if orders are taken; returns why it was not done. */
  readonly onOrder: ((order: Order) => string | undefined) | undefined
  /** Called when the process has started; the notes it returns are reported with the end. */
  readonly onStart: () => readonly Note[]
  /** Called when it has ended; the same. */
  readonly onExit: () => readonly Note[]
  /** What is known of it before it starts. */
  readonly firstNotes: readonly Note[]
  /** Called when all of its output was read; the notes it returns are reported with the end, too. */
  readonly onRead: () => readonly Note[]
  /** Called when something was sent that the process cannot read, because it has closed its stdin. */
  readonly onUnreachable: () => void
  /** Called when an agent that is talked with has closed its output. */
  readonly onMuted: () => void
}
