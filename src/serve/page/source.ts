import type { Event } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'

/** Where a page has its runs from: a server, or the data inside the document. */
export interface Source {
  /** Whether the list can change, so that it is worth asking again. */
  readonly live: boolean
  /** How many secrets were hidden in it, if any were looked for. */
  readonly redacted?: number | undefined
  /** The runs, or undefined if they cannot be had now. */
  runs(): Promise<readonly RunInfo[] | undefined>
  /** Reads the events of a run, from the first to the last and on while it grows. */
  open(id: string, reader: EventReader): OpenRun
  /** Where the run is as one file, if that can be had. */
  fileOf?(id: string): string
  /** The bytes `[from, to)` of a stream, or undefined if they cannot be had now. */
  bytes(id: string, range: ByteRange): Promise<Bytes | undefined>
}

/** Who gets the events of a run. */
export interface EventReader {
  take(events: readonly Event[]): void
  /** What was taken so far does not hold any more; everything comes again. */
  reset(): void
  /** Nothing more comes, and this is why. */
  fault(code: string, message: string): void
  connection(state: Connection): void
}

/** `away`: the server cannot be reached and is tried again; `over`: there is nothing more to come. */
type Connection = 'connecting' | 'live' | 'away' | 'over'

/** A run that is being read. */
export interface OpenRun {
  /** Asks for what has come since it was over. */
  resume(): void
  close(): void
}

interface ByteRange {
  readonly attempt: number
  readonly stream: string
  readonly from: number
  readonly to: number
}

interface Bytes {
  readonly bytes: Uint8Array
  /** How many the log has. */
  readonly total: number
}
