import type { AgentEvent } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'

/** Where a page gets its runs from: a server, or the data inside the document. */
export interface RunSource {
  /** Whether the list can change, so that it must be requested again. */
  readonly live: boolean
  /** Number of secrets that were hidden in it, if it was redacted. */
  readonly redacted?: number | undefined
  /**
   * Hands over all runs that are known, in order, whenever more of them are read or some have changed, and
   * how many folders with older ones are not listed.
   * Resolves after the first time, when the run `wanted` is there; false if the server is unreachable.
   */
  runs(take: TakeRuns, wanted?: string): Promise<boolean>
  /** Reads the events of a run from the first on, and continues while it grows; `as` those of this engine. */
  open(id: string, reader: EventReader, as?: string): OpenRun
  /** The address of the run as one file, if there is one. */
  fileOf?(id: string): string
  /** Gives an order to a run that is going on; how it ended is one of the events of the run. */
  order?(id: string, order: Order): Promise<Sent>
  /** Continues a run that is over. */
  reply?(id: string, text: string): Promise<Sent>
  /** The bytes `[from, to)` of a stream, or undefined if they are not available now. */
  bytes(id: string, range: ByteRange): Promise<Bytes | undefined>
}

export type TakeRuns = (runs: readonly RunInfo[], older?: number) => void

/** What can be sent to a run while it is in progress. */
export type Order =
  | {
      readonly do: 'answer'
      readonly request: string
      readonly option?: string | undefined
      readonly answers?: Readonly<Record<string, string | readonly string[]>>
    }
  | { readonly do: 'interrupt' }
  | { readonly do: 'stop'; readonly now?: true }

/** The id of what was taken, or why it was not. */
export interface Sent {
  readonly id?: string
  readonly why?: string
}

export interface EventReader {
  take(events: readonly AgentEvent[]): void
  /** The events so far are no longer valid; everything is sent again. */
  reset(): void
  /** Nothing more will come, for this reason. */
  fault(code: string, message: string): void
  connection(state: Connection): void
}

/** `away`: the server cannot be reached and is tried again; `over`: nothing more will come. */
export type Connection = 'connecting' | 'live' | 'away' | 'over'

export interface OpenRun {
  /** Requests what was added after it seemed to be over. */
  resume(): void
  close(): void
}

/** A stream of a run, by the number of its attempt. */
export interface StreamName {
  readonly attempt: number
  readonly stream: string
}

interface ByteRange extends StreamName {
  readonly from: number
  readonly to: number
}

interface Bytes {
  readonly bytes: Uint8Array
  /** The size of the log. */
  readonly total: number
}

/** Lets the browser draw and handle input. A hidden page has timers, but no animation frames. */
export function pause(milliseconds = 0): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds))
}
